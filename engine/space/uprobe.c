/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/space/uprobe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "arch/leaf.h"
#include "engine/spec/filter.h"

struct uprobe *uprobe_new(void)
{
	struct uprobe *probe = calloc(1, sizeof(*probe));

	if (probe)
		probe->refs = 1;
	return probe;
}

struct uprobe *uprobe_get(struct uprobe *probe)
{
	__atomic_fetch_add(&probe->refs, 1, __ATOMIC_RELAXED);
	return probe;
}

void uprobe_put(struct uprobe *probe)
{
	if (!probe || __atomic_sub_fetch(&probe->refs, 1, __ATOMIC_ACQ_REL))
		return;
	uprobe_put(probe->life.successor);
	free(probe->program);
	filter_free(probe->filter);
	free(probe->at_hit.entry);
	free(probe->at_hit.tally);
	free(probe->at_hit.sample);
	free(probe->at_hit.leaf);
	free(probe->exits);
	free(probe->no_exits);
	free(probe->what);
	free(probe->no_window);
	free(probe->no_lead);
	free(probe);
}

static int copy_text(char **to, const char *from)
{
	free(*to);
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

static int copy_exits(struct uprobe *to, const struct uprobe *from)
{
	const struct leaf *leaf = __atomic_load_n(&from->at_hit.leaf, __ATOMIC_ACQUIRE);

	if (!from->exits)
		return 0;
	to->exits = calloc(from->n_exits + 1, sizeof(*to->exits));
	if (!to->exits)
		return -ENOMEM;
	if (from->n_exits)
		memcpy(to->exits, from->exits, from->n_exits * sizeof(*to->exits));
	to->n_exits = from->n_exits;
	if (leaf)
		to->at_hit.leaf = leaf_copy_of(leaf);
	return leaf && !to->at_hit.leaf ? -ENOMEM : 0;
}

static int copy_texts(struct uprobe *to, const struct uprobe *from)
{
	int rc = copy_text(&to->what, from->what);

	if (rc == 0)
		rc = copy_text(&to->no_exits, from->no_exits);
	if (rc == 0)
		rc = copy_text(&to->no_window, from->no_window);
	return rc == 0 ? copy_text(&to->no_lead, from->no_lead) : rc;
}

/* Where another filter wants what only a stop tells, there is no jump; all else of the window stays. */
static void take_window(struct uprobe *probe, const struct uprobe *old)
{
	struct uprobe_window *w = &probe->window;

	*w = old->window;
	if (w->why && w->why == old->no_window)
		w->why = probe->no_window;
	if (w->no_lead && w->no_lead == old->no_lead)
		w->no_lead = probe->no_lead;
	if (!w->len || !probe->at_hit.asks_name ||
	    detour_may_drop(probe->program, probe->filter, probe->kind))
		return;
	w->len = w->padding = 0;
	w->why =
		"only a stop tells the thread's name at the hit ($comm, or comm in the filter)";
}

int uprobe_take_place(struct uprobe *probe, const struct uprobe *old)
{
	if (copy_texts(probe, old) < 0 || copy_exits(probe, old) < 0)
		return -ENOMEM;
	probe->life.since = old->life.since;
	probe->kind = old->kind;
	probe->dev = old->dev;
	probe->ino = old->ino;
	probe->stat_dev = old->stat_dev;
	probe->stat_ino = old->stat_ino;
	probe->arch = old->arch;
	probe->foffset = old->foffset;
	probe->ref = old->ref;
	probe->ref_in_bss = old->ref_in_bss;
	probe->code = old->code;
	probe->insn = old->insn;
	probe->facts = old->facts;
	probe->exits_due = old->exits_due;
	probe->jumps_out = old->jumps_out;
	probe->origin = old->origin;
	probe->at_hit.handler = old->at_hit.handler;
	take_window(probe, old);
	return 0;
}

bool uprobe_is_shared(const struct uprobe *probe)
{
	return __atomic_load_n(&probe->refs, __ATOMIC_ACQUIRE) > 1;
}
