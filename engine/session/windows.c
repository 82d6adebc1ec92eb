/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where the jumps of probes begin. Behind the first instruction, if what that does can be told
 * from the outside: its bytes stay the file's, and a kernel's uprobe may come and go there. Else
 * at it, where such a uprobe would break the jump in two.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/object/window.h"
#include "engine/session/session.h"

static const char why_asked[] = "its first instruction changes what is asked for";
static const char why_others[] =
	"another probe there asks for what its first instruction changes";
static const char why_next[] = "another probe stands behind its first instruction";
static const char why_beside[] =
	"it could begin at the first instruction only (--beside-kernel does not want it there)";

static void set_window(struct uprobe_window *w, const struct window *window)
{
	w->len = window->len;
	w->padding = window->jump_len > window->len ? window->jump_len - window->len : 0;
}

static int read_behind(const struct session_probe *p, const struct window *window,
		       struct uprobe_window *w)
{
	uint64_t foffset = p->uprobe.foffset + w->lead.len;
	ssize_t n = object_read(p->object, foffset, w->code.bytes, UBP_INSN_MAX);

	if (n < window->insns[0].len)
		return -EIO;
	w->code.len = (uint8_t)n;
	w->insn = window->insns[0];
	return 0;
}

/* Returns why not, and NULL if it can. */
static const char *find_behind(const struct ubp_session *s, const struct session_probe *p,
			       struct uprobe_window *w, struct ubp_err *err)
{
	const struct uprobe *u = &p->uprobe;
	struct window window;

	if (object_window_behind(p->object, u->foffset, &w->lead, &window, err) < 0)
		return err->text;
	if (!lead_suits(&w->lead, u->program, u->is_return, s->opt.stack != UBP_STACK_NONE))
		return why_asked;
	if (read_behind(p, &window, w) < 0)
		return "it cannot be read";
	set_window(w, &window);
	return NULL;
}

static int keep_text(char **text, const char *why, const char **ret_kept)
{
	free(*text);
	*text = strdup(why);
	*ret_kept = *text;
	return *text ? 0 : -ENOMEM;
}

/* At the first instruction. @no_lead: why not behind it. */
static int find_first(const struct ubp_session *s, struct session_probe *p, const char *no_lead)
{
	struct uprobe_window *w = &p->uprobe.window;
	struct window window;
	struct ubp_err why;

	*w = (struct uprobe_window){ 0 };
	if (keep_text(&p->no_lead, no_lead, &w->no_lead) < 0)
		return -ENOMEM;
	ubp_err_reset(&why);
	if (object_window(p->object, p->uprobe.foffset, &window, &why) < 0)
		return keep_text(&p->no_window, why.text, &w->why);
	if (s->opt.beside_kernel)
		w->why = why_beside;
	else
		set_window(w, &window);
	return 0;
}

int windows_find(struct ubp_session *s, struct session_probe *p)
{
	const struct ubp_arch *arch = object_arch(p->object);
	struct uprobe *u = &p->uprobe;
	struct ubp_err err;
	const char *why;

	s->is_settled = false;
	/* What only the interpreter can tell. */
	why = arch->detour_check ? arch->detour_check(u->program) : NULL;
	if (!arch->build_detour)
		why = "there are no jumps in programs of this kind";
	u->window = (struct uprobe_window){ .why = why };
	if (why)
		return 0;
	ubp_err_reset(&err);
	why = find_behind(s, p, &u->window, &err);
	return why ? find_first(s, p, why) : 0;
}

/* --- several at one place --------------------------------------------------------------- */

static int compare(const void *pa, const void *pb)
{
	const struct uprobe *a = &(*(struct session_probe *const *)pa)->uprobe;
	const struct uprobe *b = &(*(struct session_probe *const *)pb)->uprobe;

	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return (a->foffset > b->foffset) - (a->foffset < b->foffset);
}

/* Does @next stand where the jump of @p would, or what that begins behind? */
static bool is_in_the_way(const struct session_probe *p, const struct session_probe *next)
{
	const struct uprobe *u = &p->uprobe, *other = &next->uprobe;

	return u->dev == other->dev && u->ino == other->ino &&
	       other->foffset - u->foffset <
		       (uint64_t)u->window.lead.len + u->window.len + u->window.padding;
}

/*
 * @n probes at one place are told in the order of their definition, so they have one site. @next:
 * the one behind them, or NULL.
 */
static int settle_one(const struct ubp_session *s, struct session_probe *const *probes,
		      size_t n, const struct session_probe *next)
{
	size_t n_behind = 0;
	bool blocked = false;

	for (size_t i = 0; i < n; i++) {
		n_behind += uprobe_behind(&probes[i]->uprobe) != 0;
		blocked |= next && is_in_the_way(probes[i], next);
	}
	if (n_behind == n && !blocked)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (uprobe_behind(&probes[i]->uprobe) &&
		    find_first(s, probes[i], blocked ? why_next : why_others) < 0)
			return -ENOMEM;
	return 0;
}

int windows_settle(struct ubp_session *s)
{
	struct session_probe **sorted;
	int rc = 0;

	if (s->is_settled || !s->rings)
		return 0;
	sorted = malloc((s->n_probes + 1) * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, s->probes, s->n_probes * sizeof(*sorted));
	qsort(sorted, s->n_probes, sizeof(*sorted), compare);
	for (size_t i = 0, n; i < s->n_probes && rc == 0; i += n) {
		for (n = 1; i + n < s->n_probes && !compare(&sorted[i], &sorted[i + n]);)
			n++;
		rc = settle_one(s, sorted + i, n, i + n < s->n_probes ? sorted[i + n] : NULL);
	}
	free(sorted);
	s->is_settled = rc == 0;
	return rc;
}
