/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A site's bytes in the target: written, read back, put back. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/plant/bell.h"
#include "engine/plant/site.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/undo.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

#define TRIES_MAX 4 /* to put one back */

/*
 * Other threads may be about to run these bytes. What does not come whole: a breakpoint
 * first (its trap goes to the slot, as the jump does), then what is behind its byte,
 * then that byte.
 */
static void write_over(const struct ubp_arch *arch, struct mem_writes *writes,
		       const struct site *site, const uint8_t *bytes, size_t len)
{
	size_t n = arch->swbp.len;

	/* No kill of ours comes in between, to leave a breakpoint where children of
	 * posix_spawn() come by. */
	if (mem_is_whole(writes->mem, site->vaddr, len)) {
		mem_writes_add(writes, site->vaddr, bytes, len);
		return;
	}
	mem_writes_add(writes, site->vaddr, arch->swbp.code, n);
	mem_writes_add(writes, site->vaddr + n, bytes + n, len - n);
	mem_writes_add(writes, site->vaddr, bytes, n);
}

int site_plant_all(const struct space *space, pid_t tid, struct site *const *sites, size_t n,
		   struct ubp_err *err)
{
	struct mem_writes writes = { .mem = &space->mem, .tid = tid };
	const struct ubp_arch *arch = space->arch;
	int rc;

	for (size_t i = 0; i < n; i++) {
		struct site *site = sites[i];
		bool patch = site->patch_len && !site_is_probed(site);

		/* Whatever comes of it, it is to be taken out. */
		site->planted = true;
		site->is_patched |= patch;
		if (patch)
			write_over(arch, &writes, site, site->patch, site->patch_len);
		else
			mem_writes_add(&writes, site->vaddr, arch->swbp.code, arch->swbp.len);
	}
	rc = mem_writes_end(&writes);
	return rc == 0 ? 0
		       : ubp_fail(err, -rc, "cannot write to code at 0x%lx: %s",
				  (unsigned long)writes.at, strerror(-rc));
}

int site_plant(const struct space *space, pid_t tid, struct site *site, struct ubp_err *err)
{
	return site_plant_all(space, tid, &site, 1, err);
}

int site_read_back(const struct space *space, struct mem_view *view, const struct site *site,
		   struct ubp_err *err)
{
	const struct ubp_arch *arch = space->arch;
	bool patch = site->patch_len && !site_is_probed(site);
	const uint8_t *bytes = patch ? site->patch : arch->swbp.code;
	size_t n = patch ? site->patch_len : arch->swbp.len;
	uint8_t back[UBP_INSN_MAX];

	if (mem_view_peek(view, site->vaddr, back, n) == n && memcmp(back, bytes, n) == 0)
		return 0;
	return ubp_fail(err, EIO, "the breakpoint at 0x%lx cannot be read back",
			(unsigned long)site->vaddr);
}

bool site_is_at_once(const struct space *space, const struct site *site)
{
	return mem_is_whole(&space->mem, site->vaddr, site->patch_len);
}

/* --- put back ----------------------------------------------------------------------------- */

/* What of ours may stand at a site, and what stood there. */
struct patch {
	const uint8_t *ours, *orig;
	size_t len;
	bool is_jump; /* to a detour: threads may meet it while it is taken out */
};

static struct patch patch_of(const struct ubp_arch *arch, const struct site *site)
{
	const struct site_jump *jump = site->jump;

	if (jump && jump->is_begun)
		return (struct patch){ jump->bytes, jump->orig, jump->jump_len, true };
	if (site->is_patched)
		return (struct patch){ site->patch, site->insn.bytes, site->patch_len, false };
	return (struct patch){ arch->swbp.code, site->insn.bytes, arch->swbp.len, false };
}

bool site_is_ours(const struct ubp_arch *arch, const uint8_t *ours, const uint8_t *orig,
		  size_t len, const uint8_t *now)
{
	bool differs = false;

	for (size_t i = 0; i < len; i++) {
		if (now[i] == orig[i])
			continue;
		if (now[i] != ours[i] && (i >= arch->swbp.len || now[i] != arch->swbp.code[i]))
			return false;
		differs = true;
	}
	return differs;
}

/*
 * A breakpoint first, whose slot leads to the copy of all that the jump stands on; what is behind
 * it; what it stands on.
 */
static void put_back_jump(const struct ubp_arch *arch, struct mem_writes *writes,
			  const struct site *site, const struct patch *p)
{
	size_t n = arch->swbp.len;

	mem_writes_add(writes, site->vaddr, arch->swbp.code, n);
	if (p->len > n)
		mem_writes_add(writes, site->vaddr + n, p->orig + n, p->len - n);
	mem_writes_add(writes, site->vaddr, p->orig, n);
}

static int put_back(const struct space *space, pid_t tid, const struct site *site,
		    const struct patch *p)
{
	struct mem_writes writes = { .mem = &space->mem, .tid = tid };

	if (p->is_jump && !bell_is_call(site))
		put_back_jump(space->arch, &writes, site, p);
	else if (!p->is_jump && p->len > space->arch->swbp.len)
		write_over(space->arch, &writes, site, p->orig, p->len);
	else
		mem_writes_add(&writes, site->vaddr, p->orig, p->len);
	return mem_writes_end(&writes);
}

int site_unplant(const struct space *space, pid_t tid, const struct site *site)
{
	struct patch p = patch_of(space->arch, site);
	uint8_t now[UBP_INSN_MAX];
	int rc = -EIO;

	/* A copy of the memory may have one that rests here by now. */
	if (!site->planted && !site->rests)
		return 0;
	for (int i = 0; i < TRIES_MAX; i++) {
		if (mem_peek(&space->mem, site->vaddr, now, p.len) != p.len)
			return -EFAULT;
		if (!site_is_ours(space->arch, p.ours, p.orig, p.len, now))
			return 0;
		rc = put_back(space, tid, site, &p);
	}
	return rc < 0 ? rc : -EIO;
}

/*
 * Breakpoints all together, or jumps to the guard, which nobody changes but us: pages of them are read, and many
 * written by one request where a request is dear. What that leaves is seen afterwards.
 */
static void put_back_many(const struct space *space, pid_t tid, struct site *const *sites,
			  size_t n, bool patched)
{
	const struct ubp_arch *arch = space->arch;
	struct mem_view view = { .mem = &space->mem };
	struct mem_writes *writes = calloc(1, sizeof(*writes));
	uint8_t now[UBP_INSN_MAX];

	if (!writes)
		return;
	writes->mem = &space->mem;
	writes->tid = tid;
	writes->goes_on = true;
	for (size_t i = 0; i < n; i++) {
		struct patch p = patch_of(arch, sites[i]);

		if ((!sites[i]->planted && !sites[i]->rests) ||
		    sites[i]->is_patched != patched || p.is_jump ||
		    mem_view_peek(&view, sites[i]->vaddr, now, p.len) != p.len ||
		    !site_is_ours(arch, p.ours, p.orig, p.len, now))
			continue;
		/* Where one write of several fails the next ones are not to come. */
		if (mem_is_whole(&space->mem, sites[i]->vaddr, p.len))
			mem_writes_add(writes, sites[i]->vaddr, p.orig, p.len);
		else
			(void)put_back(space, tid, sites[i], &p);
	}
	(void)mem_writes_end(writes);
	free(writes);
}

bool site_is_out(const struct space *space, struct mem_view *view, const struct site *site)
{
	struct patch p = patch_of(space->arch, site);
	uint8_t now[UBP_INSN_MAX];

	return mem_view_peek(view, site->vaddr, now, p.len) == p.len &&
	       !site_is_ours(space->arch, p.ours, p.orig, p.len, now);
}

/* 0 if it is out, or gone. A library may be closed before we come to it, and open again, without it, when we ask whether it is. */
static int unplant_or_gone(struct undo *undo, pid_t tid, const struct site *site)
{
	int rc = site_unplant(undo->space, tid, site);

	for (int i = 0; rc < 0; i++) {
		if (undo_is_gone(undo, site->vaddr, site->dev, site->ino))
			return 0;
		if (rc != -EFAULT || i == TRIES_MAX)
			break;
		undo_end(undo);
		rc = site_unplant(undo->space, tid, site);
	}
	return rc;
}

void site_unplant_all(const struct plant_space *owner, struct undo *undo, pid_t tid,
		      bool patched)
{
	struct mem_view view = { .mem = &undo->space->mem };
	struct site **sites;
	size_t pos = 0, n;
	void *value;

	/* Without memory for that they are taken out in any order, one by one. */
	sites = plant_sites_by_place(owner, &n);
	if (sites)
		put_back_many(undo->space, tid, sites, n, patched);
	for (size_t i = 0; sites ? i < n : map_next(&owner->sites, &pos, NULL, &value); i++) {
		const struct site *site = sites ? sites[i] : value;
		int rc;

		if (site->is_patched != patched || site_is_out(undo->space, &view, site))
			continue;
		rc = unplant_or_gone(undo, tid, site);
		if (rc < 0)
			plant_left_live(undo->left,
					site->jump && site->jump->is_begun ? "a jump"
					: site->is_patched ? "a jump to its guard"
							   : "a breakpoint",
					site->vaddr, rc);
	}
	free(sites);
}
