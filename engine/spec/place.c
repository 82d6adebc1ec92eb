/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The second word: TARGET:OFFSET[%return][(REF)], and TARGET:SYMBOL[+OFF]. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/num.h"
#include "engine/spec/chars.h"
#include "engine/spec/parse.h"
#include "engine/spec/table.h"

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

/* Cut the word at its last ':'; later colons than that are part of no path. */
static int cut_target(const struct spec_parse *p, struct spec_span word,
		      struct spec_span *ret_target, struct spec_span *ret_rest)
{
	bool has_slash = span_find(word, '/') != NULL;
	const char *colon = span_rfind(word, ':');
	char first;

	if (p->env->strict && !has_slash)
		return spec_fail_unlogged(p, EINVAL, spec_col(p, word.s),
					  "No path with a '/' is specified");
	if (!colon)
		return spec_fail_unlogged(p, EINVAL, spec_col(p, word.s) + word.len,
					  "No ':' between file and place");
	*ret_target = span_until(word, colon);
	*ret_rest = span_from(word, colon + 1);
	first = span_at(*ret_rest, 0);
	if (!char_is_digit(first) &&
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

/* Cut "(REF)" off the end of *rest. */
static int parse_ref(const struct spec_parse *p, struct spec_span *rest,
		     struct spec_probe *probe)
{
	const char *open = span_find(*rest, '('), *close;
	struct spec_span ref;
	int rc;

	if (!open)
		return 0;
	ref = span_from(*rest, open + 1);
	*rest = span_until(*rest, open);
	close = span_find(ref, ')');
	if (!close)
		return spec_fail(p, EINVAL, spec_col(p, ref.s) + ref.len,
				 "Reference counter brace is not closed");
	if (close + 1 != ref.s + ref.len)
		return spec_fail(p, EINVAL, spec_col(p, close + 1),
				 "Reference counter has wrong suffix");
	ref = span_until(ref, close);
	rc = num_u64(ref.s, ref.len, 0, &probe->ref);
	return rc < 0 ? spec_fail(p, -rc, spec_col(p, ref.s),
				  "Invalid reference counter offset")
		      : 0;
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
	probe->is_return = true;
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

static int parse_symbol(const struct spec_parse *p, struct spec_span text,
			struct spec_probe *probe)
{
	const char *plus = span_find(text, '+');
	struct spec_span name = plus ? span_until(text, plus) : text;

	probe->symbol_col = spec_col(p, name.s);
	if (is_pattern(name))
		return parse_pattern(p, name, plus, probe);
	for (size_t i = 0; i < name.len; i++)
		if (!is_symbol_char(name.s[i]))
			return spec_fail(p, EINVAL, spec_col(p, name.s + i),
					 "Invalid symbol name");
	if (plus) {
		struct spec_span off = span_from(text, plus + 1);
		int rc = -EINVAL;

		/* No second sign: "+-8" would be an address before the symbol. */
		if (char_is_digit(span_at(off, 0)))
			rc = num_u64(off.s, off.len, 0, &probe->symbol_off);
		if (rc < 0)
			return spec_fail(p, -rc, spec_col(p, off.s), "Invalid symbol offset");
	}
	probe->symbol = strndup(name.s, name.len);
	if (!probe->symbol)
		return spec_fail_memory(p);
	probe->offset = probe->symbol_off;
	return 0;
}

int spec_parse_place(const struct spec_parse *p, struct spec_span word,
		     struct spec_probe *probe, struct spec_span *ret_target)
{
	struct spec_span rest = { "", 0 };
	int rc;

	rc = cut_target(p, word, ret_target, &rest);
	if (rc < 0)
		return rc;
	rc = find_file(p, *ret_target, probe);
	if (rc < 0)
		return rc;
	rc = parse_ref(p, &rest, probe);
	if (rc < 0)
		return rc;
	rc = parse_suffix(p, &rest, probe);
	if (rc < 0)
		return rc;
	if (!char_is_digit(span_at(rest, 0)))
		return parse_symbol(p, rest, probe);
	probe->is_resolved = true;
	rc = num_u64(rest.s, rest.len, 0, &probe->offset);
	return rc < 0 ? spec_fail(p, -rc, spec_col(p, rest.s), "Invalid uprobe offset") : 0;
}
