/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a handler reads and writes of its hit (engine/ubp_handler.h). */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/base/proc.h"
#include "engine/hit/handle.h"
#include "engine/hit/record.h"
#include "engine/hit/stack.h"
#include "engine/returns/ops.h"
#include "engine/space/return_way.h"
#include "engine/space/space.h"
#include "engine/stack/unwind.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/ubp_handler.h"

static const struct space *space_of(const struct ubp_hit *hit)
{
	return hit->m->t->process->space;
}

static const struct ubp_arch *arch_of(const struct ubp_hit *hit)
{
	return space_of(hit)->arch;
}

/* Of a program of 32 bits nothing is longer. */
static uint64_t word(const struct ubp_hit *hit, uint64_t value)
{
	return arch_of(hit)->addr_size == sizeof(uint32_t) ? (uint32_t)value : value;
}

/* --- what was hit -------------------------------------------------------------------------- */

size_t ubp_hit_probe(const struct ubp_hit *hit)
{
	return hit->id;
}

pid_t ubp_hit_pid(const struct ubp_hit *hit)
{
	return hit->m->t->process->pid;
}

pid_t ubp_hit_tid(const struct ubp_hit *hit)
{
	return hit->m->t->tid;
}

uint64_t ubp_hit_time_ns(const struct ubp_hit *hit)
{
	return hit->m->now_ns;
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
	int reg = name ? find_reg(arch_of(hit), name) : -1;

	if (reg < 0)
		return -EINVAL;
	*ret_value = reg >= UBP_REG_VECTOR ? moment_vectors(hit->m)->v[reg - UBP_REG_VECTOR]
					   : hit->m->regs->r[reg];
	return 0;
}

const char *ubp_hit_reg_name(const struct ubp_hit *hit, size_t i)
{
	return arch_of(hit)->reg.name(i);
}

/* Where argument @n is: *ret_reg; or, if that is below 0, at *ret_vaddr. */
static int find_arg(const struct ubp_hit *hit, unsigned n, int *ret_reg, uint64_t *ret_vaddr,
		    struct ubp_err *err)
{
	const struct arch_reg *reg = &arch_of(hit)->reg;

	if (hit->is_return || !hit->probe->at_hit.handler.is_entry)
		return ubp_fail(err, EINVAL,
				"arguments are known at the first instruction of a function");
	if (hit->probe->at_hit.handler.is_go || (n >= reg->n_args && reg->stack_args < 0))
		return ubp_fail(err, EOPNOTSUPP,
				"where this function has its arguments is not known");
	*ret_reg = n < reg->n_args ? reg->args[n] : -1;
	*ret_vaddr = hit->m->regs->r[reg->sp] + (uint64_t)reg->stack_args +
		     (uint64_t)(n - reg->n_args) * arch_of(hit)->addr_size;
	return 0;
}

int ubp_hit_arg(const struct ubp_hit *hit, unsigned n, uint64_t *ret_value)
{
	struct ubp_err ignored;
	uint64_t vaddr, value = 0;
	int reg, rc = find_arg(hit, n, &reg, &vaddr, &ignored);

	if (rc == 0 && reg < 0 &&
	    ubp_hit_read(hit, vaddr, &value, arch_of(hit)->addr_size) !=
		    arch_of(hit)->addr_size)
		rc = -EFAULT;
	if (rc == 0)
		*ret_value = word(hit, reg < 0 ? value : hit->m->regs->r[reg]);
	return rc;
}

int ubp_hit_result(const struct ubp_hit *hit, uint64_t *ret_value)
{
	if (!hit->is_return)
		return -EINVAL;
	*ret_value = word(hit, hit->m->regs->r[arch_of(hit)->reg.retval]);
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
	if (!hit->probe->at_hit.handler.may_change)
		return ubp_fail(
			err, EPERM,
			"the probe was added without .may_change: its handler only looks");
	return hit->m->change ? 0 : ubp_fail(err, EINVAL, "nothing is to be changed here");
}

static void set(struct ubp_hit *hit, unsigned reg, uint64_t value)
{
	struct hit_change *change = hit->m->change;
	const struct arch_reg *regs = &arch_of(hit)->reg;

	value = word(hit, value);
	if (reg == regs->flags)
		value = (change->regs->r[reg] & ~regs->flags_own) | (value & regs->flags_own);
	if (change->regs->r[reg] == value)
		return;
	change->regs->r[reg] = value;
	change->is_set = hit->has_changed = true;
}

static int set_reg(struct ubp_hit *hit, const char *name, uint64_t value, struct ubp_err *err)
{
	const struct arch_reg *regs = &arch_of(hit)->reg;
	int reg = name ? find_reg(arch_of(hit), name) : -1;

	if (reg < 0)
		return ubp_fail(err, EINVAL, "programs of %s have no register %s",
				arch_of(hit)->name, name ? name : "NULL");
	if (reg == regs->pc)
		return ubp_fail(err, EINVAL,
				"where the thread goes on is not to be changed, but by "
				"ubp_hit_skip()");
	if (reg >= regs->n || !(regs->own >> reg & 1))
		return ubp_fail(err, EINVAL, "register %s is not to be changed", name);
	if (hit->is_return && reg == regs->sp)
		return ubp_fail(err, EINVAL,
				"the stack pointer of a return is not to be changed");
	set(hit, (unsigned)reg, value);
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
		return arch_of(hit)->addr_size == sizeof(half)
			       ? ubp_hit_write(hit, vaddr, &half, sizeof(half), err)
			       : ubp_hit_write(hit, vaddr, &now, sizeof(now), err);
	set(hit, (unsigned)reg, value);
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
	set(hit, arch_of(hit)->reg.retval, value);
	return 0;
}

/* --- a function does not run -------------------------------------------------------------------- */

static bool has_shadow_stack(const struct ubp_hit *hit)
{
	char *status = proc_read_status(hit->m->t->tid);
	bool has = !status || return_way_tells(status, &ubp_host_arch()->shadow.in_status);

	free(status);
	return has;
}

static int check_skip(const struct ubp_hit *hit, struct ubp_err *err)
{
	const struct hit_change *change = hit->m->change;

	if (hit->is_return || !hit->probe->at_hit.handler.is_entry || !change->site)
		return ubp_fail(err, EINVAL,
				"what can be left out is a function, at its first instruction");
	if (hit->probe->at_hit.handler.is_go)
		return ubp_fail(err, EOPNOTSUPP, "functions of Go are not left out");
	if (change->site->watches)
		return ubp_fail(err, EBUSY, "ubp has to see this function run");
	if (has_shadow_stack(hit))
		return ubp_fail(err, EOPNOTSUPP,
				"a shadow stack guards the thread's return addresses");
	return 0;
}

int ubp_hit_skip(struct ubp_hit *hit, uint64_t result, struct ubp_err *err)
{
	const struct tracee *t = hit->m->t;
	const struct arch_reg *regs = &arch_of(hit)->reg;
	struct hit_change *change = hit->m->change;
	int rc = check_may_change(hit, err);
	struct ubp_regs behind;
	uint64_t to = 0;

	if (rc == 0)
		rc = check_skip(hit, err);
	/* Others that are hit there see the stack as it is. */
	behind = *hit->m->regs;
	if (rc == 0 && !return_ops(t->process->space)->leave(t, &behind, &to))
		rc = ubp_fail(err, EFAULT, "the return address cannot be read");
	if (rc < 0)
		return refuse(hit, rc);
	change->to = to;
	change->sp = behind.r[regs->sp];
	change->regs->r[regs->flags] &= ~regs->flags_landing;
	set(hit, regs->retval, result);
	change->skips = change->is_set = hit->has_changed = true;
	return 0;
}

/* --- memory, the stack --------------------------------------------------------------------------- */

size_t ubp_hit_read(const struct ubp_hit *hit, uint64_t addr, void *buf, size_t size)
{
	size_t done = 0;

	/* In pieces that none of the ways of reading takes for too long. */
	while (done < size) {
		size_t n = size - done < PAGE ? size - done : PAGE;
		size_t got = mem_read(&space_of(hit)->mem, hit->m->t->tid, addr + done,
				      (char *)buf + done, n);

		done += got;
		if (got < n)
			break;
	}
	return done;
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
		got = mem_read(&space_of(hit)->mem, hit->m->t->tid, addr + done, buf + done, n);
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

static bool is_ours(const struct ubp_hit *hit, uint64_t addr, size_t size)
{
	const struct plant_space *ps = space_of(hit)->plant;

	for (const struct area *a = ps ? ps->areas : NULL; a; a = a->next)
		if (addr < a->vaddr + a->len &&
		    a->vaddr - (addr < a->vaddr ? addr : a->vaddr) < size)
			return true;
	return false;
}

int ubp_hit_write(struct ubp_hit *hit, uint64_t addr, const void *buf, size_t size,
		  struct ubp_err *err)
{
	int rc = check_may_change(hit, err);

	if (rc < 0)
		return refuse(hit, rc);
	if (is_ours(hit, addr, size))
		return refuse(hit, ubp_fail(err, EINVAL, "what is at 0x%lx is ubp's own",
					    (unsigned long)addr));
	rc = mem_write_as_program(&space_of(hit)->mem, hit->m->t->tid, addr, buf, size);
	if (rc < 0)
		return refuse(hit,
			      ubp_fail(err, -rc, "%zu bytes at 0x%lx cannot be written: %s",
				       size, (unsigned long)addr,
				       mem_error(&space_of(hit)->mem, rc)));
	hit->has_changed |= size != 0;
	return 0;
}

size_t ubp_hit_stack(const struct ubp_hit *hit, uint64_t *ret_addr, size_t n)
{
	struct hit *h = hit->hit;
	uint32_t maps;

	if (!n)
		return 0;
	if (h->opt.unwinder)
		return stack_unwind(h->opt.unwinder, hit->m->t, hit->m->regs, ret_addr, n,
				    &maps);
	return stack_take(h, hit->m->t, hit->m->regs, ret_addr, n);
}
