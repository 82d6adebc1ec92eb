/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/os/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/base/search.h"

#define USER_MIN 0x10000ULL  /* the usual vm.mmap_min_addr */
#define GUARD    0x100000ULL /* distance kept from neighbours that grow */
/* New mappings of the program go directly below the lowest library. Ours keeps out of
 * their way, so that they get the addresses they would have got without us. */
#define ROOM       0x30000000ULL
#define STACK_ROOM (8ULL << 30)
#define HEAP_ROOM  (UINT64_C(1) << 36) /* no break comes up to the middle of so much */
/* Where the place cannot be chosen: who wants more of the break than that maps memory instead. */
#define BREAK_START    0x40000000ULL /* so far behind the program the break begins at most */
#define STACK_LEAST    0x40000000ULL
#define STAT_START_BRK 47 /* of /proc/PID/stat */

/* All of a /proc file, NUL-ended. Its size is not known in advance. */
static char *read_whole(const char *path, int *ret_errno)
{
	size_t len = 0, cap = 32768;
	char *buf = NULL;
	int fd = again_open(path, O_RDONLY);

	if (fd < 0) {
		*ret_errno = errno;
		return NULL;
	}
	for (;;) {
		char *bigger = buf && len + 1 < cap ? buf : realloc(buf, buf ? cap *= 2 : cap);
		ssize_t got;

		if (!bigger) {
			*ret_errno = ENOMEM;
			goto fail;
		}
		buf = bigger;
		got = again_read_some(fd, buf + len, cap - len - 1);
		if (got < 0) {
			*ret_errno = errno;
			goto fail;
		}
		if (got == 0)
			break;
		len += (size_t)got;
	}
	close(fd);
	buf[len] = '\0';
	return buf;
fail:
	close(fd);
	free(buf);
	return NULL;
}

/* A number, and the character behind it. False: there is none, or another one follows. */
static bool parse_number(const char **at, unsigned base, char end, uint64_t *ret_number)
{
	const char *from = *at;
	uint64_t n = 0;

	for (unsigned digit;; ++*at, n = n * base + digit) {
		char c = **at;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else
			break;
	}
	*ret_number = n;
	if (*at == from || **at != end)
		return false;
	++*at;
	return true;
}

/*
 * "7f..-7f.. r-xp 00001000 08:01 1234     /path": false if it is not that. By hand: of a thousand
 * processes there are some hundred thousand lines.
 */
static bool parse_line(char *line, struct mapping *m)
{
	uint64_t start, end, foffset, ino, major_no, minor_no;
	const char *at = line, *perms;

	/* Numbers of a 64-bit process for a 32-bit ubp, too. */
	if (!parse_number(&at, 16, '-', &start) || !parse_number(&at, 16, ' ', &end))
		return false;
	perms = at;
	at += strnlen(at, 5);
	if (at != perms + 5 || at[-1] != ' ' || !parse_number(&at, 16, ' ', &foffset) ||
	    !parse_number(&at, 16, ':', &major_no) || !parse_number(&at, 16, ' ', &minor_no))
		return false;
	if (!parse_number(&at, 10, ' ', &ino) && (*at || at[-1] < '0' || at[-1] > '9'))
		return false;
	at += strspn(at, " ");
	*m = (struct mapping){
		.start = start,
		.end = end,
		.foffset = foffset,
		.dev = makedev((unsigned)major_no, (unsigned)minor_no),
		.ino = ino,
		.read = perms[0] == 'r',
		.write = perms[1] == 'w',
		.exec = perms[2] == 'x',
		.shared = perms[3] == 's',
		.path = line + (at - line),
	};
	return true;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

static int fail_open(pid_t pid, int code, struct ubp_err *err)
{
	if (code == ENOENT || code == ESRCH)
		return ubp_fail(err, ESRCH, "no process %d", (int)pid);
	if (code == EACCES || code == EPERM)
		return ubp_fail(
			err, code,
			"process %d: may not be looked at: run as the same user, or with "
			"CAP_SYS_PTRACE",
			(int)pid);
	return ubp_fail(err, code, "/proc/%d/maps: %s", (int)pid, strerror(code));
}

int maps_parse(char *text, struct maps *ret_maps)
{
	char *line, *end;

	*ret_maps = (struct maps){ .text = text };
	ret_maps->v = calloc(count_lines(text) + 1, sizeof(*ret_maps->v));
	if (!ret_maps->v)
		return -ENOMEM;
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		struct mapping *m = &ret_maps->v[ret_maps->n];

		*end = '\0';
		/* Look-ups need the kernel's order. */
		if (parse_line(line, m) && m->start < m->end &&
		    (ret_maps->n == 0 || m->start >= m[-1].end))
			ret_maps->n++;
	}
	return 0;
}

int maps_read(pid_t pid, struct maps *ret_maps, struct ubp_err *err)
{
	char path[64], *text;
	int code = 0;

	*ret_maps = (struct maps){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	text = read_whole(path, &code);
	if (!text)
		return fail_open(pid, code, err);
	if (maps_parse(text, ret_maps) < 0)
		code = ubp_fail(err, ENOMEM, "%s: out of memory", path);
	else if (ret_maps->n == 0)
		code = ubp_fail(err, ESRCH,
				"process %d has no memory: it has ended, or is a kernel thread",
				(int)pid);
	else
		return 0;
	maps_free(ret_maps);
	return code;
}

/* Where the break of a process begins, by /proc/PID/stat. 0: it is not told. */
static uint64_t break_start(pid_t pid)
{
	char path[64], *text, *at;
	uint64_t start = 0;
	int code;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	text = read_whole(path, &code);
	/* A name may have anything in it; the third field is behind that. */
	at = text ? strrchr(text, ')') : NULL;
	for (int field = 3; at && field <= STAT_START_BRK; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at, NULL, 10);
	free(text);
	return start;
}

void maps_free(struct maps *maps)
{
	free(maps->v);
	free(maps->text);
	*maps = (struct maps){ 0 };
}

const struct mapping *maps_at(const struct maps *maps, uint64_t vaddr)
{
	size_t i = search_above(maps->v, maps->n, end, vaddr);

	return i < maps->n && maps->v[i].start <= vaddr ? &maps->v[i] : NULL;
}

int maps_identity(int fd, uint64_t *ret_dev, uint64_t *ret_ino)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	const struct mapping *m;
	struct ubp_err err;
	struct maps maps;
	int rc;

	if (page == MAP_FAILED)
		return -errno;
	rc = maps_read(getpid(), &maps, &err);
	m = rc == 0 ? maps_at(&maps, (uint64_t)(uintptr_t)page) : NULL;
	if (m) {
		*ret_dev = m->dev;
		*ret_ino = m->ino;
	} else if (rc == 0) {
		rc = -ENOENT;
	}
	maps_free(&maps);
	(void)munmap(page, PAGE);
	return rc;
}

bool maps_has_file(const struct maps *maps, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < maps->n; i++)
		if (maps->v[i].exec && maps->v[i].ino == ino && maps->v[i].dev == dev)
			return true;
	return false;
}

static uint64_t distance(uint64_t at, uint64_t len, uint64_t lo, uint64_t hi)
{
	return at < lo ? hi - at : at + len - lo;
}

/* Best place in the free range [from, to), or 0. */
static uint64_t place_in_gap(uint64_t from, uint64_t to, uint64_t lo, uint64_t hi, uint64_t len,
			     uint64_t reach)
{
	uint64_t most = reach / 4 < ROOM ? reach / 4 / PAGE * PAGE : ROOM, room;

	if (to <= from || to - from < len)
		return 0;
	room = to - from >= len + most ? most : (to - from - len) / 2 / PAGE * PAGE;
	return to <= lo ? to - len - room : from >= hi ? from + room : 0;
}

uint64_t maps_find_gap(const struct maps *maps, uint64_t lo, uint64_t hi, uint64_t len,
		       uint64_t reach)
{
	uint64_t best = 0, best_distance = reach;
	/* Left to it. The kernel leaves it 128 MB and more; with a short reach we need of that. */
	uint64_t stack = reach < STACK_ROOM ? reach / 2 : STACK_ROOM;

	for (size_t i = 0; i <= maps->n; i++) {
		const struct mapping *below = i ? &maps->v[i - 1] : NULL;
		const struct mapping *above = i < maps->n ? &maps->v[i] : NULL;
		uint64_t from = below ? below->end : USER_MIN, to, at;

		/* Above the last mapping lies nothing of ours: stack and vdso are there. That of old
		 * system calls is the kernel's, beyond what a process may map. */
		if (!above || strcmp(above->path, "[vsyscall]") == 0)
			break;
		to = above->start;
		if (below && strcmp(below->path, "[heap]") == 0) {
			if (to - from < HEAP_ROOM)
				continue; /* the break moves up here */
			from = to - HEAP_ROOM / 2;
		}
		if (strcmp(above->path, "[stack]") == 0)
			to = to > stack ? to - stack : 0;
		/* The program's own break starts somewhere behind its last segment. */
		if (below && from > lo)
			from += GUARD;
		else if (from + 2 * PAGE < to)
			from += PAGE;
		if (from + len + PAGE < to)
			to -= PAGE;
		at = place_in_gap(from, to, lo, hi, len, reach);
		if (at && distance(at, len, lo, hi) < best_distance) {
			best = at;
			best_distance = distance(at, len, lo, hi);
		}
	}
	return best;
}

/* The heap, or where it will be, and @behind bytes more. @pid: 0, or whose mappings these are. */
static void find_break(const struct maps *maps, pid_t pid, uint64_t behind, uint64_t *ret_from,
		       uint64_t *ret_to)
{
	const struct mapping *first = NULL;
	uint64_t start = pid ? break_start(pid) : 0, lo, hi;

	*ret_from = *ret_to = 0;
	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i];

		if (strcmp(m->path, "[heap]") == 0) {
			*ret_from = m->start;
			*ret_to = m->end + behind;
			return;
		}
		if (!first && m->ino)
			first = m;
	}
	if (start) {
		*ret_from = start;
		*ret_to = start + behind;
	} else if (first) {
		maps_file_extent(maps, first, &lo, &hi);
		*ret_from = hi;
		*ret_to = hi + BREAK_START + behind;
	}
}

/* The lowest of [low, high] in [from, to). 0: none. */
static uint64_t fit(uint64_t from, uint64_t to, uint64_t low, uint64_t high, uint64_t len)
{
	uint64_t at = from > low ? from : low;

	return at <= high && at < to && to - at >= len ? at : 0;
}

uint64_t maps_find_within(const struct maps *maps, pid_t pid, uint64_t behind, uint64_t low,
			  uint64_t high, uint64_t len)
{
	uint64_t no_from, no_to, found = 0;

	find_break(maps, pid, behind, &no_from, &no_to);
	for (size_t i = 0; i < maps->n && !found; i++) {
		const struct mapping *above = &maps->v[i];
		/* A page between it and its neighbours. */
		uint64_t from = (i ? maps->v[i - 1].end : USER_MIN) + PAGE;
		uint64_t to = above->start - PAGE;

		if (strcmp(above->path, "[vsyscall]") == 0)
			break;
		if (strcmp(above->path, "[stack]") == 0)
			to = to > STACK_LEAST ? to - STACK_LEAST : 0;
		found = fit(from, to < no_from ? to : no_from, low, high, len);
		if (!found)
			found = fit(from > no_to ? from : no_to, to, low, high, len);
	}
	return found;
}

void maps_file_extent(const struct maps *maps, const struct mapping *m, uint64_t *ret_lo,
		      uint64_t *ret_hi)
{
	size_t first = (size_t)(m - maps->v), last = first;

	while (first > 0 && maps->v[first - 1].ino == m->ino &&
	       maps->v[first - 1].end == maps->v[first].start)
		first--;
	/* The zeroed data behind the file's own is anonymous. */
	while (last + 1 < maps->n && maps->v[last + 1].start == maps->v[last].end &&
	       (maps->v[last + 1].ino == m->ino || maps->v[last + 1].ino == 0))
		last++;
	*ret_lo = maps->v[first].start;
	*ret_hi = maps->v[last].end;
}
