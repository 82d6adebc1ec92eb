/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where returns are caught at the exits of a function: which jumps can stand there, or in front of them. */

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/window.h"
#include "engine/define/check.h"
#include "engine/define/state.h"
#include "engine/elf/object.h"
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

/* On the ret itself, and on fill behind it: who comes to the ret comes to the jump. */
static bool find_at_ret(struct object *object, struct uprobe_exit *e)
{
	struct window window;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (object_window_at_ret(object, e->foffset, &window, &ignored) < 0)
		return false;
	take_window(e, &window);
	e->padding = window.jump_len - window.len;
	return true;
}

/* The same of a punned jump, on less fill. */
static void find_pun_at_ret(struct object *object, struct uprobe_exit *e)
{
	struct window window;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (object_window_punned_ret(object, e->foffset, &window, &ignored) < 0)
		return;
	take_window(e, &window);
	e->padding = window.jump_len - window.len + window.pun.n_fixed;
}

/* Is another exit, or a part of the run-up to one, in [@from, @to)? */
static bool has_exit_in(const struct uprobe *u, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < u->n_exits; i++)
		if (u->exits[i].foffset - u->exits[i].run_up < to &&
		    u->exits[i].foffset >= from)
			return true;
	return false;
}

/*
 * Of a pair of jumps, where somebody leads to right behind the ret, or behind fill that leaves a punned jump few places. All other exits have been
 * looked at.
 */
static void find_pair(const struct uprobe *u, struct object *object, struct uprobe_exit *e)
{
	struct window ret, window;
	struct ubp_err ignored;
	uint64_t from;

	ubp_err_reset(&ignored);
	if (e->is_jump || e->run_up || (e->padding && e->pun.n_fixed < UBP_PUN_FIXED - 1) ||
	    object_window_ret_part(object, e->foffset, &ret, &ignored) < 0)
		return;
	from = e->foffset + ret.jump_len;
	if (object_window_moved(object, from, &window, &ignored) < 0 ||
	    has_exit_in(u, from, from + (window.len > UBP_HOP_LEN ? window.len : UBP_HOP_LEN)) ||
	    object_read(object, from, e->run_up_code, window.len) != window.len)
		return;
	take_window(e, &ret);
	e->behind = ret.jump_len;
	e->behind_len = window.len;
	e->pun = (struct pun){ .n_fixed = UBP_HOP_LEN - ret.jump_len };
	e->padding = UBP_HOP_LEN - 1;
}

/* It is counted there that the return is not seen. */
static void find_at_jump(struct object *object, struct uprobe_exit *e)
{
	struct window window;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	e->can_jump = object_window_at_jump(object, e->foffset, &window, &ignored) == 0;
	if (e->can_jump)
		take_window(e, &window);
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
	if (!e->run_up)
		find_pun_at_ret(object, e);
}

void check_find_exit_jumps(struct uprobe *probe)
{
	bool are_due = probe->n_exits && probe->exits[0].jump_due;

	for (size_t i = 0; i < probe->n_exits; i++)
		if (probe->exits[i].jump_due)
			find_jump(probe, probe->origin->object, &probe->exits[i]);
	for (size_t i = 0; i < probe->n_exits && are_due; i++)
		find_pair(probe, probe->origin->object, &probe->exits[i]);
}
