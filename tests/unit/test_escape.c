/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names and strings as they are printed: nothing that acts is left, and nothing is lost. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/escape.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

struct vector {
	const char *what, *text, *shown;
};

static const struct vector vectors[] = {
	{ "nothing", "", "" },
	{ "plain text stays", "plain text of some length, 8 and 8",
	  "plain text of some length, 8 and 8" },
	{ "so do quotes and single backslashes", "\"\\\" \\n C:\\dir\\",
	  "\"\\\" \\n C:\\dir\\" },
	{ "ends of lines", "a\nb\r\v\f", "a\\012b\\015\\013\\014" },
	{ "controls and DEL", "\x1b[2J\t\x01\x7f", "\\033[2J\\011\\001\\177" },
	{ "in the middle of much text",
	  "0123456\x1b"
	  "89abcdef\n",
	  "0123456\\03389abcdef\\012" },
	{ "C1 controls in UTF-8", "\xc2\x80\xc2\x9bm\xc2\x9f\xc2\xa0",
	  "\\302\\200\\302\\233m\\302\\237\xc2\xa0" },
	{ "C1 controls alone", "\x9bm", "\\233m" },
	{ "directions", "\xe2\x80\xae\xd8\x9c\xe2\x81\xa6\xe2\x80\x8f",
	  "\\342\\200\\256\\330\\234\\342\\201\\246\\342\\200\\217" },
	{ "ends of lines beyond ASCII", "\xe2\x80\xa8\xe2\x80\xa9\xc2\x85",
	  "\\342\\200\\250\\342\\200\\251\\302\\205" },
	{ "what is near them", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa\xd8\x9b",
	  "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa\xd8\x9b" },
	{ "other writing", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
	  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "no UTF-8", "caf\xe9 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82",
	  "caf\\351 \\300\\257 \\355\\240\\200 \\364\\220\\200\\200 \\342\\202" },
	{ "a backslash that looks like one of ours", "\\012 \\377 \\134",
	  "\\134012 \\134377 \\134134" },
	{ "and one that does not", "\\400 \\08 \\01", "\\400 \\08 \\01" },
	{ "a backslash before an escape", "\\\n", "\\\\012" },
};

static void check_vector(void **state)
{
	const struct vector *v = *state;
	char shown[256], *line = escape_line(v->text);

	*escape_put(shown, v->text, strlen(v->text)) = '\0';
	assert_string_equal(v->shown, shown);
	/* Lines differ in what is a backslash there already. */
	if (!strchr(v->text, '\\'))
		assert_string_equal(v->shown, line);
	free(line);
}

static int digit(char c)
{
	return c >= '0' && c <= '7' ? c - '0' : -1;
}

static void lines_keep_backslashes(void **state)
{
	char *line = escape_line("p:g/e /x:0x10 a=\\100 b=\\377\n\x1b");

	(void)state;
	assert_string_equal("p:g/e /x:0x10 a=\\100 b=\\377\\012\\033", line);
	free(line);
}

/* What has no room is left out as a whole: a character, a \ooo, all four of one. */
static void lines_are_cut(void **state)
{
	static const struct {
		size_t size;
		const char *text, *cut;
	} cases[] = {
		{ 1, "a", "" },
		{ 2, "a", "a" },
		{ 4, "abcd", "abc" },
		{ 4, "ab\xc3\xa9", "ab" },
		{ 5, "ab\xc3\xa9", "ab\xc3\xa9" },
		{ 5, "a\033b", "a" },
		{ 6, "a\033b", "a\\033" },
		{ 9, "a\xc2\x9b", "a" },
		{ 10, "a\xc2\x9b", "a\\302\\233" },
		{ 6, "a\xe2\x80", "a\\342" },
	};
	char to[16];

	(void)state;
	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		memset(to, 'x', sizeof(to));
		escape_line_cut(to, cases[i].size, cases[i].text);
		assert_string_equal(cases[i].cut, to);
		for (size_t j = cases[i].size; j < sizeof(to); j++)
			assert_int_equal('x', to[j]);
	}
}

/* Each \ooo is its byte. */
static size_t decode(const char *s, size_t len, uint8_t *to)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\\' && i + 3 < len && digit(s[i + 1]) >= 0 &&
		    digit(s[i + 1]) < 4 && digit(s[i + 2]) >= 0 && digit(s[i + 3]) >= 0) {
			to[n++] = (uint8_t)(digit(s[i + 1]) << 6 | digit(s[i + 2]) << 3 |
					    digit(s[i + 3]));
			i += 3;
		} else {
			to[n++] = (uint8_t)s[i];
		}
	}
	return n;
}

/* Bytes of few kinds, so that escapes, backslashes and digits meet. */
static void any_bytes(void **state)
{
	static const uint8_t kinds[] = "\\\\0123478a \n\x1b\xc2\x9b\xe2\x80\xae\xff";
	char shown[ESCAPE_BYTE_MAX * 24];
	uint8_t text[24], back[sizeof(shown)];
	unsigned seed = 1;
	uint32_t code;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		size_t len = round % (sizeof(text) + 1), n;

		for (size_t i = 0; i < len; i++) {
			seed = seed * 1103515245 + 12345;
			text[i] = kinds[(seed >> 16) % sizeof(kinds)];
		}
		n = (size_t)(escape_put(shown, text, len) - shown);
		assert_int_equal(len, decode(shown, n, back));
		assert_memory_equal(text, back, len);
		for (size_t i = 0, one; i < n; i += one) {
			one = utf8_sequence((uint8_t *)shown + i, n - i, &code);
			assert_true(one > 0 && !utf8_is_unsafe(code));
		}
	}
}

int main(void)
{
	struct CMUnitTest tests[N_ELEMS(vectors) + 3];

	for (size_t i = 0; i < N_ELEMS(vectors); i++)
		tests[i] = (struct CMUnitTest){
			.name = vectors[i].what,
			.test_func = check_vector,
			.initial_state = (void *)&vectors[i],
		};
	tests[N_ELEMS(vectors)] = (struct CMUnitTest)cmocka_unit_test(any_bytes);
	tests[N_ELEMS(vectors) + 1] =
		(struct CMUnitTest)cmocka_unit_test(lines_keep_backslashes);
	tests[N_ELEMS(vectors) + 2] = (struct CMUnitTest)cmocka_unit_test(lines_are_cut);
	return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
