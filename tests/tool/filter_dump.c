/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Answers what a filter does, line by line, for scripts:
 *
 *   in   hit N S D          one more hit; S is hex, "-" if it cannot be read, "." if empty
 *        filter KIND TEXT   KIND: a fixture's number; TEXT: hex, "." if empty
 *   out  ok PASSED          which hits pass, by number with commas, "-" if none
 *        err ERRNO CARET COMMAND MESSAGE    CARET -1: none; COMMAND: hex
 *
 * There is one line out for each "filter", at once, so that a script can talk
 * to it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/fetch/match.h"
#include "engine/spec/filter.h"
#include "tests/tool/filter_fixture.h"

#define HITS_MAX 64
#define TEXT_MAX 8192

struct state {
	struct fixture fixtures[FIXTURE_KINDS];
	struct fixture_hit hits[HITS_MAX];
	size_t n_hits;
};

/* Hex to bytes with a NUL. Returns malloc()ed memory, or NULL for "-". */
static char *from_hex(const char *hex)
{
	size_t n = strcmp(hex, ".") == 0 ? 0 : strlen(hex) / 2;
	char *text;

	if (strcmp(hex, "-") == 0)
		return NULL;
	text = calloc(1, n + 1);
	if (!text)
		abort();
	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			abort();
		text[i] = (char)byte;
	}
	return text;
}

static void print_hex(const char *text)
{
	if (!*text)
		putchar('.');
	for (; *text; text++)
		printf("%02x", (unsigned char)*text);
}

static void print_passed(const struct state *state, const struct fixture *fixture,
			 const struct filter *filter)
{
	struct event_record *record = malloc(sizeof(*record) + FIXTURE_DATA_MAX);
	const char *comma = "";

	if (!record)
		abort();
	fputs("ok ", stdout);
	for (size_t i = 0; i < state->n_hits; i++) {
		fixture_record(fixture, &state->hits[i], record);
		if (!filter_match(filter, record))
			continue;
		printf("%s%zu", comma, i);
		comma = ",";
	}
	puts(*comma ? "" : "-");
	free(record);
}

static void answer(const struct state *state, unsigned kind, const char *hex)
{
	const struct fixture *fixture = &state->fixtures[kind];
	struct filter *filter = NULL;
	char *text = from_hex(hex);
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = filter_parse(text ? text : "", &fixture->probe, &filter, &err);
	free(text);
	if (rc < 0) {
		printf("err %d %d ", -rc, err.has_caret ? (int)err.caret : -1);
		print_hex(err.command);
		printf(" %s\n", err.text);
		return;
	}
	print_passed(state, fixture, filter);
	filter_free(filter);
}

int main(void)
{
	static char line[2 * TEXT_MAX + 64], text[2 * TEXT_MAX + 1];
	static struct state state;
	unsigned long long n, d;
	unsigned kind;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (kind = 0; kind < FIXTURE_KINDS; kind++)
		fixture_init(&state.fixtures[kind], kind);
	while (fgets(line, sizeof(line), stdin)) {
		if (state.n_hits < HITS_MAX &&
		    sscanf(line, "hit %llu %16384s %llu", &n, text, &d) == 3) {
			state.hits[state.n_hits++] =
				(struct fixture_hit){ n, from_hex(text), d };
		} else if (sscanf(line, "filter %u %16384s", &kind, text) == 2 &&
			   kind < FIXTURE_KINDS) {
			answer(&state, kind, text);
		} else {
			fprintf(stderr, "filter_dump: cannot read: %s", line);
			return 2;
		}
	}
	return 0;
}
