/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Definitions as they come: which are the kernel's, which are by source, which of several files. */

#include "engine/define/add.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/define/expand.h"
#include "engine/define/files.h"
#include "engine/define/probes.h"
#include "engine/define/tell.h"
#include "engine/files/target_files.h"

/*
 * A function that the symbols do not know, @err says so, may be in the debug information:
 * inlined wherever it is called, or without a symbol. If it is not there, @err stays.
 */
static int try_source(struct definitions *defs, const struct expand_definition *d,
		      const char *filter, struct ubp_err *err)
{
	struct ubp_err found;
	int rc;

	if (d->kind != EXPAND_FUNCTION)
		return -err->code;
	ubp_err_reset(&found);
	rc = expand_add(defs, d, filter, &found);
	if (rc == -ENOENT && found.hint[0] && !err->hint[0])
		ubp_err_hint(err, "%s", found.hint);
	if (rc == -ENOENT || rc == -ENODATA || rc == -EEXIST)
		return -err->code;
	*err = found;
	return rc;
}

static int add_short(struct definitions *defs, const char *definition, const char *filter,
		     struct ubp_err *err)
{
	size_t n = spec_table_count(defs->table);
	int rc = spec_table_add_short(defs->table, definition, err);

	return rc < 0 ? rc : probes_take_up(defs, n, filter, err);
}

/* One of the perf-tools form, of one file. @d: what it is cut into, or NULL. */
static int add_word(struct definitions *defs, const char *definition,
		    const struct expand_definition *d, const char *filter, struct ubp_err *err)
{
	int rc;

	if (d && expand_is_source(d))
		return expand_add(defs, d, filter, err);
	rc = add_short(defs, definition, filter, err);
	return rc == -ENOENT && d ? try_source(defs, d, filter, err) : rc;
}

/* Lines of a text, from number @line on. */
struct part {
	const char *s, *end;
	unsigned line;
};

static int add_text(struct definitions *defs, const struct part *part, const char *filter,
		    struct ubp_err *err)
{
	size_t n = spec_table_count(defs->table);
	int rc = spec_table_write_all(defs->table, part->s, (size_t)(part->end - part->s), err);

	if (rc == 0)
		rc = probes_take_up(defs, n, filter, err);
	if (rc < 0 && err->line)
		err->line += part->line - 1;
	return rc;
}

/* --- a definition of several files --------------------------------------------------- */

/* The text of @d with @path in place of the target, allocated. */
static char *with_path(const struct expand_definition *d, const char *path)
{
	size_t target_len = strlen(d->target), len = strlen(path);
	size_t at = d->name_col - 1 - (d->is_cpp ? strlen(":cpp") : 0) - target_len;
	char *text = malloc(d->words.len + len + 1);

	if (!text)
		return NULL;
	memcpy(text, d->words.text, at);
	memcpy(text + at, path, len);
	memcpy(text + at + len, d->words.text + at + target_len,
	       d->words.len - at - target_len);
	text[d->words.len - target_len + len] = '\0';
	return text;
}

/*
 * It is the function of a symbol, or of a definition by source: where debug information alone knows a
 * name, as one that is inlined, that is not what a pattern of files asks for.
 */
static int add_with_path(struct definitions *defs, const struct expand_definition *d,
			 bool is_line, const char *path, const char *filter,
			 struct ubp_err *err)
{
	struct expand_definition one;
	char *text = with_path(d, path);
	struct part part;
	int rc;

	if (!text)
		return ubp_fail(err, ENOMEM, "out of memory");
	part = (struct part){ text, text + strlen(text), d->line };
	if (!expand_parse(text, strlen(text), is_line, &one)) {
		free(text);
		return ubp_fail(err, EINVAL, "%s: no name for a definition", path);
	}
	one.line = d->line;
	if (expand_is_source(&one))
		rc = expand_add(defs, &one, filter, err);
	else
		rc = is_line ? add_text(defs, &part, filter, err)
			     : add_short(defs, text, filter, err);
	expand_free(&one);
	free(text);
	return rc;
}

/*
 * In each of the files that the target stands for, if the function is there. @first: of the files
 * where it failed; those that do not have it are none.
 */
static int add_each(struct definitions *defs, const struct expand_definition *d, bool is_line,
		    const struct target_files *files, const char *filter, struct ubp_err *err)
{
	size_t n_added = 0, n_failed = 0;
	struct ubp_err first;

	ubp_err_reset(&first);
	for (size_t i = 0; i < files->n; i++) {
		struct ubp_err failed;
		int rc;

		ubp_err_reset(&failed);
		rc = add_with_path(defs, d, is_line, files->paths[i], filter, &failed);
		n_added += rc == 0;
		n_failed += rc < 0 && rc != -ENOENT;
		if (rc < 0 && (!first.code || (rc != -ENOENT && first.code == ENOENT)))
			first = failed;
	}
	if (n_added && n_failed)
		definitions_warn(defs, "%zu of the %zu files '%s' are left out: %s", n_failed,
				 files->n, d->target, first.text);
	if (n_added)
		return 0;
	*err = first;
	return files->n == 1
		       ? -err->code
		       : ubp_context(err, "in none of the %zu files '%s'", files->n, d->target);
}

static int add_files(struct definitions *defs, const struct expand_definition *d, bool is_line,
		     const char *filter, struct ubp_err *err)
{
	struct target_files files;
	int rc = target_files_find(d->target, files_view(defs), &files, err);

	if (rc < 0)
		return expand_at(d, d->name_col - 1 - strlen(d->target), err);
	rc = add_each(defs, d, is_line, &files, filter, err);
	target_files_free(&files);
	return rc;
}

int add_definition(struct definitions *defs, const char *definition, const char *filter,
		   struct ubp_err *err)
{
	struct expand_definition d;
	size_t len = strlen(definition);
	int rc;

	files_look_again(defs);
	if (defs->opt.strict)
		return add_events(defs, definition, len, filter, err);
	if (len >= SPEC_LINE_MAX || !expand_parse(definition, len, false, &d))
		return add_word(defs, definition, NULL, filter, err);
	rc = target_is_pattern(d.target) ? add_files(defs, &d, false, filter, err)
					 : add_word(defs, definition, &d, filter, err);
	if (rc < 0 && filter)
		expand_hint_missing_arg(defs, definition, false, err);
	expand_free(&d);
	return rc;
}

/* --- texts ------------------------------------------------------------------------- */

/* The first line of @part; *part keeps what is behind. False: there is none. */
static bool take_line(struct part *part, struct part *ret_line)
{
	const char *newline;

	if (part->s >= part->end)
		return false;
	newline = memchr(part->s, '\n', (size_t)(part->end - part->s));
	*ret_line = *part;
	ret_line->end = part->s = newline ? newline + 1 : part->end;
	part->line++;
	return true;
}

static bool parse_line(const struct part *line, struct expand_definition *d)
{
	size_t len = (size_t)(line->end - line->s);
	const char *comment = spec_find_comment(line->s, len, true);

	if (comment)
		len = (size_t)(comment - line->s);
	if (len >= SPEC_LINE_MAX || memchr(line->s, '\0', len) ||
	    !expand_parse(line->s, len, true, d))
		return false;
	d->line = line->line;
	return true;
}

/* By source, or of several files? */
static bool is_ours(const struct part *line)
{
	struct expand_definition d;
	bool is;

	if (!parse_line(line, &d))
		return false;
	is = expand_is_source(&d) || target_is_pattern(d.target);
	expand_free(&d);
	return is;
}

static int add_line(struct definitions *defs, const struct part *line, const char *filter,
		    struct ubp_err *err)
{
	struct expand_definition d;
	int rc;

	if (!parse_line(line, &d))
		return -err->code;
	if (target_is_pattern(d.target))
		rc = add_files(defs, &d, true, filter, err);
	else if (expand_is_source(&d))
		rc = expand_add(defs, &d, filter, err);
	else
		rc = try_source(defs, &d, filter, err);
	expand_free(&d);
	return rc;
}

/* Lines that are the kernel's, though some may name what the debug information alone knows. */
static int add_plain(struct definitions *defs, struct part part, const char *filter,
		     struct ubp_err *err)
{
	int rc = 0;

	while (part.s < part.end && (rc = add_text(defs, &part, filter, err)) < 0) {
		struct part before = part, line = part;
		struct ubp_err unknown = *err;

		if (rc != -ENOENT || !err->line)
			return rc;
		while (take_line(&part, &line) && line.line < unknown.line)
			;
		before.end = line.s;
		/* It was all well until there. */
		if (before.s < before.end && add_text(defs, &before, filter, err) < 0)
			return -err->code;
		*err = unknown;
		rc = add_line(defs, &line, filter, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int add_parts(struct definitions *defs, struct part rest, const char *filter,
		     struct ubp_err *err)
{
	struct part plain = rest, line;
	int rc = 0;

	while (rc == 0 && take_line(&rest, &line)) {
		if (!is_ours(&line))
			continue;
		plain.end = line.s;
		rc = add_plain(defs, plain, filter, err);
		if (rc == 0)
			rc = add_line(defs, &line, filter, err);
		plain = rest;
	}
	return rc == 0 ? add_plain(defs, plain, filter, err) : rc;
}

/* Deletions can be taken back only with all of their text. */
static bool has_deletion(struct part text)
{
	struct part line;

	while (take_line(&text, &line))
		if (line.s[0] == '-')
			return true;
	return false;
}

static int refuse_ours(struct part text, struct ubp_err *err)
{
	struct part line;

	while (take_line(&text, &line)) {
		if (!is_ours(&line))
			continue;
		(void)ubp_fail(err, ENOTSUP,
			       "a text with deletions can have no definitions by source lines, "
			       "variables or wildcards of files");
		err->line = line.line;
		return -ENOTSUP;
	}
	return 0;
}

int add_events(struct definitions *defs, const char *text, size_t len, const char *filter,
	       struct ubp_err *err)
{
	struct part all = { text, text + len, 1 };
	size_t n = spec_table_count(defs->table);
	int rc;

	files_look_again(defs);
	if (defs->opt.strict)
		return add_text(defs, &all, filter, err);
	if (has_deletion(all)) {
		rc = refuse_ours(all, err);
		return rc == 0 ? add_text(defs, &all, filter, err) : rc;
	}
	rc = add_parts(defs, all, filter, err);
	if (rc < 0 && filter)
		expand_hint_missing_arg(defs, text, true, err);
	if (rc < 0)
		probes_forget(defs, n);
	return rc;
}
