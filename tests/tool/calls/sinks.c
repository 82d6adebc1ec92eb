/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of ubp_sink.h, ubp_record.h and ubp_recording.h. */

#include "engine/ubp_record.h"
#include "engine/ubp_recording.h"
#include "engine/ubp_sink.h"
#include "tests/tool/calls/calls.h"

#define S target.session

static struct ubp_sink *sinks[2];
static struct ubp_recording *recording;
static struct ubp_sink *recorded; /* a sink of that */

static void recording_forget(void)
{
	ubp_sink_free(recorded);
	recorded = NULL;
	ubp_recording_free(recording);
	recording = NULL;
}

void sinks_forget(void)
{
	for (size_t i = 0; i < ARRAY_N(sinks); i++) {
		ubp_sink_free(sinks[i]);
		sinks[i] = NULL;
	}
	recording_forget();
}

/* --- sinks ----------------------------------------------------------------------------------------- */

static const char *a_form(void)
{
	static const char *const forms[] = {
		"text",   "json",     "folded", "html", "flame", "heat",  "otlp",      "csv",
		"chrome", "perfetto", "pprof",  "ctf",  "tree",  "stats", "stats-json"
	};

	return A_TEXT(forms);
}

static struct ubp_sink_options sink_options(void)
{
	return (struct ubp_sink_options){
		.form = a_form(),
		.raw = seldom(4),
		.header = seldom(4),
		.service = seldom(4) ? "mine" : NULL,
		.time = (enum ubp_sink_time)(seldom(20) ? 1000 : any(5)),
		.colour = seldom(4),
	};
}

CALL(ubp_sink_form)
{
	struct ubp_sink_form form;

	if (ubp_sink_form(a_form(), &form))
		look_at_text(form.name);
}

CALL(ubp_sink_new)
{
	struct ubp_sink_options options = sink_options();
	struct ubp_sink **place = &ONE_OF(sinks);

	ubp_sink_free(*place);
	*place = NULL;
	if (!is_well(ubp_sink_new(S, seldom(12) ? NULL : &options, place, &here.err)) && *place)
		fail("a sink for an error", 0);
}

CALL(ubp_sink_free)
{
	struct ubp_sink **place = &ONE_OF(sinks);

	ubp_sink_free(*place);
	*place = NULL;
}

/* What a sink gives, in whatever order it is asked. */
#define TEXT_OF(name)                                                                          \
	CALL(name)                                                                             \
	{                                                                                      \
		struct ubp_sink *sink = ONE_OF(sinks);                                         \
		size_t len = 0;                                                                \
		const char *text = sink ? name(sink, &len) : NULL;                             \
                                                                                               \
		if (text)                                                                      \
			look_at(text, len);                                                    \
	}
TEXT_OF(ubp_sink_begin)
TEXT_OF(ubp_sink_beside)
TEXT_OF(ubp_sink_flush)

CALL(ubp_sink_end)
{
	struct ubp_sink *sink = ONE_OF(sinks);
	size_t len = 0;
	const char *text = sink && seldom(3) ? ubp_sink_end(sink, &len) : NULL;

	if (text)
		look_at(text, len);
}

CALL(ubp_sink_event)
{
	struct ubp_sink *sink = ONE_OF(sinks);
	size_t len = 0;
	const char *text = sink && here.event ? ubp_sink_event(sink, here.event, &len) : NULL;

	if (text)
		look_at(text, len);
}

CALL(ubp_sink_lost)
{
	struct ubp_sink *sink = ONE_OF(sinks);
	size_t len = 0;
	const char *text = sink ? ubp_sink_lost(sink, a_word(), &len) : NULL;

	if (text)
		look_at(text, len);
}

CALL(ubp_sink_diff)
{
	size_t len = 0;
	const char *text =
		sinks[0] && sinks[1] ? ubp_sink_diff(sinks[0], sinks[1], &len) : NULL;

	if (text)
		look_at(text, len);
}

CALL(ubp_sink_is_short)
{
	if (sinks[0] && ubp_sink_is_short(sinks[0]))
		fail("memory was short", 0);
}

CALL(ubp_sink_untold)
{
	if (sinks[0])
		(void)ubp_sink_untold(sinks[0]);
}

/* --- recordings that are made ------------------------------------------------------------------------ */

CALL(ubp_record)
{
	struct ubp_record_options options = {
		.path = a_path(),
		.level = seldom(6) ? (int)a_word() : (int)any(4),
		.max_size = seldom(4) ? a_word() : 0,
		.append = seldom(4),
		.rotate = seldom(4) ? a_word() : 0,
		.keep = seldom(4) ? any(4) : 0,
		.per_thread = seldom(4) ? a_word() : 0,
	};

	(void)is_well(ubp_record(S, seldom(12) ? NULL : &options, &here.err));
}

CALL(ubp_record_count)
{
	uint64_t bytes = 0;

	if (ubp_record_count(S, any(4) ? &bytes : NULL) == 0 && bytes == UINT64_MAX)
		fail("no bytes", 0);
}

CALL(ubp_record_end)
{
	if (seldom(4))
		(void)is_well(ubp_record_end(S, &here.err));
}

CALL(ubp_record_is_full)
{
	(void)ubp_record_is_full(S);
}

CALL(ubp_record_next)
{
	(void)is_well(ubp_record_next(S, &here.err));
}

/* --- recordings that are read ------------------------------------------------------------------------ */

CALL(ubp_recording_open)
{
	recording_forget();
	if (!is_well(ubp_recording_open(a_path(), &recording, &here.err)) && recording)
		fail("a recording for an error", 0);
}

CALL(ubp_recording_open_all)
{
	const char *paths[] = { a_path(), a_path(), a_path() };
	const int64_t ns[] = { (int64_t)a_word(), INT64_MIN };
	struct ubp_recording_align align = { .ns = any(2) ? ns : NULL };

	recording_forget();
	if (!is_well(ubp_recording_open_all(any(12) ? paths : NULL, any(4),
					    any(3) ? &align : NULL, &recording, &here.err)) &&
	    recording)
		fail("a recording for an error", 0);
}

CALL(ubp_recording_free)
{
	if (seldom(4))
		recording_forget();
	ubp_recording_free(NULL);
}

CALL(ubp_recording_choose)
{
	static const char *const events[] = { "step", "*", "mine:*", "[", "back" };

	if (recording)
		(void)is_well(
			ubp_recording_choose(recording, A_TEXT(events), a_filter(), &here.err));
}

CALL(ubp_recording_choose_pids)
{
	const pid_t pids[] = { a_pid(), a_pid(), a_pid() };

	if (recording)
		(void)is_well(ubp_recording_choose_pids(recording, any(12) ? pids : NULL,
							any(4), &here.err));
}

CALL(ubp_recording_choose_time)
{
	struct ubp_recording_time from = { seldom(2), seldom(2), a_word() },
				  to = { seldom(2), seldom(2), a_word() };

	if (recording && seldom(3))
		ubp_recording_choose_time(recording, seldom(4) ? NULL : &from,
					  seldom(4) ? NULL : &to);
}

CALL(ubp_recording_damage)
{
	struct ubp_recording_damage damage;

	if (recording)
		ubp_recording_damage(recording, &damage);
}

static void look_at_info(const struct ubp_recording_info *info)
{
	look_at_text(info->path);
	look_at_text(info->host);
	look_at_text(info->kernel);
	look_at_text(info->machine);
	look_at_text(info->clock);
}

CALL(ubp_recording_info)
{
	struct ubp_recording_info info;

	if (!recording)
		return;
	ubp_recording_info(recording, &info);
	look_at_info(&info);
}

CALL(ubp_recording_n_parts)
{
	if (recording && ubp_recording_n_parts(recording) == 0)
		fail("a recording of nothing", 0);
}

CALL(ubp_recording_part_info)
{
	struct ubp_recording_info info;

	if (!recording)
		return;
	ubp_recording_part_info(recording, any((unsigned)ubp_recording_n_parts(recording)),
				&info);
	look_at_info(&info);
}

static int on_recorded(void *ctx, const struct ubp_event *event)
{
	const char *text;
	size_t len;

	(void)ctx;
	text = ubp_event_line(event, &len);
	look_at(text, len);
	look_at_text(ubp_event_host(event));
	text = recorded ? ubp_sink_event(recorded, event, &len) : NULL;
	if (text)
		look_at(text, len);
	return seldom(100);
}

CALL(ubp_recording_read)
{
	if (recording)
		(void)is_well(ubp_recording_read(
			recording, seldom(20) ? NULL : on_recorded, NULL,
			seldom(6) ? (int)a_word() : (int)any(300), &here.err));
}

CALL(ubp_recording_sink)
{
	struct ubp_sink_options options = sink_options();

	if (!recording)
		return;
	ubp_sink_free(recorded);
	recorded = NULL;
	if (!is_well(ubp_recording_sink(recording, seldom(12) ? NULL : &options, &recorded,
					&here.err)) &&
	    recorded)
		fail("a sink for an error", 0);
}

static int on_text(void *ctx, const char *text, size_t len, uint64_t n_events)
{
	(void)ctx;
	(void)n_events;
	look_at(text, len);
	return seldom(20);
}

CALL(ubp_recording_print)
{
	if (recording && recorded)
		(void)is_well(ubp_recording_print(
			recording, recorded, seldom(20) ? NULL : on_text, NULL, &here.err));
}
