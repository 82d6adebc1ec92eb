/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Patterns in definitions: the functions that they stand for. */

#include "engine/define/match.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/define/check.h"
#include "engine/define/files.h"
#include "engine/define/ifunc.h"
#include "engine/define/tell.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/match.h"

struct found {
	const char *name;
	uint64_t foffset;
	bool is_taken;               /* it is one of those to be probed */
	struct defined_probe *probe; /* .is_taken: what was found out of it; or NULL */
};

struct matching {
	struct definitions *defs;
	struct definition_file *file;
	const struct spec_probe *pattern;
	struct map places; /* file offsets of those that are taken, + 1 */
	unsigned n_refused[REFUSED_N];
	size_t n, n_taken; /* functions; those to be probed */
};

/* Would a definition that names this place be taken? *ret_probe: what was found out of it then; or NULL. */
static bool can_be_probed(struct matching *m, uint64_t foffset,
			  struct defined_probe **ret_probe)
{
	struct defined_probe *p = check_new_probe();
	struct spec_probe spec = *m->pattern;
	struct ubp_err ignored;
	enum place_refusal why = REFUSED_PLACE;
	int rc = -ENOMEM;

	spec.symbol = NULL;
	spec.is_resolved = true;
	spec.offset = foffset + spec.symbol_off;
	if (p)
		rc = check_probe(m->defs, &spec, m->file, p, &why, &ignored);
	m->n_refused[why] += rc < 0;
	if (rc < 0 || spec.kind == PROBE_RETURN || spec.symbol_off) {
		check_free_probe(p);
		p = NULL;
	}
	*ret_probe = p;
	return rc == 0;
}

static int take(struct matching *m, const struct object_symbol *symbol, struct found *found)
{
	struct ubp_err ignored;

	found->name = symbol->name;
	found->foffset = symbol->foffset;
	if (m->pattern->symbol_off == 0)
		found->foffset += symbol->entry_off;
	if (symbol->is_ifunc &&
	    ifunc_choice(m->defs, m->file, symbol, &found->foffset, &ignored) < 0) {
		m->n++;
		m->n_refused[REFUSED_IFUNC]++;
		return 0;
	}
	/* Several indirect functions may have one implementation. */
	if (map_get(&m->places, found->foffset + 1))
		return 0;
	m->n++;
	found->is_taken = can_be_probed(m, found->foffset, &found->probe);
	m->n_taken += found->is_taken;
	return found->is_taken ? map_put(&m->places, found->foffset + 1, found) : 0;
}

/* "3 are indirect, ..., 1 ..." */
static void list_reasons(const struct matching *m, char *text, size_t size)
{
	static const char *const why[REFUSED_N] = {
		[REFUSED_PLACE] = "not in executable code",
		[REFUSED_RETURN] =
			"with a return that is none (NAME.cold), or comes twice (setjmp)",
		[REFUSED_SPAWN] = "run in children of posix_spawn(), where nothing guards them",
		[REFUSED_BOUNDARY] = "behind bytes that are no instructions",
		[REFUSED_INSN] = "with a first instruction that cannot be moved",
		[REFUSED_EXITS] = "with returns that cannot be found",
		[REFUSED_DURATION] =
			"with a duration, or values of the entry, that cannot be told",
		[REFUSED_IFUNC] = "indirect (IFUNC), no process shows the implementation",
	};
	size_t at = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < REFUSED_N && at < size; i++)
		if (m->n_refused[i])
			at += (size_t)snprintf(text + at, size - at, "%s%u %s", at ? ", " : "",
					       m->n_refused[i], why[i]);
}

/* Names have near ones. */
static int fail_no_match(const struct matching *m, struct ubp_err *err)
{
	const struct spec_probe *pattern = m->pattern;
	struct object *object = m->file->object;
	struct object_symbol symbol;
	char stripped[384] = "";

	if (pattern->is_name && !spec_name_is_pattern(pattern->symbol) &&
	    object_find_symbol(object, pattern->symbol, &symbol, err) == -ENOENT)
		return -ENOENT;
	if (!object_has_symtab(object))
		object_say_stripped(object, stripped, sizeof(stripped));
	return ubp_fail(err, ENOENT, "no function of %s matches '%s'%s%s%s", pattern->path,
			pattern->symbol,
			stripped[0] ? " (stripped: only exported functions have names, and "
				    : "",
			stripped, stripped[0] ? ")" : "");
}

/* An offset is one in a function. */
static int check_offset(const struct matching *m, const struct object_symbol *symbols, size_t n,
			struct ubp_err *err)
{
	const struct spec_probe *pattern = m->pattern;

	if (pattern->symbol_off == 0 || n == 0)
		return 0;
	if (n > 1)
		return ubp_fail(err, EINVAL,
				"'%s' is %zu functions of %s: an offset is added to one "
				"only",
				pattern->symbol, n, pattern->path);
	if (symbols[0].size && pattern->symbol_off >= symbols[0].size && !m->defs->opt.force)
		return ubp_fail(err, EINVAL, "%s is only %lu bytes long: +0x%lx is not in it",
				pattern->symbol, (unsigned long)symbols[0].size,
				(unsigned long)pattern->symbol_off);
	return 0;
}

static int tell(const struct matching *m, struct ubp_err *err)
{
	const struct spec_probe *pattern = m->pattern;
	char reasons[512];

	if (m->n == 0)
		return fail_no_match(m, err);
	list_reasons(m, reasons, sizeof(reasons));
	if (m->n_taken == 0)
		return ubp_fail(
			err, ENOTSUP,
			"none of the %zu functions of %s that match '%s' can be probed: %s",
			m->n, pattern->path, pattern->symbol, reasons);
	if (m->n_taken < m->n)
		definitions_warn(
			m->defs,
			"%zu of the %zu functions of %s that match '%s' are left out: %s",
			m->n - m->n_taken, m->n, pattern->path, pattern->symbol, reasons);
	return 0;
}

/* Events are named as people name their functions. */
static int hand_out(const struct found *found,
		    int (*each)(void *each_ctx, const char *symbol, uint64_t offset),
		    void *each_ctx)
{
	char *brief = demangle_short(found->name);
	int rc = each(each_ctx, brief ? brief : found->name, found->foffset);

	free(brief);
	return rc;
}

int match_each(void *ctx, const struct spec_probe *pattern,
	       int (*each)(void *each_ctx, const char *symbol, uint64_t offset), void *each_ctx,
	       struct ubp_err *err)
{
	struct definitions *defs = ctx;
	struct matching m = { .defs = defs, .pattern = pattern };
	struct object_wanted wanted = { .text = pattern->symbol,
					.is_name = pattern->is_name,
					.exclude = defs->opt.exclude };
	struct object_symbol *symbols = NULL;
	struct found *found = NULL;
	size_t n = 0;
	int rc;

	m.file = files_by_id(defs, pattern->dev, pattern->ino);
	if (!m.file)
		return ubp_fail(err, ENOENT, "%s: the file was replaced", pattern->path);
	rc = check_arch(defs, m.file, pattern->path, err);
	if (rc == 0)
		rc = object_match_functions(m.file->object, &wanted, &symbols, &n, err);
	if (rc < 0)
		return rc;
	rc = check_offset(&m, symbols, n, err);
	if (rc < 0) {
		free(symbols);
		return rc;
	}
	found = calloc(n + 1, sizeof(*found));
	if (!found)
		rc = -ENOMEM;
	/* What is known by its own name comes before what is chosen for another. */
	for (int ifunc = 0; ifunc <= 1; ifunc++)
		for (size_t i = 0; i < n && rc == 0; i++)
			if (symbols[i].is_ifunc == ifunc)
				rc = take(&m, &symbols[i], &found[i]);
	if (rc < 0)
		(void)ubp_fail(err, ENOMEM, "out of memory");
	else
		rc = tell(&m, err);
	for (size_t i = 0; i < n && rc == 0; i++)
		if (found[i].is_taken) {
			rc = hand_out(&found[i], each, each_ctx);
			if (rc == 0 && found[i].probe) {
				check_keep(defs, m.file, found[i].foffset, found[i].probe);
				found[i].probe = NULL;
			}
		}
	for (size_t i = 0; found && i < n; i++)
		check_free_probe(found[i].probe);
	map_free(&m.places);
	free(found);
	free(symbols);
	return rc;
}
