/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The second word: TARGET:OFFSET[%return][(REF)], and TARGET:SYMBOL[+OFF], where SYMBOL may be
 * cpp:NAME, in quotes or not, or a name with "::".
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/num.h"
#include "engine/spec/chars.h"
#include "engine/spec/env.h"
#include "engine/spec/parse.h"

/* What may stand in a symbol: C, C++ and Rust mangling, versions, clones. */
static bool is_symbol_char(char c)
{
	return (c != '\0' && strchr("_.$@~", c)) || char_is_digit(c) ||
	       (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool is_pattern_char(char c)
{
	return c == '*' || c == '?' || c == '[';
}

#define MARK ":cpp:"

static const char *find_mark(struct spec_span word)
{
	return word.len > 0 ? memmem(word.s, word.len, MARK, strlen(MARK)) : NULL;
}

/* What is before quotes, whose contents are a name. */
static struct spec_span before_quotes(struct spec_span word)
{
	for (size_t i = 0; i < word.len; i++)
		if (word.s[i] == ':' && spec_quoted_len(word.s + i + 1, word.len - i - 1))
			return span_until(word, word.s + i + 1);
	return word;
}

/*
 * Cut the word at its last ':'; later colons than that are part of no path. Names of C++ and
 * Rust have colons of their own: *ret_is_name.
 */
static const char *find_colon(const struct spec_parse *p, struct spec_span word,
			      const char **ret_rest, bool *ret_is_name)
{
	const char *last = span_rfind(word, ':'), *colon, *mark;
	struct spec_span before;

	*ret_is_name = false;
	*ret_rest = last ? last + 1 : NULL;
	if (!last || p->env->strict || char_is_digit(span_at(span_from(word, last + 1), 0)))
		return last;
	before = before_quotes(word);
	mark = find_mark(before);
	*ret_is_name = true;
	if (mark) {
		*ret_rest = mark + strlen(MARK);
		return mark;
	}
	colon = span_place_colon(before);
	if (!colon)
		colon = last;
	*ret_rest = colon + 1;
	*ret_is_name = before.len != word.len || colon != last;
	return colon;
}

/* Before and behind the ':'. */
static int cut_target(const struct spec_parse *p, struct spec_span word,
		      struct spec_span *ret_target, struct spec_span *ret_rest,
		      bool *ret_is_name)
{
	bool has_slash = span_find(word, '/') != NULL;
	const char *rest, *colon = find_colon(p, word, &rest, ret_is_name);
	char first;

	if (p->env->strict && !has_slash)
		return spec_fail_unlogged(p, EINVAL, spec_col(p, word.s),
					  "No path with a '/' is specified");
	if (!colon)
		return spec_fail_unlogged(p, EINVAL, spec_col(p, word.s) + word.len,
					  "No ':' between file and place");
	*ret_target = span_until(word, colon);
	*ret_rest = span_from(word, rest);
	first = span_at(*ret_rest, 0);
	if (!char_is_digit(first) && !(*ret_is_name && first != '\0') &&
	    (p->env->strict || !(is_symbol_char(first) || is_pattern_char(first))))
		return spec_fail_unlogged(p, EINVAL, spec_col(p, ret_rest->s),
					  p->env->strict
						  ? "No offset behind the last ':'"
						  : "No offset or symbol behind the last ':'");
	if (!has_slash && ret_target->len == 0)
		return spec_fail_unlogged(p, EINVAL, spec_col(p, word.s),
					  "No file before the ':'");
	return 0;
}

static int find_file(const struct spec_parse *p, struct spec_span target,
		     struct spec_probe *probe)
{
	char *path = NULL;
	int rc;

	/* The kernel looks up no name at all, and has the working directory. */
	if (target.len == 0 && char_is_digit(target.s[1]))
		return spec_fail(p, EINVAL, spec_col(p, target.s), "Not a regular file");
	probe->path = strndup(target.s, target.len);
	if (!probe->path)
		return spec_fail_memory(p);
	ubp_err_reset(p->err);
	rc = p->env->find_file(p->env->ctx, probe->path, &probe->dev, &probe->ino, &path,
			       p->err);
	if (path) {
		free(probe->path);
		probe->path = path;
	}
	if (rc == 0)
		return 0;
	if (p->err->text[0] != '\0') {
		p->err->code = -rc;
		ubp_err_caret(p->err, p->words->text, p->words->len,
			      (unsigned)spec_col(p, target.s));
		return rc;
	}
	return spec_fail(p, -rc, spec_col(p, target.s),
			 rc == -EINVAL ? "Not a regular file"
				       : "Failed to find the given file");
}

/* A name of C++ with its parameters is no FILE:OFFSET(REF). */
static void hint_at_cpp(const struct spec_parse *p, struct spec_span name, struct spec_span ref)
{
	if (p->env->strict || char_is_digit(span_at(name, 0)) || char_is_digit(span_at(ref, 0)))
		return;
	ubp_err_append(p->err, " (a C++ function? then cpp:%.*s(%.*s))", (int)name.len, name.s,
		       (int)ref.len, ref.s);
}

/* Nor is a name of Go, net.(*conn).Read, or one of C++ that goes on behind its parameters. @name: all
 * of it. */
static void hint_at_quotes(const struct spec_parse *p, struct spec_span name)
{
	if (p->env->strict || char_is_digit(span_at(name, 0)))
		return;
	ubp_err_append(p->err, " (a function's name? then in quotes of its own: \"%.*s\")",
		       (int)name.len, name.s);
}

/* Cut "(REF)" off the end of *rest. */
static int parse_ref(const struct spec_parse *p, struct spec_span *rest,
		     struct spec_probe *probe)
{
	const char *open = span_find(*rest, '('), *close;
	struct spec_span ref, all = *rest;
	int rc;

	if (!open)
		return 0;
	ref = span_from(*rest, open + 1);
	*rest = span_until(*rest, open);
	close = span_find(ref, ')');
	if (!close)
		return spec_fail(p, EINVAL, spec_col(p, ref.s) + ref.len,
				 "Reference counter brace is not closed");
	if (close + 1 != ref.s + ref.len) {
		rc = spec_fail(p, EINVAL, spec_col(p, close + 1),
			       "Reference counter has wrong suffix");
		hint_at_quotes(p, all);
		return rc;
	}
	ref = span_until(ref, close);
	rc = num_u64(ref.s, ref.len, 0, &probe->ref);
	if (rc == 0)
		return 0;
	rc = spec_fail(p, -rc, spec_col(p, ref.s), "Invalid reference counter offset");
	hint_at_cpp(p, *rest, ref);
	return rc;
}

/* Cut "%return" off the end of *rest. */
static int parse_suffix(const struct spec_parse *p, struct spec_span *rest,
			struct spec_probe *probe)
{
	const char *percent = span_find(*rest, '%');

	if (!percent)
		return 0;
	if (!span_is(span_from(*rest, percent), "%return"))
		return spec_fail(p, EINVAL, spec_col(p, percent),
				 "Invalid probed address suffix");
	*rest = span_until(*rest, percent);
	probe->kind = PROBE_RETURN;
	return 0;
}

static bool is_pattern(struct spec_span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (is_pattern_char(name.s[i]))
			return true;
	return false;
}

/* "[a-z]", "[!_]": bytes of what begins with '[' at @start. 0: it is none. */
static size_t class_len(struct spec_span name, size_t start)
{
	size_t i = start + 1, first;

	if (span_at(name, i) == '!' || span_at(name, i) == '^')
		i++;
	for (first = i; i < name.len; i++) {
		if (name.s[i] == ']' && i > first)
			return i + 1 - start;
		if (name.s[i] != '-' && !is_symbol_char(name.s[i]))
			return 0;
	}
	return 0;
}

static int parse_pattern(const struct spec_parse *p, struct spec_span name, const char *plus,
			 struct spec_probe *probe)
{
	if (plus)
		return spec_fail(p, EINVAL, spec_col(p, plus),
				 "An offset cannot be added to a pattern");
	for (size_t i = 0, step; i < name.len; i += step) {
		char c = name.s[i];

		step = c == '[' ? class_len(name, i) : 1;
		if (!step)
			return spec_fail(p, EINVAL, spec_col(p, name.s + i),
					 "Invalid pattern: nothing ends the '['");
		if (c == '@')
			return spec_fail(p, EINVAL, spec_col(p, name.s + i),
					 "A pattern has no version");
		if (!is_pattern_char(c) && !is_symbol_char(c))
			return spec_fail(p, EINVAL, spec_col(p, name.s + i), "Invalid pattern");
	}
	probe->is_pattern = true;
	probe->symbol = strndup(name.s, name.len);
	return probe->symbol ? 0 : spec_fail_memory(p);
}

/* No second sign: "+-8" would be an address before the symbol. */
static int parse_symbol_off(const struct spec_parse *p, struct spec_span off,
			    struct spec_probe *probe)
{
	int rc = -EINVAL;

	if (char_is_digit(span_at(off, 0)))
		rc = num_u64(off.s, off.len, 0, &probe->symbol_off);
	return rc < 0 ? spec_fail(p, -rc, spec_col(p, off.s), "Invalid symbol offset") : 0;
}

/* In names without quotes a '+' may also be an operator. */
static const char *find_symbol_off(struct spec_span text, size_t from)
{
	const char *plus = span_rfind(text, '+');

	return plus && plus >= text.s + from &&
			       char_is_digit(span_at(span_from(text, plus + 1), 0))
		       ? plus
		       : NULL;
}

/*
 * A name of C++ or Rust. What may be behind it, as in "f(int)"@file.cc+0x10, is left to whoever
 * knows names, but for the offset.
 */
static int parse_name(const struct spec_parse *p, struct spec_span text,
		      struct spec_probe *probe)
{
	size_t quoted = spec_quoted_len(text.s, text.len);
	const char *plus = find_symbol_off(text, quoted);
	struct spec_span name = plus ? span_until(text, plus) : text;
	int rc = plus ? parse_symbol_off(p, span_from(text, plus + 1), probe) : 0;

	if (rc < 0)
		return rc;
	probe->symbol_col = spec_col(p, name.s);
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.s[i] < ' ' ||
		    (name.s[i] == '"' && i != 0 && i + 1 != quoted))
			return spec_fail(p, EINVAL, spec_col(p, name.s + i),
					 "Invalid symbol name");
	if (quoted && name.len > quoted && name.s[quoted] != '@')
		return spec_fail(p, EINVAL, spec_col(p, name.s + quoted),
				 "Invalid behind a name in quotes");
	if (name.len == 0 || quoted == 2)
		return spec_fail(p, EINVAL, spec_col(p, text.s), "No name is specified");
	probe->is_pattern = probe->is_name = true;
	probe->symbol = strndup(name.s, name.len);
	if (!probe->symbol)
		return spec_fail_memory(p);
	if (quoted) {
		memmove(probe->symbol, probe->symbol + 1, name.len);
		memmove(probe->symbol + quoted - 2, probe->symbol + quoted - 1,
			name.len - quoted + 1);
	}
	return 0;
}

/* "NAME@*": all of that name, wherever they come from. */
static bool is_all_of_name(struct spec_span name)
{
	return name.len > 2 && span_ends(name, "@*") &&
	       !is_pattern(span_until(name, name.s + name.len - 2));
}

static int parse_symbol(const struct spec_parse *p, struct spec_span text,
			struct spec_probe *probe)
{
	const char *plus = span_find(text, '+'), *at = span_find(text, '@');
	struct spec_span name;

	/* Files may have other names than functions. */
	if (at)
		plus = find_symbol_off(text, (size_t)(at - text.s));
	name = plus ? span_until(text, plus) : text;
	probe->symbol_col = spec_col(p, name.s);
	if (is_all_of_name(name))
		return parse_name(p, text, probe);
	if (is_pattern(name))
		return parse_pattern(p, name, plus, probe);
	for (size_t i = 0; i < name.len; i++)
		if (!is_symbol_char(name.s[i]) &&
		    !(at && name.s + i > at && strchr("+-", name.s[i])))
			return spec_fail(p, EINVAL, spec_col(p, name.s + i),
					 "Invalid symbol name");
	if (plus) {
		int rc = parse_symbol_off(p, span_from(text, plus + 1), probe);

		if (rc < 0)
			return rc;
	}
	probe->symbol = strndup(name.s, name.len);
	if (!probe->symbol)
		return spec_fail_memory(p);
	probe->offset = probe->symbol_off;
	return 0;
}

/*
 * Cut "(REF)" and "%return" off a name of C++ or Rust, which may hold both signs: a number in
 * parentheses is no parameter.
 */
static int parse_ends(const struct spec_parse *p, struct spec_span *rest,
		      struct spec_probe *probe)
{
	static const char suffix[] = "%return";
	size_t quoted = spec_quoted_len(rest->s, rest->len);
	const char *open = span_rfind(*rest, '(');
	int rc = 0;

	if (open && (quoted ? open >= rest->s + quoted
			    : char_is_digit(span_at(span_from(*rest, open + 1), 0)))) {
		struct spec_span ref = span_from(*rest, open);

		rc = parse_ref(p, &ref, probe);
		*rest = span_until(*rest, open);
	}
	if (rc == 0 && span_ends(*rest, suffix)) {
		*rest = span_until(*rest, rest->s + rest->len - strlen(suffix));
		probe->kind = PROBE_RETURN;
	}
	return rc;
}

/* OFFSET or SYMBOL, with what is behind it. */
static int parse_rest(const struct spec_parse *p, struct spec_span rest,
		      struct spec_probe *probe)
{
	int rc = parse_ref(p, &rest, probe);

	if (rc == 0)
		rc = parse_suffix(p, &rest, probe);
	if (rc < 0)
		return rc;
	if (!char_is_digit(span_at(rest, 0)))
		return parse_symbol(p, rest, probe);
	probe->is_resolved = true;
	rc = num_u64(rest.s, rest.len, 0, &probe->offset);
	return rc < 0 ? spec_fail(p, -rc, spec_col(p, rest.s), "Invalid uprobe offset") : 0;
}

int spec_parse_place(const struct spec_parse *p, struct spec_span word,
		     struct spec_probe *probe, struct spec_span *ret_target)
{
	struct spec_span rest = { "", 0 };
	bool is_name;
	int rc;

	rc = cut_target(p, word, ret_target, &rest, &is_name);
	if (rc < 0)
		return rc;
	rc = find_file(p, *ret_target, probe);
	if (rc < 0)
		return rc;
	if (!is_name)
		return parse_rest(p, rest, probe);
	rc = parse_ends(p, &rest, probe);
	return rc < 0 ? rc : parse_name(p, rest, probe);
}
