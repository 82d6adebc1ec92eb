/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Windows of jumps where ubp itself watches a place, and nothing is probed: unwinders (scan.h), and where the tracer may have to
 * come back (bell.h). They are looked for once in each file.
 */

#include "engine/plant/watched_windows.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/window.h"
#include "engine/elf/object.h"
#include "engine/files/mapped.h"
#include "engine/os/maps.h"
#include "engine/plant/bell.h"
#include "engine/plant/scan.h"
#include "engine/plant/watch.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/space/uprobe.h"

/* Larger code is not looked through for landings in the window: that takes too long. */
#define CODE_MAX 0x100000

/* A file that could not be read is looked at so often, since the reason may be that memory was short. */
#define UNREAD_MAX 8

/* A watched place of a file. */
struct watched_place {
	uint64_t dev, ino, foffset;
	struct uprobe_window window;
	unsigned n_unread; /* so often its file could not be read; 0 also when it was */
	struct watched_place *next;
};

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

static void find_window(struct object *object, struct watched_place *place)
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

static struct watched_place *new_place(struct plant *plant, const struct site *site)
{
	struct watched_place *place = calloc(1, sizeof(*place));

	if (!place)
		return NULL;
	place->dev = site->dev;
	place->ino = site->ino;
	place->foffset = site->foffset;
	place->next = plant->watched;
	plant->watched = place;
	return place;
}

/* NULL: nothing is known of it now. *ret_again: that may change. */
static const struct watched_place *place_of(struct looking *l, const struct site *site,
					    bool *ret_again)
{
	const struct mapping *m = maps_at(&l->maps, site->vaddr);
	struct watched_place *place = l->plant->watched;

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

/* The instruction that loads a call's number, which is as long as a jump: nobody comes to the middle of it. */
static const struct uprobe_window call = { .len = UBP_HOP_LEN };

/* The first two instructions of the C library's syscall() (UBP_CALL_ANY), or of its vfork(): nobody comes to the second one. */
static const struct uprobe_window pair = { .len = 6 };

static bool may_jump(const struct space *space, const struct site *site)
{
	if (scan_is_one(site))
		return space->arch->detour.scans && watch_begins_awake(space->plant);
	return space->arch->detour.asks && bell_is_one(site);
}

bool watched_windows_look(struct plant *plant, const struct space *space, pid_t pid)
{
	const struct plant_space *ps = space->plant;
	struct looking l = { .plant = plant, .pid = pid };
	struct ubp_err ignored;
	bool again = false;
	size_t pos = 0;
	void *value;

	if (plant->opt.beside_kernel)
		return true;
	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;
		const struct watched_place *place;

		if (site->window || !(site->planted || bell_is_call(site)) ||
		    !may_jump(space, site))
			continue;
		if (bell_is_call(site)) {
			site->window = &call;
			continue;
		}
		if (site->watches & WATCH_PAIR) {
			site->window = &pair;
			continue;
		}
		if (!l.maps.n && maps_read(pid, &l.maps, &ignored) < 0) {
			again = true;
			break;
		}
		place = place_of(&l, site, &again);
		site->window = place ? &place->window : NULL;
	}
	object_free(l.object);
	maps_free(&l.maps);
	return !again;
}

void watched_windows_free(struct plant *plant)
{
	while (plant->watched) {
		struct watched_place *next = plant->watched->next;

		free(plant->watched);
		plant->watched = next;
	}
}
