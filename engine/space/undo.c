/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/space/undo.h"

#include "engine/base/err.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"

bool undo_read_maps(const struct plant_space *ps, pid_t pid, struct maps *ret_maps)
{
	pid_t live = task_live_thread(pid);
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	return maps_read(live ? live : pid, ret_maps, &ignored) == 0 &&
	       (!ps || !ps->areas || maps_at(ret_maps, ps->areas->vaddr));
}

static void look(struct undo *undo)
{
	undo->looked = true;
	undo->is_gone = mem_is_gone(&undo->space->mem);
	if (!undo->is_gone)
		undo->is_known = undo_read_maps(undo->space->plant, undo->pid, &undo->maps);
}

bool undo_is_gone(struct undo *undo, uint64_t vaddr, uint64_t dev, uint64_t ino)
{
	const struct mapping *m;

	if (!undo->looked)
		look(undo);
	if (undo->is_gone || !undo->is_known)
		return undo->is_gone;
	m = maps_at(&undo->maps, vaddr);
	return !m || (ino && (m->ino != ino || m->dev != dev));
}

void undo_end(struct undo *undo)
{
	maps_free(&undo->maps);
	undo->looked = undo->is_known = false;
}
