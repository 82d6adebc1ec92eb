/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/care.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/page.h"
#include "engine/event/clock.h"
#include "engine/os/silent.h"
#include "engine/trace/direct.h"
#include "engine/trace/errands.h"

/* An answer is waited for: a disk may be slow, once. */
#define LIMIT_FIRST_NS 300000000ULL
#define LIMIT_VALUE_NS 100000000ULL /* for a value, at a hit: others wait */
#define LIMIT_NS       50000000ULL

#define SURE_NS      100000000ULL /* so long a look is good, ... */
#define SURE_TIMES   100          /* ... or so many times what it took */
#define CARE_NS      1000000000ULL
#define MUTE_NS      1000000000ULL
#define MUTE_MAX_NS  (MUTE_NS << 10)
#define MUTE_FORGETS 16 /* who has been good for so many times what it was muted begins anew */

/* Who reads on so close behind what was read in one piece goes through all of it. */
#define NEAR (16 * PAGE)

/* It cost the others a limit: how long is it left alone? */
static void note_stuck(struct mem_care *care)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);

	if (now > care->mute_until_ns + MUTE_FORGETS * care->mute_ns)
		care->mute_ns = 0;
	care->mute_ns = care->mute_ns ? 2 * care->mute_ns : MUTE_NS;
	if (care->mute_ns > MUTE_MAX_NS)
		care->mute_ns = MUTE_MAX_NS;
	care->mute_until_ns = now + care->mute_ns;
}

static uint64_t limit_ns(const struct mem_care *care, enum errand errand)
{
	if (care->mute_ns)
		return LIMIT_NS;
	return errand == ERRAND_READ ? LIMIT_VALUE_NS : LIMIT_FIRST_NS;
}

/* Can it be asked at all? */
static enum silent_why may_ask(const struct mem_care *care)
{
	if (care->mute_until_ns && event_clock_now(CLOCK_KIND_MONO) < care->mute_until_ns)
		return SILENT_STUCK;
	return stand_in_begin(care->stand_in) ? SILENT_NOT : SILENT_NO_HELP;
}

/*
 * The rest of the request stands on the desk. True: the answer does, and is whole but for what the desk says
 * may not be touched. False: there is none, and nothing on a desk is about this.
 */
static bool ask(struct mem_care *care, pid_t tid, enum errand errand)
{
	struct errand_desk *desk = care->stand_in->desk;

	desk->errand = errand;
	desk->tid = tid;
	desk->serial = care->serial;
	if (stand_in_ask(care->stand_in, care->file->fd, limit_ns(care, errand)))
		return true;
	note_stuck(care);
	return false;
}

/*
 * By the tracer itself, where nothing in it waits: to ask the stand-in takes several times as long. Of a
 * process that is not harmless no more is asked than silent_suspect() does.
 */
static enum silent_why look_here(struct mem_care *care, pid_t tid)
{
	struct stand_in *s = care->stand_in;
	struct silent_map map;

	if (!s->mounts)
		s->mounts = silent_mounts_new();
	return silent_check(s->mounts, tid, false, &map);
}

static enum silent_why look_there(struct mem_care *care, pid_t tid)
{
	enum silent_why why = may_ask(care);

	if (why == SILENT_NO_HELP)
		return look_here(care, tid);
	return why == SILENT_NOT && ask(care, tid, ERRAND_LOOK) ? care->stand_in->desk->why
								: SILENT_STUCK;
}

static bool look(struct mem_care *care, pid_t tid, uint64_t now)
{
	bool waits = silent_may_wait(tid);
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO), good_for;
	enum silent_why why = waits ? look_there(care, tid) : look_here(care, tid);

	if (why != SILENT_NOT) {
		care->care_until_ns = now + CARE_NS;
		return false;
	}
	good_for = event_clock_now(CLOCK_KIND_MONO) - begun;
	if (waits)
		good_for = care->stand_in->desk ? care->stand_in->desk->took_ns : 0;
	good_for *= SURE_TIMES;
	care->sure_until_ns = now + (good_for > SURE_NS ? good_for : SURE_NS);
	return true;
}

bool care_is_sure(struct mem_care *care, pid_t tid)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);

	if (now < care->sure_until_ns)
		return true;
	return now >= care->care_until_ns && look(care, tid, now);
}

/* Returns whether all is well. */
static bool note(struct mem_care *care, enum silent_why why)
{
	if (why == SILENT_NOT)
		return true;
	care->n_unanswered++;
	care->why = why;
	return false;
}

/* As many of the spans as there is room for. Returns how many. */
static size_t put_on_desk(struct errand_desk *desk, const struct fetch_span *spans, size_t n)
{
	size_t used = 0, room = ERRAND_ROOM;

	for (; used < n && used < ERRAND_SPANS && spans[used].len <= room; used++) {
		desk->spans[used] = spans[used];
		room -= spans[used].len;
	}
	desk->n = used;
	return used;
}

static void take_from_desk(const struct errand_desk *desk, struct fetch_span *spans, size_t n)
{
	const uint8_t *from = desk->bytes;

	for (size_t i = 0; i < n; i++) {
		spans[i].got = desk->spans[i].got;
		if (spans[i].got > spans[i].len)
			spans[i].got = 0;
		memcpy(spans[i].buf, from, spans[i].got);
		from += spans[i].len;
	}
}

/* Returns how many of the spans are settled. */
static size_t read_some(struct mem_care *care, pid_t tid, enum errand errand,
			struct fetch_span *spans, size_t n)
{
	enum silent_why why = may_ask(care);
	size_t used = n;

	for (size_t i = 0; i < n; i++)
		spans[i].got = 0;
	if (why == SILENT_NOT) {
		used = put_on_desk(care->stand_in->desk, spans, n);
		why = SILENT_STUCK;
		if (ask(care, tid, errand)) {
			take_from_desk(care->stand_in->desk, spans, used < n ? used : n);
			why = care->stand_in->desk->why;
		}
	}
	(void)note(care, why);
	return used;
}

/* One that is longer than the desk: piece by piece. */
static size_t read_long(struct mem_care *care, pid_t tid, enum errand errand, uint64_t vaddr,
			void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		struct fetch_span piece = {
			.vaddr = vaddr + done,
			.len = (uint32_t)(len - done < ERRAND_ROOM ? len - done : ERRAND_ROOM),
			.buf = (uint8_t *)buf + done,
		};

		(void)read_some(care, tid, errand, &piece, 1);
		done += piece.got;
		if (piece.got < piece.len)
			break;
	}
	return done;
}

void care_read(struct mem_care *care, pid_t tid, struct fetch_span *spans, size_t n)
{
	while (n) {
		size_t done = 1;

		if (spans->len > ERRAND_ROOM)
			spans->got = (uint32_t)read_long(care, tid, ERRAND_READ, spans->vaddr,
							 spans->buf, spans->len);
		else
			done = read_some(care, tid, ERRAND_READ, spans, n);
		spans += done;
		n -= done;
	}
}

size_t care_peek(struct mem_care *care, uint64_t vaddr, void *buf, size_t len)
{
	return read_long(care, care->file->pid, ERRAND_PEEK, vaddr, buf, len);
}

/* What was read for @id, or room for it. NULL: there is none. */
static struct peek_ahead *ahead_of(struct stand_in *s, uint64_t id)
{
	struct peek_ahead *oldest = &s->aheads[0];

	for (size_t i = 0; i < STAND_IN_AHEADS; i++) {
		struct peek_ahead *a = &s->aheads[i];

		if (id && a->id == id)
			return a;
		if (a->id < oldest->id)
			oldest = a;
	}
	oldest->id = 0;
	oldest->n = 0;
	if (!oldest->bytes)
		oldest->bytes = malloc(STAND_IN_AHEAD);
	return oldest->bytes ? oldest : NULL;
}

static void remember(struct mem_care *care, uint64_t page)
{
	for (size_t i = 0; i < CARE_PAGES; i++)
		if (care->pages[i] == page)
			return;
	care->pages[care->n_pages++ % CARE_PAGES] = page;
}

void care_expect(struct mem_care *care, uint64_t vaddr)
{
	remember(care, vaddr / PAGE * PAGE);
}

/* The lowest page that is remembered, and not below @from. 0: there is none. */
static uint64_t next_page(const struct mem_care *care, uint64_t from)
{
	uint64_t lowest = 0;

	for (size_t i = 0; i < CARE_PAGES; i++)
		if (care->pages[i] && care->pages[i] >= from &&
		    (!lowest || care->pages[i] < lowest))
			lowest = care->pages[i];
	return lowest;
}

/*
 * What is read with [vaddr, vaddr + len): pages above that are remembered, and behind it what there is room for. Who
 * goes on from @ahead's end goes through all of it: then only the latter. Returns how many spans.
 */
static size_t choose(const struct mem_care *care, const struct peek_ahead *ahead,
		     uint64_t vaddr, size_t len, struct fetch_span *spans)
{
	bool goes_on = ahead->n && vaddr >= ahead->end && vaddr - ahead->end < NEAR;
	size_t room = STAND_IN_AHEAD - len, n = 1;
	uint64_t page = vaddr;

	spans[0] = (struct fetch_span){ .vaddr = vaddr, .len = (uint32_t)len };
	while (!goes_on && n < STAND_IN_PIECES - 1 && room >= len &&
	       (page = next_page(care, page + PAGE)) != 0) {
		spans[n++] = (struct fetch_span){ .vaddr = page, .len = (uint32_t)len };
		room -= len;
	}
	if (room >= len)
		spans[n++] =
			(struct fetch_span){ .vaddr = vaddr + PAGE, .len = (uint32_t)room };
	return n;
}

/* The answer on the desk, of @n spans. */
static void take_pieces(const struct errand_desk *desk, const struct fetch_span *spans,
			size_t n, struct peek_ahead *ahead)
{
	uint8_t *to = ahead->bytes;
	const uint8_t *from = desk->bytes;

	ahead->n = n;
	for (size_t i = 0; i < n; i++) {
		size_t got = desk->spans[i].got;

		if (got > spans[i].len)
			got = 0;
		memcpy(to, from, got);
		ahead->pieces[i] = (struct peek_piece){
			.vaddr = spans[i].vaddr,
			.len = got,
			.is_all = got < desk->spans[i].len,
			.bytes = to,
		};
		to += spans[i].len;
		from += spans[i].len;
	}
}

static void read_ahead(struct mem_care *care, struct peek_ahead *ahead, uint64_t vaddr,
		       size_t len)
{
	enum silent_why why = may_ask(care);
	struct fetch_span spans[STAND_IN_PIECES];
	size_t n = choose(care, ahead, vaddr, len, spans);

	ahead->id = ++care->stand_in->n_aheads;
	ahead->n = 0;
	if (why == SILENT_NOT) {
		n = put_on_desk(care->stand_in->desk, spans, n);
		why = ask(care, care->file->pid, ERRAND_PEEK) ? care->stand_in->desk->why
							      : SILENT_STUCK;
	}
	/* Where the first does not answer the others were not looked at. */
	if (note(care, why)) {
		take_pieces(care->stand_in->desk, spans, n, ahead);
		ahead->end = vaddr + spans[n - 1].len / PAGE * PAGE;
	}
}

/* Copies what is there. False: not all that there may be was read. */
static bool take_ahead(const struct peek_ahead *ahead, uint64_t vaddr, void *buf, size_t len,
		       size_t *ret_got)
{
	for (size_t i = 0; i < ahead->n; i++) {
		const struct peek_piece *piece = &ahead->pieces[i];
		uint64_t at = vaddr - piece->vaddr;

		if (vaddr < piece->vaddr || at > piece->len ||
		    (len > piece->len - at && !piece->is_all))
			continue;
		*ret_got = len < piece->len - at ? len : piece->len - at;
		memcpy(buf, piece->bytes + at, *ret_got);
		return true;
	}
	return false;
}

size_t care_peek_ahead(struct mem_care *care, uint64_t *id, uint64_t vaddr, void *buf,
		       size_t len)
{
	struct peek_ahead *ahead = ahead_of(care->stand_in, *id);
	size_t got = 0;

	if (!ahead || len > STAND_IN_AHEAD)
		return care_peek(care, vaddr, buf, len);
	if (!ahead->id || ahead->id != *id || vaddr < ahead->from ||
	    !take_ahead(ahead, vaddr, buf, len, &got)) {
		read_ahead(care, ahead, vaddr, len);
		/* The first is as it was answered, whether or not all of it came. */
		if (ahead->n) {
			got = ahead->pieces[0].len;
			memcpy(buf, ahead->pieces[0].bytes, got);
		}
	}
	*id = ahead->id;
	ahead->from = vaddr + PAGE;
	if (got)
		remember(care, vaddr / PAGE * PAGE);
	return got;
}

size_t care_write_spans(struct mem_care *care, const struct fetch_span *spans, size_t n,
			int *ret_rc)
{
	enum silent_why why = may_ask(care);
	size_t done = 0;

	*ret_rc = -ETIMEDOUT;
	if (why == SILENT_NOT) {
		struct errand_desk *desk = care->stand_in->desk;
		size_t used = put_on_desk(desk, spans, n);
		uint8_t *to = desk->bytes;

		for (size_t i = 0; i < used; i++) {
			memcpy(to, spans[i].buf, spans[i].len);
			to += spans[i].len;
		}
		why = SILENT_STUCK;
		if (ask(care, care->file->pid, ERRAND_WRITE)) {
			why = desk->why;
			*ret_rc = -desk->error;
			done = desk->n_written < used ? desk->n_written : used;
		}
	}
	if (!note(care, why))
		*ret_rc = -ETIMEDOUT;
	return done;
}

int care_write(struct mem_care *care, uint64_t vaddr, const void *buf, size_t len)
{
	int rc = 0;

	while (len && rc == 0) {
		size_t n = len < ERRAND_ROOM ? len : ERRAND_ROOM;
		struct fetch_span span = { .len = (uint32_t)n };

		/* The last piece first: what something is found by, in front, comes last. */
		len -= n;
		span.vaddr = vaddr + len;
		span.buf = (uint8_t *)(uintptr_t)buf + len;
		(void)care_write_spans(care, &span, 1, &rc);
	}
	return rc;
}

static void answers_some(struct mem_care *care, pid_t tid, struct mem_range *ranges, size_t n)
{
	enum silent_why why = may_ask(care);

	if (why == SILENT_NOT) {
		struct errand_desk *desk = care->stand_in->desk;

		for (size_t i = 0; i < n; i++)
			desk->ranges[i] = (struct errand_range){ ranges[i].start, ranges[i].len,
								 SILENT_STUCK };
		desk->n = n;
		why = ask(care, tid, ERRAND_VET) ? SILENT_NOT : SILENT_STUCK;
	}
	for (size_t i = 0; i < n; i++)
		ranges[i].answers = note(
			care, why == SILENT_NOT ? care->stand_in->desk->ranges[i].why : why);
}

void care_answers_all(struct mem_care *care, pid_t tid, struct mem_range *ranges, size_t n)
{
	for (size_t done = 0; done < n; done += ERRAND_SPANS)
		answers_some(care, tid, ranges + done,
			     n - done < ERRAND_SPANS ? n - done : ERRAND_SPANS);
}

bool care_answers(struct mem_care *care, pid_t tid, uint64_t vaddr, uint64_t len)
{
	struct mem_range range = { .start = vaddr, .len = len };

	answers_some(care, tid, &range, 1);
	return range.answers;
}

bool care_may_poke(struct mem_care *care, pid_t tid, uint64_t vaddr, uint64_t len,
		   bool *ret_needs_stop)
{
	enum silent_why why = may_ask(care);

	if (why == SILENT_NOT) {
		care->stand_in->desk->start = vaddr;
		care->stand_in->desk->len = len;
		care->stand_in->desk->is_stopped = !ret_needs_stop;
		why = ask(care, tid, ERRAND_POKE) ? care->stand_in->desk->why : SILENT_STUCK;
	}
	if (ret_needs_stop && why == SILENT_STRANGER) {
		*ret_needs_stop = true;
		return false;
	}
	return note(care, why);
}

bool care_may_be_touched(struct mem_care *care, pid_t tid, uint64_t vaddr, uint64_t len)
{
	enum silent_why why = may_ask(care);

	if (why == SILENT_NOT)
		why = ask(care, tid, ERRAND_LOOK) ? care->stand_in->desk->why : SILENT_STUCK;
	if (why == SILENT_STRANGER || why == SILENT_STUCK || why == SILENT_NO_HELP)
		return note(care, why);
	return why == SILENT_NOT || care_answers(care, tid, vaddr, len);
}

bool care_is_gone(struct mem_care *care)
{
	enum silent_why why = may_ask(care);

	if (why == SILENT_NOT && !ask(care, care->file->pid, ERRAND_GONE))
		why = SILENT_STUCK;
	return why == SILENT_NOT && care->stand_in->desk->is_gone;
}

void care_ask_again(struct mem_care *care)
{
	care->mute_until_ns = 0;
}

void care_copy(struct mem_care *care, const struct mem_care *of)
{
	care->sure_until_ns = of->sure_until_ns;
	care->care_until_ns = of->care_until_ns;
	care_move(care, of);
}

void care_move(struct mem_care *care, const struct mem_care *of)
{
	care->mute_until_ns = of->mute_until_ns;
	care->mute_ns = of->mute_ns;
}
