/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/maps_now.h"

#include "engine/base/err.h"
#include "engine/files/file_root.h"
#include "engine/os/maps.h"
#include "engine/space/mapped_part.h"
#include "engine/space/space.h"
#include "engine/stack/maps_set.h"
#include "engine/trace/process.h"

uint32_t stack_maps_now(struct stack_maps_set *set, const struct tracee *t)
{
	struct plant_space *ps = t->process->space->plant;
	struct ubp_err ignored;
	struct maps maps;

	if (!ps)
		return 0;
	if (ps->mapped->number)
		return ps->mapped->number;
	if (maps_read(t->tid, &maps, &ignored) == 0) {
		maps.is_our_root = file_root_is_ours(t->tid);
		ps->mapped->number = stack_maps_set_add(set, t->process->pid, &maps);
	} else {
		maps_free(&maps);
	}
	if (ps->mapped->number)
		ps->mapped->last = ps->mapped->number;
	return ps->mapped->number;
}

void stack_maps_changed(struct space *space)
{
	if (space->plant)
		space->plant->mapped->number = 0;
}

void stack_maps_gone(struct stack_maps_set *set, const struct space *space)
{
	if (space->plant && space->plant->mapped->last)
		stack_maps_set_gone(set, space->plant->mapped->last);
}
