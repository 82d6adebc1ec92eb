/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: filters. The first bytes make a hit of one of three events, the rest is
 * the filter's text. What is accepted is evaluated: on the hit, and on a record of
 * arbitrary data of the same length, which a filter must survive as well.
 */

#include "tests/fuzz/fuzz.h"

#include "engine/base/err.h"
#include "engine/fetch/match.h"
#include "engine/spec/filter.h"
#include "tests/tool/filter_fixture.h"

#define STRING_MAX 64

static void evaluate(const struct fixture *fixture, const struct fixture_hit *hit,
		     const struct filter *filter, uint8_t noise)
{
	struct event_record *record = malloc(sizeof(*record) + FIXTURE_DATA_MAX), *exact;
	size_t len;
	bool passed;

	CLAIM(record);
	fixture_record(fixture, hit, record);
	len = sizeof(*record) + record->data_len;
	exact = fuzz_copy(record, len);
	passed = filter_match(filter, exact);
	CLAIM(passed == filter_match(filter, exact));
	memset(exact->data, noise, exact->data_len);
	(void)filter_match(filter, exact);
	exact->data_len = noise % (exact->data_len + 1);
	(void)filter_match(filter, exact);
	free(exact);
	free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	unsigned head = (unsigned)fuzz_number(&in, 1);
	struct fixture_hit hit = { .n = fuzz_number(&in, 8), .d = fuzz_number(&in, 8) };
	uint8_t noise = (uint8_t)fuzz_number(&in, 1);
	struct filter *filter = NULL;
	struct fixture fixture;
	struct ubp_err err;
	char *string, *text;
	int rc;

	ubp_err_reset(&err);
	fixture_init(&fixture, head % FIXTURE_KINDS);
	string = fuzz_text(&in);
	if (strlen(string) > STRING_MAX)
		string[STRING_MAX] = '\0';
	hit.s = head & 0x80 ? NULL : string;
	text = fuzz_text(&in);
	rc = filter_parse(text, &fixture.probe, &filter, &err);
	if (rc < 0)
		CLAIM(rc == -err.code && err.text[0] != '\0' && !filter);
	else
		evaluate(&fixture, &hit, filter, noise);
	filter_free(filter);
	free(text);
	free(string);
	return 0;
}
