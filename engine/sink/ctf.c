/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The way "ctf": a stream of the Common Trace Format 1.8, in packets, and beside it its description, as babeltrace2 and Trace Compass
 * read them. Lost events are counted in the packets, where readers expect them.
 */

#include "engine/sink/ctf.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/map.h"
#include "engine/sink/names.h"
#include "engine/sink/sink.h"
#include "engine/sink/value.h"

#define PACKET_BYTES 65536

struct packet_head {
	uint32_t magic;
	uint64_t begin_ns, end_ns;
	uint64_t content_bits, packet_bits;
	uint64_t lost;
} __attribute__((packed));

struct ctf {
	struct sink sink;
	struct sink_buf packet; /* events that wait */
	struct sink_buf metadata;
	struct map ids; /* by probe, + 1 where its events have weights: the id */
	uint32_t n_ids;
	uint64_t first_ns, last_ns, lost;
	bool has_host; /* events tell theirs */
	bool is_lost;  /* since the last packet */
};

static struct ctf *ctf_of(struct sink *sink)
{
	return (struct ctf *)sink;
}

static void end_packet(struct ctf *ctf, struct sink_buf *to)
{
	uint64_t bits = 8 * (sizeof(struct packet_head) + ctf->packet.len);
	struct packet_head head = {
		.magic = CTF_MAGIC,
		.begin_ns = ctf->first_ns,
		.end_ns = ctf->last_ns,
		.content_bits = bits,
		.packet_bits = bits,
		.lost = ctf->lost,
	};

	if (!ctf->packet.len && !ctf->is_lost)
		return;
	sink_buf_add(to, &head, sizeof(head));
	sink_buf_add(to, ctf->packet.data ? ctf->packet.data : "", ctf->packet.len);
	ctf->packet.len = 0;
	ctf->first_ns = ctf->last_ns;
	ctf->is_lost = false;
}

/* Events with and without a weight are of two kinds. 0: memory is short. */
static uint32_t id_of(struct ctf *ctf, const struct spec_probe *probe)
{
	uintptr_t kind = (uintptr_t)probe + (ctf->sink.weight != 0);
	uint32_t id = (uint32_t)(uintptr_t)map_get(&ctf->ids, kind);

	if (id)
		return id;
	if (map_put(&ctf->ids, kind, (void *)(uintptr_t)(ctf->n_ids + 1)) < 0)
		return 0;
	if (!ctf->n_ids) {
		ctf->has_host = ctf->sink.host != NULL;
		ctf_metadata_begin(&ctf->metadata, ctf->has_host);
	}
	ctf_metadata_event(&ctf->metadata, ++ctf->n_ids, probe, ctf->sink.weight != 0);
	return ctf->n_ids;
}

/* --- fields ------------------------------------------------------------------------------- */

/* With a NUL. What would do something to a terminal is escaped, unless raw text is asked for. */
static void add_text(struct ctf *ctf, const void *bytes, size_t len)
{
	char *room = sink_buf_room(&ctf->packet, ESCAPE_BYTE_MAX * len + 1);

	if (!room)
		return;
	if (ctf->sink.opt.escape)
		room = escape_put(room, bytes, len);
	else
		room = sink_put_text(room, bytes, len);
	*room++ = '\0';
	sink_buf_end(&ctf->packet, room);
}

static void add_named(struct ctf *ctf, const struct event_record *record,
		      const struct spec_arg *arg, size_t i)
{
	struct sink_buf name = { 0 };
	char digits[SINK_NUMBER_MAX];

	if (sink_add_name(&name, record, arg, i)) {
		add_text(ctf, name.data, name.len);
	} else {
		char *end = arg->type.format == SPEC_SIGNED
				    ? sink_put_int(digits, sink_signed_value(record, arg, i))
				    : sink_put_dec(digits, sink_value(record, arg, i));

		add_text(ctf, digits, (size_t)(end - digits));
	}
	sink_buf_free(&name);
}

static void add_value(struct ctf *ctf, const struct event_record *record,
		      const struct spec_arg *arg, size_t i)
{
	uint64_t value;
	struct sink_str str;

	if (arg->type.format == SPEC_STRING) {
		str = sink_string(record, arg, i);
		if (str.bytes)
			add_text(ctf, str.bytes, str.len);
		else
			sink_buf_add(&ctf->packet, "(fault)", 8);
		return;
	}
	if (arg->names) {
		add_named(ctf, record, arg, i);
		return;
	}
	value = sink_value(record, arg, i);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	value <<= 64 - 8 * arg->type.size;
#endif
	sink_buf_add(&ctf->packet, &value, arg->type.size);
}

static void add_context(struct ctf *ctf, uint32_t id, const struct event_record *record)
{
	uint8_t n =
		record->n_stack > EVENT_STACK_MAX ? EVENT_STACK_MAX : (uint8_t)record->n_stack;
	struct {
		uint32_t id;
		uint64_t time;
		int32_t pid, tid;
		uint32_t cpu;
	} __attribute__((packed))
	head = { id, record->time, record->pid, record->tid, record->cpu };
	struct {
		uint64_t ip, func;
		uint8_t n;
	} __attribute__((packed)) place = { record->ip, record->func, n };

	sink_buf_add(&ctf->packet, &head, sizeof(head));
	add_text(ctf, record->comm, strnlen(record->comm, sizeof(record->comm)));
	if (ctf->has_host)
		add_text(ctf, ctf->sink.host ? ctf->sink.host : "",
			 ctf->sink.host ? strlen(ctf->sink.host) : 0);
	sink_buf_add(&ctf->packet, &place, sizeof(place));
	for (size_t i = 0; i < n; i++) {
		uint64_t entry = sink_stack_entry(record, i);

		sink_buf_add(&ctf->packet, &entry, sizeof(entry));
	}
	if (ctf->sink.weight)
		sink_buf_add(&ctf->packet, &ctf->sink.weight, sizeof(ctf->sink.weight));
}

/* --- as a way to print ------------------------------------------------------------------------ */

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct ctf *ctf = ctf_of(sink);
	uint32_t id = id_of(ctf, probe);
	size_t len = ctf->packet.len;

	if (!ctf->first_ns)
		ctf->first_ns = record->time;
	/* Readers take a stream's times in order. */
	if (record->time > ctf->last_ns)
		ctf->last_ns = record->time;
	if (id) {
		add_context(ctf, id, record);
		for (size_t i = 0; i < probe->n_args; i++)
			for (size_t k = 0; k < sink_n_values(&probe->args[i]); k++)
				add_value(ctf, record, &probe->args[i], k);
	}
	if (!id || ctf->packet.failed) {
		ctf->packet.failed = 0;
		ctf->packet.len = len;
		ctf->lost++;
		sink->is_short = ctf->is_lost = true;
	}
	if (ctf->packet.len >= PACKET_BYTES)
		end_packet(ctf, to);
}

/* What was lost is told by a packet's head: those that came before are in one before. */
static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	struct ctf *ctf = ctf_of(sink);

	end_packet(ctf, to);
	ctf->lost += n;
	ctf->is_lost = true;
}

static void end(struct sink *sink, struct sink_buf *to)
{
	struct ctf *ctf = ctf_of(sink);

	end_packet(ctf, to);
	if (!ctf->n_ids)
		ctf_metadata_none(&ctf->metadata);
}

static void beside(struct sink *sink, struct sink_buf *to)
{
	struct ctf *ctf = ctf_of(sink);

	sink_buf_add(to, ctf->metadata.data ? ctf->metadata.data : "", ctf->metadata.len);
	sink->is_short |= ctf->metadata.failed != 0;
}

static void free_ctf(struct sink *sink)
{
	struct ctf *ctf = ctf_of(sink);

	sink_buf_free(&ctf->packet);
	sink_buf_free(&ctf->metadata);
	map_free(&ctf->ids);
}

const struct sink_kind sink_ctf = {
	.name = "ctf",
	.is_data = true,
	.is_whole = true,
	.is_binary = true,
	.file = "stream",
	.file_beside = "metadata",
	.size = sizeof(struct ctf),
	.event = event,
	.lost = lost,
	.end = end,
	.beside = beside,
	.free = free_ctf,
};
