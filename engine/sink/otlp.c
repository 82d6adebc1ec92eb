/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The way "otlp": each line is a request to an OpenTelemetry collector, as JSON. Calls are spans, each tree of calls of a thread a trace; what is no part of a
 * call is a log record. A process is a resource. A line is given when it has BATCH_ITEMS, or BATCH_BYTES, or spans BATCH_NS.
 */

#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/map.h"
#include "engine/picture/picture.h"
#include "engine/sink/json.h"
#include "engine/sink/of_calls.h"
#include "engine/sink/otlp_item.h"

#define BATCH_ITEMS 512
#define BATCH_BYTES (512 * 1024)
#define BATCH_NS    1000000000ULL
#define THREADS                                                                                \
	(1 << 20) /* of so many it is known which tree they are in; then they are new ones */
#define PROCESSES 4096 /* so many are known by name; then they are learned anew */

/* What waits of one process: 0: what is of none. */
struct process {
	int32_t pid;
	char comm[16];
	bool is_leaders; /* the name is its first thread's */
	struct sink_buf spans, logs;
};

/* Of several hosts each has pids of its own. */
struct otlp_host {
	struct otlp_host *next;
	char *name; /* NULL: the trace's own */
	struct otlp_ids ids;
	struct calls *calls;
	struct map processes, threads; /* threads: which tree of calls each is in, from 1 on */
	uint64_t n_forgotten;          /* how often .threads was emptied */
};

struct otlp {
	struct sink sink;
	struct otlp_host *hosts, *host; /* all; the one that an item is of */
	struct sink_buf *to;            /* while the sink is called */
	size_t n, bytes;                /* that wait */
	uint64_t first_ns, last_ns;     /* times of these; of records */
};

static struct otlp *otlp_of(struct sink *sink)
{
	return (struct otlp *)sink;
}

static void make_ids(const struct otlp *o, struct otlp_host *host)
{
	const struct picture_about *from = o->sink.opt.about;
	const char *name = host->name ? host->name : from ? from->host : NULL;

	if (!from)
		return;
	host->ids.real_less_clock_ns = (int64_t)(from->real_ns - from->clock_ns);
	host->ids.seed = hash_number(hash_text(hash_number(0, from->real_ns), name ? name : ""),
				     from->clock_ns);
}

/* The host of what comes now; false: out of memory. */
static bool set_host(struct otlp *o, struct sink_buf *to)
{
	const char *name = o->sink.host;
	struct otlp_host *host = o->hosts;

	o->to = to;
	while (host && (!host->name != !name || (name && strcmp(host->name, name) != 0)))
		host = host->next;
	if (!host) {
		host = calloc(1, sizeof(*host));
		if (host && name)
			host->name = strdup(name);
		if (!host || (name && !host->name)) {
			free(host);
			o->sink.is_short = true;
			return false;
		}
		make_ids(o, host);
		host->next = o->hosts;
		o->hosts = host;
	}
	o->host = host;
	return true;
}

static struct process *process_of(struct otlp *o, int32_t pid)
{
	uint64_t key = (uint64_t)(uint32_t)pid + 1;
	struct process *p = map_get(&o->host->processes, key);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	if (map_put(&o->host->processes, key, p) == 0)
		return p;
	free(p);
	return NULL;
}

static void see(struct process *p, const struct event_record *record)
{
	bool is_leader = record->pid == record->tid;

	if (p->is_leaders && !is_leader)
		return;
	memcpy(p->comm, record->comm, sizeof(p->comm));
	p->comm[sizeof(p->comm) - 1] = '\0';
	p->is_leaders = is_leader;
}

/* --- lines --------------------------------------------------------------------------------- */

static void add_resource(const struct otlp *o, struct sink_buf *to, const struct process *p)
{
	const struct picture_about *from = o->sink.opt.about;
	const char *host = o->host->name ? o->host->name : from ? from->host : NULL;
	const char *service = o->sink.opt.service ? o->sink.opt.service
			      : p->pid            ? p->comm
						  : "ubp";

	sink_buf_add_text(to, "{\"resource\":{\"attributes\":[");
	otlp_text(to, "service.name", service, strlen(service));
	sink_buf_add(to, ",", 1);
	otlp_text(to, "os.type", "linux", 5);
	if (host) {
		sink_buf_add(to, ",", 1);
		otlp_text(to, "host.name", host, strlen(host));
	}
	if (p->pid) {
		sink_buf_add(to, ",", 1);
		otlp_number(to, "process.pid", p->pid);
		sink_buf_add(to, ",", 1);
		otlp_text(to, "process.executable.name", p->comm, strlen(p->comm));
	}
	sink_buf_add_text(to, "]},");
}

/* @which: offset of the buffer in struct process. Returns how many resources there are by then. */
static size_t add_resources(struct otlp *o, struct sink_buf *to, const char *const names[3],
			    size_t which, size_t n)
{
	size_t pos = 0;
	void *value;

	while (map_next(&o->host->processes, &pos, NULL, &value)) {
		struct sink_buf *buf = (struct sink_buf *)((char *)value + which);

		if (buf->failed)
			o->sink.is_short = true;
		if (buf->len) {
			sink_buf_printf(to, n++ ? "," : "{\"%s\":[", names[0]);
			add_resource(o, to, value);
			sink_buf_printf(to, "\"%s\":[{\"scope\":{\"name\":\"ubp\"},\"%s\":[",
					names[1], names[2]);
			sink_buf_add(to, buf->data, buf->len);
			sink_buf_add_text(to, "]}]}");
		}
		sink_buf_free(buf);
	}
	return n;
}

static void add_line(struct otlp *o, struct sink_buf *to, const char *const names[3],
		     size_t which)
{
	struct otlp_host *now = o->host;
	size_t n = 0;

	for (o->host = o->hosts; o->host; o->host = o->host->next)
		n = add_resources(o, to, names, which, n);
	o->host = now;
	if (n)
		sink_buf_add_text(to, "]}\n");
}

static void forget_processes(struct otlp_host *host)
{
	size_t pos = 0;
	void *value;

	while (map_next(&host->processes, &pos, NULL, &value)) {
		struct process *p = value;

		sink_buf_free(&p->spans);
		sink_buf_free(&p->logs);
		free(p);
	}
	map_free(&host->processes);
}

static void give(struct otlp *o, struct sink_buf *to)
{
	static const char *const spans[] = { "resourceSpans", "scopeSpans", "spans" };
	static const char *const logs[] = { "resourceLogs", "scopeLogs", "logRecords" };

	if (!o->n)
		return;
	add_line(o, to, spans, offsetof(struct process, spans));
	add_line(o, to, logs, offsetof(struct process, logs));
	for (struct otlp_host *host = o->hosts; host; host = host->next)
		if (host->processes.n > PROCESSES)
			forget_processes(host);
	o->n = 0;
	o->bytes = 0;
}

/* The buffer for one item more, behind a comma. */
static struct sink_buf *begin_item(struct otlp *o, struct sink_buf *buf)
{
	if (!o->n++)
		o->first_ns = o->last_ns;
	if (buf->len)
		sink_buf_add(buf, ",", 1);
	return buf;
}

static void give_full(struct otlp *o, struct sink_buf *to)
{
	if (o->n >= BATCH_ITEMS || o->bytes >= BATCH_BYTES ||
	    (o->n && o->last_ns - o->first_ns >= BATCH_NS))
		give(o, to);
}

/* --- items --------------------------------------------------------------------------------- */

/* The calls inside of one come before it, so where one without any around it is told a tree is whole. */
static uint64_t tree_of(struct otlp *o, const struct call *call)
{
	struct otlp_host *host = o->host;
	uint64_t key = (uint64_t)(uint32_t)call->pid << 32 | (uint32_t)call->tid, tree;

	if (host->threads.n >= THREADS) {
		map_free(&host->threads);
		host->n_forgotten++;
	}
	tree = (uint64_t)(uintptr_t)map_get(&host->threads, key) + 1;
	if (!call->parent && map_put(&host->threads, key, (void *)(uintptr_t)tree) < 0)
		o->sink.is_short = true;
	return tree + (host->n_forgotten << 40);
}

static void on_call(void *ctx, const struct call *call)
{
	struct otlp *o = ctx;
	struct process *p = process_of(o, call->pid);
	const struct event_record *any = call->entry ? call->entry : call->ret;
	uint64_t tree = tree_of(o, call);
	size_t before;

	if (!p) {
		o->sink.is_short = true;
		return;
	}
	if (any)
		see(p, any);
	before = p->spans.len;
	otlp_span(begin_item(o, &p->spans), &o->host->ids, call, tree, o->sink.opt.resolver,
		  call->ret ? o->sink.weight : 0);
	o->bytes += p->spans.len - before;
	give_full(o, o->to);
}

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct otlp *o = otlp_of(sink);
	struct process *p;
	size_t before;

	if (!set_host(o, to))
		return;
	o->last_ns = record->time;
	if (sink_calls_add(sink, &o->host->calls, on_call, probe, record) == CALLS_OTHER) {
		p = process_of(o, record->pid);
		if (!p) {
			sink->is_short = true;
			return;
		}
		see(p, record);
		before = p->logs.len;
		otlp_log(begin_item(o, &p->logs), &o->host->ids, probe, record,
			 sink->opt.resolver, sink->weight);
		o->bytes += p->logs.len - before;
	}
	give_full(o, to);
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	struct otlp *o = otlp_of(sink);
	struct process *p = set_host(o, to) ? process_of(o, 0) : NULL;

	if (!p) {
		sink->n_untold += n;
		return;
	}
	sink_calls_lost(o->host->calls, n);
	otlp_lost(begin_item(o, &p->logs), &o->host->ids, o->last_ns, n);
	give_full(o, to);
}

static void flush(struct sink *sink, struct sink_buf *to)
{
	give(otlp_of(sink), to);
}

static void end(struct sink *sink, struct sink_buf *to)
{
	struct otlp *o = otlp_of(sink);

	o->to = to;
	for (o->host = o->hosts; o->host; o->host = o->host->next)
		if (o->host->calls)
			calls_end(o->host->calls);
	give(o, to);
}

static void free_otlp(struct sink *sink)
{
	struct otlp *o = otlp_of(sink);

	for (struct otlp_host *host = o->hosts, *next; host; host = next) {
		next = host->next;
		calls_free(host->calls);
		forget_processes(host);
		map_free(&host->threads);
		free(host->name);
		free(host);
	}
}

const struct sink_kind sink_otlp = {
	.name = "otlp",
	.is_data = true,
	.size = sizeof(struct otlp),
	.event = event,
	.lost = lost,
	.flush = flush,
	.end = end,
	.free = free_otlp,
};
