/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/guard_state.h"

#include <stddef.h>

#include "arch/guard.h"
#include "engine/space/guard_part.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

uint64_t guard_data(const struct plant_space *ps)
{
	return ps->guard->data;
}

uint64_t guard_gate(const struct plant_space *ps)
{
	return ps->guard->data ? ps->guard->data + UBP_GUARD_GATE : 0;
}

int guard_set_alone(const struct space *space, pid_t tid, uint64_t is_alone)
{
	return mem_write(&space->mem, tid,
			 guard_gate(space->plant) + offsetof(struct guard_gate, alone),
			 &is_alone, sizeof(is_alone));
}

void guard_set_data(const struct plant_space *ps, uint64_t vaddr)
{
	ps->guard->data = vaddr;
}

bool guard_has_looked(const struct plant_space *ps)
{
	return ps->guard->looked;
}

void guard_note_look(const struct plant_space *ps)
{
	ps->guard->looked = true;
}

bool guard_is_taken_over(const struct plant_space *ps)
{
	return ps->guard->is_taken_over;
}

void guard_take_over(const struct plant_space *ps, bool had_guard)
{
	ps->guard->is_taken_over = had_guard;
}

void guard_forget_look(const struct plant_space *ps)
{
	ps->guard->data = 0;
	ps->guard->is_taken_over = ps->guard->looked = false;
}

void guard_note_found(const struct plant_space *ps, struct guard_found more)
{
	ps->guard->n_leftovers += more.n_breakpoints;
	ps->guard->n_left_raised += more.n_raised;
}

struct guard_found guard_take_found(const struct space *space)
{
	const struct plant_space *ps = space->plant;
	struct guard_found found = { 0 };

	if (!ps)
		return found;
	found = (struct guard_found){ ps->guard->n_leftovers, ps->guard->n_left_raised };
	ps->guard->n_leftovers = ps->guard->n_left_raised = 0;
	return found;
}

bool guard_is_settled(const struct plant_space *ps)
{
	return ps->guard->is_settled;
}

void guard_set_settled(const struct plant_space *ps)
{
	ps->guard->is_settled = true;
}

bool plant_is_unguarded(const struct space *space)
{
	return space->plant && guard_is_missing(space->plant);
}

bool guard_is_missing(const struct plant_space *ps)
{
	return ps->guard->unguarded;
}

void guard_set_missing(const struct plant_space *ps)
{
	ps->guard->unguarded = true;
}

const char *guard_no_room(const struct plant_space *ps)
{
	return ps->guard->no_room;
}

void guard_set_no_room(const struct plant_space *ps, const char *why)
{
	ps->guard->unguarded = true;
	ps->guard->no_room = why;
}
