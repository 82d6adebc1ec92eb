/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How memory and stack of a thread that stands still are got at, on the tracing thread. */

#include <errno.h>
#include <stdlib.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/base/proc.h"
#include "engine/hit/record.h"
#include "engine/hit/stack.h"
#include "engine/returns/ops.h"
#include "engine/session/hit_reach.h"
#include "engine/space/return_way.h"
#include "engine/space/space.h"
#include "engine/stack/unwind.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

static const struct space *space_of(const struct ubp_hit *hit)
{
	return hit->m->t->process->space;
}

static uint64_t vector(const struct ubp_hit *hit, unsigned i)
{
	return moment_vectors(hit->m)->v[i];
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
	const struct hit_change *change = hit->change;

	if (hit->is_return || !hit->its.is_entry || !change->site)
		return ubp_fail(err, EINVAL,
				"what can be left out is a function, at its first instruction");
	if (hit->its.is_go)
		return ubp_fail(err, EOPNOTSUPP, "functions of Go are not left out");
	if (change->site->watches)
		return ubp_fail(err, EBUSY, "ubp has to see this function run");
	if (has_shadow_stack(hit))
		return ubp_fail(err, EOPNOTSUPP,
				"a shadow stack guards the thread's return addresses");
	return 0;
}

static int skip(struct ubp_hit *hit, uint64_t result, struct ubp_err *err)
{
	const struct tracee *t = hit->m->t;
	const struct arch_reg *regs = &hit->arch->reg;
	struct hit_change *change = hit->change;
	struct ubp_regs behind;
	uint64_t to = 0;
	int rc = check_skip(hit, err);

	if (rc < 0)
		return rc;
	/* Others that are hit there see the stack as it is. */
	behind = *hit->regs;
	if (!return_ops(t->process->space)->leave(t, &behind, &to))
		return ubp_fail(err, EFAULT, "the return address cannot be read");
	change->to = to;
	change->sp = behind.r[regs->sp];
	change->regs->r[regs->flags] &= ~regs->flags_landing;
	hit_set_reg(hit, regs->retval, result);
	change->skips = change->is_set = true;
	return 0;
}

/* --- memory, the stack --------------------------------------------------------------------------- */

static size_t read_memory(const struct ubp_hit *hit, uint64_t addr, void *buf, size_t size)
{
	size_t done = 0;

	/* In pieces that none of the ways of reading takes for too long. */
	while (done < size) {
		size_t n = size - done < PAGE ? size - done : PAGE;
		size_t got = mem_read(&space_of(hit)->mem, hit->tid, addr + done,
				      (char *)buf + done, n);

		done += got;
		if (got < n)
			break;
	}
	return done;
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

static int write_memory(struct ubp_hit *hit, uint64_t addr, const void *buf, size_t size,
			struct ubp_err *err)
{
	const struct trace_mem *mem = &space_of(hit)->mem;
	int rc;

	if (is_ours(hit, addr, size))
		return ubp_fail(err, EINVAL, "what is at 0x%lx is ubp's own",
				(unsigned long)addr);
	rc = mem_write_as_program(mem, hit->tid, addr, buf, size);
	return rc < 0 ? ubp_fail(err, -rc, "%zu bytes at 0x%lx cannot be written: %s", size,
				 (unsigned long)addr, mem_error(mem, rc))
		      : 0;
}

static size_t stack(const struct ubp_hit *hit, uint64_t *ret_addr, size_t n)
{
	struct hit *h = hit->hit;
	uint32_t maps;

	return h->opt.unwinder
		       ? stack_unwind(h->opt.unwinder, hit->m->t, hit->regs, ret_addr, n, &maps)
		       : stack_take(h, hit->m->t, hit->regs, ret_addr, n);
}

const struct hit_reach hit_reach_here = { .vector = vector,
					  .read = read_memory,
					  .write = write_memory,
					  .skip = skip,
					  .stack = stack };
