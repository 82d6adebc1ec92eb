/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a handler reads and writes of its hit (engine/ubp_handler.h), wherever it runs. */

#include <errno.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/session/hit_reach.h"
#include "engine/ubp_handler.h"

/* Of a program of 32 bits nothing is longer. */
static uint64_t word(const struct ubp_hit *hit, uint64_t value)
{
	return hit->arch->addr_size == sizeof(uint32_t) ? (uint32_t)value : value;
}

/* --- what was hit -------------------------------------------------------------------------- */

size_t ubp_hit_probe(const struct ubp_hit *hit)
{
	return hit->id;
}

pid_t ubp_hit_pid(const struct ubp_hit *hit)
{
	return hit->pid;
}

pid_t ubp_hit_tid(const struct ubp_hit *hit)
{
	return hit->tid;
}

uint64_t ubp_hit_time_ns(const struct ubp_hit *hit)
{
	return hit->now_ns;
}

bool ubp_hit_is_return(const struct ubp_hit *hit)
{
	return hit->is_return;
}

uint64_t ubp_hit_addr(const struct ubp_hit *hit)
{
	return hit->addr;
}

/* --- registers are read ----------------------------------------------------------------------- */

static int find_reg(const struct ubp_arch *arch, const char *name)
{
	size_t len = strlen(name);
	int reg = arch->reg.by_name(name, len);

	return reg < 0 && arch->reg.more_by_name ? arch->reg.more_by_name(name, len) : reg;
}

int ubp_hit_reg(const struct ubp_hit *hit, const char *name, uint64_t *ret_value)
{
	int reg = name ? find_reg(hit->arch, name) : -1;

	if (reg < 0)
		return -EINVAL;
	*ret_value = reg >= UBP_REG_VECTOR
			     ? hit->reach->vector(hit, (unsigned)reg - UBP_REG_VECTOR)
			     : hit->regs->r[reg];
	return 0;
}

const char *ubp_hit_reg_name(const struct ubp_hit *hit, size_t i)
{
	return hit->arch->reg.name(i);
}

/* Further up the stack is what belongs to others: a program may have so many arguments, and no more, by the C standard. */
#define ARG_LAST 126

/* Where argument @n is: *ret_reg; or, if that is below 0, at *ret_vaddr. */
static int find_arg(const struct ubp_hit *hit, unsigned n, int *ret_reg, uint64_t *ret_vaddr,
		    struct ubp_err *err)
{
	const struct arch_reg *reg = &hit->arch->reg;

	if (hit->is_return || !hit->its.is_entry)
		return ubp_fail(err, EINVAL,
				"arguments are known at the first instruction of a function");
	if (n > ARG_LAST)
		return ubp_fail(err, EINVAL, "no function has an argument %u", n);
	if (hit->its.is_go || (n >= reg->n_args && reg->stack_args < 0))
		return ubp_fail(err, EOPNOTSUPP,
				"where this function has its arguments is not known");
	*ret_reg = n < reg->n_args ? reg->args[n] : -1;
	*ret_vaddr = hit->regs->r[reg->sp] + (uint64_t)reg->stack_args +
		     (uint64_t)(n - reg->n_args) * hit->arch->addr_size;
	return 0;
}

int ubp_hit_arg(const struct ubp_hit *hit, unsigned n, uint64_t *ret_value)
{
	struct ubp_err ignored;
	uint64_t vaddr, value = 0;
	int reg, rc = find_arg(hit, n, &reg, &vaddr, &ignored);

	if (rc == 0 && reg < 0 &&
	    ubp_hit_read(hit, vaddr, &value, hit->arch->addr_size) != hit->arch->addr_size)
		rc = -EFAULT;
	if (rc == 0)
		*ret_value = word(hit, reg < 0 ? value : hit->regs->r[reg]);
	return rc;
}

int ubp_hit_result(const struct ubp_hit *hit, uint64_t *ret_value)
{
	if (!hit->is_return)
		return -EINVAL;
	*ret_value = word(hit, hit->regs->r[hit->arch->reg.retval]);
	return 0;
}

/* --- what the thread goes on with -------------------------------------------------------------- */

static int refuse(struct ubp_hit *hit, int rc)
{
	hit->n_refused++;
	return rc;
}

static int check_may_change(struct ubp_hit *hit, struct ubp_err *err)
{
	ubp_err_reset(err);
	if (!hit->its.may_change)
		return ubp_fail(
			err, EPERM,
			"the probe was added without .may_change: its handler only looks");
	return hit->change ? 0 : ubp_fail(err, EINVAL, "nothing is to be changed here");
}

void hit_set_reg(struct ubp_hit *hit, unsigned reg, uint64_t value)
{
	struct hit_change *change = hit->change;
	const struct arch_reg *regs = &hit->arch->reg;

	value = word(hit, value);
	if (reg == regs->flags)
		value = (change->regs->r[reg] & ~regs->flags_own) | (value & regs->flags_own);
	if (change->regs->r[reg] == value)
		return;
	change->regs->r[reg] = value;
	change->is_set = hit->has_changed = true;
}

bool hit_may_set(const struct ubp_hit *hit, unsigned reg)
{
	const struct arch_reg *regs = &hit->arch->reg;

	return hit->its.may_change && hit->change && reg != regs->pc && reg < regs->n &&
	       regs->own >> reg & 1 && !(hit->is_return && reg == regs->sp);
}

static int set_reg(struct ubp_hit *hit, const char *name, uint64_t value, struct ubp_err *err)
{
	const struct arch_reg *regs = &hit->arch->reg;
	int reg = name ? find_reg(hit->arch, name) : -1;

	if (reg < 0)
		return ubp_fail(err, EINVAL, "programs of %s have no register %s",
				hit->arch->name, name ? name : "NULL");
	if (reg == regs->pc)
		return ubp_fail(err, EINVAL,
				"where the thread goes on is not to be changed, but by "
				"ubp_hit_skip()");
	if (reg >= regs->n || !(regs->own >> reg & 1))
		return ubp_fail(err, EINVAL, "register %s is not to be changed", name);
	if (hit->is_return && reg == regs->sp)
		return ubp_fail(err, EINVAL,
				"the stack pointer of a return is not to be changed");
	hit_set_reg(hit, (unsigned)reg, value);
	return 0;
}

int ubp_hit_set_reg(struct ubp_hit *hit, const char *name, uint64_t value, struct ubp_err *err)
{
	int rc = check_may_change(hit, err);

	if (rc == 0)
		rc = set_reg(hit, name, value, err);
	return rc < 0 ? refuse(hit, rc) : 0;
}

int ubp_hit_set_arg(struct ubp_hit *hit, unsigned n, uint64_t value, struct ubp_err *err)
{
	uint64_t vaddr, now = word(hit, value);
	uint32_t half = (uint32_t)value;
	int reg, rc = check_may_change(hit, err);

	if (rc == 0)
		rc = find_arg(hit, n, &reg, &vaddr, err);
	if (rc < 0)
		return refuse(hit, rc);
	if (reg < 0)
		return hit->arch->addr_size == sizeof(half)
			       ? ubp_hit_write(hit, vaddr, &half, sizeof(half), err)
			       : ubp_hit_write(hit, vaddr, &now, sizeof(now), err);
	hit_set_reg(hit, (unsigned)reg, value);
	return 0;
}

int ubp_hit_set_result(struct ubp_hit *hit, uint64_t value, struct ubp_err *err)
{
	int rc = check_may_change(hit, err);

	if (rc == 0 && !hit->is_return)
		rc = ubp_fail(
			err, EINVAL,
			"a result is known when a function returns (ubp_hit_skip() gives one)");
	if (rc < 0)
		return refuse(hit, rc);
	hit_set_reg(hit, hit->arch->reg.retval, value);
	return 0;
}

/* --- a function does not run -------------------------------------------------------------------- */

int ubp_hit_skip(struct ubp_hit *hit, uint64_t result, struct ubp_err *err)
{
	int rc = check_may_change(hit, err);

	if (rc == 0)
		rc = hit->reach->skip(hit, result, err);
	if (rc < 0)
		return refuse(hit, rc);
	hit->has_changed = true;
	return 0;
}

/* --- memory, the stack --------------------------------------------------------------------------- */

size_t ubp_hit_read(const struct ubp_hit *hit, uint64_t addr, void *buf, size_t size)
{
	return size ? hit->reach->read(hit, addr, buf, size) : 0;
}

ssize_t ubp_hit_read_string(const struct ubp_hit *hit, uint64_t addr, char *buf, size_t size)
{
	size_t done = 0;

	if (!size)
		return -E2BIG;
	while (done < size) {
		/* Up to the end of the page: behind that there may be nothing. */
		size_t n = PAGE - (addr + done) % PAGE, got;
		const char *end;

		n = n < size - done ? n : size - done;
		got = hit->reach->read(hit, addr + done, buf + done, n);
		end = memchr(buf + done, '\0', got);
		if (end)
			return end - buf;
		done += got;
		if (got < n) {
			buf[done] = '\0';
			return -EFAULT;
		}
	}
	buf[size - 1] = '\0';
	return -E2BIG;
}

int ubp_hit_write(struct ubp_hit *hit, uint64_t addr, const void *buf, size_t size,
		  struct ubp_err *err)
{
	int rc = check_may_change(hit, err);

	if (rc < 0)
		return refuse(hit, rc);
	rc = hit->reach->write(hit, addr, buf, size, err);
	if (rc < 0)
		return refuse(hit, rc);
	hit->has_changed |= size != 0;
	return 0;
}

size_t ubp_hit_stack(const struct ubp_hit *hit, uint64_t *ret_addr, size_t n)
{
	return n ? hit->reach->stack(hit, ret_addr, n) : 0;
}
