/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/eintr.h"

#include "arch/host.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* For struct ubp_memory. @ctx: a struct trace_mem. */
static bool read_for_host(const void *ctx, pid_t tid, uint64_t vaddr, void *buf, size_t len,
			  bool is_code, bool *ret_is_known)
{
	const struct trace_mem *mem = ctx;
	uint64_t n = mem->care ? mem->care->n_unanswered : 0;
	size_t got;

	/* What may be executed alone is read by the open file alone. */
	if (is_code)
		got = mem_peek(mem, vaddr, buf, len);
	else
		got = mem_read(mem, tid, vaddr, buf, len);
	*ret_is_known = !mem->care || mem->care->n_unanswered == n;
	return got == len;
}

static struct ubp_memory memory_of(const struct tracee *t)
{
	return (struct ubp_memory){ read_for_host, &t->process->space->mem };
}

void eintr_redo(struct tracee *t)
{
	const struct ubp_memory memory = memory_of(t);

	ubp_host_redo_eintr(t->process->space->arch, t->tid, &t->remote.call, &memory);
}

void eintr_keep(struct tracee *t)
{
	const struct ubp_memory memory = memory_of(t);

	ubp_host_keep_eintr(t->tid, &t->remote.call, &memory);
}

bool eintr_is_broken_off(const struct tracee *t)
{
	const struct ubp_memory memory = memory_of(t);

	return ubp_host_is_broken_off(t->tid, &t->remote.call, &memory);
}
