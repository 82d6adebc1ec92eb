/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/returns/kernel.h"

#include <string.h>

#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/os/maps.h"
#include "engine/space/return_part.h"
#include "engine/space/space.h"
#include "engine/space/state.h"

/* It is mapped when the first uprobe is hit there, and stays where it is. */
static bool is_its_page(pid_t pid, uint64_t vaddr)
{
	const struct mapping *m;
	struct maps maps = { 0 };
	struct ubp_err ignored;
	bool is_its = false;

	ubp_err_reset(&ignored);
	if (maps_read(pid, &maps, &ignored) == 0) {
		m = maps_at(&maps, vaddr);
		is_its = m && strcmp(m->path, "[uprobes]") == 0;
	}
	maps_free(&maps);
	return is_its;
}

bool kernel_returns_by(struct plant_space *ps, pid_t pid, uint64_t word)
{
	if (!word || word & UBP_KERNEL_RETURN_MASK)
		return false;
	if (ps->ret->kernel_return)
		return word == ps->ret->kernel_return;
	/* A page that begins behind a call of the program's own. */
	if (map_get(&ps->ret->pages, word))
		return false;
	if (is_its_page(pid, word))
		ps->ret->kernel_return = word;
	else
		(void)map_put(&ps->ret->pages, word, ps);
	return ps->ret->kernel_return == word;
}

bool kernel_may_be_misled(const struct plant *plant, const struct site *site)
{
	for (size_t i = 0; i < site->n_probes; i++) {
		struct uprobe *probe = site->probes[i];

		if (probe->kind != PROBE_RETURN)
			continue;
		if (probe->exits_due)
			plant->opt.find_exits(probe);
		if (probe->jumps_out)
			return true;
	}
	return false;
}
