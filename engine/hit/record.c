/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/record.h"

#include <errno.h>
#include <string.h>

#include "arch/host.h"
#include "engine/fetch/match.h"
#include "engine/hit/handle.h"
#include "engine/hit/stack.h"
#include "engine/plant/rings.h"
#include "engine/plant/samples.h"
#include "engine/space/uprobe.h"
#include "engine/stack/maps_now.h"
#include "engine/stack/unwind.h"
#include "engine/trace/follow.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracee_task.h"

/* Memory of a stopped thread; the first batch also brings its CPU number. */
struct reader {
	struct hit *hit;
	struct moment *m;
};

#define SPANS_MAX 160

/* What was there to be read: a detour might have. */
static void note_seen(struct hit *hit, const struct fetch_span *spans, size_t n)
{
	for (size_t i = 0; i < n && hit->n_seen < HIT_SEEN; i++)
		if (spans[i].got)
			hit->seen[hit->n_seen++] = spans[i].vaddr;
}

static bool has_tags(const struct ubp_arch *arch, const struct fetch_span *spans, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (spans[i].vaddr & arch->tag_mask)
			return true;
	return false;
}

/* One address after the other, each as the kernel would take it of this thread. */
static void read_tagged(const struct moment *m, struct fetch_span *spans, size_t n)
{
	const uint64_t mask = m->t->process->space->arch->tag_mask;
	bool takes_tags = ubp_host_takes_tags(m->t->tid);

	for (size_t i = 0; i < n; i++) {
		struct fetch_span one = spans[i];

		one.vaddr &= ~mask;
		one.got = 0;
		if (takes_tags || one.vaddr == spans[i].vaddr)
			mem_read_spans(&m->t->process->space->mem, m->t->tid, &one, 1);
		spans[i].got = one.got;
	}
}

static void read_memory(void *ctx, struct fetch_span *spans, size_t n)
{
	struct reader *reader = ctx;
	struct moment *m = reader->m;
	struct fetch_span with_cpu[SPANS_MAX];
	uint64_t vaddr = m->cpu < 0 && n < SPANS_MAX ? task_rseq_cpu_vaddr(m->t) : 0;
	uint32_t cpu = 0;

	if (has_tags(m->t->process->space->arch, spans, n)) {
		read_tagged(m, spans, n);
		return;
	}
	if (!vaddr) {
		mem_read_spans(&m->t->process->space->mem, m->t->tid, spans, n);
		note_seen(reader->hit, spans, n);
		return;
	}
	with_cpu[0] = (struct fetch_span){ .vaddr = vaddr, .len = sizeof(cpu), .buf = &cpu };
	memcpy(with_cpu + 1, spans, n * sizeof(*spans));
	mem_read_spans(&m->t->process->space->mem, m->t->tid, with_cpu, n + 1);
	for (size_t i = 0; i < n; i++)
		spans[i].got = with_cpu[i + 1].got;
	if (with_cpu[0].got == sizeof(cpu) && (int32_t)cpu >= 0)
		m->cpu = (int)cpu;
	note_seen(reader->hit, spans, n);
}

static unsigned cpu_of(struct moment *m)
{
	uint64_t vaddr;
	uint32_t cpu;

	if (m->cpu >= 0)
		return (unsigned)m->cpu;
	/* Of memory that is touched with care /proc tells it sooner: that waits for no lock of the program's. */
	vaddr = mem_is_sure(&m->t->process->space->mem, m->t->tid) ? task_rseq_cpu_vaddr(m->t)
								   : 0;
	if (vaddr &&
	    mem_read(&m->t->process->space->mem, m->t->tid, vaddr, &cpu, sizeof(cpu)) ==
		    sizeof(cpu) &&
	    (int32_t)cpu >= 0)
		m->cpu = (int)cpu;
	else
		m->cpu = (int)task_cpu_from_proc(m->t);
	return (unsigned)m->cpu;
}

void moment_begin(struct hit *hit, struct moment *m, struct tracee *t,
		  const struct ubp_regs *regs)
{
	m->t = t;
	m->regs = regs;
	event_queue_begin(hit->opt.queue, event_clock_now(hit->opt.clock));
	m->now_ns = event_clock_now(hit->opt.clock);
	m->cpu = task_one_cpu(t, m->now_ns);
	m->duration_ns = 0;
	m->entry = NULL;
	m->change = NULL;
	m->has_vectors = false;
}

void moment_end(struct hit *hit, const struct moment *m)
{
	event_queue_end(hit->opt.queue);
	if (m->t->task.one_cpu >= 0)
		follow_cpu(hit->tracer, (unsigned)m->t->task.one_cpu);
}

uint64_t moment_mono_ns(const struct hit *hit, const struct moment *m)
{
	return hit->opt.clock == CLOCK_KIND_MONO ? m->now_ns : event_clock_now(CLOCK_KIND_MONO);
}

/* Of what is counted nothing is lost. */
static struct event_record *reserve(const struct hit *hit, const struct uprobe *probe)
{
	return event_queue_reserve_for(hit->opt.queue, RECORD_MAX,
				       hit->opt.lossless || probe->at_hit.tally);
}

/* A reader that has promised to look again is left alone, unless the room gets short. */
static void wake_reader(struct hit *hit)
{
	if (!event_queue_is_awake(hit->opt.queue) || event_queue_is_filling(hit->opt.queue))
		event_queue_wake(hit->opt.queue);
}

static void count_lost(struct hit *hit, struct uprobe *probe)
{
	uprobe_count(&probe->stats.passed);
	uprobe_count(&probe->stats.lost);
	event_queue_lost(hit->opt.queue, 1);
	wake_reader(hit);
}

static void fill_head(struct event_record *r, struct moment *m, const struct uprobe *probe,
		      uint64_t site_vaddr, uint64_t ret_ip)
{
	r->kind = EVENT_HIT;
	r->n_stack = 0;
	r->probe = probe->number;
	r->pid = m->t->process->pid;
	r->tid = m->t->tid;
	r->time = m->now_ns;
	r->ip = ret_ip ? ret_ip : site_vaddr;
	r->func = ret_ip ? site_vaddr : 0;
	r->n_lost = 0;
	r->maps = 0;
	memcpy(r->comm, task_comm_cached(m->t, m->now_ns), sizeof(r->comm));
}

static size_t add_stack(struct hit *hit, struct moment *m, const struct uprobe *probe,
			struct event_record *r)
{
	size_t at = (sizeof(*r) + r->data_len + 7) & ~(size_t)7;
	uint64_t *stack = (uint64_t *)((char *)r + at);

	if (!hit->opt.stack || probe->at_hit.no_stack)
		return sizeof(*r) + r->data_len;
	if (hit->opt.unwinder) {
		r->n_stack = (uint16_t)stack_unwind(hit->opt.unwinder, m->t, m->regs, stack,
						    hit->opt.frames, &r->maps);
	} else {
		r->n_stack = (uint16_t)stack_take(hit, m->t, m->regs, stack, hit->opt.frames);
		r->maps = hit->opt.maps ? stack_maps_now(hit->opt.maps, m->t) : 0;
	}
	return at + r->n_stack * sizeof(uint64_t);
}

const struct ubp_vectors *moment_vectors(struct moment *m)
{
	if (!m->has_vectors && ubp_host_get_vectors(m->t->tid, &m->vectors) < 0)
		memset(&m->vectors, 0, sizeof(m->vectors)); /* it was killed */
	m->has_vectors = true;
	return &m->vectors;
}

/* What any program at this stop runs on. */
static struct fetch_input input_of(struct moment *m, const struct fetch_memory *memory,
				   const struct fetch_program *program, uint64_t site_vaddr)
{
	return (struct fetch_input){
		.arch = m->t->process->space->arch,
		.regs = m->regs,
		.memory = memory,
		.hit_vaddr = site_vaddr,
		.vectors = program->needs_vectors ? moment_vectors(m) : NULL,
	};
}

/* Run the fetch program. Its length, or -E2BIG. */
static int fetch(struct hit *hit, struct moment *m, struct event_record *r,
		 const struct uprobe *probe, uint64_t site_vaddr)
{
	struct reader reader = { hit, m };
	struct fetch_memory memory = { read_memory, &reader };
	struct fetch_input in = input_of(m, &memory, probe->program, site_vaddr);
	size_t head = probe_kind_head(probe->kind);

	in.comm = r->comm;
	in.duration_ns = m->duration_ns;
	in.entry = m->entry;
	/* A name that is asked for must be the one at this moment. */
	if (probe->at_hit.asks_name) {
		task_comm(m->t->tid, m->t->task.comm);
		m->t->task.comm_read_ns = m->now_ns;
		memcpy(r->comm, m->t->task.comm, sizeof(r->comm));
	}
	return fetch_run(probe->program, &in, hit->scratch, head, r->data);
}

void record_entry(struct hit *hit, struct moment *m, const struct uprobe *probe,
		  uint64_t site_vaddr, struct entry_values *ret_values)
{
	struct reader reader = { hit, m };
	struct fetch_memory memory = { read_memory, &reader };
	const struct fetch_input in = input_of(m, &memory, probe->at_hit.entry, site_vaddr);

	fetch_run_entry(probe->at_hit.entry, &in, hit->scratch, ret_values);
}

/* Was some of what this hit wanted left unread since then? */
static void count_unanswered(struct uprobe_stats *stats, const struct mem_care *care,
			     uint64_t before)
{
	if (care->n_unanswered == before)
		return;
	uprobe_count(&stats->unanswered);
	__atomic_store_n(&stats->why_silent, silent_text(care->why), __ATOMIC_RELAXED);
}

static bool is_sampled(struct tracee *t, const struct uprobe *probe,
		       const struct event_record *r)
{
	const struct plant_space *ps = t->process->space->plant;

	return samples_take(t, ps ? rings_of(ps) : NULL, probe, r->data);
}

/* Room for a record; that of a probe with a handler waits in .spare for what the handler says. NULL, counted: it is lost. */
static struct event_record *begin_record(struct hit *hit, struct uprobe *probe)
{
	struct event_record *r;

	if (probe->at_hit.handler.is_there)
		return hit->spare;
	r = reserve(hit, probe);
	if (!r)
		count_lost(hit, probe);
	return r;
}

static void end_record(struct hit *hit, struct uprobe *probe, const struct event_record *r,
		       size_t size)
{
	if (probe->at_hit.handler.is_there) {
		void *to = reserve(hit, probe);

		if (!to) {
			uprobe_uncount(&probe->stats.passed);
			count_lost(hit, probe);
			return;
		}
		memcpy(to, r, size);
	}
	event_queue_commit(hit->opt.queue, size);
	wake_reader(hit);
}

/* What the record tells is as it was before the handler. False: that does not want it. */
static bool handle(struct hit *hit, struct moment *m, struct uprobe *probe, uint64_t site_vaddr,
		   uint64_t ret_ip, struct ubp_regs *before)
{
	*before = *m->regs;
	return hit_handle(hit, m, probe, site_vaddr, ret_ip != 0);
}

void record_hit(struct hit *hit, struct moment *m, struct uprobe *probe, uint64_t site_vaddr,
		uint64_t ret_ip)
{
	const bool is_handled = probe->at_hit.handler.is_there;
	const struct ubp_regs *regs = m->regs;
	struct ubp_regs before;
	const struct mem_care *care = &m->t->process->space->care;
	uint64_t unanswered = care->n_unanswered;
	struct event_record *r;
	size_t size;
	int len;

	if (!uprobe_is_on(probe) || m->t->process->silent ||
	    (hit->opt.only_tid && m->t->tid != hit->opt.only_tid))
		return;
	uprobe_count(&probe->stats.hits);
	r = begin_record(hit, probe);
	if (!r)
		return;
	fill_head(r, m, probe, site_vaddr, ret_ip);
	len = fetch(hit, m, r, probe, site_vaddr);
	if (len < 0) {
		count_unanswered(&probe->stats, care, unanswered);
		uprobe_count(&probe->stats.too_big);
		if (is_handled && !probe->filter)
			(void)hit_handle(hit, m, probe, site_vaddr, ret_ip != 0);
		return;
	}
	r->data_len = (uint32_t)len;
	r->cpu = cpu_of(m);
	if (!filter_match(probe->filter, r)) {
		count_unanswered(&probe->stats, care, unanswered);
		return;
	}
	if (is_handled && !handle(hit, m, probe, site_vaddr, ret_ip, &before)) {
		count_unanswered(&probe->stats, care, unanswered);
		return;
	}
	if (probe->at_hit.sample && !is_sampled(m->t, probe, r)) {
		uprobe_count(&probe->stats.left_out);
		count_unanswered(&probe->stats, care, unanswered);
		return;
	}
	uprobe_count(&probe->stats.passed);
	m->regs = is_handled ? &before : regs;
	size = add_stack(hit, m, probe, r);
	m->regs = regs;
	count_unanswered(&probe->stats, care, unanswered);
	end_record(hit, probe, r, size);
}
