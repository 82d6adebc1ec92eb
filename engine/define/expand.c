/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* From a definition by source to plain ones, for each place. */

#include "engine/define/expand.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/code/loop_head.h"
#include "engine/define/check.h"
#include "engine/define/files.h"
#include "engine/define/tell.h"
#include "engine/elf/segments.h"
#include "engine/sink/buf.h"
#include "engine/spec/chars.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/match.h"

int expand_at(const struct expand_definition *d, size_t col, struct ubp_err *err)
{
	ubp_err_caret(err, d->words.text, d->words.len,
		      (unsigned)(col <= d->words.len ? col : d->words.len));
	err->line = d->line;
	return -err->code;
}

/* One at work. */
struct expansion {
	struct definitions *defs;
	const struct expand_definition *d;
	struct definition_file *file;
	struct dwarf *dwarf;
	const char *path;
	struct dwarf_places places;
	char *event;
	struct plain_probe *probes;
	struct expand_args *args; /* of each place */
	size_t n, n_args;
	size_t n_unreadable;       /* places where a variable has no value */
	struct ubp_err unreadable; /* the first of these */
	struct expand_left_out left_out;
	struct ubp_err *err;
};

/* --- the file ------------------------------------------------------------------------ */

/* False: it can't be had, and .err says why. */
static bool open_file(struct expansion *x, char **ret_path)
{
	const struct expand_definition *d = x->d;
	uint64_t dev = 0, ino = 0;
	int rc = files_find(x->defs, d->target, &dev, &ino, ret_path, x->err);

	x->file = rc == 0 ? files_by_id(x->defs, dev, ino) : NULL;
	if (rc == 0 && !x->file)
		rc = ubp_fail(x->err, ENOENT, "%s: the file was replaced", d->target);
	x->path = *ret_path ? *ret_path : d->target;
	if (rc == 0)
		rc = check_arch(x->defs, x->file, x->path, x->err);
	if (rc < 0 || !x->file) {
		if (x->err->text[0] == '\0')
			(void)ubp_fail(x->err, -rc, "Failed to find the given file");
		(void)expand_at(d, d->name_col - strlen(d->target) - 1, x->err);
		return false;
	}
	rc = files_dwarf(x->file, &x->dwarf, x->err);
	if (rc < 0)
		(void)expand_at(d, d->name_col, x->err);
	return rc == 0;
}

/* --- places --------------------------------------------------------------------------- */

/* A symbol and an offset, or an offset in the file. */
static int place_at(struct expansion *x, uint64_t elf_vaddr)
{
	struct dwarf_place *place = calloc(1, sizeof(*place));

	if (!place)
		return ubp_fail(x->err, ENOMEM, "out of memory");
	if (!dwarf_place_at(x->dwarf, elf_vaddr, place))
		*place = (struct dwarf_place){ .elf_vaddr = elf_vaddr,
					       .function = "this place" };
	place->is_entry = false;
	x->places = (struct dwarf_places){ place, 1 };
	return 0;
}

static int place_of_offset(struct expansion *x)
{
	uint64_t elf_vaddr = 0;

	if (object_foffset_to_vaddr(x->file->object, x->d->offset, &elf_vaddr) < 0)
		return ubp_fail(x->err, EINVAL, "no code of %s is at offset 0x%" PRIx64,
				x->path, x->d->offset);
	return place_at(x, elf_vaddr);
}

static int place_of_symbol(struct expansion *x)
{
	struct object_symbol symbol;
	int rc = object_find_symbol(x->file->object, x->d->name, &symbol, x->err);

	return rc < 0 ? rc : place_at(x, symbol.elf_vaddr + x->d->offset);
}

static bool is_pattern(const char *name)
{
	return strpbrk(name, "*?[") && !strstr(name, "operator");
}

/* A name that the symbols alone can tell: one of several, all that match, with parameters. */
static bool is_of_symbols(const struct expand_definition *d)
{
	return d->is_cpp || is_pattern(d->name) || strpbrk(d->name, "(@");
}

static int places_of_symbols(struct expansion *x)
{
	const struct object_wanted wanted = { .text = x->d->name,
					      .is_name =
						      !is_pattern(x->d->name) || x->d->is_cpp,
					      .exclude = x->defs->opt.exclude };
	struct object_symbol *symbols = NULL;
	size_t n = 0;
	int rc = object_match_functions(x->file->object, &wanted, &symbols, &n, x->err);

	x->places.v = rc == 0 ? calloc(n + 1, sizeof(*x->places.v)) : NULL;
	if (rc == 0 && !x->places.v)
		rc = ubp_fail(x->err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n && rc == 0; i++)
		x->places.n += dwarf_place_at(x->dwarf, symbols[i].elf_vaddr + x->d->offset,
					      &x->places.v[x->places.n]);
	free(symbols);
	if (rc == 0 && x->places.n == 0)
		rc = ubp_fail(x->err, ENOENT, "no function of %s%s is called '%s'", x->path,
			      n ? " that debug information knows" : "", x->d->name);
	if (rc == -ENOENT && n == 0)
		expand_hint_overloads(x->file->object, x->d->name, x->err);
	if (rc == 0 && n > 1 && x->d->offset)
		rc = ubp_fail(x->err, EINVAL,
			      "'%s' is %zu functions of %s: an offset is added to one only",
			      x->d->name, n, x->path);
	return rc;
}

/* The implementations of an IFUNC have code and variables; its own name has none in the debug information. */
static int places_of_name(struct expansion *x)
{
	const char *name = x->d->name;
	struct object_symbol symbol;
	struct ubp_err ignored;
	int rc = dwarf_function_places(x->dwarf, name, false, &x->places, x->err);

	ubp_err_reset(&ignored);
	if (rc != -ENOENT || object_find_symbol(x->file->object, name, &symbol, &ignored) < 0 ||
	    !symbol.is_ifunc)
		return rc;
	rc = ubp_fail(x->err, ENOENT,
		      "%s of %s is an indirect function (IFUNC): its implementations have "
		      "variables, it has none",
		      name, x->path);
	if (x->d->has_variables)
		ubp_err_hint(x->err, "arg1 is its first argument, arg2 the second");
	return rc;
}

static int find_places(struct expansion *x)
{
	const struct expand_definition *d = x->d;

	if (d->kind == EXPAND_OFFSET)
		return place_of_offset(x);
	if (is_of_symbols(d) && d->kind == EXPAND_FUNCTION)
		return places_of_symbols(x);
	if (is_pattern(d->name) || strpbrk(d->name, "(@"))
		return ubp_fail(x->err, EINVAL, "a line is one of a function's name alone");
	if (d->offset && d->kind != EXPAND_FUNCTION)
		return ubp_fail(x->err, EINVAL, "a line has no offset");
	if (d->kind == EXPAND_FILE)
		return dwarf_file_line(x->dwarf, d->name, d->lineno, &x->places, x->err);
	if (d->kind == EXPAND_LINE)
		return dwarf_function_line(x->dwarf, d->name, d->lineno, &x->places, x->err);
	if (d->offset)
		return place_of_symbol(x);
	return places_of_name(x);
}

/* --- returns --------------------------------------------------------------------------- */

/* The function of @arg, which is gone where it returns, may have it in a register or memory where it is entered. */
static void hint_at_entry_place(struct expansion *x, const struct expand_arg *arg)
{
	struct ubp_err said = *x->err;
	struct dwarf_value value;
	char type[DWARF_TYPE_MAX];
	size_t at;

	if (arg->kind != EXPAND_VARIABLE || arg->type.len >= sizeof(type) ||
	    x->d->kind != EXPAND_FUNCTION || x->d->offset)
		return;
	(void)snprintf(type, sizeof(type), "%.*s", (int)arg->type.len,
		       arg->type.s ? arg->type.s : "");
	if (find_places(x) == 0 && x->places.n && x->places.v[0].is_entry &&
	    dwarf_value(x->dwarf, &x->places.v[0], arg->expr.s, arg->expr.len,
			arg->type.s ? type : NULL, &value, &at, x->err) == 0)
		expand_hint_entry_value(arg, &value, &said);
	*x->err = said;
}

static int check_return_args(struct expansion *x)
{
	const struct expand_definition *d = x->d;

	for (size_t i = 0; i < d->n_args; i++) {
		const struct expand_arg *arg = &d->args[i];

		if (arg->kind == EXPAND_PLAIN)
			continue;
		(void)ubp_fail(
			x->err, EINVAL,
			"%.*s cannot be read when the function returns: variables are gone "
			"then, there is only $retval",
			(int)arg->expr.len, arg->expr.s);
		hint_at_entry_place(x, arg);
		return expand_at(d, (size_t)(arg->expr.s - d->words.text), x->err);
	}
	if (d->kind == EXPAND_FUNCTION)
		return 0;
	(void)ubp_fail(x->err, EINVAL, "a return probe is of a function, not of a line");
	return expand_at(d, d->name_col, x->err);
}

/* What was inlined does not return. */
static int keep_returning(struct expansion *x)
{
	struct dwarf_places *places = &x->places;
	size_t n = 0, n_all = places->n;

	for (size_t i = 0; i < n_all; i++)
		if (!places->v[i].is_inlined)
			places->v[n++] = places->v[i];
	places->n = n;
	if (n == 0)
		return ubp_fail(x->err, ENOTSUP,
				"%s is inlined wherever it is called: it does not return",
				x->d->name);
	if (n < n_all)
		definitions_warn(x->defs,
				 "%zu inlined cop%s of %s %s left out: they do not return",
				 n_all - n, n_all - n == 1 ? "y" : "ies", x->d->name,
				 n_all - n == 1 ? "is" : "are");
	return 0;
}

/* --- plain definitions ------------------------------------------------------------------- */

/* "ns::Class<int>::f" as ns_Class_int_f. */
static void add_words(struct sink_buf *out, const char *name)
{
	bool is_word = true;

	for (const char *s = name; *s; s++) {
		bool was_word = is_word;

		is_word = char_is_name(*s) && !((unsigned char)*s & 0x80);
		if (is_word && !was_word && out->len)
			sink_buf_add(out, "_", 1);
		if (is_word)
			sink_buf_add(out, s, 1);
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* FUNCTION, FUNCTION_0xOFFSET, FUNCTION_LLINE, FILE_LLINE, TARGET_0xOFFSET. */
static int name_event(struct expansion *x)
{
	const struct expand_definition *d = x->d;
	struct sink_buf out = { 0 };
	const char *from = d->name ? d->name : base_name(x->path);
	char *base = strdup(d->kind == EXPAND_FILE ? base_name(from) : from);

	if (d->event) {
		free(base);
		x->event = strdup(d->event);
		return x->event ? 0 : ubp_fail(x->err, ENOMEM, "out of memory");
	}
	if (base && (d->kind == EXPAND_FILE || d->kind == EXPAND_OFFSET))
		base[strcspn(base, ".")] = '\0';
	if (base)
		add_words(&out, base);
	free(base);
	if (d->kind == EXPAND_FILE || d->kind == EXPAND_LINE)
		sink_buf_printf(&out, "_L%u", d->lineno);
	else if (d->offset)
		sink_buf_printf(&out, "_0x%" PRIx64, d->offset);
	sink_buf_add(&out, "", 1);
	if (out.failed || !base) {
		sink_buf_free(&out);
		return ubp_fail(x->err, ENOMEM, "out of memory");
	}
	x->event = out.data;
	return 0;
}

/* No value here, none that can be read, or no such variable: there may be elsewhere. */
static bool may_be_elsewhere(int rc)
{
	return rc == -ENODATA || rc == -ENOENT || rc == -ENOTSUP;
}

/* Has all that is asked for a value at @place, where a function is entered? */
static bool is_all_at(struct expansion *x, const struct dwarf_place *place)
{
	struct expand_left_out left_out = { 0 };
	struct expand_args args = { 0 };
	bool is_all = expand_args_at(x->dwarf, x->d, place, &args, &left_out, x->err) == 0 &&
		      left_out.n == 0;

	expand_args_free(&args);
	expand_left_out_free(&left_out);
	ubp_err_reset(x->err);
	return is_all;
}

/*
 * What the entry has is read there. What the prologue has to store first is read behind it; but
 * where the function begins with a loop, each round would come by there.
 */
static int skip_prologue(struct expansion *x, struct dwarf_place *place)
{
	uint64_t entry = place->elf_vaddr, foffset;

	if (!x->d->has_variables || !place->is_entry || is_all_at(x, place) ||
	    !dwarf_skip_prologue(x->dwarf, place) ||
	    object_vaddr_to_foffset(x->file->object, place->elf_vaddr, &foffset) < 0 ||
	    !object_is_loop_head(x->file->object, foffset))
		return 0;
	(void)ubp_fail(x->err, ENOTSUP,
		       "what is named has its values only from %s+0x%" PRIx64
		       " on, the head of a loop, where each round would be a hit: probe a line "
		       "(%s:N), or all rounds (%s+0x%" PRIx64
		       "), or name registers at the entry",
		       place->function, place->elf_vaddr - entry, place->function,
		       place->function, place->elf_vaddr - entry);
	return expand_at(x->d, x->d->name_col, x->err);
}

static int plan_place(struct expansion *x, struct dwarf_place *place)
{
	const struct expand_definition *d = x->d;
	struct plain_probe *probe = &x->probes[x->n];
	struct expand_args *args = &x->args[x->n_args++];
	bool named_by_place = !d->event && d->kind == EXPAND_FUNCTION && is_of_symbols(d);
	uint64_t entry = place->elf_vaddr;
	int rc = skip_prologue(x, place);

	if (rc == 0)
		rc = expand_args_at(x->dwarf, d, place, args, &x->left_out, x->err);
	if (may_be_elsewhere(rc)) {
		if (x->n_unreadable++ == 0)
			x->unreadable = *x->err;
		ubp_err_reset(x->err);
		return 0;
	}
	*probe = (struct plain_probe){
		.kind = d->probe_kind,
		.group = d->group,
		.event = named_by_place ? place->function : x->event,
		.is_name_typed = d->event != NULL,
		.path = x->path,
		.col = (unsigned)d->name_col,
		.args = args->v,
		.n_args = args->n,
		.past_entry = (uint32_t)(place->elf_vaddr - entry),
	};
	if (rc == 0)
		rc = object_vaddr_to_foffset(x->file->object, place->elf_vaddr, &probe->offset);
	x->n += rc == 0;
	return rc;
}

static int plan_places(struct expansion *x)
{
	int rc = 0;

	x->probes = calloc(x->places.n + 1, sizeof(*x->probes));
	x->args = calloc(x->places.n + 1, sizeof(*x->args));
	if (!x->probes || !x->args)
		return ubp_fail(x->err, ENOMEM, "out of memory");
	for (size_t i = 0; i < x->places.n && rc == 0; i++)
		rc = plan_place(x, &x->places.v[i]);
	if (rc == 0 && x->n == 0) {
		*x->err = x->unreadable;
		return -x->err->code;
	}
	return rc;
}

static void tell_left_out(const struct expansion *x)
{
	const struct expand_left_out *l = &x->left_out;
	const char *place = x->d->words.text + x->d->name_col;
	int len = (int)strcspn(place, " ");
	char list[256] = "";
	size_t at = 0;

	if (x->n_unreadable)
		definitions_warn(x->defs, "%.*s: %zu of %zu places are left out: %s", len,
				 place, x->n_unreadable, x->places.n, x->unreadable.text);
	for (size_t i = 0; i < l->n && at < sizeof(list); i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "",
				       l->names[i]);
	if (l->n)
		definitions_warn(x->defs, "%.*s: left out: %s (%s)", len, place, list, l->why);
}

static int expand(struct expansion *x, const char *filter)
{
	const struct plain_origin origin = { .text = x->d->words.text,
					     .line = x->d->line,
					     .filter = filter };
	int rc = x->d->probe_kind == PROBE_RETURN ? check_return_args(x) : 0;

	if (rc < 0)
		return rc;
	rc = find_places(x);
	if (rc == 0 && x->d->probe_kind == PROBE_RETURN)
		rc = keep_returning(x);
	if (rc < 0)
		return expand_at(x->d, x->d->name_col, x->err);
	rc = name_event(x);
	if (rc == 0)
		rc = plan_places(x);
	if (rc == 0)
		rc = plain_add(x->defs, x->probes, x->n, &origin, x->err);
	if (rc == 0)
		tell_left_out(x);
	return rc;
}

static void end_expansion(struct expansion *x, char *path)
{
	for (size_t i = 0; i < x->n_args; i++)
		expand_args_free(&x->args[i]);
	expand_left_out_free(&x->left_out);
	dwarf_places_free(&x->places);
	free(x->args);
	free(x->probes);
	free(x->event);
	free(path);
}

int expand_add(struct definitions *defs, const struct expand_definition *d, const char *filter,
	       struct ubp_err *err)
{
	struct expansion x = { .defs = defs, .d = d, .err = err };
	char *path = NULL;
	int rc = open_file(&x, &path) ? expand(&x, filter) : -err->code;

	if (rc < 0 && x.file)
		expand_hint_foreign_args(d, x.dwarf, err);
	end_expansion(&x, path);
	return rc;
}

bool expand_can_add(struct definitions *defs, const struct expand_definition *d,
		    struct ubp_err *err)
{
	struct expansion x = { .defs = defs, .d = d, .err = err };
	char *path = NULL;
	int rc = open_file(&x, &path) ? 0 : -err->code;

	if (rc == 0 && d->probe_kind == PROBE_RETURN)
		rc = check_return_args(&x);
	if (rc == 0)
		rc = find_places(&x);
	if (rc == 0)
		rc = plan_places(&x);
	end_expansion(&x, path);
	return rc == 0;
}
