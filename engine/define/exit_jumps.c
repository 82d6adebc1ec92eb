/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/exit_jumps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/code/leaf.h"
#include "engine/code/window.h"
#include "engine/define/state.h"
#include "engine/elf/segments.h"
#include "engine/space/uprobe.h"

static void take_window(struct uprobe_exit *e, const struct window *window)
{
	e->pun = window->pun;
	e->asks_room = window->asks_room;
}

/* Bytes that a jump at the start of the function, or behind its first instruction, may need. */
static uint64_t start_len(const struct uprobe *u)
{
	const struct uprobe_window *w = &u->window;

	return w->len && !w->n_hops && !w->pun.n_fixed ? (uint64_t)w->lead.len + w->len
						       : UBP_WINDOW_MAX;
}

/*
 * A jump on one instruction, which nobody is in the middle of: a thread, or a goroutine, that was interrupted in the run-up comes to
 * the ret, and is seen there; or on @several. Not near the start of the function: other jumps there may need more room.
 */
static void find_run_up(const struct uprobe *u, struct object *object, struct uprobe_exit *e,
			uint8_t len, bool several)
{
	uint64_t foffset = e->foffset - len;
	struct window window;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	e->run_up = 0;
	if (len == 0 || foffset < u->foffset + start_len(u) ||
	    object_window_run_up(object, foffset, several, &window, &ignored) < 0 ||
	    object_read(object, foffset, e->run_up_code, len) != len)
		return;
	e->run_up = len;
	take_window(e, &window);
}

/* A window of one kind becomes the exit's. False: there is none. */
static bool find_window(struct object *object, struct uprobe_exit *e,
			int (*find)(struct object *object, uint64_t foffset,
				    struct window *ret_window, struct ubp_err *err),
			struct window *ret_window)
{
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (find(object, e->foffset, ret_window, &ignored) < 0)
		return false;
	take_window(e, ret_window);
	return true;
}

/* On the ret itself, and on fill behind it: who comes to the ret comes to the jump. */
static bool find_at_ret(struct object *object, struct uprobe_exit *e)
{
	struct window window;

	if (!find_window(object, e, object_window_at_ret, &window))
		return false;
	e->padding = window.jump_len - window.len;
	return true;
}

static void take_hops(struct uprobe_exit *e, const struct window *window)
{
	e->n_hops = window->n_hops;
	memcpy(e->hops, window->hops, sizeof(e->hops));
	e->short_padding = window->jump_len > window->len ? window->jump_len - window->len : 0;
}

/* A short jump on less fill, to more of it near by. */
static void find_short_at_ret(struct object *object, struct uprobe_exit *e)
{
	struct window window;

	if (find_window(object, e, object_window_short_ret, &window))
		take_hops(e, &window);
}

static void find_pun_at_ret(struct object *object, struct uprobe_exit *e)
{
	struct window window;

	if (find_window(object, e, object_window_punned_ret, &window))
		e->padding = window.jump_len - window.len + window.pun.n_fixed;
}

/* It is counted there that the return is not seen. */
static void find_at_jump(struct object *object, struct uprobe_exit *e)
{
	struct window window;

	e->can_jump = find_window(object, e, object_window_at_jump, &window);
	if (e->can_jump)
		take_hops(e, &window);
}

static void find_jump(const struct uprobe *u, struct object *object, struct uprobe_exit *e)
{
	uint8_t one = e->run_up;

	e->jump_due = false;
	e->run_up = 0;
	if (e->is_jump) {
		find_at_jump(object, e);
		return;
	}
	if (find_at_ret(object, e))
		return;
	find_run_up(u, object, e, one, false);
	if (!e->run_up)
		find_run_up(u, object, e, e->several, true);
	if (e->run_up)
		return;
	find_short_at_ret(object, e);
	find_pun_at_ret(object, e);
}

/* May it have no jump, for what stands behind it? */
static bool may_stop(const struct uprobe_exit *e)
{
	return !e->is_jump && !e->run_up && (!e->padding || e->pun.n_fixed);
}

/*
 * Of a function with such a ret: returns are recorded in a copy of it, where that can be. Not where return addresses could be replaced but for this
 * process, or this function.
 */
static void find_leaf(struct uprobe *u, struct object *object)
{
	struct leaf *leaf = NULL;
	struct ubp_err ignored;
	size_t i = 0;

	while (i < u->n_exits && !may_stop(&u->exits[i]))
		i++;
	if (i == u->n_exits || u->at_hit.handler.is_there ||
	    !(u->facts.walks_stacks || u->facts.is_go))
		return;
	ubp_err_reset(&ignored);
	/* Another thread may just be making the probe's successor (uprobe_take_place()). */
	if (object_find_leaf(object, u->foffset, &leaf, &ignored) == 0)
		__atomic_store_n(&u->at_hit.leaf, leaf, __ATOMIC_RELEASE);
}

void exit_jumps_find(struct uprobe *probe)
{
	bool any = false;

	for (size_t i = 0; i < probe->n_exits; i++) {
		if (!probe->exits[i].jump_due)
			continue;
		find_jump(probe, probe->origin->object, &probe->exits[i]);
		any = true;
	}
	if (any && !probe->at_hit.leaf)
		find_leaf(probe, probe->origin->object);
}
