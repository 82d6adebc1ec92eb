/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names of groups and events, given and made up. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/spec/chars.h"
#include "engine/spec/env.h"
#include "engine/spec/parse.h"
#include "engine/spec/table.h"

/* Group names may also hold '-', in front too. */
static bool is_group_name(struct spec_span text)
{
	if (text.len == 0 || char_is_digit(text.s[0]))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!char_is_name(text.s[i]) && text.s[i] != '-')
			return false;
	return true;
}

static void copy_name(char *to, struct spec_span text)
{
	memcpy(to, text.s, text.len);
	to[text.len] = '\0';
}

static int parse_group(const struct spec_parse *p, struct spec_span text,
		       struct spec_probe *probe)
{
	size_t col = spec_col(p, text.s);

	if (text.len == 0)
		return spec_fail(p, EINVAL, col, "Group name is not specified");
	if (text.len > SPEC_NAME_MAX)
		return spec_fail(p, EINVAL, col, "Group name is too long");
	if (!is_group_name(text))
		return spec_fail(p, EINVAL, col,
				 "Group name must follow the same rules as C identifiers");
	copy_name(probe->group, text);
	return 0;
}

int spec_parse_name(const struct spec_parse *p, struct spec_span text, struct spec_probe *probe)
{
	const char *cut = span_find(text, '/');
	size_t col;

	if (!cut)
		cut = span_find(text, '.');
	if (cut) {
		int rc = parse_group(p, span_until(text, cut), probe);

		if (rc < 0)
			return rc;
		text = span_from(text, cut + 1);
		if (text.len == 0)
			return 0;
	}
	col = spec_col(p, text.s);
	if (text.len == 0)
		return spec_fail(p, EINVAL, col, "Event name is not specified");
	if (text.len > SPEC_NAME_MAX)
		return spec_fail(p, EINVAL, col, "Event name is too long");
	if (!span_is_identifier(text))
		return spec_fail(p, EINVAL, col,
				 "Event name must follow the same rules as C identifiers");
	copy_name(probe->event, text);
	return 0;
}

/* File name part of @target up to the first of the bytes @ends. */
static struct spec_span base_of(struct spec_span target, const char *ends)
{
	const char *slash = span_rfind(target, '/');
	struct spec_span base = slash ? span_from(target, slash + 1) : target;

	for (size_t i = 0; i < base.len; i++)
		if (strchr(ends, base.s[i]))
			return span_until(base, base.s + i);
	return base;
}

/* @text as a C identifier of at most @max bytes. */
static void sanitise(struct spec_span text, size_t max, char *ret_name)
{
	size_t n = 0;

	if (char_is_digit(span_at(text, 0)))
		ret_name[n++] = '_';
	for (size_t i = 0; i < text.len && n < max; i++) {
		bool is_ascii = (unsigned char)text.s[i] < 0x80;

		ret_name[n++] = is_ascii && char_is_name(text.s[i]) ? text.s[i] : '_';
	}
	ret_name[n] = '\0';
}

/* @text as an identifier, with _0xOFF behind it that is never cut. */
static void name_with_offset(char *event, struct spec_span text, uint64_t offset)
{
	char tail[2 + 2 + 16 + 1];
	int len = snprintf(tail, sizeof(tail), "_0x%" PRIx64, offset);

	sanitise(text, SPEC_NAME_MAX - (size_t)len, event);
	memcpy(event + strlen(event), tail, (size_t)len + 1);
}

bool spec_name_is_pattern(const char *name)
{
	static const char word[] = "operator";
	const char *op = strstr(name, word);
	size_t len = strcspn(name, "*?(@");

	if (op && (size_t)(op - name) < len && op[strlen(word)])
		len = (size_t)(op - name) + strlen(word) + 1;
	return name[len] == '*' || name[len] == '?';
}

/* "ns::Class<int>::f" -> "ns_Class_int_f": of signs in a row one is enough. */
static void join_words(char *text)
{
	char *to = text;

	for (const char *s = text; *s; s++) {
		bool is_sign = (unsigned char)*s >= 0x80 || !char_is_name(*s);

		if (!is_sign)
			*to++ = *s;
		else if (to > text && s[1] && to[-1] != '.')
			*to++ = '.';
	}
	while (to > text + 1 && to[-1] == '.')
		to--;
	*to = '\0';
}

int spec_name_match(struct spec_probe *probe, const char *symbol, bool *may_join)
{
	bool has_name = probe->event[0] != '\0';
	char *text;

	if (*may_join && has_name)
		return 0;
	probe->auto_event = true;
	if (asprintf(&text, "%s%s%s", probe->event, has_name ? "_" : "", symbol) < 0)
		return -ENOMEM;
	join_words(text);
	/* Where names are cut, equal ones need not be one name. */
	*may_join &= strlen(text) <= SPEC_NAME_MAX;
	if (probe->symbol_off)
		name_with_offset(probe->event, (struct spec_span){ text, strlen(text) },
				 probe->symbol_off);
	else
		sanitise((struct spec_span){ text, strlen(text) }, SPEC_NAME_MAX, probe->event);
	free(text);
	return 0;
}

void spec_name_auto(struct spec_probe *probe, struct spec_span target, bool is_short)
{
	probe->auto_event = true;
	if (probe->symbol) {
		struct spec_span name = { probe->symbol, strlen(probe->symbol) };
		const char *version = span_find(name, '@');

		if (version && version != name.s)
			name = span_until(name, version);
		if (probe->symbol_off != 0)
			name_with_offset(probe->event, name, probe->symbol_off);
		else
			sanitise(name, SPEC_NAME_MAX, probe->event);
	} else if (is_short) {
		name_with_offset(probe->event, base_of(target, "."), probe->offset);
	} else {
		struct spec_span base = base_of(target, ".-_");

		/* As the kernel does it: 'p' always, nothing sanitised, the end cut. */
		snprintf(probe->event, sizeof(probe->event), "p_%.*s_0x%" PRIx64, (int)base.len,
			 base.s, probe->offset);
	}
}

void spec_name_number(const char *name, unsigned n, char ret_name[SPEC_NAME_MAX + 1])
{
	char tail[1 + 10 + 1];
	int len = snprintf(tail, sizeof(tail), "_%u", n);

	snprintf(ret_name, SPEC_NAME_MAX + 1, "%.*s%s", SPEC_NAME_MAX - len, name, tail);
}
