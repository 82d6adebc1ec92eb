/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Lines "START SIZE NAME", numbers in hex. The file grows while the program runs; of two that
 * overlap the later counts: the room was used again.
 *
 * The program writes what it likes there, so all is bounded: a line, what is read of the file at once and in
 * all, what is kept, and the share of time that reading may take.
 */

#include "engine/stack/perf_map.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/search.h"
#include "engine/base/vec.h"
#include "engine/event/clock.h"
#include "engine/files/file_root.h"
#include "engine/os/untrusted_file.h"

#define LEN_MAX     (256L << 20) /* what comes behind that is not read */
#define AT_ONCE_MAX (64L << 20)  /* the rest is for the next time */
#define LINE_MAX_   (64u << 10)
#define NAME_MAX_   1024
#define ENTRIES_MAX 2000000
#define NAMES_MAX   (128u << 20) /* bytes of names */
#define READ_NS     500000000ULL
/* Of the time, reading takes one part in so many. */
#define SHARE 20
/* Those that begin before an address and are looked at: others may lie in a large one. */
#define LOOKS 32

struct entry {
	uint64_t start, size;
	size_t order;
	char *name;
};

struct perf_map {
	pid_t pid;
	struct perf_map_warn warn;
	uint64_t next_ns; /* 0: it was never read */
	bool is_our_root; /* when the process was seen last */
	pid_t own;
	uid_t uid;
	dev_t dev;
	ino_t ino;
	off_t read_to;
	bool is_full;          /* nothing more of this file is read ... */
	bool was_full;         /* ... or of one before it, which was said */
	struct entry *entries; /* by .start, then .order */
	size_t n, cap, n_ever, names_len;
};

struct perf_map *perf_map_new(pid_t pid, bool is_our_root, const struct perf_map_warn *warn)
{
	struct perf_map *map = calloc(1, sizeof(*map));

	if (map)
		*map = (struct perf_map){ .pid = pid,
					  .warn = *warn,
					  .is_our_root = is_our_root,
					  .own = pid,
					  .uid = geteuid() };
	return map;
}

static void forget(struct perf_map *map)
{
	for (size_t i = 0; i < map->n; i++)
		free(map->entries[i].name);
	map->n = map->names_len = 0;
	map->read_to = 0;
	map->is_full = false;
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	forget(map);
	free(map->entries);
	free(map);
}

/* --- the file ------------------------------------------------------------------------ */

/* Its id in its own namespace, its user, its files. False: it has ended. */
static bool look_at_process(struct perf_map *map)
{
	char path[40], line[512];
	unsigned uid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)map->pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	map->own = map->pid;
	map->uid = geteuid();
	while (fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) == 0 && last)
			map->own = (pid_t)strtol(last + 1, NULL, 10);
		else if (sscanf(line, "Uid: %*u %u", &uid) == 1)
			map->uid = uid;
	}
	fclose(file);
	map->is_our_root = file_root_is_ours(map->pid);
	return true;
}

/* -1: none, or it is somebody else's. */
static int open_file(struct perf_map *map, struct stat *ret_st)
{
	char path[80];
	int fd;

	if (look_at_process(map))
		snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", (int)map->pid,
			 (int)map->own);
	else if (map->is_our_root)
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)map->own);
	else
		return -1;
	fd = file_open(path, ret_st);
	if (fd < 0)
		return -1;
	if (ret_st->st_uid == map->uid || ret_st->st_uid == 0)
		return fd;
	close(fd);
	return -1;
}

/* --- its lines ----------------------------------------------------------------------- */

static bool grow(struct perf_map *map)
{
	if (map->n >= ENTRIES_MAX || map->names_len >= NAMES_MAX)
		return false;
	return VEC_ROOM(map->entries, &map->cap, map->n) == 0;
}

/* The rest of the file is left alone. */
static void give_up(struct perf_map *map, const char *why)
{
	char text[160];

	map->is_full = true;
	snprintf(text, sizeof(text), "perf-%d.map of process %d %s: the rest of it is not read",
		 (int)map->own, (int)map->pid, why);
	if (map->warn.warn && !map->was_full)
		map->warn.warn(map->warn.ctx, text);
	map->was_full = true;
}

static void add_line(struct perf_map *map, const char *line)
{
	struct entry entry = { .order = map->n_ever };
	char *end;

	/* strtoull() would take blanks and signs. */
	if (!isxdigit((unsigned char)*line))
		return;
	entry.start = strtoull(line, &end, 16);
	if (*end != ' ' || !isxdigit((unsigned char)end[1]))
		return;
	entry.size = strtoull(end + 1, &end, 16);
	if (*end != ' ' || !end[1] || !entry.size || entry.start + entry.size < entry.start)
		return;
	if (!grow(map)) {
		give_up(map, "names too many functions");
		return;
	}
	entry.name = strndup(end + 1, NAME_MAX_);
	if (!entry.name)
		return;
	map->names_len += strlen(entry.name) + 1;
	map->n_ever++;
	map->entries[map->n++] = entry;
}

static int compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* The whole lines of @len bytes. Returns how long they are. */
static size_t take_lines(struct perf_map *map, char *text, size_t len)
{
	char *line = text, *end;

	while (!map->is_full && (end = memchr(line, '\n', len - (size_t)(line - text)))) {
		*end = '\0';
		add_line(map, line);
		line = end + 1;
	}
	return (size_t)(line - text);
}

/* What is behind .read_to, as far as lines are whole. */
static void read_lines(struct perf_map *map, int fd)
{
	off_t until = map->read_to + AT_ONCE_MAX;
	char *text = malloc(LINE_MAX_);
	size_t n_before = map->n, taken;
	ssize_t len;

	while (text && !map->is_full && map->read_to < until &&
	       (len = pread(fd, text, LINE_MAX_, map->read_to)) > 0) {
		taken = take_lines(map, text, (size_t)len);
		map->read_to += (off_t)taken;
		if (map->read_to >= LEN_MAX)
			give_up(map, "is longer than 256 MiB");
		else if (!taken && len == LINE_MAX_)
			give_up(map, "has a line of more than 65536 bytes");
		else if (!taken)
			break; /* it is being written */
	}
	free(text);
	if (map->n > n_before)
		qsort(map->entries, map->n, sizeof(*map->entries), compare);
}

static void read_on(struct perf_map *map)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO), took;
	struct stat st;
	int fd;

	if (now < map->next_ns)
		return;
	fd = open_file(map, &st);
	if (fd >= 0) {
		if (st.st_ino != map->ino || st.st_dev != map->dev || st.st_size < map->read_to)
			forget(map);
		map->ino = st.st_ino;
		map->dev = st.st_dev;
		if (!map->is_full && st.st_size > map->read_to)
			read_lines(map, fd);
		close(fd);
	}
	took = event_clock_now(CLOCK_KIND_MONO) - now;
	map->next_ns = now + took + (took * SHARE > READ_NS ? took * SHARE : READ_NS);
}

static const struct entry *find(const struct perf_map *map, uint64_t vaddr)
{
	const struct entry *best = NULL;
	size_t n = search_above(map->entries, map->n, start, vaddr);

	for (size_t i = 0; i < LOOKS && i < n; i++) {
		const struct entry *entry = &map->entries[n - 1 - i];

		if (vaddr - entry->start < entry->size && (!best || entry->order > best->order))
			best = entry;
	}
	return best;
}

const char *perf_map_at(struct perf_map *map, uint64_t vaddr, uint64_t *ret_start)
{
	const struct entry *entry;

	read_on(map);
	entry = find(map, vaddr);
	if (!entry)
		return NULL;
	*ret_start = entry->start;
	return entry->name;
}
