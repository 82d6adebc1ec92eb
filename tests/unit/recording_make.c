/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/recording_make.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/event/record.h"
#include "engine/recording/probe_json.h"
#include "engine/spec/table.h"
#include "tests/unit/spec_fixture.h"

json_t *recording_make_info(const struct recording_make_host *host)
{
	return json_pack("{s:s, s:s*, s:s, s:I, s:I}", "host", host->name, "boot", host->boot,
			 "clock", "mono", "clock_ns", (json_int_t)host->clock_ns, "real_ns",
			 (json_int_t)host->real_ns);
}

void recording_make_probe(struct recording *recording, const char *definition)
{
	struct spec_env env = fixture_env(true);
	struct spec_table *table = spec_table_new(&env);
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_non_null(table);
	assert_int_equal(spec_table_write(table, definition, strlen(definition), &err), 0);
	assert_int_equal(recording_add_json(
				 recording, RECORDING_PROBES,
				 json_pack("[o]", probe_to_json(0, spec_table_probe(table, 0))),
				 &err),
			 0);
	spec_table_free(table);
}

/* A hit of pid @number. */
void recording_make_hit(struct recording *recording, int64_t time, int number,
			uint32_t data_len)
{
	size_t size = sizeof(struct event_record) + 64;
	struct event_record *hit = calloc(1, size);
	struct ring_time_sample readings[2] = { { 0, 0 } };
	struct ubp_err err;

	assert_non_null(hit);
	ubp_err_reset(&err);
	hit->size = (uint32_t)size;
	hit->kind = EVENT_HIT;
	hit->pid = hit->tid = number;
	hit->time = (uint64_t)time;
	hit->data_len = data_len;
	hit->maps = 3;
	recording_look_begin(recording, readings, 0);
	assert_true(recording_add_stop(recording, hit));
	assert_int_equal(recording_look_end(recording, (uint64_t)time, &err), 0);
	free(hit);
}

struct recording *recording_make_begin(const char *path, const struct recording_make_host *host,
				       bool append)
{
	struct recording_options options = { .path = path, .append = append };
	struct recording *recording;
	struct ubp_err err;

	ubp_err_reset(&err);
	if (recording_new(&options, &recording, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(
		recording_add_json(recording, RECORDING_INFO, recording_make_info(host), &err),
		0);
	return recording;
}

void recording_make_end(struct recording *recording)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_int_equal(recording_add_json(recording, RECORDING_END, json_pack("{}"), &err),
			 0);
	assert_int_equal(recording_close(recording, &err), 0);
}

/* Hits at the start and each second of it, numbered from @first on. */
void recording_make_file(const char *path, const struct recording_make_host *host, bool append,
			 int first, int n)
{
	struct recording *recording = recording_make_begin(path, host, append);

	recording_make_probe(recording, "p:grp/ev /bin/ls:0x1000");
	for (int i = 0; i < n; i++)
		recording_make_hit(recording, host->clock_ns + i * SECOND, first + i, 0);
	recording_make_end(recording);
}
