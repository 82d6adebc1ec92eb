/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A place for the remote-call stub before there is an area: slack behind some
 * code, or the program's first instructions, which have run already.
 */

#include "engine/plant/cave.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/os/maps.h"
#include "engine/plant/hooks.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/remote.h"
#include "engine/trace/task.h"

/* From the frames on the first thread's stack to what that thread may come to use meanwhile. */
#define FRAMES_AWAY 0x10000

/*
 * Is all of this range zero in the target? Then nobody uses it.
 * So it is with a stub in it, that of a tracer which was killed.
 */
static bool is_free(const struct space *space, pid_t tid, uint64_t vaddr, size_t len)
{
	const struct ubp_arch *arch = space->arch;
	uint8_t bytes[256];

	if (len > sizeof(bytes) || mem_read(&space->mem, tid, vaddr, bytes, len) != len)
		return false;
	if (len == arch->stub.len && memcmp(bytes, arch->stub.code, len) == 0)
		return true;
	for (size_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

static uint64_t find_cave(struct plant *plant, struct space *space, const struct maps *maps,
			  pid_t pid)
{
	size_t need = space->arch->stub.len;

	for (size_t i = 0; i < maps->n; i++) {
		uint64_t vaddr, len;

		if (hooks_unused_bytes(plant, &space->cost, pid, &maps->v[i], &vaddr, &len) &&
		    len >= need && is_free(space, pid, vaddr, need))
			return vaddr;
	}
	return 0;
}

void cave_look_ahead(struct plant *plant, struct space *space, pid_t tid,
		     const struct maps *maps)
{
	(void)find_cave(plant, space, maps, tid);
}

int cave_provide_frames(struct plant *plant, struct tracee *t, const struct maps *maps,
			const struct ubp_regs *at, struct ubp_err *err)
{
	struct space *space = t->process->space;
	uint64_t need = REMOTE_FRAMES * UBP_STUB_FRAME_MAX + FRAMES_AWAY;
	uint64_t sp = at->r[space->arch->reg.sp];
	const struct mapping *m = NULL;

	if (space->frames || !space->arch->stub.frame_below ||
	    !hooks_is_go(plant, &space->cost, t->tid, maps))
		return 0;
	for (size_t i = 0; i < maps->n && !m; i++)
		if (strcmp(maps->v[i].path, "[stack]") == 0)
			m = &maps->v[i];
	if (!m || m->end - m->start < need ||
	    (sp >= m->start && sp < m->end && sp - m->start < need))
		return ubp_fail(err, ENOTSUP,
				"process %d runs Go code on stacks without room for a remote "
				"system call, and there is none on its first thread's",
				(int)t->process->pid);
	space->frames = m->start;
	return 0;
}

static bool is_as_saved(const struct tracee *t, const struct cave *cave)
{
	uint8_t now[sizeof(cave->saved)];

	return mem_read(&t->process->space->mem, t->tid, cave->vaddr, now, cave->len) ==
		       cave->len &&
	       memcmp(now, cave->saved, cave->len) == 0;
}

int cave_open(struct plant *plant, struct tracee *t, const struct maps *maps, struct cave *cave,
	      struct ubp_err *err)
{
	struct space *space = t->process->space;
	int rc;

	cave->len = space->arch->stub.len;
	cave->vaddr = find_cave(plant, space, maps, t->tid);
	if (!cave->vaddr)
		cave->vaddr = task_auxv(t->tid, AT_ENTRY);
	/* A stub that is there already stays: a thread may still be on its way out of it, or of a
	 * signal handler that came between. */
	if (!cave->vaddr || mem_read(&t->process->space->mem, t->tid, cave->vaddr, cave->saved,
				     cave->len) != cave->len) {
		cave->vaddr = 0; /* nothing is to be put back */
		return ubp_fail(err, ENOMEM, "process %d has no room for a remote system call",
				(int)t->process->pid);
	}
	rc = mem_write(&space->mem, t->tid, cave->vaddr, space->arch->stub.code, cave->len);
	if (rc == 0)
		return 0;
	ubp_fail(err, -rc, "cannot write to the code of process %d: %s", (int)t->process->pid,
		 mem_error(&space->mem, rc));
	if (is_as_saved(t, cave))
		cave->vaddr = 0; /* the same */
	return rc;
}

void cave_close(const struct held *held, const struct cave *cave)
{
	const struct tracee *t = held->t;
	struct plant_space *ps = t->process->space->plant;
	const struct ubp_arch *arch = t->process->space->arch;
	/* A signal that came first has had it stand elsewhere since. */
	struct ubp_regs regs = t->remote.called ? *t->remote.before : *held->at;
	int rc;

	if (ps->stub) {
		rc = ubp_host_set_pc(t->tid, ps->stub + arch->stub.syscall_end);
	} else {
		arch->call.restart(&regs);
		rc = ubp_host_set_regs(t->tid, &regs);
	}
	if (rc == 0)
		rc = mem_write(&t->process->space->mem, t->tid, cave->vaddr, cave->saved,
			       cave->len);
	if (rc < 0 && rc != -ESRCH)
		plant_left_note(&ps->left, "a stub", cave->vaddr, rc);
}
