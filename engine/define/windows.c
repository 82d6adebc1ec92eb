/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where the jumps of probes begin. Behind the first instruction, if what that does can be told
 * from the outside: its bytes stay the file's, and a kernel's uprobe may come and go there. Else
 * at it, where such a uprobe would break the jump in two.
 */

#include "engine/define/windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/sort.h"
#include "engine/code/window.h"
#include "engine/define/state.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"

static const char why_asked[] = "its first instruction changes what is asked for";
static const char why_others[] =
	"another probe there asks for what its first instruction changes";
static const char why_ret[] =
	"its return is caught where a jump behind its first instruction would stand";
static const char why_next[] = "another probe stands behind its first instruction";
static const char why_beside[] =
	"it could begin at the first instruction only (--beside-kernel does not want it there)";

static const char why_name[] =
	"only a stop tells the thread's name at the hit ($comm, or comm in the filter)";
static const char why_name_there[] =
	"another probe there asks for the thread's name, which only a stop tells";

/* Whatever it is that only a stop does for one of several probes at a place, the others stop with it. */
static const char why_handler[] = "a handler runs at each hit, while the thread stands still";
static const char why_handler_there[] = "a handler runs at the hits of another probe there";

static const char why_entry[] = "values of the entry are kept where the thread stops, there "
				"and at the return (entry())";
static const char why_entry_there[] =
	"another probe there keeps values of the entry, for which the thread stops";

static void set_window(struct uprobe_window *w, const struct window *window)
{
	unsigned reach = window->jump_len + window->pun.n_fixed;

	w->len = window->len;
	w->padding = (uint8_t)(reach > window->len ? reach - window->len : 0);
	w->pun = window->pun;
	w->n_hops = window->n_hops;
	w->asks_room = window->asks_room;
	memcpy(w->hops, window->hops, sizeof(w->hops));
}

/* Would a breakpoint on a ret be under the jump, and in the way of it? */
static bool has_ret(const struct window *window)
{
	for (size_t i = 1; i < window->n; i++)
		if (window->insns[i].leave == LEAVE_RET)
			return true;
	return false;
}

static int read_behind(const struct object *object, const struct uprobe *u,
		       const struct window *window, struct uprobe_window *w)
{
	uint64_t foffset = u->foffset + w->lead.len;
	ssize_t n = object_read(object, foffset, w->code.bytes, UBP_INSN_MAX);

	if (n < window->insns[0].len)
		return -EIO;
	w->code.len = (uint8_t)n;
	w->insn = window->insns[0];
	return 0;
}

/* Returns why not, and NULL if it can. */
static const char *find_behind(const struct definitions *defs, const struct defined_probe *p,
			       struct uprobe_window *w, struct ubp_err *err)
{
	const struct uprobe *u = p->uprobe;
	struct window window;

	if (object_window_behind(p->object, u->foffset, &w->lead, &window, err) < 0)
		return err->text;
	if (!lead_suits(&w->lead, u->program, u->kind, defs->opt.has_stack))
		return why_asked;
	if (read_behind(p->object, u, &window, w) < 0)
		return "it cannot be read";
	set_window(w, &window);
	w->has_ret = has_ret(&window);
	w->is_behind = true;
	return NULL;
}

/* Of a probe that is no jump: may a breakpoint stand behind the first instruction? */
static void find_lead(const struct definitions *defs, struct object *object, struct uprobe *u)
{
	struct window window;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	u->window.lead_due = false;
	if (object_lead(object, u->foffset, &u->window.lead, &window, &ignored) < 0 ||
	    !lead_suits(&u->window.lead, u->program, u->kind, defs->opt.has_stack) ||
	    read_behind(object, u, &window, &u->window) < 0)
		u->window.lead.len = 0;
}

void windows_find_lead(const struct definitions *defs, struct uprobe *probe)
{
	const struct defined_probe *p = probe->origin;

	find_lead(defs, p->object, probe);
}

/* Its sites stand at the first instruction; or behind it, if those of the kernel's may come. */
static void choose_breakpoint(const struct definitions *defs, struct defined_probe *p)
{
	struct uprobe_window *w = &p->uprobe->window;

	w->lead_due = object_arch(p->object)->lead.find != NULL;
	if (!w->lead_due || !defs->opt.beside_kernel)
		return;
	find_lead(defs, p->object, p->uprobe);
	w->is_behind = w->lead.len != 0;
}

static int keep_text(char **text, const char *why, const char **ret_kept)
{
	free(*text);
	*text = strdup(why);
	*ret_kept = *text;
	return *text ? 0 : -ENOMEM;
}

/* At the first instruction. @no_lead: why not behind it. */
static int find_first(const struct definitions *defs, struct defined_probe *p,
		      const char *no_lead)
{
	struct uprobe_window *w = &p->uprobe->window;
	struct window window;
	struct ubp_err why;

	*w = (struct uprobe_window){ 0 };
	if (keep_text(&p->uprobe->no_lead, no_lead, &w->no_lead) < 0)
		return -ENOMEM;
	ubp_err_reset(&why);
	if (object_window_first(p->object, p->uprobe->foffset, &window, &why) < 0)
		return keep_text(&p->uprobe->no_window, why.text, &w->why);
	w->is_unwanted = defs->opt.beside_kernel;
	if (w->is_unwanted)
		w->why = why_beside;
	else
		set_window(w, &window);
	return 0;
}

int windows_find(struct definitions *defs, struct defined_probe *p)
{
	const struct ubp_arch *arch = object_arch(p->object);
	struct uprobe *u = p->uprobe;
	struct ubp_err err;
	const char *why;

	defs->is_settled = false;
	/* What only the interpreter can tell. */
	why = arch->detour.check ? arch->detour.check(u->program) : NULL;
	if (u->at_hit.entry)
		why = why_entry;
	if (u->at_hit.handler.is_there)
		why = why_handler;
	if (!why && u->at_hit.asks_name && !detour_may_drop(u->program, u->filter, u->kind))
		why = why_name;
	if (!arch->detour.build)
		why = "there are no jumps in programs of this kind";
	if (defs->opt.no_jumps)
		why = "there are no jumps in this session";
	u->window = (struct uprobe_window){ .why = why };
	if (!why) {
		ubp_err_reset(&err);
		why = find_behind(defs, p, &u->window, &err);
		if (why && find_first(defs, p, why) < 0)
			return -ENOMEM;
	}
	/* What a handler changes is to be there when the first instruction runs; and what the entry has is read before it has. */
	if (!u->window.is_behind && !u->at_hit.handler.is_there && !u->at_hit.entry)
		choose_breakpoint(defs, p);
	return 0;
}

/* --- several at one place --------------------------------------------------------------- */

static uint64_t key(const void *probe_ptr, unsigned k)
{
	const struct uprobe *u = ((const struct defined_probe *)probe_ptr)->uprobe;
	const uint64_t keys[] = { u->dev, u->ino, u->foffset };

	return keys[k];
}

static bool is_one_place(const struct defined_probe *a, const struct defined_probe *b)
{
	return a->uprobe->dev == b->uprobe->dev && a->uprobe->ino == b->uprobe->ino &&
	       a->uprobe->foffset == b->uprobe->foffset;
}

/* Does @next stand where the jump of @p would, or what that begins behind? */
static bool is_in_the_way(const struct defined_probe *p, const struct defined_probe *next)
{
	const struct uprobe *u = p->uprobe, *other = next->uprobe;

	return u->dev == other->dev && u->ino == other->ino &&
	       other->foffset - u->foffset <
		       (uint64_t)uprobe_behind(u) + u->window.len + u->window.padding;
}

/* One of them is a breakpoint for @its reason: so are all, and the others have @there as theirs. */
static bool settle_stop(struct defined_probe *const *probes, size_t n, const char *its,
			const char *there)
{
	size_t i = 0;

	while (i < n && probes[i]->uprobe->window.why != its)
		i++;
	if (i == n)
		return false;
	for (i = 0; i < n; i++)
		if (!probes[i]->uprobe->window.why)
			probes[i]->uprobe->window = (struct uprobe_window){ .why = there };
	return true;
}

/*
 * Are returns caught at a ret that is under a jump behind the first instruction, and not under one at it? Short functions have that, as one that gets a
 * value by two loads.
 */
static bool is_on_ret(const struct definitions *defs, struct defined_probe *const *probes,
		      size_t n)
{
	const struct defined_probe *p = probes[0];
	bool at_rets = false, is_under = false;
	struct window window;
	struct ubp_err ignored;

	for (size_t i = 0; i < n; i++) {
		const struct uprobe *u = probes[i]->uprobe;

		at_rets |= u->kind == PROBE_RETURN && (u->facts.walks_stacks || u->facts.is_go);
		is_under |= uprobe_behind(u) && u->window.has_ret;
	}
	ubp_err_reset(&ignored);
	return at_rets && is_under && !defs->opt.beside_kernel &&
	       object_window_first(p->object, p->uprobe->foffset, &window, &ignored) == 0 &&
	       !has_ret(&window);
}

/*
 * @n probes at one place are told in the order of their definition, so they have one site. @next:
 * the one behind them, or NULL.
 */
static int settle_one(const struct definitions *defs, struct defined_probe *const *probes,
		      size_t n, const struct defined_probe *next)
{
	const char *why = why_others;
	size_t n_behind = 0;
	bool blocked = false;

	if (settle_stop(probes, n, why_handler, why_handler_there) ||
	    settle_stop(probes, n, why_entry, why_entry_there) ||
	    settle_stop(probes, n, why_name, why_name_there))
		return 0;
	for (size_t i = 0; i < n; i++) {
		n_behind += uprobe_behind(probes[i]->uprobe) != 0;
		blocked |= next && is_in_the_way(probes[i], next);
	}
	if (blocked)
		why = why_next;
	else if (n_behind && is_on_ret(defs, probes, n))
		why = why_ret;
	else if (n_behind == n)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (uprobe_behind(probes[i]->uprobe) && find_first(defs, probes[i], why) < 0)
			return -ENOMEM;
	return 0;
}

int windows_settle(struct definitions *defs)
{
	struct defined_probe **sorted;
	struct sort_item *items;
	int rc = 0;

	if (defs->is_settled || (defs->opt.no_jumps && !defs->opt.beside_kernel))
		return 0;
	sorted = malloc((defs->n_probes + 1) * sizeof(*sorted));
	items = malloc((defs->n_probes + 1) * sizeof(*items));
	if (!sorted || !items) {
		free(sorted);
		free(items);
		return -ENOMEM;
	}
	for (size_t i = 0; i < defs->n_probes; i++)
		items[i].value = defs->probes[i];
	sort_items_by(items, defs->n_probes, 3, key);
	for (size_t i = 0; i < defs->n_probes; i++)
		sorted[i] = items[i].value;
	free(items);
	for (size_t i = 0, n; i < defs->n_probes && rc == 0; i += n) {
		for (n = 1; i + n < defs->n_probes && is_one_place(sorted[i], sorted[i + n]);)
			n++;
		rc = settle_one(defs, sorted + i, n,
				i + n < defs->n_probes ? sorted[i + n] : NULL);
	}
	free(sorted);
	defs->is_settled = rc == 0;
	return rc;
}
