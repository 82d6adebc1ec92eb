/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The way "perfetto": TrackEvents for ui.perfetto.dev. A call is a slice of its thread's track, args are its annotations; an event
 * that is no call is an instant, and what it has of numbers a counter of its process, as "lost events" is one of all.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/float_bits.h"
#include "engine/base/hash.h"
#include "engine/base/vec.h"
#include "engine/sink/names.h"
#include "engine/sink/of_calls.h"
#include "engine/sink/value.h"
#include "perfetto.pb-c.h"

#define SEQUENCE   1 /* all packets are of one */
#define LOST_TRACK 1

/* Threads have their two numbers, what else there is has these bits. */
#define PROCESS_TRACK (UINT64_C(2) << 62)
#define COUNTER_TRACK (UINT64_C(1) << 62)

#define MORE_NOTES   2 /* beside the args: what is odd about a call, its weight */
#define ELEMENTS_MAX ((size_t)SPEC_ARGS_MAX * SPEC_ARRAY_MAX)

/* What a packet points to, while it is put together. */
struct parts {
	Perfetto__DebugAnnotation notes[SPEC_ARGS_MAX + MORE_NOTES],
		*note_list[SPEC_ARGS_MAX + MORE_NOTES];
	Perfetto__DebugAnnotation elements[ELEMENTS_MAX], *element_list[ELEMENTS_MAX];
	size_t n_elements;
	Perfetto__Callstack callstack;
	Perfetto__Frame *frames, **frame_list;
	size_t cap_frames, cap_frame_list;
	char **strings;
	size_t n_strings, cap_strings;
};

struct perfetto {
	struct sink sink;
	struct calls *calls;
	struct sink_threads threads;
	struct map counters; /* their tracks */
	struct parts *parts;
	struct sink_buf *to; /* during a call */
	uint64_t last_ns, n_lost;
};

static struct perfetto *perfetto_of(struct sink *sink)
{
	return (struct perfetto *)sink;
}

/* --- packets ---------------------------------------------------------------------------- */

/* Traces that stand one behind the other are one. */
static void add_packet(struct sink_buf *to, Perfetto__TracePacket *packet)
{
	Perfetto__TracePacket *list[] = { packet };
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;
	size_t size;
	char *room;

	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = SEQUENCE;
	trace.n_packet = 1;
	trace.packet = list;
	size = perfetto__trace__get_packed_size(&trace);
	room = sink_buf_room(to, size);
	if (room)
		sink_buf_end(to, room + perfetto__trace__pack(&trace, (uint8_t *)room));
}

static void add_track(struct sink_buf *to, Perfetto__TrackDescriptor *track, uint64_t uuid)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = 1;
	track->uuid = uuid;
	packet.track_descriptor = track;
	add_packet(to, &packet);
}

static void add_event(struct sink_buf *to, Perfetto__TrackEvent *event,
		      Perfetto__TrackEvent__Type type, uint64_t track, uint64_t time)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	event->has_type = 1;
	event->type = type;
	event->has_track_uuid = 1;
	event->track_uuid = track;
	packet.has_timestamp = 1;
	packet.timestamp = time;
	packet.track_event = event;
	add_packet(to, &packet);
}

/* --- tracks --------------------------------------------------------------------------------- */

static uint64_t thread_track(const struct perfetto *p, int32_t pid, int32_t tid)
{
	return (uint64_t)(uint32_t)(sink_threads_id(&p->threads, pid)) << 32 |
	       (uint32_t)(sink_threads_id(&p->threads, tid));
}

static uint64_t process_track(const struct perfetto *p, int32_t pid)
{
	return PROCESS_TRACK | (uint32_t)(sink_threads_id(&p->threads, pid));
}

static void tell_process(const struct perfetto *p, struct sink_buf *to, int32_t pid, char *name)
{
	Perfetto__ProcessDescriptor process = PERFETTO__PROCESS_DESCRIPTOR__INIT;
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;

	process.has_pid = 1;
	process.pid = sink_threads_id(&p->threads, pid);
	process.process_name = name;
	track.process = &process;
	add_track(to, &track, process_track(p, pid));
}

static void tell_thread(struct perfetto *p, struct sink_buf *to,
			const struct event_record *record)
{
	enum sink_thread_news news = sink_threads_see(&p->threads, p->sink.host, record);
	Perfetto__ThreadDescriptor thread = PERFETTO__THREAD_DESCRIPTOR__INIT;
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	char raw[SINK_THREAD_NAME_MAX], name[ESCAPE_BYTE_MAX * SINK_THREAD_NAME_MAX + 1];

	if (news == SINK_THREAD_KNOWN)
		return;
	*escape_put(name, raw, sink_threads_name(raw, p->sink.host, record)) = '\0';
	if (record->pid == record->tid)
		tell_process(p, to, record->pid, name);
	thread.has_pid = thread.has_tid = 1;
	thread.pid = sink_threads_id(&p->threads, record->pid);
	thread.tid = sink_threads_id(&p->threads, record->tid);
	thread.thread_name = name;
	track.thread = &thread;
	add_track(to, &track, thread_track(p, record->pid, record->tid));
}

/* The track of a counter, which is told of when it is asked for first. @owner: a process's track, 0: of all. */
static bool know_counter(struct perfetto *p, struct sink_buf *to, uint64_t uuid, uint64_t owner,
			 char *name)
{
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;

	if (map_get(&p->counters, uuid))
		return true;
	if (map_put(&p->counters, uuid, p) < 0) {
		p->sink.is_short = true;
		return false;
	}
	track.name = name;
	track.counter = &counter;
	track.has_parent_uuid = owner != 0;
	track.parent_uuid = owner;
	add_track(to, &track, uuid);
	return true;
}

/* --- values ------------------------------------------------------------------------------------ */

/* A string for the next packet. NULL: memory is short. */
static char *keep(struct parts *k, const void *bytes, size_t len)
{
	char *text;

	if (VEC_ROOM(k->strings, &k->cap_strings, k->n_strings) < 0)
		return NULL;
	text = malloc(ESCAPE_BYTE_MAX * len + 1);
	if (!text)
		return NULL;
	*escape_put(text, bytes, len) = '\0';
	k->strings[k->n_strings++] = text;
	return text;
}

static void forget_parts(struct parts *k)
{
	while (k->n_strings)
		free(k->strings[--k->n_strings]);
	k->n_elements = 0;
}

static bool set_string(struct parts *k, Perfetto__DebugAnnotation *note,
		       const struct event_record *record, const struct spec_arg *arg, size_t i)
{
	struct sink_str str = { 0 };
	struct sink_buf name = { 0 };
	uint8_t byte;

	if (arg->names && sink_add_name(&name, record, arg, i))
		str = (struct sink_str){ (const uint8_t *)name.data, name.len };
	else if (arg->type.format == SPEC_STRING)
		str = sink_string(record, arg, i);
	else if (sink_is_fault(record, arg, i))
		str = (struct sink_str){ 0 };
	else if (arg->type.format == SPEC_CHAR) {
		byte = (uint8_t)sink_value(record, arg, i);
		str = (struct sink_str){ &byte, 1 };
	} else {
		return false;
	}
	note->string_value = str.bytes ? keep(k, str.bytes, str.len) : (char *)"(fault)";
	sink_buf_free(&name);
	return true;
}

static void set_value(struct parts *k, Perfetto__DebugAnnotation *note,
		      const struct event_record *record, const struct spec_arg *arg, size_t i)
{
	uint64_t value = sink_value(record, arg, i);

	if (set_string(k, note, record, arg, i))
		return;
	switch (arg->type.format) {
	case SPEC_HEX:
		note->has_pointer_value = 1;
		note->pointer_value = value;
		break;
	case SPEC_SIGNED:
		note->has_int_value = 1;
		note->int_value = sink_signed_value(record, arg, i);
		break;
	case SPEC_FLOAT:
		note->has_double_value = 1;
		note->double_value = float_of_bits(value, arg->type.size);
		break;
	default:
		note->has_uint_value = 1;
		note->uint_value = value;
		break;
	}
}

/* Elements of arrays have no names. */
static void set_arg(struct parts *k, Perfetto__DebugAnnotation *note,
		    const struct event_record *record, const struct spec_arg *arg)
{
	note->name = (char *)arg->name;
	if (!arg->type.count) {
		set_value(k, note, record, arg, 0);
		return;
	}
	note->array_values = k->element_list + k->n_elements;
	for (size_t i = 0; i < sink_n_values(arg); i++) {
		Perfetto__DebugAnnotation *element = &k->elements[k->n_elements];

		perfetto__debug_annotation__init(element);
		set_value(k, element, record, arg, i);
		k->element_list[k->n_elements++] = element;
		note->n_array_values++;
	}
}

static void set_args(struct parts *k, Perfetto__TrackEvent *event,
		     const struct spec_probe *probe, const struct event_record *record)
{
	size_t n = 0;

	for (size_t i = 0; i < probe->n_args; i++) {
		/* A stack of a synthetic event. */
		if (probe->is_made && probe->args[i].type.count)
			continue;
		perfetto__debug_annotation__init(&k->notes[n]);
		set_arg(k, &k->notes[n], record, &probe->args[i]);
		k->note_list[n] = &k->notes[n];
		n++;
	}
	event->n_debug_annotations = n;
	event->debug_annotations = k->note_list;
}

/* One more annotation, of our own. */
static Perfetto__DebugAnnotation *add_note(struct parts *k, Perfetto__TrackEvent *event,
					   const char *name)
{
	Perfetto__DebugAnnotation *note = &k->notes[event->n_debug_annotations];

	perfetto__debug_annotation__init(note);
	note->name = (char *)name;
	k->note_list[event->n_debug_annotations++] = note;
	event->debug_annotations = k->note_list;
	return note;
}

/* What is odd about a call. */
static void set_state(struct parts *k, Perfetto__TrackEvent *event, const char *state)
{
	add_note(k, event, "ubp.state")->string_value = (char *)state;
}

/* Where hits are sampled (struct sink); 0: they are not. */
static void set_weight(struct parts *k, Perfetto__TrackEvent *event, uint64_t weight)
{
	Perfetto__DebugAnnotation *note;

	if (!weight)
		return;
	note = add_note(k, event, "ubp.weight");
	note->has_uint_value = 1;
	note->uint_value = weight;
}

/* --- stacks ------------------------------------------------------------------------------------ */

/* 0 or -ENOMEM. */
static int add_frame(struct parts *k, const struct sink_frame *frame, uint64_t address)
{
	Perfetto__Frame *f;
	char text[32];

	if (VEC_ROOM(k->frames, &k->cap_frames, k->callstack.n_frames) < 0)
		return -ENOMEM;
	f = &k->frames[k->callstack.n_frames++];
	perfetto__frame__init(f);
	(void)snprintf(text, sizeof(text), "0x%" PRIx64, address);
	f->function_name = frame && frame->function
				   ? keep(k, frame->function, strlen(frame->function))
				   : keep(k, text, strlen(text));
	if (frame && frame->source) {
		f->source_file = keep(k, frame->source, strlen(frame->source));
		f->has_line_number = 1;
		f->line_number = frame->line;
	}
	return f->function_name ? 0 : -ENOMEM;
}

/* 0 or -ENOMEM. */
static int room_for_list(struct parts *k)
{
	Perfetto__Frame **list;

	if (k->cap_frame_list >= k->cap_frames)
		return 0;
	list = reallocarray(k->frame_list, k->cap_frames, sizeof(*list));
	if (!list)
		return -ENOMEM;
	k->frame_list = list;
	k->cap_frame_list = k->cap_frames;
	return 0;
}

/* The outermost first. */
static void set_stack(struct perfetto *p, Perfetto__TrackEvent *event,
		      const struct event_record *record)
{
	const struct sink_resolver *resolver = p->sink.opt.resolver;
	struct sink_frame frames[SINK_FRAMES_MAX];
	struct parts *k = p->parts;
	int rc = 0;

	perfetto__callstack__init(&k->callstack);
	for (size_t i = record->n_stack; i-- > 0 && rc == 0;) {
		size_t n = resolver ? resolver->resolve(resolver->ctx, record, i, frames) : 0;

		if (!n)
			rc = add_frame(k, NULL, sink_stack_entry(record, i));
		for (size_t j = n; j-- > 0 && rc == 0;)
			rc = add_frame(k, &frames[j], sink_stack_entry(record, i));
	}
	if (rc == 0 && k->callstack.n_frames)
		rc = room_for_list(k);
	if (rc < 0) {
		p->sink.is_short = true;
		return;
	}
	for (size_t i = 0; i < k->callstack.n_frames; i++)
		k->frame_list[i] = &k->frames[i];
	k->callstack.frames = k->frame_list;
	if (k->callstack.n_frames)
		event->callstack = &k->callstack;
}

/* --- events ------------------------------------------------------------------------------------ */

static void add_named(struct perfetto *p, Perfetto__TrackEvent__Type type, const char *name,
		      const struct spec_probe *probe, const struct event_record *record,
		      uint64_t time)
{
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	char *category = (char *)probe->group;

	event.name = (char *)name;
	event.n_categories = 1;
	event.categories = &category;
	set_args(p->parts, &event, probe, record);
	/* A call has that of its return, at its end. */
	if (type == PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT)
		set_weight(p->parts, &event, p->sink.weight);
	set_stack(p, &event, record);
	add_event(p->to, &event, type, thread_track(p, record->pid, record->tid), time);
	forget_parts(p->parts);
}

static const char *state_of(const struct call *call)
{
	if (call->end == CALL_LEFT)
		return "left without a return";
	return call->is_uncertain ? "events were lost meanwhile" : NULL;
}

/* What has not returned at the end has no end. */
static void on_call(void *ctx, const struct call *call)
{
	struct perfetto *p = ctx;
	Perfetto__TrackEvent end = PERFETTO__TRACK_EVENT__INIT;
	const char *state = state_of(call);

	if (call->end == CALL_OPEN)
		return;
	if (call->ret && !call->has_start) {
		add_named(p, PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT,
			  call->return_probe->event, call->return_probe, call->ret,
			  call->end_ns);
		return;
	}
	if (!call->entry) {
		Perfetto__TrackEvent begin = PERFETTO__TRACK_EVENT__INIT;

		begin.name = (char *)call->function->name;
		add_event(p->to, &begin, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
			  thread_track(p, call->pid, call->tid), call->start_ns);
	}
	if (call->ret) {
		set_args(p->parts, &end, call->return_probe, call->ret);
		set_weight(p->parts, &end, p->sink.weight);
		if (!call->entry)
			set_stack(p, &end, call->ret);
	}
	if (state)
		set_state(p->parts, &end, state);
	add_event(p->to, &end, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END,
		  thread_track(p, call->pid, call->tid), call->end_ns);
	forget_parts(p->parts);
}

/* Numbers of an event that is no call. */
static void add_counters(struct perfetto *p, const struct spec_probe *probe,
			 const struct event_record *record)
{
	for (size_t i = 0; i < probe->n_args; i++) {
		const struct spec_arg *arg = &probe->args[i];
		Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
		uint64_t uuid;
		char name[SPEC_NAME_MAX + SPEC_ARG_NAME_MAX + 2];

		if (arg->type.count || arg->names || arg->type.format == SPEC_STRING ||
		    arg->type.format == SPEC_CHAR || arg->type.format == SPEC_HEX ||
		    sink_is_fault(record, arg, 0))
			continue;
		(void)snprintf(name, sizeof(name), "%s.%s", probe->event, arg->name);
		uuid = hash_text(hash_number(0, process_track(p, record->pid)), name);
		uuid = (uuid & (COUNTER_TRACK - 1)) | COUNTER_TRACK;
		if (!know_counter(p, p->to, uuid, process_track(p, record->pid), name))
			return;
		event.has_double_counter_value = arg->type.format == SPEC_FLOAT;
		event.double_counter_value =
			float_of_bits(sink_value(record, arg, 0), arg->type.size);
		event.has_counter_value = !event.has_double_counter_value;
		event.counter_value = arg->type.format == SPEC_SIGNED
					      ? sink_signed_value(record, arg, 0)
					      : (int64_t)sink_value(record, arg, 0);
		add_event(p->to, &event, PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER, uuid,
			  record->time);
	}
}

static bool has_parts(struct perfetto *p)
{
	if (!p->parts)
		p->parts = calloc(1, sizeof(*p->parts));
	if (!p->parts)
		p->sink.is_short = true;
	return p->parts;
}

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct perfetto *p = perfetto_of(sink);

	if (!has_parts(p))
		return;
	p->to = to;
	p->last_ns = record->time;
	tell_thread(p, to, record);
	switch (sink_calls_add(sink, &p->calls, on_call, probe, record)) {
	case CALLS_ENTRY:
		add_named(p, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, probe->event, probe,
			  record, record->time);
		break;
	case CALLS_OTHER:
		add_named(p, PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT, probe->event, probe,
			  record, record->time);
		add_counters(p, probe, record);
		break;
	case CALLS_RETURN:
		break;
	}
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	static char name[] = "lost events";
	struct perfetto *p = perfetto_of(sink);
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

	sink_calls_lost(p->calls, n);
	p->n_lost += n;
	if (!know_counter(p, to, LOST_TRACK, 0, name))
		return;
	event.has_counter_value = 1;
	event.counter_value = (int64_t)p->n_lost;
	add_event(to, &event, PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER, LOST_TRACK,
		  p->last_ns);
}

static void end(struct sink *sink, struct sink_buf *to)
{
	struct perfetto *p = perfetto_of(sink);

	p->to = to;
	if (p->calls)
		calls_end(p->calls);
}

static void free_perfetto(struct sink *sink)
{
	struct perfetto *p = perfetto_of(sink);

	calls_free(p->calls);
	sink_threads_free(&p->threads);
	map_free(&p->counters);
	if (!p->parts)
		return;
	free(p->parts->frames);
	free(p->parts->frame_list);
	free(p->parts->strings);
	free(p->parts);
}

const struct sink_kind sink_perfetto = {
	.name = "perfetto",
	.is_data = true,
	.is_whole = true,
	.is_binary = true,
	.size = sizeof(struct perfetto),
	.event = event,
	.lost = lost,
	.end = end,
	.free = free_perfetto,
};
