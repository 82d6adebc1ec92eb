/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * SSOL areas. The first slots of a space's first area hold what is needed once:
 *
 *   [0] return trampoline   [1..] remote-call stub   then one slot per site
 *
 * An area is r-x from the start and written from outside: no mapping of ours is
 * ever writable and executable at once.
 */

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/object/maps.h"
#include "engine/object/object.h"
#include "engine/plant/plant.h"
#include "engine/trace/remote.h"
#include "engine/trace/task.h"

#define PAGE      4096ULL
#define AREA_GOAL 0x10000ULL

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

uint64_t area_take(struct area *area, struct site *owner)
{
	uint64_t at = area->used;

	if (at + UBP_SLOT_SIZE > area->len)
		return 0;
	area->used += UBP_SLOT_SIZE;
	area->owners[at / UBP_SLOT_SIZE] = owner;
	return area->vaddr + at;
}

struct site *plant_site_of_slot(const struct space *space, uint64_t vaddr)
{
	const struct plant_space *ps = space->plant;

	for (struct area *a = ps ? ps->areas : NULL; a; a = a->next)
		if (vaddr >= a->vaddr && vaddr - a->vaddr < a->used)
			return a->owners[(vaddr - a->vaddr) / UBP_SLOT_SIZE];
	return NULL;
}

void area_free_all(struct area *area)
{
	while (area) {
		struct area *next = area->next;

		free(area->owners);
		free(area);
		area = next;
	}
}

static bool within(const struct area *a, uint64_t lo, uint64_t hi, uint64_t reach)
{
	uint64_t from = a->vaddr < lo ? a->vaddr : lo;
	uint64_t to = a->vaddr + a->len > hi ? a->vaddr + a->len : hi;

	return lo == hi || to - from < reach;
}

/* Is all of this range zero in the target? Then it is the slack it seems to be. */
static bool is_zero(pid_t tid, uint64_t vaddr, size_t len)
{
	uint8_t bytes[256];

	if (len > sizeof(bytes) || mem_read(tid, vaddr, bytes, len) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

/* A place for the stub before there is an area: slack behind some code. */
static uint64_t find_cave(const struct maps *maps, pid_t pid, size_t need)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i];
		struct object *object = NULL;
		uint64_t elf_vaddr, foffset, len, vaddr = 0;
		struct ubp_err err;
		char path[96];

		if (!m->exec || !m->ino)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid,
			 (unsigned long)m->start, (unsigned long)m->end);
		if (object_open(path, &object, &err) < 0 &&
		    object_open(m->path, &object, &err) < 0)
			continue;
		if (object_find_bytes_slack(object, need, &elf_vaddr, &len) == 0 &&
		    object_vaddr_to_foffset(object, elf_vaddr & ~(PAGE - 1), &foffset) == 0)
			vaddr = m->start + (foffset - m->foffset) + (elf_vaddr & (PAGE - 1));
		object_free(object);
		if (vaddr >= m->start && vaddr + need <= m->end && is_zero(pid, vaddr, need))
			return vaddr;
	}
	return 0;
}

struct cave {
	uint64_t vaddr;
	uint8_t saved[256];
	size_t len;
};

/* Write the stub somewhere executable; remember what was there. */
static int cave_open(struct tracee *t, const struct maps *maps, struct cave *cave,
		     struct ubp_err *err)
{
	struct space *space = t->process->space;
	int rc;

	cave->len = space->arch->stub_len;
	cave->vaddr = find_cave(maps, t->process->pid, cave->len);
	/* Where no slack is: the program's first instructions, which have run already. */
	if (!cave->vaddr)
		cave->vaddr = task_auxv(t->process->pid, AT_ENTRY);
	if (!cave->vaddr || mem_read(t->tid, cave->vaddr, cave->saved, cave->len) != cave->len)
		return ubp_fail(err, ENOMEM, "process %d has no room for a remote system call",
				(int)t->process->pid);
	rc = mem_write(&space->mem, t->tid, cave->vaddr, space->arch->stub, cave->len);
	return rc == 0 ? 0
		       : ubp_fail(err, -rc, "cannot write to the code of process %d: %s",
				  (int)t->process->pid, strerror(-rc));
}

/*
 * The call is made. The thread still has the end of the stub before it: move it
 * to the copy in the new area, or (the call failed) do what the end of the stub
 * would do; then give the cave back.
 */
static void cave_close(struct tracee *t, const struct ubp_regs *at, const struct cave *cave)
{
	const struct plant_space *ps = t->process->space->plant;
	const struct ubp_arch *arch = t->process->space->arch;
	struct ubp_regs regs = *at;
	int rc;

	if (ps->stub) {
		rc = ubp_host_set_pc(t->tid, ps->stub + arch->stub_syscall_end);
	} else {
		arch->restart_syscall(&regs, !task_signal_waits(t->tid));
		rc = ubp_host_set_regs(t->tid, &regs);
	}
	if (rc == 0)
		(void)mem_write(&t->process->space->mem, t->tid, cave->vaddr, cave->saved,
				cave->len);
}

/* mmap() in the target. */
static int map_area(struct remote *remote, const struct ubp_arch *arch, uint64_t hint,
		    uint64_t len, uint64_t *ret_vaddr, struct ubp_err *err)
{
	uint64_t flags = MAP_PRIVATE | MAP_ANONYMOUS | (hint ? MAP_FIXED_NOREPLACE : 0);
	uint64_t args[6] = { hint, len, PROT_READ | PROT_EXEC, flags, (uint64_t)-1, 0 };
	int64_t result;
	int rc = remote_call(remote, arch->nr_mmap, args, &result, err);

	if (rc < 0)
		return rc;
	if (result < 0 && result > -4096)
		return ubp_fail(err, (int)-result, "process %d cannot map memory: %s",
				(int)remote->t->process->pid, strerror((int)-result));
	*ret_vaddr = (uint64_t)result;
	return 0;
}

static struct area *area_new(uint64_t vaddr, uint64_t len)
{
	struct area *area = calloc(1, sizeof(*area));

	if (!area)
		return NULL;
	area->vaddr = vaddr;
	area->len = len;
	area->owners = calloc(len / UBP_SLOT_SIZE, sizeof(*area->owners));
	if (!area->owners) {
		free(area);
		return NULL;
	}
	return area;
}

/* The first area of a space also carries trampoline and stub. */
static int furnish(struct space *space, struct plant_space *ps, struct area *area, pid_t tid,
		   struct ubp_err *err)
{
	const struct ubp_arch *arch = space->arch;
	struct slot_code code;
	int rc;

	if (ps->trampoline)
		return 0;
	arch->build_return_trampoline(&code);
	rc = mem_write(&space->mem, tid, area->vaddr, code.code, code.len);
	if (rc == 0)
		rc = mem_write(&space->mem, tid, area->vaddr + UBP_SLOT_SIZE, arch->stub,
			       arch->stub_len);
	if (rc < 0)
		return ubp_fail(err, -rc, "cannot write to the SSOL area: %s", strerror(-rc));
	area->used = UBP_SLOT_SIZE + round_up(arch->stub_len, UBP_SLOT_SIZE);
	ps->trampoline = area->vaddr;
	ps->stub = area->vaddr + UBP_SLOT_SIZE;
	return 0;
}

static int call_mmap(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		     uint64_t stub, uint64_t hint, uint64_t len, uint64_t *ret_vaddr,
		     struct ubp_err *err)
{
	struct remote remote;
	int rc = remote_begin(&remote, tracer, t, at, stub, err);

	if (rc < 0)
		return rc;
	rc = map_area(&remote, t->process->space->arch, hint, len, ret_vaddr, err);
	remote_end(&remote);
	return rc;
}

/* Map an area; for the first one of a space the stub has to be put up first. */
static int make_area(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		     const struct maps *maps, uint64_t hint, uint64_t len,
		     struct area **ret_area, struct ubp_err *err)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	struct cave cave = { 0 };
	struct area *area = NULL;
	uint64_t vaddr = 0;
	int rc = 0;

	if (!ps->stub)
		rc = cave_open(t, maps, &cave, err);
	if (rc == 0)
		rc = call_mmap(tracer, t, at, ps->stub ? ps->stub : cave.vaddr, hint, len,
			       &vaddr, err);
	if (rc == 0) {
		area = area_new(vaddr, len);
		rc = area ? furnish(space, ps, area, t->tid, err)
			  : ubp_fail(err, ENOMEM, "out of memory");
	}
	if (cave.vaddr && rc != -ESRCH)
		cave_close(t, at, &cave);
	if (rc < 0) {
		area_free_all(area);
		return rc;
	}
	*ret_area = area;
	return 0;
}

int area_provide(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		 const struct maps *maps, uint64_t lo, uint64_t hi, size_t n,
		 struct area **ret_area, struct ubp_err *err)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t len, hint;
	struct area *area;
	int rc;

	for (area = ps->areas; area; area = area->next)
		if (area->len - area->used >= n * UBP_SLOT_SIZE &&
		    within(area, lo, hi, space->arch->near_max)) {
			*ret_area = area;
			return 0;
		}
	len = round_up((n + 8) * UBP_SLOT_SIZE, AREA_GOAL);
	hint = lo == hi ? 0 : maps_find_gap(maps, lo, hi, len, space->arch->near_max);
	if (!hint && lo != hi)
		return ubp_fail(err, ERANGE, "no free memory near 0x%lx in process %d",
				(unsigned long)lo, (int)t->process->pid);
	rc = make_area(tracer, t, at, maps, hint, len, &area, err);
	if (rc < 0)
		return rc;
	assert(area);
	area->next = ps->areas;
	ps->areas = area;
	*ret_area = area;
	return 0;
}
