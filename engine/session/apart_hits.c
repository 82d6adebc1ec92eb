/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The host's half of a session that is apart: handlers (engine/ubp_handler.h). A thread of the host's runs them, one at a time, and asks the engine for
 * what they want to know; registers that they change go with whatever is asked next, or with the verdict.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/quiet_thread.h"
#include "engine/base/vec.h"
#include "engine/session/apart_priv.h"
#include "engine/session/calls.h"
#include "engine/session/hit_reach.h"
#include "engine/session/numbers.h"
#include "engine/session/owner.h"

/* --- what a handler asks for ---------------------------------------------------------------- */

static size_t regs_len(const struct ubp_hit *hit)
{
	return hit->arch->reg.n * sizeof(hit->regs->r[0]);
}

static void put_regs(struct wire *out, const struct ubp_hit *hit)
{
	bool is_set = hit->change && hit->change->is_set;

	wire_put_bytes(out, is_set ? hit->regs->r : NULL, regs_len(hit));
}

static int begin(struct apart_request *r, const struct ubp_hit *hit, enum apart_op op,
		 struct ubp_err *err)
{
	int rc = apart_begin(r, hit->session, op, err);

	if (rc == 0)
		put_regs(&r->line->out, hit);
	return rc;
}

/* At most @size bytes of the answer. Returns how many. */
static size_t take_bytes(struct apart_request *r, void *buf, size_t size)
{
	size_t len;
	const void *bytes = wire_get_bytes(&r->line->in, &len);

	if (!bytes || len > size) {
		apart_break(r->s->tracing.apart);
		return 0;
	}
	memcpy(buf, bytes, len);
	return len;
}

static uint64_t vector(const struct ubp_hit *hit, unsigned i)
{
	struct apart_request r;
	uint64_t value = 0;

	if (begin(&r, hit, APART_HIT_VECTOR, NULL) < 0)
		return 0;
	wire_put(&r.line->out, i);
	if (apart_ask(&r, NULL, NULL) >= 0)
		value = wire_get(&r.line->in);
	apart_end(&r);
	return value;
}

static size_t read_some(const struct ubp_hit *hit, uint64_t addr, void *buf, size_t size)
{
	struct apart_request r;
	size_t n = 0;

	if (begin(&r, hit, APART_HIT_READ, NULL) < 0)
		return 0;
	wire_put(&r.line->out, addr);
	wire_put(&r.line->out, size);
	if (apart_ask(&r, NULL, NULL) >= 0)
		n = take_bytes(&r, buf, size);
	apart_end(&r);
	return n;
}

static size_t read_memory(const struct ubp_hit *hit, uint64_t addr, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t n = size - done < APART_READ_MAX ? size - done : APART_READ_MAX;
		size_t got = read_some(hit, addr + done, (char *)buf + done, n);

		done += got;
		if (got < n)
			break;
	}
	return done;
}

static int write_memory(struct ubp_hit *hit, uint64_t addr, const void *buf, size_t size,
			struct ubp_err *err)
{
	struct apart_request r;
	int rc = begin(&r, hit, APART_HIT_WRITE, err);

	if (rc < 0)
		return rc;
	wire_put(&r.line->out, addr);
	wire_put_bytes(&r.line->out, size ? buf : "", size);
	rc = (int)apart_ask(&r, NULL, err);
	apart_end(&r);
	return rc;
}

static int skip(struct ubp_hit *hit, uint64_t result, struct ubp_err *err)
{
	struct apart_request r;
	int rc = begin(&r, hit, APART_HIT_SKIP, err);

	if (rc < 0)
		return rc;
	wire_put(&r.line->out, result);
	rc = (int)apart_ask(&r, NULL, err);
	/* As the engine has them by now. */
	if (rc == 0 && take_bytes(&r, hit->change->regs->r, regs_len(hit)) != regs_len(hit))
		rc = ubp_fail(err, EPROTO, "the engine tells of other registers");
	apart_end(&r);
	return rc;
}

static size_t stack(const struct ubp_hit *hit, uint64_t *ret_addr, size_t n)
{
	struct apart_request r;
	size_t len = 0;

	n = n < APART_STACK_MAX ? n : APART_STACK_MAX;
	if (begin(&r, hit, APART_HIT_STACK, NULL) < 0)
		return 0;
	wire_put(&r.line->out, n);
	if (apart_ask(&r, NULL, NULL) >= 0)
		len = take_bytes(&r, ret_addr, n * sizeof(*ret_addr));
	apart_end(&r);
	return len / sizeof(*ret_addr);
}

static const struct hit_reach far = { .vector = vector,
				      .read = read_memory,
				      .write = write_memory,
				      .skip = skip,
				      .stack = stack };

/* --- hits ------------------------------------------------------------------------------------- */

struct told_hit {
	struct apart_hit head;
	struct ubp_regs regs;
	struct hit_change change;
	struct ubp_hit hit;
	ubp_handler_fn *handler;
	void *cookie;
};

/* What is known of its probe. False: it has no handler that was ever given to the engine, so the engine is none of ours. */
static bool find_handler(struct ubp_session *s, struct told_hit *t, bool *ret_is_removed)
{
	struct apart *a = s->tracing.apart;
	const struct apart_probe *probe;
	bool is_there;

	pthread_mutex_lock(&a->probes_lock);
	probe = t->head.id < a->n_probes ? &a->probes[t->head.id] : NULL;
	is_there = t->head.handler && t->head.handler <= a->hits.n;
	t->handler = is_there ? a->hits.handlers[t->head.handler - 1] : NULL;
	t->cookie =
		probe && probe->has_cookie ? probe->cookie : (void *)(uintptr_t)t->head.cookie;
	*ret_is_removed = probe && probe->is_removed;
	pthread_mutex_unlock(&a->probes_lock);
	return is_there;
}

static bool take_hit(struct ubp_session *s, struct wire *in, struct told_hit *t)
{
	const struct apart_hit *head = &t->head;
	const struct ubp_arch *arch;
	const void *regs;
	size_t len;

	wire_get_struct(in, &t->head, sizeof(t->head));
	regs = wire_get_bytes(in, &len);
	arch = in->failed ? NULL : ubp_arch_find(head->e_machine, head->elf_class);
	if (!arch || !regs || len != arch->reg.n * sizeof(t->regs.r[0]) ||
	    head->id >= NUMBERS_MAX)
		return false;
	memcpy(t->regs.r, regs, len);
	t->change = (struct hit_change){ .regs = &t->regs };
	t->hit = (struct ubp_hit){ .reach = &far,
				   .arch = arch,
				   .its = { .is_there = true,
					    .may_change = head->may_change != 0,
					    .is_entry = head->is_entry != 0,
					    .is_go = head->is_go != 0 },
				   .regs = &t->regs,
				   .change = head->has_change ? &t->change : NULL,
				   .id = head->id,
				   .addr = head->addr,
				   .now_ns = head->now_ns,
				   .pid = head->pid,
				   .tid = head->tid,
				   .is_return = head->is_return != 0,
				   .session = s };
	return true;
}

/* It counts as running from before it is looked whether it may: who ends the session, or removes the probe, does so the other way round. */
static bool run(struct ubp_session *s, struct told_hit *t, enum ubp_verdict *ret_verdict)
{
	struct apart *a = s->tracing.apart;
	bool is_removed, is_there;

	*ret_verdict = UBP_HIT_RECORD;
	calls_handler_enter(s, t->head.id);
	is_there = find_handler(s, t, &is_removed);
	if (is_there && !is_removed && !__atomic_load_n(&a->is_dead, __ATOMIC_SEQ_CST))
		*ret_verdict = t->handler(t->cookie, &t->hit);
	calls_handler_end(s);
	return is_there;
}

static int tell_verdict(struct apart_line *line, const struct ubp_hit *hit,
			enum ubp_verdict verdict)
{
	int rc;

	pthread_mutex_lock(&line->lock);
	wire_reset(&line->out);
	wire_put(&line->out, APART_VERDICT);
	put_regs(&line->out, hit);
	wire_put(&line->out, verdict);
	wire_put(&line->out, hit->has_changed);
	wire_put(&line->out, hit->n_refused);
	rc = link_send(line->socket, -1, &line->out, NULL);
	pthread_mutex_unlock(&line->lock);
	return rc;
}

static void *run_handlers(void *arg)
{
	struct ubp_session *s = arg;
	struct apart_line *line = &s->tracing.apart->hits.line;
	enum ubp_verdict verdict;
	struct told_hit told;

	while (link_receive(line->socket, -1, &line->in, NULL) == 0)
		if (!take_hit(s, &line->in, &told) || !run(s, &told, &verdict) ||
		    tell_verdict(line, &told.hit, verdict) < 0)
			break;
	/* It has ended, or says what makes no sense. */
	(void)shutdown(line->socket, SHUT_RDWR);
	apart_break(s->tracing.apart);
	return NULL;
}

/* --- which handlers there are -------------------------------------------------------------------- */

static int begin_hits(struct ubp_session *s, struct ubp_err *err)
{
	struct apart_hits *hits = &s->tracing.apart->hits;
	int rc = hits->line.socket < 0 ? apart_connect(s, &hits->line, APART_HITS, err) : 0;

	if (rc < 0)
		return rc;
	rc = quiet_thread_create(&hits->thread, run_handlers, s);
	hits->runs = rc == 0;
	if (rc == 0)
		return 0;
	return ubp_fail(err, rc, "cannot start a thread: %s", strerror(rc));
}

/* 0: memory is short, or the thread that runs it may come to the probe itself. */
static uint64_t number_of(struct apart *a, ubp_handler_fn *handler, bool *ret_is_own)
{
	struct apart_hits *hits = &a->hits;
	size_t at = 0;

	pthread_mutex_lock(&a->probes_lock);
	*ret_is_own = a->n_own > 0;
	while (at < hits->n && hits->handlers[at] != handler)
		at++;
	if (!*ret_is_own && at == hits->n && VEC_ROOM(hits->handlers, &hits->cap, hits->n) == 0)
		hits->handlers[hits->n++] = handler;
	at = at < hits->n ? at + 1 : 0;
	pthread_mutex_unlock(&a->probes_lock);
	return at;
}

int apart_handler_number(struct ubp_session *s, ubp_handler_fn *handler, uint64_t *ret_number,
			 struct ubp_err *err)
{
	struct apart *a = s->tracing.apart;
	int rc = handler ? owner_check(s, err) : 0;
	bool is_own;

	*ret_number = 0;
	if (rc < 0 || !handler)
		return rc;
	pthread_mutex_lock(&a->hits.line.lock);
	rc = a->hits.runs ? 0 : begin_hits(s, err);
	pthread_mutex_unlock(&a->hits.line.lock);
	if (rc < 0)
		return rc;
	*ret_number = number_of(a, handler, &is_own);
	if (is_own)
		return apart_refuse_self("its own handlers", err);
	return *ret_number ? 0 : ubp_fail(err, ENOMEM, "out of memory");
}

void apart_hits_end(struct ubp_session *s)
{
	struct apart_hits *hits = &s->tracing.apart->hits;

	if (hits->line.socket < 0)
		return;
	(void)shutdown(hits->line.socket, SHUT_RDWR);
	if (hits->runs)
		pthread_join(hits->thread, NULL);
}

int apart_set_handler(struct ubp_session *s, size_t number, ubp_handler_fn *handler,
		      bool may_change, struct ubp_err *err)
{
	struct apart_request r;
	uint64_t its;
	int rc = apart_handler_number(s, handler, &its, err);

	if (rc == 0)
		rc = apart_begin(&r, s, APART_SET_HANDLER, err);
	if (rc < 0)
		return rc;
	wire_put(&r.line->out, number);
	wire_put(&r.line->out, its);
	wire_put(&r.line->out, may_change);
	rc = (int)apart_ask(&r, NULL, err);
	apart_end(&r);
	return rc;
}

int apart_handler_stats(const struct ubp_session *s, size_t number,
			struct ubp_handler_stats *ret_stats)
{
	struct apart_request r;
	int rc = apart_begin(&r, s, APART_HANDLER_STATS, NULL);

	if (rc < 0)
		return rc;
	wire_put(&r.line->out, number);
	rc = (int)apart_ask(&r, NULL, NULL);
	if (rc == 0)
		wire_get_struct(&r.line->in, ret_stats, sizeof(*ret_stats));
	apart_end(&r);
	return rc;
}
