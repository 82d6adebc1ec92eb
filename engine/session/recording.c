/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What was recorded to a file, as events. */

#include "engine/ubp_recording.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/recording/frame_json.h"
#include "engine/recording/merge.h"
#include "engine/session/choice.h"
#include "engine/session/event.h"
#include "engine/session/recording_names.h"
#include "engine/session/sink.h"
#include "engine/sink/value.h"

struct ubp_recording {
	struct recording_merge *merge;
	struct event_texts texts;
	struct sink_resolver resolver;
	struct recording_names names;
	struct choice choice;
	bool is_over; /* no later event is wanted */
};

static size_t resolve(void *ctx, const struct event_record *record, size_t i,
		      struct sink_frame frames[SINK_FRAMES_MAX])
{
	struct ubp_recording *r = ctx;
	uint64_t vaddr = sink_stack_entry(record, i);
	size_t n = frames_of_json(recording_merge_name(r->merge, vaddr, i == 0), vaddr, frames);

	if (!frames[n - 1].function)
		recording_name_frame(&r->names, recording_merge_mapped(r->merge), i == 0,
				     &frames[n - 1]);
	return n;
}

static const struct spec_probe *next_of_all(void *ctx, unsigned *at)
{
	const struct ubp_recording *r = ctx;
	const struct spec_probe *probe = NULL;

	while (!probe && *at < recording_merge_n_probes(r->merge))
		probe = recording_merge_probe(r->merge, (*at)++);
	return probe;
}

/* Those that have events which are wanted: a function without its return probe has no calls. */
static const struct spec_probe *next_probe(void *ctx, unsigned *at)
{
	struct ubp_recording *r = ctx;
	const struct spec_probe *probe;

	do
		probe = next_of_all(r, at);
	while (probe && !choice_may_want(&r->choice, probe));
	return probe;
}

int ubp_recording_open(const char *path, struct ubp_recording **ret_recording,
		       struct ubp_err *err)
{
	return ubp_recording_open_all(&path, 1, NULL, ret_recording, err);
}

int ubp_recording_open_all(const char *const *paths, size_t n,
			   const struct ubp_recording_align *align,
			   struct ubp_recording **ret_recording, struct ubp_err *err)
{
	struct recording_merge_options options = {
		.align = !align      ? RECORDING_ALIGN_NOT
			 : align->ns ? RECORDING_ALIGN_BY
				     : RECORDING_ALIGN_REAL,
		.ns = align ? align->ns : NULL,
	};
	struct ubp_recording *r;
	struct ubp_recording_info info;
	int rc;

	ubp_err_reset(err);
	rc = ubp_need(n ? paths : NULL, "file", err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = ubp_need(paths[i], "file", err);
	if (rc < 0)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = recording_merge_open(paths, n, &options, &r->merge, err);
	if (rc < 0) {
		free(r);
		return rc;
	}
	r->resolver = (struct sink_resolver){ resolve, r };
	r->texts.probes = (struct sink_probes){ next_probe, r };
	ubp_recording_info(r, &info);
	r->texts.escape = !info.strict;
	r->texts.about = (struct picture_about){ info.host, info.kernel, info.machine,
						 info.clock_ns, info.real_ns };
	r->texts.resolver = recording_merge_has_names(r->merge) ? &r->resolver : NULL;
	*ret_recording = r;
	return 0;
}

void ubp_recording_free(struct ubp_recording *r)
{
	if (!r)
		return;
	recording_merge_free(r->merge);
	recording_names_free(&r->names);
	choice_free(&r->choice);
	sink_buf_free(&r->texts.line);
	sink_buf_free(&r->texts.arg);
	free(r);
}

int ubp_recording_read(struct ubp_recording *r, ubp_event_fn *fn, void *ctx, int most,
		       struct ubp_err *err)
{
	struct ubp_event event = { .texts = &r->texts };
	bool is_ended = false;
	int n = 0, rc = 0;

	ubp_err_reset(err);
	if (ubp_need((const void *)(uintptr_t)fn, "function", err) < 0)
		return -EINVAL;
	while (n < most && !r->is_over && !is_ended &&
	       (rc = recording_merge_next(r->merge, &event.record, err)) > 0) {
		event.spec = event.record->kind == EVENT_HIT
				     ? recording_merge_probe(r->merge, event.record->probe)
				     : NULL;
		event.probe = event.spec ? (int)event.record->probe : -1;
		event.host = recording_merge_host(r->merge);
		event.weight = recording_merge_weight(r->merge);
		switch (choice_asks(&r->choice, event.spec, event.record)) {
		case CHOICE_YES:
			is_ended = fn(ctx, &event) != 0;
			n++;
			break;
		case CHOICE_LATE:
			r->is_over = true;
			break;
		case CHOICE_NO:
			break;
		}
	}
	return rc < 0 ? rc : n;
}

int ubp_recording_choose(struct ubp_recording *r, const char *event, const char *filter,
			 struct ubp_err *err)
{
	const struct sink_probes all = { next_of_all, r };

	ubp_err_reset(err);
	return choice_add(&r->choice, &all, event, filter, err);
}

int ubp_recording_choose_pids(struct ubp_recording *r, const pid_t *pids, size_t n,
			      struct ubp_err *err)
{
	ubp_err_reset(err);
	if (n && ubp_need(pids, "process", err) < 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (VEC_FIT(r->choice.pids, r->choice.n_pids + 1) < 0)
			return ubp_fail(err, ENOMEM, "out of memory");
		r->choice.pids[r->choice.n_pids++] = pids[i];
	}
	return 0;
}

void ubp_recording_choose_time(struct ubp_recording *r, const struct ubp_recording_time *from,
			       const struct ubp_recording_time *to)
{
	const struct ubp_recording_time any = { 0 };

	r->choice.from = from ? *from : any;
	r->choice.to = to ? *to : any;
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

static void fill_info(const struct recording_merge_part *part,
		      struct ubp_recording_info *ret_info)
{
	const json_t *info = part->info, *end = part->end;

	*ret_info = (struct ubp_recording_info){
		.path = part->path,
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

size_t ubp_recording_n_parts(const struct ubp_recording *r)
{
	return recording_merge_n_parts(r->merge);
}

void ubp_recording_part_info(const struct ubp_recording *r, size_t i,
			     struct ubp_recording_info *ret_info)
{
	struct recording_merge_part part = recording_merge_part(r->merge, i);

	fill_info(&part, ret_info);
}

void ubp_recording_info(const struct ubp_recording *r, struct ubp_recording_info *ret_info)
{
	struct ubp_recording_info other;

	ubp_recording_part_info(r, 0, ret_info);
	for (size_t i = 1; i < ubp_recording_n_parts(r); i++) {
		ubp_recording_part_info(r, i, &other);
		ret_info->strict &= other.strict;
		ret_info->is_whole &= other.is_whole;
		ret_info->records += other.records;
		ret_info->lost += other.lost;
	}
}

void ubp_recording_damage(const struct ubp_recording *r,
			  struct ubp_recording_damage *ret_damage)
{
	struct recording_damage damage;
	uint64_t n_files, n_twice;

	recording_merge_damage(r->merge, &damage, &n_files, &n_twice);
	*ret_damage =
		(struct ubp_recording_damage){ damage.bytes, damage.blocks, damage.records,
					       n_files,      n_twice,       damage.copies };
}

const char *ubp_event_host(const struct ubp_event *e)
{
	return e->host;
}
