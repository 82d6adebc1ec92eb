/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/masked.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/trigger_hits.h"

#define LINES_MAX 4096

/* How addresses in a kernel's text begin. */
#define KERNEL "ffffffff8"
#define HEX    "0123456789abcdef"

/* A frame of a stack: "         name+0x1/0x2", " => name", "=> name+0x1/0x2". */
static bool is_frame(const char *line, size_t len)
{
	return (len > 9 && strncmp(line, "         ", 9) == 0 && line[9] != ' ') ||
	       strncmp(line, " => ", 4) == 0 || strncmp(line, "=> ", 3) == 0;
}

static size_t lines_of(const char *text, char **lines)
{
	size_t n = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");

		if (!is_frame(text, len)) {
			assert_true(n < LINES_MAX);
			lines[n] = strndup(text, len);
			assert_non_null(lines[n++]);
		}
		text += len + (text[len] == '\n');
	}
	return n;
}

/* @T0@, @T0.2@, @pt_x@: is it @value? Other masks stand for any. */
static bool is_meant(const struct masked *masked, const char *mask, uint64_t value)
{
	unsigned task, run = 1;
	char name[64];

	if (sscanf(mask, "@T%u.%u@", &task, &run) >= 1)
		return run <= masked->n_runs && task < masked->runs[run - 1]->n_tasks &&
		       (uint64_t)masked->runs[run - 1]->tasks[task] == value;
	if (sscanf(mask, "@%63[a-z_]@", name) == 1 && strncmp(name, "pt_", 3) == 0)
		return hits_address(name) == value;
	return strncmp(mask, "@RET@", 5) == 0 || strncmp(mask, "@PID@", 5) == 0 ||
	       strncmp(mask, "@TIME@", 6) == 0 || strncmp(mask, "@TYPE@", 6) == 0;
}

/* A number as it stands: 0x and hexadecimal where an address is masked. */
static uint64_t number_at(const char *text, char **ret_end)
{
	bool hex = text[0] == '0' && text[1] == 'x';

	return strtoull(text, ret_end, hex ? 16 : 10);
}

static bool skip_mask(const struct masked *masked, const char **have, const char **want)
{
	const char *end = strchr(*want + 1, '@');
	char *behind;
	uint64_t value;

	if (!end)
		return false;
	value = number_at(*have, &behind);
	if (behind == *have)
		return false;
	/* In histograms numbers may be hexadecimal without 0x. */
	if (!is_meant(masked, *want, value) || isxdigit((unsigned char)*behind)) {
		value = strtoull(*have, &behind, 16);
		if (!is_meant(masked, *want, value))
			return false;
	}
	*have = behind;
	*want = end + 1;
	return true;
}

/* Bytes that are none of UTF-8 are U+F780.. in @want. */
static bool skip_byte(const char **have, const char **want)
{
	const uint8_t *w = (const uint8_t *)*want;

	if (w[0] == 0xef && w[1] >= 0x9e && w[1] <= 0x9f) {
		uint8_t byte = (uint8_t)((w[1] & 1) << 6 | (w[2] & 0x3f) | 0x80);

		if ((uint8_t) * *have != byte)
			return false;
		*want += 3;
	} else {
		if (**have != **want)
			return false;
		*want += 1;
	}
	*have += 1;
	return true;
}

static void skip_number(const char **text)
{
	while (**text == ' ' || **text == '@' || isxdigit((unsigned char)**text))
		*text += **text == '@' ? strcspn(*text + 1, "@") + 2 : 1;
}

static bool line_equal(const struct masked *masked, const char *have, const char *want)
{
	while (*want) {
		if (masked->digits && (*want == ' ' || isdigit((unsigned char)*want))) {
			skip_number(&have);
			skip_number(&want);
		} else if (*want == '@' && strchr("TPRp", want[1]) && *have != '@') {
			if (!skip_mask(masked, &have, &want))
				return false;
		} else if (strncmp(want, KERNEL, strlen(KERNEL)) == 0) {
			have += strspn(have, HEX);
			want += strspn(want, HEX);
		} else if (!skip_byte(&have, &want))
			return false;
	}
	return !*have;
}

static bool has_line(const struct masked *masked, char **have, size_t n, const char *want)
{
	for (size_t i = 0; i < n; i++)
		if (have[i] && line_equal(masked, have[i], want)) {
			free(have[i]);
			have[i] = NULL;
			return true;
		}
	return false;
}

bool masked_equal(const struct masked *masked, const char *have, const char *want)
{
	char *is[LINES_MAX], *should[LINES_MAX];
	size_t n = lines_of(have, is), n_want = lines_of(want, should);
	bool equal = n == n_want;

	for (size_t i = 0; i < n_want && equal; i++)
		equal = masked->unordered ? has_line(masked, is, n, should[i])
					  : line_equal(masked, is[i], should[i]);
	for (size_t i = 0; i < n; i++)
		free(is[i]);
	for (size_t i = 0; i < n_want; i++)
		free(should[i]);
	return equal;
}
