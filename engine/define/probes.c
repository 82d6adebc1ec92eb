/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/base/sort.h"
#include "engine/base/vec.h"
#include "engine/define/check.h"
#include "engine/define/files.h"
#include "engine/define/ifunc.h"
#include "engine/define/tell.h"
#include "engine/define/windows.h"
#include "engine/elf/properties.h"
#include "engine/elf/segments.h"
#include "engine/fetch/fetch.h"
#include "engine/spec/filter.h"
#include "engine/symbols/functions.h"
#include "engine/tally/sample.h"

static unsigned long ul(uint64_t n)
{
	return (unsigned long)n;
}

const struct spec_probe *probes_spec(const struct definitions *defs, size_t i)
{
	return spec_table_probe(defs->table, i);
}

static int resolve_symbol(struct definitions *defs, size_t i, struct definition_file *file,
			  struct ubp_err *err)
{
	const struct spec_probe *spec = probes_spec(defs, i);
	struct object_symbol symbol;
	uint64_t foffset;
	int rc = object_find_symbol(file->object, spec->symbol, &symbol, err);

	if (rc < 0)
		return rc;
	foffset = symbol.foffset;
	if (spec->symbol_off == 0)
		foffset += symbol.entry_off;
	if (symbol.is_ifunc) {
		rc = ifunc_choice(defs, file, &symbol, &foffset, err);
		if (rc < 0)
			return rc;
	}
	/* An offset behind the end of its function is a slip of the pen. */
	if (symbol.size && spec->symbol_off >= symbol.size && !symbol.is_ifunc &&
	    !defs->opt.force)
		return ubp_fail(err, EINVAL, "%s is only %lu bytes long: +0x%lx is not in it",
				spec->symbol, ul(symbol.size), ul(spec->symbol_off));
	spec_table_resolve(defs->table, i, foffset + spec->symbol_off);
	return 0;
}

/* Where in its file. */
static int resolve(struct definitions *defs, size_t i, struct definition_file *file,
		   struct ubp_err *err)
{
	const struct spec_probe *spec = probes_spec(defs, i);
	int rc = check_arch(defs, file, spec->path, err);

	if (rc == 0 && spec->symbol && !spec->is_resolved)
		rc = resolve_symbol(defs, i, file, err);
	return rc;
}

/* @p has passed check_probe(). */
void probes_set_handler(struct defined_probe *p, const struct uprobe_handler *handler)
{
	struct uprobe_handler *its = &p->uprobe->at_hit.handler;

	*its = *handler;
	its->is_entry = p->symbol && !strstr(p->symbol, "+0x");
	its->is_go = its->is_there && object_is_go(p->object);
}

/* Go's own functions have them in other registers; those of C in a Go program have not. */
static void look_at_numbers(const struct definitions *defs, const struct spec_probe *spec,
			    const struct object *object)
{
	for (size_t i = 0; i < spec->n_args && object_is_go(object); i++) {
		if (!spec->args[i].by_number)
			continue;
		definitions_warn(defs,
				 "%s: argN is where C functions have their arguments, and Go's "
				 "have them "
				 "elsewhere: name them as in the source",
				 spec->event);
		break;
	}
}

/* As the kernel has it, "$retvalue" and "$retval->next" are $retval. */
static void look_behind_retval(const struct definitions *defs, const struct spec_probe *spec)
{
	for (size_t i = 0; i < spec->n_args && !defs->opt.strict; i++) {
		const char *at = strstr(spec->args[i].text, "$retval");
		size_t len = at ? strcspn(at + 7, ":)") : 0;

		if (len)
			definitions_warn(defs,
					 "%s: '%.*s' is all of $retval: '%.*s' says nothing",
					 spec->event, (int)(7 + len), at, (int)len, at + 7);
	}
}

/* All but its window. @p has passed check_probe(). */
static int fill_probe(const struct definitions *defs, const struct spec_probe *spec,
		      struct definition_file *file, const char *filter, struct defined_probe *p,
		      struct ubp_err *err)
{
	int rc = fetch_compile(spec, &p->uprobe->program, err);

	if (rc == 0)
		rc = fetch_compile_entry(spec, &p->uprobe->at_hit.entry, err);
	if (rc == 0 && filter)
		rc = filter_parse(filter, spec, &p->uprobe->filter, err);
	if (rc == 0)
		rc = sample_text_bind(defs->opt.sample, spec, &p->uprobe->at_hit.sample, err);
	if (rc < 0)
		return rc;
	look_at_numbers(defs, spec, file->object);
	look_behind_retval(defs, spec);
	p->uprobe->at_hit.asks_name = detour_stops(p->uprobe->program, p->uprobe->filter);
	p->serial = spec->serial;
	p->object = file->object;
	p->file = file;
	probes_set_handler(p, &defs->opt.handler);
	p->uprobe->kind = spec->kind;
	p->uprobe->dev = file->maps_dev;
	p->uprobe->ino = file->maps_ino;
	p->uprobe->foffset = spec->offset;
	p->uprobe->ref = spec->ref;
	p->uprobe->ref_in_bss = spec->ref && object_is_bss(file->object, spec->ref);
	p->uprobe->stat_dev = spec->dev;
	p->uprobe->stat_ino = spec->ino;
	return 0;
}

/* NULL: @err tells why. */
static struct defined_probe *make_probe(struct definitions *defs, size_t i, const char *filter,
					struct ubp_err *err)
{
	const struct spec_probe *spec = probes_spec(defs, i);
	struct definition_file *file = files_by_id(defs, spec->dev, spec->ino);
	struct defined_probe *p;
	enum place_refusal why;
	int rc;

	if (!file) {
		ubp_fail(err, ENOENT, "%s: the file was replaced", spec->path);
		return NULL;
	}
	if (resolve(defs, i, file, err) < 0)
		return NULL;
	spec = probes_spec(defs, i);
	p = check_take(defs, spec, file);
	rc = 0;
	if (!p) {
		p = check_new_probe();
		if (!p) {
			ubp_fail(err, ENOMEM, "out of memory");
			return NULL;
		}
		rc = check_probe(defs, spec, file, p, &why, err);
	}
	if (rc == 0)
		rc = fill_probe(defs, spec, file, filter, p, err);
	if (rc < 0) {
		check_free_probe(p);
		return NULL;
	}
	return p;
}

/* --- keeping defined_probe beside spec_probes ---------------------------------- */

/* A refusal names the definition; the caret is at the place, its second word or,
 * in the perf-tools form, what is behind the letter. */
static void show_definition(const struct spec_probe *spec, struct ubp_err *err)
{
	const char *command = spec->command;
	const char *second = strchr(command, ' ');
	size_t word = second ? strcspn(second + 1, " ") : 0;
	unsigned caret = command[0] && command[1] == ':' ? 2 : 0;

	err->line = spec->line;
	if (err->has_caret)
		return;
	if (word && memchr(second + 1, ':', word) &&
	    !memchr(command + caret, ':', (size_t)(second - command) - caret))
		caret = (unsigned)(second + 1 - command);
	ubp_err_caret(err, command, strlen(command), caret);
}

static uint64_t place_key(const void *probe_ptr, unsigned k)
{
	const struct defined_probe *p = probe_ptr;
	const uint64_t keys[] = { (uintptr_t)p->object, p->uprobe->foffset };

	return keys[k];
}

/* Of those from @from on, as they stand in their files: what was read and decoded for one is there for the next. */
static int find_windows(struct definitions *defs, size_t from, struct ubp_err *err)
{
	size_t n = defs->n_probes - from;
	struct sort_item *items = malloc((n + 1) * sizeof(*items));
	int rc = items ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && rc == 0; i++)
		items[i].value = defs->probes[from + i];
	if (rc == 0)
		sort_items_by(items, n, 2, place_key);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = windows_find(defs, items[i].value);
	free(items);
	return rc < 0 ? ubp_fail(err, ENOMEM, "out of memory") : 0;
}

/* A write may have deleted some and added others at the end. */
static int sync_probes(struct definitions *defs, const char *filter, struct ubp_err *err)
{
	size_t n = spec_table_count(defs->table), old = 0, kept = 0, first_new;
	int rc = 0;

	if (VEC_FIT(defs->probes, defs->n_probes + n + 1) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n && old < defs->n_probes; i++) {
		while (old < defs->n_probes &&
		       defs->probes[old]->serial != probes_spec(defs, i)->serial)
			check_free_probe(defs->probes[old++]);
		if (old < defs->n_probes)
			defs->probes[kept++] = defs->probes[old++];
	}
	while (old < defs->n_probes)
		check_free_probe(defs->probes[old++]);
	defs->n_probes = kept;
	first_new = kept;
	while (rc == 0 && defs->n_probes < n) {
		struct defined_probe *p = make_probe(defs, defs->n_probes, filter, err);

		if (!p) {
			rc = err->code ? -err->code : -EIO;
			show_definition(probes_spec(defs, defs->n_probes), err);
			break;
		}
		p->uprobe->number = (unsigned)defs->n_probes;
		defs->probes[defs->n_probes++] = p;
	}
	if (rc == 0)
		rc = find_windows(defs, first_new, err);
	for (size_t i = 0; i < defs->n_probes; i++)
		defs->probes[i]->uprobe->number = (unsigned)i;
	return rc;
}

void probes_forget(struct definitions *defs, size_t n)
{
	spec_table_truncate(defs->table, n);
	while (defs->n_probes > n)
		check_free_probe(defs->probes[--defs->n_probes]);
}

int probes_take_up(struct definitions *defs, size_t n_before, const char *filter,
		   struct ubp_err *err)
{
	int rc = sync_probes(defs, filter, err);

	check_forget(defs);
	if (rc < 0)
		probes_forget(defs, n_before);
	return rc;
}

void probes_free(struct definitions *defs)
{
	check_forget(defs);
	while (defs->n_probes)
		check_free_probe(defs->probes[--defs->n_probes]);
	free(defs->probes);
}
