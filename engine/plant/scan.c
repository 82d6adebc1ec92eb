/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where unwinders begin: jumps to detours that look by themselves whether a replaced return address is on
 * the stack (detour_plan.scans). Without them each exception is a stop, as long as return addresses
 * may be replaced anywhere in the process.
 *
 * A detour looks through the stack that its thread began on, and only from there: frames on such a stack
 * are called by none but frames further up on it. The tracer tells it where that stack is, when
 * the thread has come by some times with nothing to do. A coroutine's stack, or a signal
 * handler's own, is never told: from there an unwinder may come to frames elsewhere, and
 * the tracer knows of those.
 */

#include "engine/plant/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/code/window.h"
#include "engine/elf/object.h"
#include "engine/files/mapped.h"
#include "engine/os/maps.h"
#include "engine/plant/rings.h"
#include "engine/plant/watch.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/process.h"

/* Larger code is not looked through for landings in the window: that takes too long. */
#define CODE_MAX 0x100000

/* A file that could not be read is looked at so often, since the reason may be that memory was short. */
#define UNREAD_MAX 8

/* So often in vain, then each time it is twice as often. */
#define VAIN_LEAST 4

/* An unwinder's start, of a file. */
struct scan_place {
	uint64_t dev, ino, foffset;
	struct uprobe_window window;
	unsigned n_unread; /* so often its file could not be read; 0 also when it was */
	struct scan_place *next;
};

bool scan_is_one(const struct site *site)
{
	return site->watches & WATCH_OWN_STACK && watch_is_unwinders(site);
}

/* One file's places, one after the other. */
struct looking {
	struct plant *plant;
	pid_t pid;
	struct maps maps;
	uint64_t dev, ino; /* of .object */
	struct object *object;
};

static void open_object(struct looking *l, const struct mapping *m)
{
	if (l->dev == m->dev && l->ino == m->ino)
		return;
	object_free(l->object);
	l->object = mapped_open(l->pid, m);
	l->dev = m->dev;
	l->ino = m->ino;
}

static void find_window(struct object *object, struct scan_place *place)
{
	struct window window;
	struct ubp_err ignored;
	int rc;

	ubp_err_reset(&ignored);
	rc = object ? object_window(object, place->foffset, &window, &ignored) : -ENOMEM;
	place->n_unread = rc == -ENOMEM ? place->n_unread + 1 : 0;
	place->window = (struct uprobe_window){ 0 };
	if (rc < 0) {
		place->window.why =
			rc == -ENOMEM ? "its file could not be read" : "no jump fits there";
		return;
	}
	place->window.len = window.len;
	place->window.padding = window.jump_len > window.len ? window.jump_len - window.len : 0;
}

static struct scan_place *new_place(struct plant *plant, const struct site *site)
{
	struct scan_place *place = calloc(1, sizeof(*place));

	if (!place)
		return NULL;
	place->dev = site->dev;
	place->ino = site->ino;
	place->foffset = site->foffset;
	place->next = plant->scans;
	plant->scans = place;
	return place;
}

/* NULL: nothing is known of it now. *ret_again: that may change. */
static const struct scan_place *place_of(struct looking *l, const struct site *site,
					 bool *ret_again)
{
	const struct mapping *m = maps_at(&l->maps, site->vaddr);
	struct scan_place *place = l->plant->scans;

	while (place && (place->ino != site->ino || place->dev != site->dev ||
			 place->foffset != site->foffset))
		place = place->next;
	if (place && (!place->n_unread || place->n_unread >= UNREAD_MAX))
		return place;
	if (!m || m->ino != site->ino || m->dev != site->dev)
		return NULL;
	if (!place)
		place = new_place(l->plant, site);
	if (place && m->end - m->start > CODE_MAX) {
		place->window.why = "its code is too large to be looked through";
		return place;
	}
	if (place) {
		open_object(l, m);
		find_window(l->object, place);
	}
	if (place && (!place->n_unread || place->n_unread >= UNREAD_MAX))
		return place;
	*ret_again = true;
	return NULL;
}

bool scan_look(struct plant *plant, const struct space *space, pid_t pid)
{
	const struct plant_space *ps = space->plant;
	struct looking l = { .plant = plant, .pid = pid };
	struct ubp_err ignored;
	bool again = false;
	size_t pos = 0;
	void *value;

	if (!space->arch->detour.scans || plant->opt.beside_kernel || !watch_begins_awake(ps))
		return true;
	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;
		const struct scan_place *place;

		if (site->scan || !site->planted || !scan_is_one(site))
			continue;
		if (!l.maps.n && maps_read(pid, &l.maps, &ignored) < 0) {
			again = true;
			break;
		}
		place = place_of(&l, site, &again);
		site->scan = place ? &place->window : NULL;
	}
	object_free(l.object);
	maps_free(&l.maps);
	return !again;
}

void scan_free(struct plant *plant)
{
	while (plant->scans) {
		struct scan_place *next = plant->scans->next;

		free(plant->scans);
		plant->scans = next;
	}
}

/* --- stacks ------------------------------------------------------------------------- */

/*
 * The first thread's is the kernel's; others have their thread pointer at the end of theirs. Is it
 * the one at @sp? Its end; 0: it is not.
 */
static uint64_t end_of_own(const struct maps *maps, const struct tracee *t,
			   const struct mapping *m, uint64_t sp)
{
	uint64_t pointer = t->probes->thread_pointer & ~7ULL;

	if (t->tid == t->process->pid)
		return strcmp(m->path, "[stack]") == 0 ? m->end : 0;
	return pointer > sp && maps_at(maps, pointer - 1) == m ? pointer : 0;
}

void scan_note_stack(struct tracee *t, uint64_t sp)
{
	const struct plant_space *ps = t->process->space->plant;
	unsigned n = ++t->probes->scans_in_vain;
	const struct mapping *m;
	struct ubp_err ignored;
	struct maps maps;
	uint64_t end = 0;

	if (!rings_are_made(ps) || n < VAIN_LEAST || (n & (n - 1)) != 0)
		return;
	if (maps_read(t->tid, &maps, &ignored) == 0) {
		m = maps_at(&maps, sp);
		if (m && m->read && m->write)
			end = end_of_own(&maps, t, m, sp);
		if (end)
			rings_set_stack(t, m->start, end);
	}
	maps_free(&maps);
}
