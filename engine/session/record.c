/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/define/definitions.h"
#include "engine/event/ring_take.h"
#include "engine/fetch/match.h"
#include "engine/recording/frame_json.h"
#include "engine/recording/probe_json.h"
#include "engine/recording/sample_json.h"
#include "engine/recording/text_json.h"
#include "engine/recording/writer.h"
#include "engine/session/apart_counts.h"
#include "engine/session/event.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/numbers.h"
#include "engine/session/once.h"
#include "engine/session/record_mapped.h"
#include "engine/sink/value.h"
#include "engine/ubp_record.h"

/* Names are looked up while nobody waits: so many at once. */
#define NAMES_AT_ONCE 64
#define NAMES_MAX     (1u << 20) /* addresses of stacks that get names */
#define CALM_PERCENT  25

/* An entry of a stack: what stands for it depends on where it stands, too. */
struct stack_address {
	pid_t pid;
	uint32_t maps;
	bool is_first;
	uint64_t vaddr,
		before; /* .before: the entry in front, of the first stack that had it */
};

struct session_record {
	struct recording *to;
	size_t n_files;
	size_t n_probes;  /* that are in the file */
	struct map known; /* addresses of stacks that were seen, by a hash */
	struct stack_address *unnamed;
	size_t n_unnamed, cap_unnamed, n_named;
	struct record_mapped mapped;
	struct event_record *address; /* a record that has a stack of two entries */
	uint64_t
		known_until; /* records of before that are in files that are done, or in this one */
	uint64_t n_lost, n_untold;        /* of all files; which no record tells of yet */
	uint64_t file_lost;               /* .n_lost, when this file was begun */
	uint64_t since_ns;                /* recording has begun */
	int n;                            /* of this look */
	bool is_all;                      /* nothing was left for want of room */
	struct ring_time_sample readings[2]; /* that the times of the last look go by */
	double rate;
};

/* --- what is in front ---------------------------------------------------------------------- */

/* Which run of the kernel the clock is of. NULL: nothing says so. */
static char *boot_id(char id[64])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f)
		return NULL;
	if (fgets(id, 64, f))
		id[strcspn(id, "\n")] = '\0';
	else
		id = NULL;
	(void)fclose(f);
	return id;
}

/* "from_ns": no record of the file is older. */
static json_t *make_info(const struct ubp_session *s)
{
	const struct session_record *r = s->out.record;
	struct utsname name;
	char boot[64];
	uint64_t now = event_clock_now(s->clock);
	uint64_t from = recording_keeps(r->to) ? r->since_ns : r->known_until;

	if (uname(&name) < 0)
		return NULL;
	return json_pack("{s:o, s:s, s:s, s:s, s:i, s:b, s:I, s:I, s:I, s:s*}", "host",
			 text_to_json(name.nodename), "kernel", name.release, "machine",
			 name.machine, "clock", s->opt.clock ? s->opt.clock : "mono", "cpus",
			 (int)sysconf(_SC_NPROCESSORS_ONLN), "strict", s->opt.strict,
			 "clock_ns", (json_int_t)now, "real_ns",
			 (json_int_t)event_clock_now(CLOCK_KIND_REAL), "from_ns",
			 (json_int_t)(r->n_files ? from : now), "boot", boot_id(boot));
}

static json_t *make_probe(struct ubp_session *s, unsigned number, const struct spec_probe *spec)
{
	const struct uprobe *probe = live_probe(s, number);
	json_t *json = probe_to_json(number, spec);

	if (json && probe && probe->at_hit.sample)
		(void)json_object_set_new(json, "sample", sample_to_json(probe->at_hit.sample));
	return json;
}

static int add_probes(struct ubp_session *s, struct session_record *r, struct ubp_err *err)
{
	json_t *list = json_array();

	for (; r->n_probes < numbers_n(s); r->n_probes++) {
		const struct spec_probe *spec = live_spec(s, (unsigned)r->n_probes);

		if (spec)
			(void)json_array_append_new(list,
						    make_probe(s, (unsigned)r->n_probes, spec));
	}
	return recording_add_json(r->to, RECORDING_PROBES, list, err);
}

int ubp_record(struct ubp_session *s, const struct ubp_record_options *options,
	       struct ubp_err *err)
{
	struct recording_options opt;
	struct session_record *r;
	int rc = ubp_need(options ? options->path : NULL, "path", err);

	if (rc < 0 || !options)
		return rc;
	opt = (struct recording_options){
		.path = options->path,
		.level = options->level,
		.max_size = options->max_size,
		.append = options->append,
		.rotate = options->rotate,
		.keep = options->keep,
		.per_thread = options->per_thread,
	};
	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_record(s, options, err);
	rc = session_check_new(s, err);
	if (rc < 0)
		return rc;
	if (s->out.counting && !s->out.triggers)
		return ubp_fail(
			err, EINVAL,
			"hits that are counted are no events: there is nothing to record");
	if (s->out.record || options->level < 0 || options->level > 19 ||
	    (options->rotate && options->max_size))
		return ubp_fail(err, EINVAL, "bad options for a recording");
	r = calloc(1, sizeof(*r));
	if (r)
		r->address = calloc(1, sizeof(*r->address) + 16);
	if (!r || !r->address) {
		free(r);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	r->is_all = true;
	r->since_ns = event_clock_now(s->clock);
	s->out.record = r;
	rc = recording_new(&opt, &r->to, err);
	if (rc == 0)
		rc = recording_add_json(r->to, RECORDING_INFO, make_info(s), err);
	if (rc < 0)
		session_record_free(s);
	return rc;
}

void session_record_free(struct ubp_session *s)
{
	struct session_record *r = s->out.record;
	struct ubp_err err;

	if (!r)
		return;
	(void)recording_close(r->to, &err);
	map_free(&r->known);
	record_mapped_forget(&r->mapped);
	free(r->unnamed);
	free(r->address);
	free(r);
	s->out.record = NULL;
}

/* --- names for stacks ------------------------------------------------------------------------- */

/* One that has no memory gets no name. */
static void note_address(struct session_record *r, const struct stack_address *address)
{
	uint64_t key = frame_key(address->maps, address->vaddr, address->is_first);
	void **place = r->n_named + r->n_unnamed < NAMES_MAX ? map_place(&r->known, key) : NULL;

	if (!place || *place || VEC_ROOM(r->unnamed, &r->cap_unnamed, r->n_unnamed) < 0)
		return;
	*place = r;
	r->unnamed[r->n_unnamed++] = *address;
}

static void note_stack(struct session_record *r, const struct event_record *record)
{
	struct stack_address address = { .pid = record->pid,
					 .maps = record->maps,
					 .is_first = true };

	if (record->n_stack)
		record_mapped_note(&r->mapped, record->maps);
	for (uint32_t i = 0; i < record->n_stack; i++) {
		address.vaddr = sink_stack_entry(record, i);
		note_address(r, &address);
		address.before = address.vaddr;
		address.is_first = false;
	}
}

static json_t *name_one(const struct sink_resolver *resolver, struct session_record *r,
			const struct stack_address *address)
{
	struct sink_frame frames[SINK_FRAMES_MAX];
	size_t n, at = address->is_first ? 0 : 1;

	*r->address = (struct event_record){
		.size = sizeof(*r->address) + 16,
		.kind = EVENT_HIT,
		.pid = address->pid,
		.n_stack = 2,
		.maps = address->maps,
	};
	memcpy(r->address->data, &address->before, 8);
	memcpy(r->address->data + 8 * at, &address->vaddr, 8);
	n = resolver->resolve(resolver->ctx, r->address, at, frames);
	return frames_to_json(address->maps, address->vaddr, address->is_first, frames, n);
}

/* Up to @most of them, and what is mapped. */
static int name_addresses(struct ubp_session *s, struct session_record *r, size_t most,
			  struct ubp_err *err)
{
	const struct sink_resolver *resolver = stacks_resolver(s);
	json_t *list;
	int rc = record_mapped_tell(s, &r->mapped, r->to, err);

	if (rc < 0 || !r->n_unnamed || !resolver)
		return rc;
	list = json_array();
	for (; r->n_unnamed && most; most--, r->n_named++)
		(void)json_array_append_new(list,
					    name_one(resolver, r, &r->unnamed[--r->n_unnamed]));
	return recording_add_json(r->to, RECORDING_NAMES, list, err);
}

/* --- a look ------------------------------------------------------------------------------------- */

/* For records of probes that nobody looks at. */
static bool is_plain(void *ctx, uint32_t number)
{
	const struct ubp_session *s = ctx;
	const struct uprobe *probe = live_probe(s, number);

	return probe && !probe->filter && !live_is_waiting(s) && !s->out.sample;
}

static bool add_taken(struct session_record *r, const struct ring_taken *taken)
{
	if (!recording_take(r->to, taken)) {
		r->is_all = false;
		return false;
	}
	r->n++;
	return true;
}

static bool take(void *ctx, const struct ring_taken *taken)
{
	struct ubp_session *s = ctx;
	struct session_record *r = s->out.record;
	struct uprobe *probe = live_probe(s, taken->probe);
	const struct event_record *record;

	if (!probe)
		return true;
	if (!taken->n_stack && is_plain(s, taken->probe)) {
		if (!add_taken(r, taken))
			return false;
		for (unsigned i = 0; i < taken->n_counts; i++)
			rings_count_plain(live_probe(s, taken->counts[i].probe),
					  taken->counts[i].n);
		return true;
	}
	record = ring_taken_record(taken);
	if (!live_tells(s, record) || !rings_count(probe, record))
		return true;
	note_stack(r, record);
	return add_taken(r, taken);
}

static bool add_queue(struct ubp_session *s, struct session_record *r, uint64_t mark)
{
	const struct event_record *record;

	while ((record = event_queue_peek_until(s->out.queue, mark))) {
		if (record->kind != EVENT_PROCESS && live_tells(s, record)) {
			if (!recording_add_stop(r->to, record)) {
				r->is_all = false;
				return false;
			}
			if (record->kind == EVENT_LOST)
				r->n_lost += record->n_lost;
			else
				note_stack(r, record);
			r->n++;
		}
		event_queue_next(s->out.queue);
	}
	return true;
}

/* Where there is no room they are told of later. */
static void add_lost(struct session_record *r, uint64_t n, uint64_t time)
{
	struct event_record record = { .size = sizeof(record),
				       .kind = EVENT_LOST,
				       .time = time };

	r->n_untold += n;
	record.n_lost = r->n_untold;
	if (!r->n_untold || !recording_add_stop(r->to, &record))
		return;
	r->n_lost += r->n_untold;
	r->n_untold = 0;
	r->n++;
}

/*
 * @is_rest: of a look that a full file has cut, in the next one. A thread's records have to come in the order of their times in both, so they
 * go by the same readings of the clocks.
 */
static void begin_look(struct ubp_session *s, struct session_record *r, bool is_rest)
{
	if (!is_rest)
		r->rate = s->out.rings ? ring_set_readings(s->out.rings, r->readings) : 0;
	recording_look_begin(r->to, r->readings, r->rate);
}

/* The file is full, and there is more. */
static bool is_time_for_next(const struct ubp_session *s, const struct session_record *r)
{
	return recording_rotates(r->to) && recording_is_full(r->to) &&
	       (event_queue_peek(s->out.queue) ||
		(s->out.rings && ring_set_has_more(s->out.rings)));
}

int session_record_look(struct ubp_session *s, uint64_t ripe, unsigned *ret_fill,
			struct ubp_err *err)
{
	struct session_record *r = s->out.record;
	uint64_t mark = event_queue_mark(s->out.queue), known = ripe;
	unsigned fill = s->out.rings ? ring_set_drain(s->out.rings) : 0;
	bool is_rest = !r->is_all && recording_rotates(r->to);
	int rc = 0;

	*ret_fill = fill;
	r->n = 0;
	r->is_all = true;
	if (is_time_for_next(s, r))
		rc = ubp_record_next(s, err);
	else if (r->n_probes < numbers_n(s))
		rc = add_probes(s, r, err);
	if (rc < 0)
		return rc;
	begin_look(s, r, is_rest);
	(void)add_queue(s, r, mark);
	if (s->out.rings) {
		ring_set_take(s->out.rings, is_plain, take, s);
		if (s->tracing.is_there && ring_set_known_until(s->out.rings) < known)
			known = ring_set_known_until(s->out.rings);
		add_lost(r, rings_take_lost(s), event_clock_now(s->clock));
	}
	if (!s->tracing.is_there && !event_queue_peek(s->out.queue))
		add_lost(r, event_queue_take_untold(s->out.queue), event_clock_now(s->clock));
	if (r->is_all && known != UINT64_MAX && known > r->known_until)
		r->known_until = known;
	rc = recording_look_end(r->to, r->is_all ? known : 0, err);
	if (rc == 0 && fill <= CALM_PERCENT)
		rc = name_addresses(s, r, NAMES_AT_ONCE, err);
	/* What is left finds room in the next file. */
	return rc < 0 ? rc : r->n + (!r->is_all && recording_rotates(r->to));
}

/* --- a look at records that others look at first ------------------------------------------------- */

bool session_record_in_order(const struct ubp_session *s)
{
	return s->out.triggers || s->opt.once;
}

int session_record_begin(struct ubp_session *s, struct ubp_err *err)
{
	struct session_record *r = s->out.record;
	int rc = 0;

	r->n = 0;
	r->is_all = true;
	if (recording_rotates(r->to) && recording_is_full(r->to))
		rc = ubp_record_next(s, err);
	else if (r->n_probes < numbers_n(s))
		rc = add_probes(s, r, err);
	if (rc == 0)
		begin_look(s, r, false);
	return rc;
}

/* Amid a look. False: writing has failed, which its end tells. */
static bool go_on(struct ubp_session *s, struct session_record *r)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	if (!recording_rotates(r->to) || recording_look_end(r->to, 0, &err) < 0 ||
	    ubp_record_next(s, &err) < 0)
		return false;
	begin_look(s, r, true);
	return true;
}

int session_record_event(void *ctx, const struct ubp_event *event)
{
	struct ubp_session *s = ctx;
	struct session_record *r = s->out.record;
	const struct event_record *record = event->record;

	if (event->is_made || record->kind == EVENT_PROCESS)
		return 0;
	if (!recording_add_stop(r->to, record) &&
	    !(go_on(s, r) && recording_add_stop(r->to, record))) {
		r->is_all = false;
		return 0;
	}
	if (record->kind == EVENT_LOST)
		r->n_lost += record->n_lost;
	else
		note_stack(r, record);
	if (record->time > r->known_until)
		r->known_until = record->time;
	r->n++;
	return 0;
}

int session_record_done(struct ubp_session *s, struct ubp_err *err)
{
	struct session_record *r = s->out.record;
	/* They came in order of time, but for what was made up since. */
	int rc = recording_look_end(r->to, r->known_until, err);

	if (rc == 0)
		rc = name_addresses(s, r, NAMES_AT_ONCE, err);
	return rc < 0 ? rc : r->n;
}

/* --- the end ------------------------------------------------------------------------------------- */

/* All that later looks have no need for. */
static int end_file(struct ubp_session *s, struct session_record *r, struct ubp_err *err)
{
	int rc = name_addresses(s, r, SIZE_MAX, err);

	if (rc == 0)
		rc = recording_write_kept(r->to, err);
	if (rc == 0)
		rc = recording_add_json(
			r->to, RECORDING_END,
			json_pack("{s:I, s:I, s:I}", "records",
				  (json_int_t)recording_n_in_file(r->to), "lost",
				  (json_int_t)(r->n_lost + r->n_untold - r->file_lost),
				  "clock_ns", (json_int_t)event_clock_now(s->clock)),
			err);
	r->file_lost = r->n_lost + r->n_untold;
	return rc;
}

/* A file needs nothing of those before it: names are told again; what is kept in memory has its own. */
int ubp_record_next(struct ubp_session *s, struct ubp_err *err)
{
	struct session_record *r = s->out.record;
	int rc;

	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_record_next(s, err);
	if (!r || !r->to)
		return ubp_fail(err, EINVAL, "nothing is recorded");
	rc = end_file(s, r, err);
	if (rc == 0)
		rc = recording_next_file(r->to, err);
	if (rc < 0)
		return rc;
	if (!recording_keeps(r->to)) {
		map_free(&r->known);
		r->known = (struct map){ 0 };
		record_mapped_forget(&r->mapped);
		r->n_named = 0;
	}
	r->n_probes = 0;
	r->n_files++;
	rc = recording_add_json(r->to, RECORDING_INFO, make_info(s), err);
	return rc < 0 ? rc : add_probes(s, r, err);
}

int ubp_record_end(struct ubp_session *s, struct ubp_err *err)
{
	struct session_record *r = s->out.record;
	struct ubp_err ignored = { 0 };
	int rc, closed;

	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_record_end(s, err);
	if (!r)
		return ubp_fail(err, EINVAL, "nothing is recorded");
	rc = end_file(s, r, err);
	closed = recording_close(r->to, rc < 0 ? &ignored : err);
	r->to = NULL;
	session_record_free(s);
	return rc < 0 ? rc : closed;
}

uint64_t ubp_record_count(const struct ubp_session *s, uint64_t *ret_bytes)
{
	const struct session_record *r = s->out.record;
	uint64_t not_wanted;

	if (!ret_bytes)
		ret_bytes = &not_wanted;
	if (s->tracing.apart)
		return apart_record_count(s, ret_bytes);
	*ret_bytes = r && r->to ? recording_size(r->to) : 0;
	return r && r->to ? recording_n_records(r->to) : 0;
}

bool ubp_record_is_full(const struct ubp_session *s)
{
	const struct session_record *r = s->out.record;

	if (s->tracing.apart)
		return apart_record_is_full(s);
	return r && !recording_rotates(r->to) && recording_is_full(r->to);
}
