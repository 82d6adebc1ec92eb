/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Definitions as they come: which are the kernel's, which are by source. */

#include <errno.h>
#include <string.h>

#include "engine/session/expand.h"
#include "engine/session/session.h"

static int begin(struct ubp_session *s, struct ubp_err *err)
{
	ubp_err_reset(err);
	files_look_again(s);
	return s->has_thread ? ubp_fail(err, EBUSY, "the session has started") : 0;
}

/*
 * A function that the symbols do not know, @err says so, may be in the debug information:
 * inlined wherever it is called, or without a symbol. If it is not there, @err stays.
 */
static int try_source(struct ubp_session *s, const struct expand_definition *d,
		      const char *filter, struct ubp_err *err)
{
	struct ubp_err found;
	int rc;

	if (d->kind != EXPAND_FUNCTION)
		return -err->code;
	ubp_err_reset(&found);
	rc = expand_add(s, d, filter, &found);
	if (rc == -ENOENT || rc == -ENODATA || rc == -EEXIST)
		return -err->code;
	*err = found;
	return rc;
}

static int add_short(struct ubp_session *s, const char *definition, const char *filter,
		     struct ubp_err *err)
{
	size_t n = spec_table_count(s->table);
	int rc = spec_table_add_short(s->table, definition, err);

	return rc < 0 ? rc : define_take_up(s, n, filter, err);
}

int ubp_add(struct ubp_session *s, const char *definition, const char *filter,
	    struct ubp_err *err)
{
	struct expand_definition d;
	size_t len = strlen(definition);
	bool is_parsed;
	int rc = begin(s, err);

	if (rc < 0)
		return rc;
	if (s->opt.strict)
		return ubp_add_events(s, definition, len, filter, err);
	is_parsed = len < SPEC_LINE_MAX && expand_parse(definition, len, false, &d);
	if (is_parsed && expand_is_source(&d)) {
		rc = expand_add(s, &d, filter, err);
	} else {
		rc = add_short(s, definition, filter, err);
		if (rc == -ENOENT && is_parsed)
			rc = try_source(s, &d, filter, err);
	}
	if (is_parsed)
		expand_free(&d);
	return rc;
}

/* --- texts ------------------------------------------------------------------------- */

/* Lines of a text, from number @line on. */
struct part {
	const char *s, *end;
	unsigned line;
};

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

static bool is_source(const struct part *line)
{
	struct expand_definition d;
	bool is;

	if (!parse_line(line, &d))
		return false;
	is = expand_is_source(&d);
	expand_free(&d);
	return is;
}

static int add_text(struct ubp_session *s, const struct part *part, const char *filter,
		    struct ubp_err *err)
{
	size_t n = spec_table_count(s->table);
	int rc = spec_table_write_all(s->table, part->s, (size_t)(part->end - part->s), err);

	if (rc == 0)
		rc = define_take_up(s, n, filter, err);
	if (rc < 0 && err->line)
		err->line += part->line - 1;
	return rc;
}

static int add_line(struct ubp_session *s, const struct part *line, const char *filter,
		    struct ubp_err *err)
{
	struct expand_definition d;
	int rc;

	if (!parse_line(line, &d))
		return -err->code;
	rc = expand_is_source(&d) ? expand_add(s, &d, filter, err)
				  : try_source(s, &d, filter, err);
	expand_free(&d);
	return rc;
}

/* Lines that are the kernel's, though some may name what the debug information alone knows. */
static int add_plain(struct ubp_session *s, struct part part, const char *filter,
		     struct ubp_err *err)
{
	int rc = 0;

	while (part.s < part.end && (rc = add_text(s, &part, filter, err)) < 0) {
		struct part before = part, line = part;
		struct ubp_err unknown = *err;

		if (rc != -ENOENT || !err->line)
			return rc;
		while (take_line(&part, &line) && line.line < unknown.line)
			;
		before.end = line.s;
		/* It was all well until there. */
		if (before.s < before.end && add_text(s, &before, filter, err) < 0)
			return -err->code;
		*err = unknown;
		rc = add_line(s, &line, filter, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int add_parts(struct ubp_session *s, struct part rest, const char *filter,
		     struct ubp_err *err)
{
	struct part plain = rest, line;
	int rc = 0;

	while (rc == 0 && take_line(&rest, &line)) {
		if (!is_source(&line))
			continue;
		plain.end = line.s;
		rc = add_plain(s, plain, filter, err);
		if (rc == 0)
			rc = add_line(s, &line, filter, err);
		plain = rest;
	}
	return rc == 0 ? add_plain(s, plain, filter, err) : rc;
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

static int refuse_sources(struct part text, struct ubp_err *err)
{
	struct part line;

	while (take_line(&text, &line)) {
		if (!is_source(&line))
			continue;
		(void)ubp_fail(err, ENOTSUP,
			       "a text with deletions can have no definitions by source lines "
			       "or variables");
		err->line = line.line;
		return -ENOTSUP;
	}
	return 0;
}

int ubp_add_events(struct ubp_session *s, const char *text, size_t len, const char *filter,
		   struct ubp_err *err)
{
	struct part all = { text, text + len, 1 };
	size_t n = spec_table_count(s->table);
	int rc = begin(s, err);

	if (rc < 0)
		return rc;
	if (s->opt.strict)
		return add_text(s, &all, filter, err);
	if (has_deletion(all)) {
		rc = refuse_sources(all, err);
		return rc == 0 ? add_text(s, &all, filter, err) : rc;
	}
	rc = add_parts(s, all, filter, err);
	if (rc < 0)
		define_forget(s, n);
	return rc;
}
