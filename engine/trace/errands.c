/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/errands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/descriptors.h"
#include "engine/base/page.h"
#include "engine/base/proc.h"
#include "engine/event/clock.h"
#include "engine/trace/direct.h"

#define PAGES_VETTED  32 /* of more, the mappings alone are asked for */
#define KNOWN         8  /* address spaces */
#define PAGES_AT_ONCE 64 /* of pagemap */

/* Looks at mappings: one part of the time in so many, and so much at once. Beyond that, the last one is good. */
#define LOOK_PART   20
#define LOOK_NS_MAX 5000000LL

/* What it knows of one address space. */
struct known {
	uint64_t serial, used;
	uint64_t looked_ns; /* when; and what may be spent on it */
	int64_t credit_ns;
	uint32_t looked_for; /* the request */
	int pagemap;
	struct mem_file file;
	bool is_known;
	struct silent_map map;
};

static int take_file(int socket)
{
	char byte = 0;
	int fd;

	(void)descriptors_receive(socket, &byte, 1, &fd, 0);
	return fd;
}

static void forget(struct known *known)
{
	if (known->serial && known->pagemap >= 0)
		close(known->pagemap);
	if (known->serial && known->file.fd >= 0)
		close(known->file.fd);
	known->serial = 0;
}

/* NULL: it comes with the next request. */
static struct known *known_of(struct errand_desk *desk, int socket)
{
	static struct known all[KNOWN];
	static uint64_t n_uses;
	struct known *known = all;
	char path[64];

	for (size_t i = 0; i < KNOWN && known->serial != desk->serial; i++)
		if (all[i].serial == desk->serial || all[i].used < known->used)
			known = &all[i];
	known->used = ++n_uses;
	if (known->serial == desk->serial)
		return known;
	desk->needs_file = !desk->gets_file && !desk->has_no_file;
	if (desk->needs_file)
		return NULL;
	forget(known);
	known->file = (struct mem_file){ .fd = desk->gets_file ? take_file(socket) : -1,
					 .pid = desk->tid };
	(void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)desk->tid);
	known->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	known->serial = desk->serial;
	known->looked_ns = 0;
	known->looked_for = 0;
	known->credit_ns = 0;
	known->is_known = false;
	return known;
}

/* What pagemap says of pages behind each other. */
struct pages {
	uint64_t first, n;
	uint64_t entries[PAGES_AT_ONCE];
};

/* Is the page in memory, or swapped out? @last: the one that will be asked about last. */
static bool is_there(const struct known *known, struct pages *pages, uint64_t page,
		     uint64_t last)
{
	size_t want = last - page < PAGES_AT_ONCE ? last - page + 1 : PAGES_AT_ONCE;
	ssize_t got;

	if (page < pages->first || page - pages->first >= pages->n) {
		got = known->pagemap < 0 ? -1
					 : pread(known->pagemap, pages->entries,
						 want * sizeof(pages->entries[0]),
						 (off_t)(page * sizeof(pages->entries[0])));
		pages->first = page;
		pages->n = got > 0 ? (uint64_t)got / sizeof(pages->entries[0]) : 0;
	}
	return pages->n && (pages->entries[page - pages->first] >> 62) != 0;
}

/* Its mappings as they are, once for each request, if there is time for that. */
static void look_again(const struct errand_desk *desk, struct known *known)
{
	/* What values are read from matters most; planting does not use up all of it. */
	int64_t reserve = desk->errand == ERRAND_READ ? 0 : LOOK_NS_MAX / 2;
	uint64_t now = event_clock_now(CLOCK_KIND_MONO), begun;

	if (known->looked_for == desk->asked)
		return;
	known->looked_for = desk->asked;
	known->credit_ns += (int64_t)((now - known->looked_ns) / LOOK_PART);
	if (known->credit_ns > LOOK_NS_MAX)
		known->credit_ns = LOOK_NS_MAX;
	known->looked_ns = now;
	if (known->credit_ns <= reserve)
		return;
	begun = proc_cpu_ns();
	known->is_known = silent_look(desk->tid, true, &known->map) == 0;
	known->credit_ns -= (int64_t)(proc_cpu_ns() - begun);
}

static enum silent_why why_silent(const struct errand_desk *desk, struct known *known,
				  uint64_t start, uint64_t end)
{
	look_again(desk, known);
	return known->is_known ? silent_in(&known->map, start, end) : SILENT_FILE;
}

/* How much of it answers, from the start. */
static uint64_t vet(struct errand_desk *desk, struct known *known, uint64_t start, uint64_t len)
{
	uint64_t done = 0, last = len ? (start + len - 1) / PAGE : 0;
	enum silent_why why = SILENT_NOT;
	struct pages pages;

	pages.first = pages.n = 0;
	while (done < len && why == SILENT_NOT) {
		uint64_t more = PAGE - (start + done) % PAGE;

		if (more > len - done)
			more = len - done;
		/* Where nobody can have anything mapped nobody waits. */
		if (start + done >= PAGE &&
		    !is_there(known, &pages, (start + done) / PAGE, last)) {
			/* That may take its time: the rest is looked at anew. */
			pages.n = 0;
			why = why_silent(desk, known, start + done, start + done + more);
		}
		if (why == SILENT_NOT)
			done += more;
	}
	if (why != SILENT_NOT)
		desk->why = why;
	return done;
}

static enum silent_why vet_all(struct errand_desk *desk, struct known *known, uint64_t start,
			       uint64_t len)
{
	desk->why = SILENT_NOT;
	if (len <= PAGES_VETTED * PAGE)
		(void)vet(desk, known, start, len);
	else
		desk->why = why_silent(desk, known, start, start + len);
	return desk->why;
}

static void run_vet(struct errand_desk *desk, struct known *known)
{
	for (size_t i = 0; i < desk->n && i < ERRAND_SPANS; i++) {
		struct errand_range *range = &desk->ranges[i];

		range->why = vet_all(desk, known, range->start, range->len);
	}
	desk->why = SILENT_NOT;
}

/*
 * Pages of files on FUSE or a network come and go as others like, and who waits for one has the lock of all the memory
 * meanwhile: a stranger must have none at all. Nobody waits so for a userfaultfd, ptrace() gets an error.
 */
static enum silent_why why_no_poke(const struct silent_map *map)
{
	for (size_t i = 0; i < map->n; i++)
		if (map->v[i].why != SILENT_UFFD)
			return map->v[i].why;
	return map->is_cut ? SILENT_FILE : SILENT_NOT;
}

static void run_poke(struct errand_desk *desk, struct known *known)
{
	if (silent_suspect(desk->tid) != SILENT_STRANGER) {
		(void)vet_all(desk, known, desk->start, desk->len);
		return;
	}
	desk->why = SILENT_STRANGER;
	if (!desk->is_stopped)
		return;
	known->looked_for = desk->asked;
	known->looked_ns = event_clock_now(CLOCK_KIND_MONO);
	known->is_known = silent_look(desk->tid, true, &known->map) == 0;
	desk->why = known->is_known ? why_no_poke(&known->map) : SILENT_FILE;
}

static void run_read(struct errand_desk *desk, struct known *known)
{
	uint8_t *to = desk->bytes;

	for (size_t i = 0; i < desk->n && i < ERRAND_SPANS; i++) {
		struct fetch_span span = desk->spans[i];

		span.buf = to;
		to += span.len;
		span.len = (uint32_t)vet(desk, known, span.vaddr, span.len);
		span.got = 0;
		if (span.len)
			direct_read_spans(&known->file, desk->tid, &span, 1);
		desk->spans[i].got = span.got;
	}
}

/*
 * For planting: what others serve is worth a wait, or no program on a network could be traced. What
 * comes from a userfaultfd is no code.
 */
static bool is_worth_it(struct errand_desk *desk, struct known *known,
			const struct fetch_span *span)
{
	if (vet(desk, known, span->vaddr, span->len) < span->len && desk->why != SILENT_FILE)
		return false;
	desk->why = SILENT_NOT;
	return true;
}

static void run_peek(struct errand_desk *desk, struct known *known)
{
	uint8_t *to = desk->bytes;

	for (size_t i = 0; i < desk->n && i < ERRAND_SPANS; i++)
		desk->spans[i].got = 0;
	if (!desk->n || !is_worth_it(desk, known, &desk->spans[0]))
		return;
	for (size_t i = 0; i < desk->n && i < ERRAND_SPANS; i++) {
		struct fetch_span *span = &desk->spans[i];
		uint32_t room = span->len;

		if (room > (size_t)(desk->bytes + ERRAND_ROOM - to))
			break;
		if (i)
			span->len = (uint32_t)vet(desk, known, span->vaddr, span->len);
		span->got = (uint32_t)direct_peek(&known->file, span->vaddr, to, span->len);
		to += room;
	}
	desk->why = SILENT_NOT;
}

static void run_write(struct errand_desk *desk, struct known *known)
{
	const uint8_t *from = desk->bytes;

	desk->error = 0;
	desk->n_written = 0;
	for (size_t i = 0; i < desk->n && i < ERRAND_SPANS && !desk->error; i++) {
		const struct fetch_span *span = &desk->spans[i];

		desk->error = EIO;
		if (is_worth_it(desk, known, span))
			desk->error = -direct_write(&known->file, false, span->vaddr, from,
						    span->len, NULL);
		desk->n_written += !desk->error;
		from += span->len;
	}
}

static void run(struct errand_desk *desk, int socket)
{
	static struct silent_map looked;
	struct known *known;

	desk->why = SILENT_NOT;
	desk->needs_file = false;
	if (desk->errand == ERRAND_LOOK) {
		desk->why = silent_check(NULL, desk->tid, true, &looked);
		return;
	}
	known = known_of(desk, socket);
	if (!known)
		return;
	if (desk->errand == ERRAND_VET)
		run_vet(desk, known);
	else if (desk->errand == ERRAND_POKE)
		run_poke(desk, known);
	else if (desk->errand == ERRAND_PEEK)
		run_peek(desk, known);
	else if (desk->errand == ERRAND_GONE)
		desk->is_gone = direct_is_gone(&known->file);
	else if (desk->errand == ERRAND_WRITE)
		run_write(desk, known);
	else
		run_read(desk, known);
}

static void move_to(int *at, int cpu)
{
	cpu_set_t set;

	if (cpu < 0 || cpu == *at)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	*at = sched_setaffinity(0, sizeof(set), &set) == 0 ? cpu : -1;
}

void errands_run(struct errand_desk *desk, int socket)
{
	uint32_t done = 0;
	sigset_t all;
	int cpu = -1;

	/* The host program's handlers are none of its business. */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, "ubp-stand-in");
	for (;;) {
		uint32_t asked = __atomic_load_n(&desk->asked, __ATOMIC_ACQUIRE);
		uint64_t start;

		if (asked == done) {
			(void)syscall(SYS_futex, &desk->asked, FUTEX_WAIT, done, NULL, NULL, 0);
			continue;
		}
		start = proc_cpu_ns();
		move_to(&cpu, desk->cpu);
		run(desk, socket);
		desk->took_ns = proc_cpu_ns() - start;
		done = asked;
		__atomic_store_n(&desk->answered, done, __ATOMIC_RELEASE);
		(void)syscall(SYS_futex, &desk->answered, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}
