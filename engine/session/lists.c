/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What there is in files that can be probed, for the public interface (ubp_files.h): lists, and how much of it a jump can stand at. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/code/coverage.h"
#include "engine/define/list.h"
#include "engine/define/target.h"
#include "engine/elf/notes.h"
#include "engine/elf/object.h"
#include "engine/files/ldcache.h"
#include "engine/files/locate.h"
#include "engine/session/inside.h"
#include "engine/ubp_files.h"

static struct define_target inner(const struct ubp_target *target)
{
	return (struct define_target){ .name = target->name,
				       .pid = target->pid,
				       .debug = { target->debug.dirs, target->debug.symbols },
				       .pattern = target->pattern,
				       .exclude = target->exclude,
				       .explain = target->explain };
}

/* What a listing cannot do without; @text: what it is about, of those that take a text. */
static int check(const struct ubp_target *target, const char *text, bool has_function,
		 struct ubp_err *err)
{
	int rc = ubp_need(target, "target", err);

	if (rc == 0)
		rc = ubp_need(text, "place", err);
	return rc < 0 || has_function ? rc : ubp_need(NULL, "function", err);
}

/* How places can be probed is told where it could be done. */
static int begin(const struct ubp_target *target, bool has_function, struct ubp_err *err)
{
	int rc = check(target, "", has_function, err);

	if (rc < 0)
		return rc;
	ubp_err_reset(err);
	return target->explain ? session_check_pages(err) : 0;
}

int ubp_list_functions(const struct ubp_target *target,
		       int (*each)(void *ctx, const char *name, uint64_t offset,
				   const char *explain),
		       void *ctx, struct ubp_err *err)
{
	struct define_target of;
	int rc = begin(target, each, err);

	if (rc < 0)
		return rc;
	of = inner(target);
	return define_list_functions(&of, each, ctx, err);
}

int ubp_list_lines(const struct ubp_target *target, const char *function,
		   int (*each)(void *ctx, const char *line), void *ctx, struct ubp_err *err)
{
	struct define_target of;

	if (check(target, function, each, err) < 0)
		return -EINVAL;
	of = inner(target);
	return define_list_lines(&of, function, each, ctx, err);
}

int ubp_list_variables(const struct ubp_target *target, const char *place,
		       int (*each)(void *ctx, const char *line), void *ctx, struct ubp_err *err)
{
	struct define_target of;

	if (check(target, place, each, err) < 0)
		return -EINVAL;
	of = inner(target);
	return define_list_variables(&of, place, each, ctx, err);
}

int ubp_list_libraries(int (*each)(void *ctx, const char *name, const char *path), void *ctx,
		       struct ubp_err *err)
{
	struct ldcache cache;
	int rc;

	ubp_err_reset(err);
	if (!each)
		return ubp_need(NULL, "function", err);
	rc = ldcache_read(LDCACHE_PATH, &cache);
	if (rc < 0)
		return ubp_fail(err, -rc, "%s: %s", LDCACHE_PATH, strerror(-rc));
	for (size_t i = 0; i < cache.n && rc == 0; i++)
		rc = each(ctx, cache.entries[i].name, cache.entries[i].path);
	ldcache_free(&cache);
	return rc;
}

/* --- static probes ----------------------------------------------------------------- */

struct usdt_caller {
	int (*each)(void *ctx, const struct ubp_usdt *usdt);
	void *ctx;
};

static int hand_out(void *ctx, const struct listed_usdt *usdt)
{
	const struct usdt_caller *caller = ctx;
	const struct ubp_usdt out = {
		.path = usdt->path,
		.provider = usdt->note->provider,
		.name = usdt->note->name,
		.args = usdt->note->args,
		.location = usdt->note->elf_vaddr,
		.semaphore = usdt->note->semaphore,
		.base = usdt->note->base,
		.offset = usdt->foffset,
		.n_args = usdt->n_args,
		.explain = usdt->how,
		.inside = usdt->object,
	};

	return caller->each(caller->ctx, &out);
}

int ubp_list_usdt(const struct ubp_target *target,
		  int (*each)(void *ctx, const struct ubp_usdt *usdt), void *ctx,
		  struct ubp_err *err)
{
	struct usdt_caller caller = { each, ctx };
	struct define_target of;
	int rc = begin(target, each, err);

	if (rc < 0)
		return rc;
	of = inner(target);
	return define_list_usdt(&of, hand_out, &caller, err);
}

bool ubp_usdt_arg(const struct ubp_usdt *usdt, size_t i, char *text, size_t size)
{
	const struct object_note note = {
		.elf_vaddr = usdt->location,
		.provider = usdt->provider,
		.name = usdt->name,
		.args = usdt->args,
	};

	return define_usdt_arg(usdt->inside, &note, i, text, size);
}

/* --- coverage ---------------------------------------------------------------------- */

#define N_WHY (sizeof((struct ubp_coverage_counts){ 0 }.why) / sizeof(uint64_t))

_Static_assert(WINDOW_N <= N_WHY, "room for all reasons");

static void copy_counts(struct ubp_coverage_counts *ret, const struct coverage_counts *counts)
{
	ret->n = counts->n;
	ret->one = counts->one;
	ret->several = counts->several;
	ret->by_short = counts->hops;
	ret->by_punned = counts->puns;
	ret->beside = counts->beside;
	ret->beside_args = counts->beside_args;
	ret->breakpoint = counts->breakpoint;
	ret->refused = counts->refused;
	memcpy(ret->why, counts->why, sizeof(counts->why));
}

int ubp_coverage(const char *target, bool insns, struct ubp_coverage *ret_coverage,
		 struct ubp_err *err)
{
	char *path = NULL, *open_path = NULL;
	struct object *object = NULL;
	struct object_coverage found;
	int rc;

	ubp_err_reset(err);
	memset(ret_coverage, 0, sizeof(*ret_coverage));
	if (ubp_need(target, "target", err) < 0)
		return -EINVAL;
	rc = object_locate(target, 0, &path, &open_path, err);
	if (rc == 0)
		rc = object_open(open_path, &object, err);
	if (rc == 0)
		rc = object_coverage(object, insns, &found, err);
	if (rc == 0) {
		copy_counts(&ret_coverage->entries, &found.entries);
		copy_counts(&ret_coverage->usdt, &found.notes);
		copy_counts(&ret_coverage->insns, &found.insns);
	}
	object_free(object);
	free(path);
	free(open_path);
	return rc;
}

const char *ubp_coverage_why(unsigned i)
{
	return i != WINDOW_OK && i < WINDOW_N ? object_refusal_name((enum window_refusal)i)
					      : NULL;
}
