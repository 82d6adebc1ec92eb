/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Breakpoints are written: the last step of plant_update(). */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/plant/page_edit.h"
#include "engine/plant/semaphore.h"
#include "engine/plant/site.h"
#include "engine/plant/update.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* From so many on it pays to write breakpoints by the page; to hold other threads for that. */
#define MANY_SITES        64
#define MANY_SITES_BESIDE 1024
#define HOLD_MS           20

static bool wants_breakpoint(const struct site *site)
{
	return !site->is_spared && !site->rests &&
	       (!site->planted || (site->is_patched && site_is_probed(site)));
}

/* Many breakpoints of a page are one write. What does not come to stand is written by itself afterwards. */
static void write_pages(struct update *u)
{
	const struct ubp_arch *arch = u->space->arch;
	struct page_edit *edit = malloc(sizeof(*edit));

	if (!edit)
		return;
	page_edit_begin(edit, &u->space->mem);
	for (size_t i = 0; i < u->n_added; i++) {
		struct site *site = u->added[i].site;
		size_t n = arch->swbp.len;
		uint8_t *bytes;

		added_fetch_ahead(u->added, u->n_added, i);
		if (site->planted || !wants_breakpoint(site) || site->patch_len)
			continue;
		bytes = page_edit_at(edit, site->vaddr, n);
		if (!bytes || memcmp(bytes, site->insn.bytes, n) != 0)
			continue;
		memcpy(bytes, arch->swbp.code, n);
		page_edit_changed(edit);
		site->planted = true;
		u->added[i].is_written = true;
	}
	page_edit_end(edit);
	free(edit);
}

static int write_one_by_one(struct update *u, struct ubp_err *err)
{
	struct space *space = u->space;
	struct mem_view view = { .mem = &space->mem };
	struct site **sites = calloc(u->n_added + 1, sizeof(struct site *));
	struct ubp_err ignored;
	size_t n = 0;
	int rc;

	if (!sites)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < u->n_added; i++) {
		struct site *site = u->added[i].site;

		added_fetch_ahead(u->added, u->n_added, i);
		if (u->added[i].is_written ? site_read_back(space, &view, site, &ignored) == 0
					   : !wants_breakpoint(site))
			continue;
		u->added[i].is_written = true;
		sites[n++] = site;
	}
	rc = site_plant_all(space, u->tid, sites, n, err);
	view.len = view.ahead = 0; /* what was read is of before */
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = site_read_back(space, &view, sites[i], err);
	free(sites);
	return rc;
}

/* Threads of the process that stop while we wait for another may call plant_update(), too:
 * its library was closed then, and the site buried. */
bool update_is_buried(const struct update *u, const struct site *site)
{
	const struct plant_space *ps = u->space->plant;

	return map_get(&ps->sites, site->vaddr) != site;
}

static int check_buried(const struct update *u, struct ubp_err *err)
{
	const struct plant_space *ps = u->space->plant;

	if (ps->n_buried == u->n_buried)
		return 0;
	for (size_t i = 0; i < u->n_added; i++)
		if (update_is_buried(u, u->added[i].site))
			return ubp_fail(err, EAGAIN, "process %d closes libraries too often",
					(int)u->held.t->process->pid);
	return 0;
}

/*
 * By the page, while nobody else runs there: the held thread may be the only one that could. Others are held
 * for thousands: that takes a millisecond, where a call for each would have the held thread stand still for tens.
 */
static int write_many(struct update *u, struct ubp_err *err)
{
	bool is_alone = u->held.t->process->n_tracees == 1, lasts, is_quiet;
	struct hold_scope scope;
	int rc;

	if (space_is_shared(u->space) ||
	    u->n_added < (is_alone ? MANY_SITES : MANY_SITES_BESIDE))
		return check_buried(u, err);
	if (is_alone) {
		rc = check_buried(u, err);
		if (rc == 0)
			write_pages(u);
		return rc;
	}
	hold_scope_begin(&scope, &u->held);
	is_quiet = hold_running(u->held.tracer, u->space, HOLD_MS);
	lasts = hold_scope_lasts(&scope);
	rc = lasts ? check_buried(u, err)
		   : ubp_fail(err, ESRCH, "thread %d has ended", (int)u->tid);
	if (rc == 0 && is_quiet)
		write_pages(u);
	hold_end(u->held.tracer, u->space, &u->held);
	hold_scope_end(&scope);
	return rc;
}

int update_write(struct update *u, struct ubp_err *err)
{
	struct space *space = u->space;
	int rc = write_many(u, err);

	if (rc == 0)
		rc = write_one_by_one(u, err);
	/* Those of all pieces together. */
	if (rc < 0 || u->part == UPDATE_PIECE)
		return rc;
	rc = semaphore_update(u->plant, space, u->tid, &u->maps);
	return rc == 0 ? 0
		       : ubp_fail(err, -rc,
				  "cannot increment a reference counter in process %d: %s",
				  (int)u->held.t->process->pid, strerror(-rc));
}
