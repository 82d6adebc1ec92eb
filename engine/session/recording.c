/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What was recorded to a file, as events. */

#include "engine/ubp_recording.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/recording/frame_json.h"
#include "engine/recording/reader.h"
#include "engine/session/event.h"
#include "engine/session/sink.h"
#include "engine/sink/value.h"

struct ubp_recording {
	struct recording_reader *reader;
	struct event_texts texts;
	struct sink_resolver resolver;
};

static size_t resolve(void *ctx, const struct event_record *record, size_t i,
		      struct sink_frame frames[SINK_FRAMES_MAX])
{
	const struct ubp_recording *r = ctx;
	uint64_t vaddr = sink_stack_entry(record, i);

	return frames_of_json(recording_name(r->reader, record->maps, vaddr, i == 0), vaddr,
			      frames);
}

static const struct spec_probe *next_probe(void *ctx, unsigned *at)
{
	const struct ubp_recording *r = ctx;
	const struct spec_probe *probe = NULL;

	while (!probe && *at < recording_n_probes(r->reader))
		probe = recording_probe(r->reader, (*at)++);
	return probe;
}

int ubp_recording_open(const char *path, struct ubp_recording **ret_recording,
		       struct ubp_err *err)
{
	struct ubp_recording *r = calloc(1, sizeof(*r));
	struct ubp_recording_info info;
	int rc;

	ubp_err_reset(err);
	if (!r)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = recording_open(path, 0, &r->reader, err);
	if (rc < 0) {
		free(r);
		return rc;
	}
	r->resolver = (struct sink_resolver){ resolve, r };
	r->texts.probes = (struct sink_probes){ next_probe, r };
	ubp_recording_info(r, &info);
	r->texts.escape = !info.strict;
	r->texts.resolver = recording_has_names(r->reader) ? &r->resolver : NULL;
	*ret_recording = r;
	return 0;
}

void ubp_recording_free(struct ubp_recording *r)
{
	if (!r)
		return;
	recording_reader_free(r->reader);
	sink_buf_free(&r->texts.line);
	sink_buf_free(&r->texts.arg);
	free(r);
}

int ubp_recording_read(struct ubp_recording *r, ubp_event_fn *fn, void *ctx, int most,
		       struct ubp_err *err)
{
	struct ubp_event event = { .texts = &r->texts };
	int n = 0, rc = 0;

	ubp_err_reset(err);
	while (n < most && (rc = recording_next(r->reader, &event.record, err)) > 0) {
		event.spec = event.record->kind == EVENT_HIT
				     ? recording_probe(r->reader, event.record->probe)
				     : NULL;
		fn(ctx, &event);
		n++;
	}
	return rc < 0 ? rc : n;
}

int ubp_recording_sink(struct ubp_recording *r, const struct ubp_sink_options *options,
		       struct ubp_sink **ret_sink, struct ubp_err *err)
{
	return session_sink_new(&r->texts, options, ret_sink, err);
}

static uint64_t number(const json_t *json, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(json, key));
}

void ubp_recording_info(const struct ubp_recording *r, struct ubp_recording_info *ret_info)
{
	const json_t *info = recording_info(r->reader), *end = recording_end(r->reader);

	*ret_info = (struct ubp_recording_info){
		.host = json_string_value(json_object_get(info, "host")),
		.kernel = json_string_value(json_object_get(info, "kernel")),
		.machine = json_string_value(json_object_get(info, "machine")),
		.clock = json_string_value(json_object_get(info, "clock")),
		.strict = json_is_true(json_object_get(info, "strict")),
		.clock_ns = number(info, "clock_ns"),
		.real_ns = number(info, "real_ns"),
		.is_whole = end != NULL,
		.records = number(end, "records"),
		.lost = number(end, "lost"),
	};
}

void ubp_recording_damage(const struct ubp_recording *r,
			  struct ubp_recording_damage *ret_damage)
{
	struct recording_damage damage;

	recording_damage(r->reader, &damage);
	*ret_damage =
		(struct ubp_recording_damage){ damage.bytes, damage.blocks, damage.records };
}
