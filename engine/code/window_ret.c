/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Windows where returns are caught: at ret instructions, in front of them, and behind them. */

#include "engine/code/window.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/go_window.h"
#include "engine/code/puns.h"
#include "engine/code/window_priv.h"
#include "engine/elf/object_priv.h"

/* All of a jump but its last byte. */
static int look_run_up(struct window_site *s, uint64_t foffset)
{
	uint8_t code[UBP_WINDOW_MAX];
	size_t len = 0, own = 0;
	int rc = window_read_start(s, foffset, code, &len, &own);

	if (rc == 0)
		rc = s->arch->jump.find_punned(code, own, UBP_HOP_LEN - 1, s->vaddr, s->window,
					       s->err);
	if (rc == 0 && s->window->n > 1)
		return window_refuse(s, WINDOW_SHORT, "its first instruction is too short");
	if (rc == 0)
		rc = window_check_go(s);
	if (rc == 0)
		rc = window_check_landings(s);
	/* Behind that byte a breakpoint may stand. */
	if (rc == 0 && (!puns_choose(s->object, s->vaddr, foffset, code, len, s->window) ||
			s->window->pun.n_fixed != 1))
		return window_refuse(
			s, WINDOW_FILL,
			"what stands there lets a part of a jump lead to no free memory");
	return rc;
}

int object_window_run_up(struct object *object, uint64_t foffset, bool several,
			 struct window *ret_window, struct ubp_err *err)
{
	struct window_site s = { .object = object,
				 .arch = object->arch,
				 .is_run_up = true,
				 .window = ret_window,
				 .err = err };
	int rc = window_look(&s, foffset, NULL);

	if (several || (rc == 0 && ret_window->n == 1) || (rc < 0 && rc != -EOPNOTSUPP) ||
	    !object->arch || !object->arch->jump.find_punned)
		return rc == 0 && ret_window->n > 1 && !several ? -EOPNOTSUPP : rc;
	memset(ret_window, 0, sizeof(*ret_window));
	ubp_err_reset(err);
	return look_run_up(&s, foffset);
}

static int check_ret(const struct object *object, const struct window *window,
		     struct ubp_err *err)
{
	const struct displaced_insn *ret = &window->insns[0];

	if (window->n > 1 || ret->leave != LEAVE_RET ||
	    ret->ret_pops != object->arch->addr_size)
		return ubp_fail(err, EOPNOTSUPP, "it is no plain ret instruction");
	return 0;
}

/* What @find finds at a ret: flags are nobody's there. */
static int find_at_ret(struct object *object, uint64_t foffset,
		       int (*find)(struct window_site *s, uint64_t foffset),
		       struct window *ret_window, struct ubp_err *err)
{
	struct window_site s = { .object = object,
				 .arch = object->arch,
				 .is_run_up = true,
				 .window = ret_window,
				 .err = err };
	int rc;

	if (!object->arch || !object->arch->jump.runs_anywhere)
		return ubp_fail(err, EOPNOTSUPP, "no detours at ret instructions");
	rc = find(&s, foffset);
	return rc == 0 ? check_ret(object, ret_window, err) : rc;
}

static int look_at_start(struct window_site *s, uint64_t foffset)
{
	return window_look(s, foffset, NULL);
}

int object_window_at_ret(struct object *object, uint64_t foffset, struct window *ret_window,
			 struct ubp_err *err)
{
	return find_at_ret(object, foffset, look_at_start, ret_window, err);
}

int object_window_punned_ret(struct object *object, uint64_t foffset, struct window *ret_window,
			     struct ubp_err *err)
{
	return find_at_ret(object, foffset, window_look_punned, ret_window, err);
}

int object_window_at_jump(struct object *object, uint64_t foffset, struct window *ret_window,
			  struct ubp_err *err)
{
	struct window_site s = { .object = object,
				 .arch = object->arch,
				 .is_run_up = true,
				 .window = ret_window,
				 .err = err };
	int rc;

	if (!object->arch || !object->arch->jump.runs_anywhere)
		return ubp_fail(err, EOPNOTSUPP, "no detours where functions are left");
	rc = window_look(&s, foffset, NULL);
	if (rc == 0 && (ret_window->n > 1 || ret_window->insns[0].leave != LEAVE_JUMP ||
			!object->arch->jump.ends_flow(&ret_window->insns[0])))
		return ubp_fail(err, EOPNOTSUPP, "it is no plain jump");
	if (rc == 0 && ret_window->asks_room &&
	    go_may_ask_flags(object, ret_window->insns[0].target))
		return window_refuse(&s, WINDOW_GO, "what it jumps to may ask for the flags");
	return rc;
}

/* As much of a jump as has room, and is no whole one: what it leads to is not its question. */
static int look_ret_part(struct window_site *s, uint64_t foffset)
{
	uint8_t code[UBP_WINDOW_MAX];
	size_t len = 0, own = 0;
	int rc = window_read_start(s, foffset, code, &len, &own);

	for (uint8_t n = UBP_PUN_FIXED - 1; n > 0 && rc == 0; n--) {
		ubp_err_reset(s->err);
		rc = s->arch->jump.find_punned(code, own, n, s->vaddr, s->window, s->err);
		if (rc == 0)
			rc = window_check_go(s);
		if (rc == 0)
			rc = window_check_landings(s);
		if (rc == 0)
			return 0;
		if (rc == -EOPNOTSUPP && n > 1)
			rc = 0;
	}
	return rc;
}

int object_window_ret_part(struct object *object, uint64_t foffset, struct window *ret_window,
			   struct ubp_err *err)
{
	memset(ret_window, 0, sizeof(*ret_window));
	if (!object->arch || !object->arch->jump.pair)
		return ubp_fail(err, EOPNOTSUPP, "no pairs of jumps for this instruction set");
	return find_at_ret(object, foffset, look_ret_part, ret_window, err);
}

/* Nothing is recorded there, so no detour needs room on the stack. */
static int look_moved(struct window_site *s, uint64_t foffset)
{
	uint8_t code[UBP_WINDOW_MAX];
	size_t len = 0, own = 0;
	const char *why = NULL;
	int rc = window_read_start(s, foffset, code, &len, &own);

	if (rc == 0)
		rc = s->arch->jump.find_punned(code, own, UBP_HOP_LEN, s->vaddr, s->window,
					       s->err);
	/* The function ends with it: the jump's end is in the fill behind. */
	if (rc == -EOPNOTSUPP && own > 0 && own < UBP_HOP_LEN) {
		ubp_err_reset(s->err);
		rc = window_find(s);
	}
	if (rc == 0 && s->object->is_go)
		why = go_why_not_moved(s->object, s->vaddr, s->window);
	if (why)
		return window_refuse(s, WINDOW_GO, why);
	return rc == 0 ? window_check_landings(s) : rc;
}

int object_window_moved(struct object *object, uint64_t foffset, struct window *ret_window,
			struct ubp_err *err)
{
	struct window_site s = {
		.object = object, .arch = object->arch, .window = ret_window, .err = err
	};

	memset(ret_window, 0, sizeof(*ret_window));
	if (!s.arch || !s.arch->jump.pair)
		return window_refuse(&s, WINDOW_INSN,
				     "no pairs of jumps for this instruction set");
	return look_moved(&s, foffset);
}
