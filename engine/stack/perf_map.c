/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Lines "START SIZE NAME", numbers in hex. The file grows while the program runs; of two that
 * overlap the later counts: the room was used again.
 */

#include "engine/stack/perf_map.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/event/clock.h"
#include "engine/object/file.h"

#define LEN_MAX     (256L << 20) /* what comes behind that is not read */
#define NAME_MAX_   1024
#define ENTRIES_MAX 4000000
#define READ_NS     500000000ULL
/* Those that begin before an address and are looked at: others may lie in a large one. */
#define LOOKS 32

struct entry {
	uint64_t start, size;
	size_t order;
	char *name;
};

struct perf_map {
	pid_t pid;
	uint64_t read_ns; /* 0: never */
	ino_t ino;
	off_t read_to;
	struct entry *entries; /* by .start, then .order */
	size_t n, cap, n_ever;
};

struct perf_map *perf_map_new(pid_t pid)
{
	struct perf_map *map = calloc(1, sizeof(*map));

	if (map)
		map->pid = pid;
	return map;
}

static void forget(struct perf_map *map)
{
	for (size_t i = 0; i < map->n; i++)
		free(map->entries[i].name);
	map->n = 0;
	map->read_to = 0;
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

/* Its id in its own namespace, and its user. False: it has ended. */
static bool look_at_process(pid_t pid, pid_t *ret_own, uid_t *ret_uid)
{
	char path[40], line[512];
	unsigned uid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	*ret_own = pid;
	*ret_uid = geteuid();
	while (fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) == 0 && last)
			*ret_own = (pid_t)strtol(last + 1, NULL, 10);
		else if (sscanf(line, "Uid: %*u %u", &uid) == 1)
			*ret_uid = uid;
	}
	fclose(file);
	return true;
}

/* -1: none, or it is somebody else's. */
static int open_file(const struct perf_map *map, struct stat *ret_st)
{
	uid_t uid = geteuid();
	char path[80];
	pid_t own;
	int fd;

	if (look_at_process(map->pid, &own, &uid))
		snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", (int)map->pid,
			 (int)own);
	else
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)map->pid);
	fd = file_open(path, ret_st);
	if (fd < 0)
		return -1;
	if (ret_st->st_uid == uid || ret_st->st_uid == 0)
		return fd;
	close(fd);
	return -1;
}

/* --- its lines ----------------------------------------------------------------------- */

static bool grow(struct perf_map *map)
{
	size_t cap = map->cap ? 2 * map->cap : 1024;
	struct entry *entries;

	if (map->n < map->cap)
		return true;
	if (map->n >= ENTRIES_MAX)
		return false;
	entries = realloc(map->entries, cap * sizeof(*entries));
	if (!entries)
		return false;
	map->entries = entries;
	map->cap = cap;
	return true;
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
	if (*end != ' ' || !end[1] || !entry.size || entry.start + entry.size < entry.start ||
	    !grow(map))
		return;
	entry.name = strndup(end + 1, NAME_MAX_);
	if (!entry.name)
		return;
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

/* What is behind .read_to, as far as lines are whole. */
static void read_lines(struct perf_map *map, FILE *file)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	if (fseeko(file, map->read_to, SEEK_SET) < 0)
		return;
	while (map->read_to < LEN_MAX && (len = getline(&line, &cap, file)) > 0 &&
	       line[len - 1] == '\n') {
		map->read_to += len;
		line[len - 1] = '\0';
		add_line(map, line);
	}
	free(line);
	if (map->n)
		qsort(map->entries, map->n, sizeof(*map->entries), compare);
}

static void read_on(struct perf_map *map)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);
	struct stat st;
	FILE *file;
	int fd;

	if (map->read_ns && now - map->read_ns < READ_NS)
		return;
	map->read_ns = now;
	fd = open_file(map, &st);
	if (fd < 0)
		return;
	if (st.st_ino != map->ino || st.st_size < map->read_to)
		forget(map);
	map->ino = st.st_ino;
	file = st.st_size > map->read_to ? fdopen(fd, "r") : NULL;
	if (!file) {
		close(fd);
		return;
	}
	read_lines(map, file);
	fclose(file);
}

static const struct entry *find(const struct perf_map *map, uint64_t vaddr)
{
	const struct entry *best = NULL;
	size_t lo = 0, hi = map->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (map->entries[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = 0; i < LOOKS && i < lo; i++) {
		const struct entry *entry = &map->entries[lo - 1 - i];

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
