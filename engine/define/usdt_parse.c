/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Definitions of static probes as text: TARGET:PROVIDER:NAME, an alias, arguments by number. */

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/define/usdt.h"
#include "engine/spec/chars.h"
#include "engine/spec/spec.h"

#define NUMBER_MAX 999 /* N of argN; no note has as many */

int usdt_at(const struct usdt_definition *d, unsigned at, struct ubp_err *err)
{
	ubp_err_caret(err, d->text, strlen(d->text), at);
	return -err->code;
}

__attribute__((format(printf, 4, 5))) static int
refuse(const struct usdt_definition *d, unsigned at, struct ubp_err *err, const char *fmt, ...)
{
	char text[UBP_ERR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)ubp_fail(err, EINVAL, "%s", text);
	return usdt_at(d, at, err);
}

/* Words joined by one blank, allocated. */
static char *join_words(const char *text)
{
	char *joined = malloc(strlen(text) + 1), *to = joined;

	if (!joined)
		return NULL;
	for (const char *c = text; *c;) {
		while (char_is_space(*c))
			c++;
		if (*c && to != joined)
			*to++ = ' ';
		while (*c && !char_is_space(*c))
			*to++ = *c++;
	}
	*to = '\0';
	return joined;
}

/* The word at @at of the text; .len 0: there is none. */
static struct usdt_span word_at(const char *text, unsigned at)
{
	return (struct usdt_span){ at, (unsigned)strcspn(text + at, " ") };
}

static struct usdt_span word_behind(const char *text, struct usdt_span word)
{
	unsigned end = word.at + word.len;

	return word_at(text, text[end] ? end + 1 : end);
}

static char *copy(const char *text, unsigned at, unsigned len)
{
	return strndup(text + at, len);
}

/* --- [TARGET:]PROVIDER:NAME ---------------------------------------------------------- */

/* Behind the last ':' of text[from, to), or @from where there is none. */
static unsigned behind_colon(const char *text, unsigned from, unsigned to)
{
	while (to > from && text[to - 1] != ':')
		to--;
	return to;
}

static int parse_place(struct usdt_definition *d, struct usdt_span word, struct ubp_err *err)
{
	unsigned end = word.at + word.len, name, provider;
	const char *text = d->text;

	d->at = word.at;
	name = behind_colon(text, word.at, end);
	if (word.len == 0 || name == word.at)
		return refuse(d, word.at, err,
			      word.len ? "a static probe is [TARGET:]PROVIDER:NAME"
				       : "no static probe is given");
	provider = behind_colon(text, word.at, name - 1);
	if (name == end || provider == name - 1)
		return refuse(d, name == end ? end : provider, err,
			      "a static probe is [TARGET:]PROVIDER:NAME");
	if (memchr(text + name, '%', end - name))
		return refuse(d, name, err, "static probes have no return");
	if (provider == word.at + 1)
		return refuse(d, word.at, err, "no target before the ':'");
	d->probe_at = provider;
	d->provider = copy(text, provider, name - 1 - provider);
	d->name = copy(text, name, end - name);
	d->probe = copy(text, provider, end - provider);
	if (provider > word.at)
		d->target = copy(text, word.at, provider - 1 - word.at);
	if (!d->provider || !d->name || !d->probe || (provider > word.at && !d->target))
		return ubp_fail(err, ENOMEM, "out of memory");
	return 0;
}

/* Its rules are those of events; there the caret could not be told. */
static int check_name(const struct usdt_definition *d, const char *name, unsigned at,
		      bool is_group, struct ubp_err *err)
{
	const char *what = is_group ? "Group" : "Event";

	for (const char *c = name; *c; c++)
		if (!(is_group && *c == '-') &&
		    (!char_is_name(*c) || (c == name && char_is_digit(*c))))
			return refuse(d, at, err,
				      "%s name must follow the same rules as C identifiers",
				      what);
	return strlen(name) > SPEC_NAME_MAX ? refuse(d, at, err, "%s name is too long", what)
					    : 0;
}

/* [GRP/][EVENT] */
static int parse_alias(struct usdt_definition *d, struct usdt_span alias, struct ubp_err *err)
{
	const char *text = d->text + alias.at, *split = memchr(text, '/', alias.len);
	size_t group;

	if (!split)
		split = memchr(text, '.', alias.len);
	group = split ? (size_t)(split - text) : 0;
	if (split && group == 0)
		return refuse(d, alias.at, err, "Group name is not specified");
	if (split)
		d->group = strndup(text, group);
	if (split)
		group++;
	if (alias.len > group)
		d->event = strndup(text + group, alias.len - group);
	if ((split && !d->group) || (alias.len > group && !d->event))
		return ubp_fail(err, ENOMEM, "out of memory");
	if (d->group && check_name(d, d->group, alias.at, true, err) < 0)
		return -err->code;
	return d->event ? check_name(d, d->event, alias.at + (unsigned)group, false, err) : 0;
}

/* p:ALIAS PROBE, p: PROBE, p:PROBE, or just PROBE. *word becomes what is last of it. */
static int parse_head(struct usdt_definition *d, struct usdt_span *word, struct ubp_err *err)
{
	struct usdt_span second = word_behind(d->text, *word);
	const char *text = d->text;
	int rc;

	if (strncmp(text, "r:", 2) == 0)
		return refuse(d, 0, err, "static probes have no return");
	if (strncmp(text, "p:", 2) == 0 && !memchr(text + 2, ':', word->len - 2) &&
	    second.len) {
		rc = parse_alias(d, (struct usdt_span){ 2, word->len - 2 }, err);
		if (rc < 0)
			return rc;
		*word = second;
	} else if (strncmp(text, "p:", 2) == 0 && memchr(text + 2, ':', word->len - 2)) {
		word->at += 2;
		word->len -= 2;
	}
	return parse_place(d, *word, err);
}

/* --- ARG ------------------------------------------------------------------------------ */

/* The N of "argN" in @span, or one that no probe has; 0: it is something else. */
static unsigned number_of(const char *text, struct usdt_span span)
{
	unsigned n = 0;

	if (span.len < 4 || memcmp(text + span.at, "arg", 3) != 0)
		return 0;
	for (unsigned i = 3; i < span.len; i++) {
		if (!char_is_digit(text[span.at + i]))
			return 0;
		n = n * 10 + (unsigned)(text[span.at + i] - '0');
		if (n > NUMBER_MAX)
			return NUMBER_MAX + 1;
	}
	return n ? n : NUMBER_MAX + 1;
}

/* Only of one that is made anew: the others are for the parser of fetch args. */
static int check_arg(const struct usdt_definition *d, const struct usdt_arg *arg,
		     unsigned n_braces, struct ubp_err *err)
{
	const char *text = d->text;
	unsigned closed = 0;

	if (!arg->number && arg->arg.len && char_is_name(text[arg->arg.at]) &&
	    !char_is_digit(text[arg->arg.at]))
		return refuse(
			d, arg->arg.at, err,
			"'%.*s' is no argument of a static probe: these are arg1, arg2...",
			(int)arg->arg.len, text + arg->arg.at);
	if (!arg->number)
		return 0;
	while (closed < arg->tail.len && text[arg->tail.at + closed] == ')')
		closed++;
	if (closed < n_braces)
		return refuse(d, arg->tail.at + closed, err, "Dereference brace is not closed");
	return closed > n_braces || closed < arg->tail.len
		       ? refuse(d, arg->tail.at + n_braces, err, "the argument ends here")
		       : 0;
}

static int parse_arg(const struct usdt_definition *d, struct usdt_span word,
		     struct usdt_arg *arg, struct ubp_err *err)
{
	const char *text = d->text, *equals = memchr(text + word.at, '=', word.len), *colon;
	unsigned end = word.at + word.len, at = word.at, n_braces = 0, close;

	memset(arg, 0, sizeof(*arg));
	if (equals) {
		arg->is_named = true;
		arg->name = (struct usdt_span){ at, (unsigned)(equals - text) - at };
		at = arg->name.at + arg->name.len + 1;
	}
	arg->all = (struct usdt_span){ at, end - at };
	colon = memchr(text + at, ':', end - at);
	if (colon) {
		unsigned type = (unsigned)(colon + 1 - text);

		arg->type = (struct usdt_span){ type, end - type };
		end = type - 1;
	}
	arg->head.at = at;
	while (at < end && (text[at] == '+' || text[at] == '-')) {
		const char *brace = memchr(text + at, '(', end - at);

		if (!brace)
			return 0;
		n_braces++;
		at = (unsigned)(brace + 1 - text);
	}
	arg->head.len = at - arg->head.at;
	for (close = at; close < end && text[close] != ')';)
		close++;
	arg->arg = (struct usdt_span){ at, close - at };
	arg->tail = (struct usdt_span){ close, end - close };
	arg->number = number_of(text, arg->arg);
	return check_arg(d, arg, n_braces, err);
}

static int parse_args(struct usdt_definition *d, struct usdt_span last, struct ubp_err *err)
{
	struct usdt_span word = last;
	size_t n = 0;
	int rc = 0;

	while ((word = word_behind(d->text, word)).len)
		n++;
	d->args = calloc(n + 1, sizeof(*d->args));
	if (!d->args)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (word = last; d->n_args < n && rc == 0; d->n_args++) {
		word = word_behind(d->text, word);
		rc = parse_arg(d, word, &d->args[d->n_args], err);
	}
	return rc;
}

int usdt_parse(const char *text, struct usdt_definition *d, struct ubp_err *err)
{
	struct usdt_span word;
	int rc;

	memset(d, 0, sizeof(*d));
	d->text = join_words(text);
	if (!d->text)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (strlen(d->text) >= SPEC_LINE_MAX)
		return ubp_fail(err, EINVAL, "the definition is longer than %d bytes",
				SPEC_LINE_MAX - 1);
	word = word_at(d->text, 0);
	rc = parse_head(d, &word, err);
	return rc < 0 ? rc : parse_args(d, word, err);
}

void usdt_definition_free(struct usdt_definition *d)
{
	free(d->text);
	free(d->group);
	free(d->event);
	free(d->target);
	free(d->provider);
	free(d->name);
	free(d->probe);
	free(d->args);
	memset(d, 0, sizeof(*d));
}

bool usdt_is_meant(const struct usdt_definition *d, const struct object_note *note)
{
	return fnmatch(d->provider, note->provider, 0) == 0 &&
	       fnmatch(d->name, note->name, 0) == 0;
}

bool usdt_name_matches(const char *pattern, const struct object_note *note)
{
	bool matches;
	char *name;

	if (!strchr(pattern, ':') && fnmatch(pattern, note->name, 0) == 0)
		return true;
	if (asprintf(&name, "%s:%s", note->provider, note->name) < 0)
		return false;
	matches = fnmatch(pattern, name, 0) == 0;
	free(name);
	return matches;
}

bool usdt_is_excluded(const char *const *exclude, const struct object_note *note)
{
	while (exclude && *exclude && !usdt_name_matches(*exclude, note))
		exclude++;
	return exclude && *exclude;
}

bool usdt_is_pattern(const struct usdt_definition *d)
{
	return strpbrk(d->probe, "*?[") != NULL;
}
