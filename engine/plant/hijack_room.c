/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/hijack_room.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "arch/guard.h"
#include "arch/guard_hijack.h"
#include "engine/base/err.h"
#include "engine/plant/area.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/rings.h"
#include "engine/returns/hijack.h"
#include "engine/returns/returns.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* The table lies where the rings are, far from everything: nobody has to reach it. */
static int map_table(const struct held *held, const struct maps *maps, uint64_t n,
		     uint64_t *ret_vaddr, struct ubp_err *err)
{
	const struct plant_space *ps = held->t->process->space->plant;
	uint64_t len = n * sizeof(struct guard_hijack), hint;

	hint = rings_find_room(held->t->process->space->arch, maps, ps->areas->vaddr, len);
	if (!hint)
		return ubp_fail(err, ENOMEM, "no room for a table");
	return area_map(held, ps->stub, hint, len, PROT_READ | PROT_WRITE, ret_vaddr, err);
}

/* Where it was before, or in the first area with room for it: any is as good. */
static int write_code(const struct space *space, pid_t tid, uint64_t table, uint64_t mask,
		      uint64_t *ret_vaddr, struct ubp_err *err)
{
	struct plant_space *ps = space->plant;
	uint8_t code[UBP_RETURN_CODE_MAX];
	size_t len = 0;
	int rc = space->arch->detour.build_return_code(table, mask, returns_trampoline(ps),
						       code, sizeof(code), &len, err);

	if (rc < 0)
		return rc;
	*ret_vaddr = hijack_room(ps);
	if (*ret_vaddr)
		return mem_write(&space->mem, tid, *ret_vaddr, code, len);
	for (struct area *a = ps->areas; a; a = a->next) {
		*ret_vaddr = a->vaddr + a->used;
		if (a->keys && area_take_block(a, len, NULL))
			return mem_write(&space->mem, tid, *ret_vaddr, code, len);
	}
	return ubp_fail(err, ENOSPC, "no room for code");
}

int hijack_provide(const struct held *held, const struct maps *maps, struct ubp_err *err)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t n =
		rings_fit_table(t->process->pid, UBP_HIJACKS_MOST, sizeof(struct guard_hijack));
	uint64_t place[3] = { 0, n - 1, 0 }; /* as in struct guard_data */
	int rc;

	if (hijack_place(ps).table)
		return 0;
	if (!space->arch->detour.build_return_code)
		return ubp_fail(err, ENOTSUP, "no code for returns");
	rc = map_table(held, maps, n, &place[0], err);
	if (rc == 0)
		rc = write_code(space, t->tid, place[0], place[1], &place[2], err);
	if (rc == 0)
		rc = mem_write(&space->mem, t->tid,
			       guard_data(ps) + offsetof(struct guard_data, hijacks), place,
			       sizeof(place));
	if (rc < 0)
		return rc;
	hijack_set_place(ps, (struct hijack_place){ place[0], place[1], place[2] });
	return 0;
}
