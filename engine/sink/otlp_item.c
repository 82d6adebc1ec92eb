/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#define XXH_INLINE_ALL

#include "engine/sink/otlp_item.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "engine/sink/float.h"
#include "engine/sink/folded.h"
#include "engine/sink/json.h"
#include "engine/sink/names.h"
#include "engine/sink/value.h"

#define KIND_INTERNAL 1
#define STATUS_ERROR  2
#define SEVERITY_INFO 9
#define SEVERITY_WARN 13

/* --- attributes ---------------------------------------------------------------------------- */

static void add_key(struct sink_buf *to, const char *prefix, const char *key)
{
	char text[SPEC_ARG_NAME_MAX + 16];
	size_t len = strlen(prefix), more = strnlen(key, SPEC_ARG_NAME_MAX);

	memcpy(text, prefix, len);
	memcpy(text + len, key, more);
	sink_buf_add_text(to, "{\"key\":");
	sink_json_quoted(to, text, len + more);
	sink_buf_add_text(to, ",\"value\":");
}

static void add_string(struct sink_buf *to, const void *bytes, size_t len)
{
	sink_buf_add_text(to, "{\"stringValue\":");
	sink_json_quoted(to, bytes, len);
	sink_buf_add(to, "}", 1);
}

void otlp_text(struct sink_buf *to, const char *key, const char *value, size_t len)
{
	add_key(to, "", key);
	add_string(to, value, len);
	sink_buf_add(to, "}", 1);
}

void otlp_number(struct sink_buf *to, const char *key, int64_t value)
{
	add_key(to, "", key);
	sink_buf_printf(to, "{\"intValue\":\"%" PRId64 "\"}}", value);
}

static void add_float(struct sink_buf *to, uint64_t bits, size_t size)
{
	char text[SINK_FLOAT_MAX];
	size_t len = (size_t)(sink_put_float(text, bits, size) - text);
	bool is_nan = memchr(text, 'n', len) && memchr(text, 'a', len);

	sink_buf_add_text(to, "{\"doubleValue\":");
	if (sink_is_finite(bits, size))
		sink_buf_add(to, text, len);
	else
		sink_buf_add_text(to, is_nan         ? "\"NaN\""
				      : *text == '-' ? "\"-Infinity\""
						     : "\"Infinity\"");
	sink_buf_add(to, "}", 1);
}

static bool add_named(struct sink_buf *to, const struct event_record *record,
		      const struct spec_arg *arg, size_t i)
{
	struct sink_buf name = { 0 };
	bool has_name = arg->names && sink_add_name(&name, record, arg, i);

	if (has_name)
		add_string(to, name.data, name.len);
	sink_buf_free(&name);
	return has_name;
}

/* What has no number of OTLP's, and addresses, are texts. */
static void add_value(struct sink_buf *to, const struct event_record *record,
		      const struct spec_arg *arg, size_t i)
{
	uint64_t value;
	struct sink_str str;
	uint8_t byte;

	if (add_named(to, record, arg, i))
		return;
	if (arg->type.format == SPEC_STRING) {
		str = sink_string(record, arg, i);
		if (str.bytes)
			add_string(to, str.bytes, str.len);
		else
			sink_buf_add_text(to, "{}");
		return;
	}
	if (sink_is_fault(record, arg, i)) {
		sink_buf_add_text(to, "{}");
		return;
	}
	value = sink_value(record, arg, i);
	byte = (uint8_t)value;
	if (arg->type.format == SPEC_CHAR)
		add_string(to, &byte, 1);
	else if (arg->type.format == SPEC_FLOAT)
		add_float(to, value, arg->type.size);
	else if (arg->type.format == SPEC_SIGNED)
		sink_buf_printf(to, "{\"intValue\":\"%" PRId64 "\"}",
				sink_signed_value(record, arg, i));
	else if (arg->type.format == SPEC_HEX)
		sink_buf_printf(to, "{\"stringValue\":\"0x%" PRIx64 "\"}", value);
	else
		sink_buf_printf(to, "{\"%s\":\"%" PRIu64 "\"}",
				value > INT64_MAX ? "stringValue" : "intValue", value);
}

/* Each behind a comma. */
static void add_args(struct sink_buf *to, const char *prefix, const struct spec_probe *probe,
		     const struct event_record *record)
{
	for (size_t i = 0; probe && record && i < probe->n_args; i++) {
		const struct spec_arg *arg = &probe->args[i];

		/* A stack. */
		if (probe->is_made && arg->type.count)
			continue;
		sink_buf_add(to, ",", 1);
		add_key(to, prefix, arg->name);
		if (arg->type.count)
			sink_buf_add_text(to, "{\"arrayValue\":{\"values\":[");
		for (size_t k = 0; k < sink_n_values(arg); k++) {
			if (k > 0)
				sink_buf_add(to, ",", 1);
			add_value(to, record, arg, k);
		}
		sink_buf_add_text(to, arg->type.count ? "]}}}" : "}");
	}
}

static void add_thread(struct sink_buf *to, const struct event_record *record)
{
	otlp_number(to, "thread.id", record->tid);
	sink_buf_add(to, ",", 1);
	otlp_text(to, "thread.name", record->comm, strnlen(record->comm, sizeof(record->comm)));
}

static void add_stack(struct sink_buf *to, const struct event_record *record,
		      const struct sink_resolver *resolver)
{
	struct sink_buf stack = { 0 };

	if (!record || !record->n_stack)
		return;
	sink_folded_stack(&stack, record, resolver);
	sink_buf_add(to, ",", 1);
	otlp_text(to, "ubp.stack", stack.data ? stack.data : "", stack.len);
	sink_buf_free(&stack);
}

/* --- a span -------------------------------------------------------------------------------- */

static uint64_t id_of(const struct otlp_ids *ids, uint64_t call)
{
	uint64_t id = XXH3_64bits_withSeed(&call, sizeof(call), ids->seed);

	/* No id is 0. */
	return id ? id : 1;
}

static void add_time(struct sink_buf *to, const char *key, const struct otlp_ids *ids,
		     uint64_t time)
{
	sink_buf_printf(to, "\"%s\":\"%" PRIu64 "\"", key,
			time + (uint64_t)ids->real_less_clock_ns);
}

static void add_ids(struct sink_buf *to, const struct otlp_ids *ids, const struct call *call,
		    uint64_t trace)
{
	const uint64_t parts[2] = { (uint64_t)(uint32_t)call->pid << 32 | (uint32_t)call->tid,
				    trace };
	XXH128_hash_t id = XXH3_128bits_withSeed(parts, sizeof(parts), ids->seed);

	sink_buf_printf(to,
			"{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64
			"\"",
			id.high64, id.low64 | 1, id_of(ids, call->id));
	if (call->parent)
		sink_buf_printf(to, ",\"parentSpanId\":\"%016" PRIx64 "\"",
				id_of(ids, call->parent));
}

/* How it did not end as calls do; NULL: it did. */
static const char *odd_end(const struct call *call)
{
	if (call->end == CALL_LEFT)
		return "left without a return";
	if (call->end == CALL_OPEN)
		return "no return was seen";
	if (!call->has_start)
		return "no entry was seen";
	return call->is_uncertain ? "events were lost meanwhile" : NULL;
}

void otlp_span(struct sink_buf *to, const struct otlp_ids *ids, const struct call *call,
	       uint64_t trace, const struct sink_resolver *resolver, uint64_t weight)
{
	const struct event_record *any = call->entry ? call->entry : call->ret;
	const char *name = call->function->name, *odd = odd_end(call);

	add_ids(to, ids, call, trace);
	sink_buf_add_text(to, ",\"name\":");
	sink_json_quoted(to, name, strlen(name));
	sink_buf_printf(to, ",\"kind\":%d,", KIND_INTERNAL);
	add_time(to, "startTimeUnixNano", ids, call->start_ns);
	sink_buf_add(to, ",", 1);
	add_time(to, "endTimeUnixNano", ids, call->end_ns);
	sink_buf_add_text(to, ",\"attributes\":[");
	if (any)
		add_thread(to, any);
	else
		otlp_number(to, "thread.id", call->tid);
	add_args(to, "arg.", call->entry_probe, call->entry);
	add_args(to, "ret.", call->return_probe, call->ret);
	add_stack(to, any, resolver);
	if (weight) {
		sink_buf_add(to, ",", 1);
		otlp_number(to, "ubp.weight", (int64_t)weight);
	}
	if (odd) {
		sink_buf_add(to, ",", 1);
		otlp_text(to, "ubp.end", odd, strlen(odd));
	}
	sink_buf_add(to, "]", 1);
	if (call->end == CALL_LEFT)
		sink_buf_printf(to, ",\"status\":{\"code\":%d,\"message\":\"%s\"}",
				STATUS_ERROR, odd);
	sink_buf_add(to, "}", 1);
}

/* --- a log record -------------------------------------------------------------------------- */

static void begin_log(struct sink_buf *to, const struct otlp_ids *ids, uint64_t time,
		      int severity, const char *body)
{
	sink_buf_add(to, "{", 1);
	add_time(to, "timeUnixNano", ids, time);
	sink_buf_printf(to, ",\"severityNumber\":%d,\"body\":", severity);
	add_string(to, body, strlen(body));
	sink_buf_add_text(to, ",\"attributes\":[");
}

void otlp_log(struct sink_buf *to, const struct otlp_ids *ids, const struct spec_probe *probe,
	      const struct event_record *record, const struct sink_resolver *resolver,
	      uint64_t weight)
{
	begin_log(to, ids, record->time, SEVERITY_INFO, probe->event);
	add_thread(to, record);
	sink_buf_add(to, ",", 1);
	otlp_text(to, "ubp.group", probe->group, strlen(probe->group));
	add_args(to, "arg.", probe, record);
	if (weight) {
		sink_buf_add(to, ",", 1);
		otlp_number(to, "ubp.weight", (int64_t)weight);
	}
	add_stack(to, record, resolver);
	sink_buf_add_text(to, "]}");
}

void otlp_lost(struct sink_buf *to, const struct otlp_ids *ids, uint64_t time, uint64_t n)
{
	begin_log(to, ids, time, SEVERITY_WARN, "events were lost");
	otlp_number(to, "ubp.lost", (int64_t)n);
	sink_buf_add_text(to, "]}");
}
