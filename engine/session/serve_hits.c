/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Handlers that run in the host: the tracing thread tells it of the hit, and does what the handler asks for until that has returned. */

#include "engine/session/serve_hits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/session/hit_reach.h"
#include "engine/session/serve_priv.h"
#include "engine/session/state.h"

struct served_hits {
	struct served
		v; /* what it asks for, on the tracing thread, and what is answered; .has_ended: the handler has returned */
	bool is_over;        /* the host is gone, or none of ours: no handler runs any more */
	struct ubp_hit *hit; /* that is told; the tracing thread's, as what follows */
	struct ubp_regs before; /* all handlers that run at its stop */
	enum ubp_verdict verdict;
	void *room; /* for what goes to an answer */
	size_t n_room;
};

static struct served_hits *hits_of(const struct served *v)
{
	return v->session->tracing.hits;
}

static void *room(struct served_hits *h, size_t size)
{
	void *more = size > h->n_room ? realloc(h->room, size) : NULL;

	if (more) {
		h->room = more;
		h->n_room = size;
	}
	return size <= h->n_room ? h->room : NULL;
}

/* --- a hit is told ------------------------------------------------------------------------ */

static int tell_hit(struct served_hits *h, const struct ubp_hit *hit, uint64_t handler,
		    const void *cookie)
{
	const struct apart_hit told = {
		.handler = handler,
		.cookie = (uintptr_t)cookie,
		.id = hit->id,
		.addr = hit->addr,
		.now_ns = hit->now_ns,
		.pid = hit->pid,
		.tid = hit->tid,
		.e_machine = hit->arch->e_machine,
		.elf_class = hit->arch->elf_class,
		.is_return = hit->is_return,
		.may_change = hit->its.may_change,
		.is_entry = hit->its.is_entry,
		.is_go = hit->its.is_go,
		.has_change = hit->change != NULL,
	};

	wire_reset(&h->v.answer);
	wire_put_bytes(&h->v.answer, &told, sizeof(told));
	wire_put_bytes(&h->v.answer, hit->regs->r, hit->arch->reg.n * sizeof(hit->regs->r[0]));
	return link_send(h->v.socket, h->v.host, &h->v.answer, NULL);
}

/* Has a handler changed something at this stop? */
static bool is_changed(const struct hit_change *change)
{
	return change && (change->is_set || is_changed(change->earlier));
}

/* The host has died in a handler: nothing of what handlers have changed at this stop is written. */
static void take_back(struct served_hits *h, const struct ubp_hit *hit)
{
	const struct arch_reg *regs = &hit->arch->reg;
	bool is_now = is_changed(hit->change);

	for (struct hit_change *at = hit->change; is_now; at = at->earlier) {
		is_now = is_changed(at->earlier);
		/* At a return the stack pointer is as the caller will find it. */
		for (unsigned i = 0; i < regs->n; i++)
			if (i != regs->pc && (i != regs->sp || !at->earlier))
				at->regs->r[i] = h->before.r[i];
		at->is_set = at->skips = false;
	}
}

static void give_up(struct served_hits *h)
{
	h->is_over = true;
	(void)shutdown(h->v.socket, SHUT_RDWR);
}

enum ubp_verdict serve_hit(struct served_hits *h, uint64_t handler, const void *cookie,
			   struct ubp_hit *hit)
{
	int rc;

	if (h->is_over)
		return UBP_HIT_RECORD;
	if (hit->change && !is_changed(hit->change))
		h->before = *hit->change->regs;
	h->hit = hit;
	h->verdict = UBP_HIT_RECORD;
	h->v.has_ended = false;
	rc = tell_hit(h, hit, handler, cookie);
	while (rc == 0 && !h->v.has_ended)
		rc = serve_request(&h->v);
	h->hit = NULL;
	if (rc == 0)
		return h->verdict;
	give_up(h);
	take_back(h, hit);
	return UBP_HIT_RECORD;
}

/* --- what its handler asks for -------------------------------------------------------------- */

/* Registers that it has changed. They were looked at in the host, and are looked at here. */
static int take_regs(struct ubp_hit *hit, struct wire *in)
{
	uint64_t value;
	size_t len;
	const uint8_t *regs = wire_get_bytes(in, &len);

	if (!regs)
		return in->failed ? -EPROTO : 0;
	if (len != hit->arch->reg.n * sizeof(value))
		return -EPROTO;
	for (unsigned i = 0; i < hit->arch->reg.n; i++) {
		memcpy(&value, regs + i * sizeof(value), sizeof(value));
		if (value == hit->regs->r[i])
			continue;
		if (!hit_may_set(hit, i))
			return -EPROTO;
		hit_set_reg(hit, i, value);
	}
	return 0;
}

/* The hit that is asked about. NULL: that makes no sense; the host is none of ours. */
static struct ubp_hit *begin(struct served *v)
{
	struct ubp_hit *hit = hits_of(v)->hit;

	return hit && take_regs(hit, &v->in) == 0 ? hit : NULL;
}

static int64_t none_of_ours(struct ubp_err *err)
{
	return ubp_fail(err, EPROTO, "what the handler asks for makes no sense");
}

int64_t serve_hit_vector(struct served *v, struct ubp_err *err)
{
	struct ubp_hit *hit = begin(v);
	uint64_t i = wire_get(&v->in);

	if (!hit || i >= UBP_VECTORS)
		return none_of_ours(err);
	wire_put(&v->answer, hit->reach->vector(hit, (unsigned)i));
	return 0;
}

int64_t serve_hit_read(struct served *v, struct ubp_err *err)
{
	struct ubp_hit *hit = begin(v);
	uint64_t addr = wire_get(&v->in), size = wire_get(&v->in);
	void *buf;

	if (!hit || size > APART_READ_MAX)
		return none_of_ours(err);
	buf = room(hits_of(v), size);
	wire_put_bytes(&v->answer, buf ? buf : "",
		       buf ? ubp_hit_read(hit, addr, buf, size) : 0);
	return 0;
}

int64_t serve_hit_write(struct served *v, struct ubp_err *err)
{
	struct ubp_hit *hit = begin(v);
	uint64_t addr = wire_get(&v->in);
	size_t size;
	const void *bytes = wire_get_bytes(&v->in, &size);

	return hit && bytes ? ubp_hit_write(hit, addr, bytes, size, err) : none_of_ours(err);
}

int64_t serve_hit_skip(struct served *v, struct ubp_err *err)
{
	struct ubp_hit *hit = begin(v);
	uint64_t result = wire_get(&v->in);
	int rc;

	if (!hit || v->in.failed)
		return none_of_ours(err);
	rc = ubp_hit_skip(hit, result, err);
	wire_put_bytes(&v->answer, hit->regs->r, hit->arch->reg.n * sizeof(hit->regs->r[0]));
	return rc;
}

int64_t serve_hit_stack(struct served *v, struct ubp_err *err)
{
	struct ubp_hit *hit = begin(v);
	uint64_t n = wire_get(&v->in), *addrs;

	if (!hit || n > APART_STACK_MAX)
		return none_of_ours(err);
	addrs = room(hits_of(v), n * sizeof(*addrs));
	n = addrs ? ubp_hit_stack(hit, addrs, n) : 0;
	wire_put_bytes(&v->answer, n ? (void *)addrs : "", n * sizeof(*addrs));
	return 0;
}

int64_t serve_verdict(struct served *v, struct ubp_err *err)
{
	struct ubp_hit *hit = begin(v);
	uint64_t verdict = wire_get(&v->in), has_changed = wire_get(&v->in),
		 n_refused = wire_get(&v->in);

	if (!hit || v->in.failed)
		return none_of_ours(err);
	hits_of(v)->verdict = verdict == UBP_HIT_DROP ? UBP_HIT_DROP : UBP_HIT_RECORD;
	/* What was refused here was counted there, too. */
	hit->n_refused = n_refused;
	hit->has_changed |= has_changed && hit->its.may_change;
	v->has_ended = true;
	return 0;
}

/* --- the rest --------------------------------------------------------------------------------- */

int64_t serve_hits(struct served *v, struct ubp_err *err)
{
	struct served_hits *h = v->hits || !v->fds.n ? NULL : calloc(1, sizeof(*h));

	if (!h)
		return ubp_fail(err, ENOMEM, "out of memory");
	h->v = (struct served){ .socket = v->fds.fd[--v->fds.n],
				.session = v->session,
				.state = v->state,
				.shared = v->shared,
				.host = v->host,
				.line = SERVE_HITS };
	v->hits = h;
	__atomic_store_n(&v->session->tracing.hits, h, __ATOMIC_RELEASE);
	return 0;
}

void serve_hits_break(struct served *v)
{
	if (v->hits)
		(void)shutdown(v->hits->v.socket, SHUT_RDWR);
}

void serve_hits_free(struct served *v)
{
	struct served_hits *h = v->hits;

	if (!h)
		return;
	close(h->v.socket);
	wire_free(&h->v.in);
	wire_free(&h->v.answer);
	free(h->room);
	free(h);
	v->hits = NULL;
}

/* The host's number of a handler is what a session here has in place of a function: serve_hit() alone looks at it. */
ubp_handler_fn *serve_handler_of(uint64_t number)
{
	return (ubp_handler_fn *)(uintptr_t)number;
}

int64_t serve_set_handler(struct served *v, struct ubp_err *err)
{
	size_t number = wire_get(&v->in);
	uint64_t handler = wire_get(&v->in);
	bool may_change = wire_get(&v->in) != 0;

	if (handler && !v->session->tracing.hits)
		return none_of_ours(err);
	return ubp_probe_set_handler(v->session, number, serve_handler_of(handler), may_change,
				     err);
}

int64_t serve_handler_stats(struct served *v, struct ubp_err *err)
{
	struct ubp_handler_stats stats = UBP_HANDLER_STATS_INIT;
	int rc = ubp_probe_handler_stats(v->session, wire_get(&v->in), &stats);

	(void)err;
	wire_put_bytes(&v->answer, &stats, sizeof(stats));
	return rc;
}
