/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/os/silent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/proc.h"
#include "engine/os/local_fs.h"

#define DEVICES 1024

/* Who has more pages in memory has no smaps read for a userfaultfd that others may have: 11 ms for 512 MiB. */
#define PAGES_LOOKED_THROUGH 131072

/* Lines of a file, without allocation. Of those that are too long only the beginning is given. */
struct lines {
	int fd;
	size_t at, end; /* what was read and not yet given, in .buf */
	bool is_over;
	bool has_failed; /* there may be more of the file */
	bool is_cut;     /* the last one was not given to its end */
	char buf[16384];
};

/* Devices of file systems that are there without anybody else's doing. */
struct devices {
	size_t n;
	bool has_fuse;
	dev_t v[DEVICES];
};

const char *silent_text(enum silent_why why)
{
	static const char *const texts[SILENT_N] = {
		[SILENT_FILE] = "a page of a file on FUSE or a network is not in memory",
		[SILENT_UFFD] = "a page is for a userfaultfd to fill",
		[SILENT_STUCK] = "memory did not answer in time",
		[SILENT_NO_HELP] = ("too many reads wait for an answer already, or no more "
				    "process or descriptor can be had"),
		[SILENT_STRANGER] = "a stranger's process",
		[SILENT_SERVED] = "a FUSE file system is mounted",
	};

	return why < SILENT_N ? texts[why] : NULL;
}

static bool lines_open(struct lines *lines, pid_t pid, const char *name)
{
	char path[64];

	if (pid)
		(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	else
		(void)snprintf(path, sizeof(path), "/proc/self/%s", name);
	lines->fd = again_open(path, O_RDONLY);
	lines->at = lines->end = 0;
	lines->is_over = lines->has_failed = lines->is_cut = false;
	return lines->fd >= 0;
}

static void lines_fill(struct lines *lines)
{
	ssize_t n;

	memmove(lines->buf, lines->buf + lines->at, lines->end - lines->at);
	lines->end -= lines->at;
	lines->at = 0;
	n = again_read(lines->fd, lines->buf + lines->end, sizeof(lines->buf) - 1 - lines->end);
	if (n > 0)
		lines->end += (size_t)n;
	lines->is_over = n <= 0;
	lines->has_failed = n < 0;
}

/* The next line, without its newline; NULL at the end. */
static char *lines_next(struct lines *lines)
{
	for (;;) {
		char *line = lines->buf + lines->at;
		char *newline = memchr(line, '\n', lines->end - lines->at);
		char *end = newline ? newline : lines->buf + lines->end;
		bool is_full = lines->end - lines->at == sizeof(lines->buf) - 1;
		bool is_rest = lines->is_cut;

		if (!newline && !is_full && !lines->is_over) {
			lines_fill(lines);
			continue;
		}
		if (!newline && line == end)
			return NULL;
		lines->at = (size_t)(end - lines->buf) + (newline != NULL);
		lines->is_cut = !newline;
		*end = '\0';
		if (!is_rest)
			return line;
	}
}

/* False: not all lines were seen. */
static bool lines_close(struct lines *lines)
{
	(void)close(lines->fd);
	return !lines->has_failed;
}

/* FUSE by any name: "fuse", "fuseblk", "fuse.sshfs"; not the file system that controls it. */
static bool is_fuse(const char *type, size_t len)
{
	return len >= 4 && memcmp(type, "fuse", 4) == 0 &&
	       (len == 4 || type[4] == '.' || (len == 7 && memcmp(type, "fuseblk", 7) == 0));
}

static void add_device(struct devices *devices, dev_t dev)
{
	for (size_t i = 0; i < devices->n; i++)
		if (devices->v[i] == dev)
			return;
	if (devices->n < DEVICES)
		devices->v[devices->n++] = dev;
}

/* "36 35 98:0 /root /where opts - TYPE source opts" */
static void take_mount(struct devices *devices, const char *line, bool own)
{
	const char *type = strstr(line, " - ");
	unsigned major, minor;
	size_t len;

	/* Too long, by the names of folders, say: its type is not known. */
	if (!type) {
		devices->has_fuse |= !own;
		return;
	}
	if (sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2)
		return;
	type += 3;
	len = strcspn(type, " ");
	if (local_fs_has_type(type, len))
		add_device(devices, makedev(major, minor));
	else if (!own && is_fuse(type, len))
		devices->has_fuse = true;
}

static bool take_mounts(struct devices *devices, pid_t pid)
{
	struct lines lines;
	const char *line;

	if (!lines_open(&lines, pid, "mountinfo"))
		return false;
	while ((line = lines_next(&lines)))
		take_mount(devices, line, pid == 0);
	return lines_close(&lines);
}

/* Where the kernel keeps memory that has a name only: memfd_create(), shared anonymous memory. */
static void take_memory_files(struct devices *devices)
{
	static const unsigned flags[] = { 0, MFD_HUGETLB };
	struct stat st;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		int fd = memfd_create("ubp", flags[i] | MFD_CLOEXEC);

		if (fd >= 0 && fstat(fd, &st) == 0)
			add_device(devices, st.st_dev);
		if (fd >= 0)
			close(fd);
	}
}

/* What @pid sees, and what we see: a file may be mapped from elsewhere. */
static bool read_devices(pid_t pid, struct devices *ret_devices)
{
	ret_devices->n = 0;
	ret_devices->has_fuse = false;
	if (!take_mounts(ret_devices, pid) || !take_mounts(ret_devices, 0))
		return false;
	take_memory_files(ret_devices);
	return true;
}

/* Of the mounts that we see ourselves. */
struct silent_mounts {
	int fd; /* mountinfo, which tells of changes */
	bool is_known;
	struct devices devices;
};

struct silent_mounts *silent_mounts_new(void)
{
	struct silent_mounts *mounts = calloc(1, sizeof(*mounts));

	if (!mounts)
		return NULL;
	mounts->fd = again_open("/proc/self/mountinfo", O_RDONLY);
	if (mounts->fd >= 0)
		return mounts;
	free(mounts);
	return NULL;
}

void silent_mounts_free(struct silent_mounts *mounts)
{
	if (mounts)
		(void)close(mounts->fd);
	free(mounts);
}

/* The kernel tells of each change once, so it is asked before the list is read. */
static bool know_own_devices(struct silent_mounts *mounts)
{
	struct pollfd poll_fd = { .fd = mounts->fd, .events = POLLPRI };
	struct lines lines;
	const char *line;

	if (poll(&poll_fd, 1, 0) != 0)
		mounts->is_known = false;
	if (mounts->is_known)
		return true;
	mounts->devices.n = 0;
	mounts->devices.has_fuse = false;
	if (!lines_open(&lines, 0, "mountinfo"))
		return false;
	while ((line = lines_next(&lines)))
		take_mount(&mounts->devices, line, false);
	if (!lines_close(&lines))
		return false;
	take_memory_files(&mounts->devices);
	mounts->is_known = true;
	return true;
}

/*
 * Has @pid our root? Then it sees the same mounts: one mount is in one namespace. No file system is asked for
 * that.
 */
static bool has_our_root(pid_t pid)
{
#ifdef STATX_MNT_ID
	const unsigned mask = STATX_INO | STATX_MNT_ID;
	struct statx own, its;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return statx(AT_FDCWD, "/proc/self/root", AT_STATX_DONT_SYNC, mask, &own) == 0 &&
	       statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, mask, &its) == 0 &&
	       (own.stx_mask & its.stx_mask & mask) == mask &&
	       own.stx_mnt_id == its.stx_mnt_id && own.stx_ino == its.stx_ino;
#else
	(void)pid;
	return false;
#endif
}

/* In @room, or those that are kept in @mounts (NULL: there is none). NULL: not known. */
static const struct devices *devices_of(struct silent_mounts *mounts, pid_t pid,
					struct devices *room)
{
	if (mounts && know_own_devices(mounts) && has_our_root(pid))
		return &mounts->devices;
	return read_devices(pid, room) ? room : NULL;
}

static bool is_local(const struct devices *devices, dev_t dev)
{
	for (size_t i = 0; i < devices->n; i++)
		if (devices->v[i] == dev)
			return true;
	return false;
}

/* Has it an open userfaultfd? */
static bool has_userfaultfd(pid_t pid)
{
	static const char kind[] = "anon_inode:[userfaultfd]";
	char path[64], buf[4096] __attribute__((aligned(8))), link[sizeof(kind)];
	bool found = false;
	long n;
	int dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return true; /* not known */
	while (!found && (n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n && !found;) {
			const struct dirent64 *ent = (const void *)(buf + at);

			found = readlinkat(dir, ent->d_name, link, sizeof(link)) ==
					(ssize_t)sizeof(kind) - 1 &&
				memcmp(link, kind, sizeof(kind) - 1) == 0;
			at += ent->d_reclen;
		}
	}
	close(dir);
	return found;
}

#define UFFD_SLAB "/sys/kernel/slab/userfaultfd_ctx_cache/"
/* Between two requests to count anew. */
#define COUNT_ANEW_S 1

/* False where the kernel tells nothing. */
static bool counts_userfaultfds(void)
{
	int fd = again_open(UFFD_SLAB "objects", O_RDONLY);
	char first = '0';

	if (fd < 0)
		return false;
	if (again_read(fd, &first, 1) != 1)
		first = '0';
	(void)close(fd);
	return first != '0';
}

/*
 * May anybody have one? It may be passed on, and nothing but smaps shows it then. The kernel tells root how many there
 * are, of all processes. Each processor keeps some room for the next ones, and all of that counts as in use: so
 * the kernel is asked to give the room back, which touches nothing that is in use, before it is believed.
 */
static bool exists_userfaultfd(void)
{
	static __thread time_t asked;
	struct timespec now;
	int fd;

	if (!counts_userfaultfds())
		return false;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (asked && now.tv_sec - asked < COUNT_ANEW_S)
		return true;
	asked = now.tv_sec;
	fd = again_open(UFFD_SLAB "shrink", O_WRONLY);
	if (fd < 0)
		return true;
	(void)again_write(fd, "1", 1);
	(void)close(fd);
	return counts_userfaultfds();
}

/* Is it read soon what smaps says? */
static bool is_small(pid_t pid)
{
	struct lines lines;
	unsigned long resident = ULONG_MAX;
	const char *line;

	if (!lines_open(&lines, pid, "statm"))
		return false;
	line = lines_next(&lines);
	if (!line || sscanf(line, "%*u %lu", &resident) != 1)
		resident = ULONG_MAX;
	(void)lines_close(&lines);
	return resident <= PAGES_LOOKED_THROUGH;
}

static void add_range(struct silent_map *map, uint64_t start, uint64_t end, enum silent_why why)
{
	if (map->n == SILENT_RANGES) {
		map->is_cut = true;
		return;
	}
	map->v[map->n++] = (struct silent_range){ start, end, why };
}

/* Pages that are missing (um), or in the page cache but not mapped (ui). */
static bool flags_tell_uffd(const char *flags)
{
	return strstr(flags, " um") || strstr(flags, " ui");
}

/* A mapping, or what smaps says about the one before. */
static void take_line(struct silent_map *map, const struct devices *devices,
		      struct silent_range *at, const char *line)
{
	unsigned long long start, end, ino;
	unsigned major, minor;

	if (strncmp(line, "VmFlags:", 8) == 0) {
		if (flags_tell_uffd(line))
			add_range(map, at->start, at->end, SILENT_UFFD);
		return;
	}
	if (sscanf(line, "%llx-%llx %*s %*x %x:%x %llu", &start, &end, &major, &minor, &ino) !=
	    5)
		return;
	at->start = start;
	at->end = end;
	if (ino && !is_local(devices, makedev(major, minor)))
		add_range(map, start, end, SILENT_FILE);
}

static int look(pid_t pid, bool has_one, const struct devices *devices,
		struct silent_map *ret_map)
{
	struct lines lines;
	struct silent_range at = { 0 };
	const char *line;

	ret_map->n = 0;
	ret_map->is_cut = false;
	/* The flags are in smaps alone, which takes long for large processes. */
	if (!devices || !lines_open(&lines, pid, has_one ? "smaps" : "maps"))
		return -EIO;
	while ((line = lines_next(&lines)))
		take_line(ret_map, devices, &at, line);
	return lines_close(&lines) ? 0 : -EIO;
}

bool silent_may_wait(pid_t pid)
{
	return exists_userfaultfd() && is_small(pid);
}

int silent_look(pid_t pid, bool may_wait, struct silent_map *ret_map)
{
	bool has_one = has_userfaultfd(pid) || (may_wait && silent_may_wait(pid));
	struct devices room;

	return look(pid, has_one, devices_of(NULL, pid, &room), ret_map);
}

enum silent_why silent_in(const struct silent_map *map, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < map->n; i++)
		if (start < map->v[i].end && map->v[i].start < end)
			return map->v[i].why;
	return map->is_cut ? SILENT_FILE : SILENT_NOT;
}

/* Is it in the same user and pid namespace as we? */
static bool is_with_us(pid_t pid)
{
	static const char *const kinds[] = { "user", "pid" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		/* A kernel without them has not even ours. */
		if (proc_same_namespace(0, pid, kinds[i]) != 1 &&
		    proc_same_namespace(0, 0, kinds[i]) == 1)
			return false;
	return true;
}

/* Is it all of the user that we run as? */
static bool is_our_users(pid_t pid)
{
	struct lines lines;
	unsigned long uid[4], own = getuid();
	bool found = false;
	const char *line;

	if (!lines_open(&lines, pid, "status"))
		return false;
	while (!found && (line = lines_next(&lines)))
		found = sscanf(line, "Uid: %lu %lu %lu %lu", &uid[0], &uid[1], &uid[2],
			       &uid[3]) == 4;
	close(lines.fd);
	return found && uid[0] == own && uid[1] == own && uid[2] == own && uid[3] == own;
}

/* *ret_devices: in @room, or kept; where the answer is SILENT_NOT. */
static enum silent_why suspect(struct silent_mounts *mounts, pid_t pid, struct devices *room,
			       const struct devices **ret_devices)
{
	if (!is_our_users(pid) || !is_with_us(pid))
		return SILENT_STRANGER;
	if (has_userfaultfd(pid))
		return SILENT_UFFD;
	*ret_devices = devices_of(mounts, pid, room);
	return !*ret_devices || (*ret_devices)->has_fuse ? SILENT_SERVED : SILENT_NOT;
}

enum silent_why silent_suspect(pid_t pid)
{
	const struct devices *devices;
	struct devices room;

	return suspect(NULL, pid, &room, &devices);
}

enum silent_why silent_check(struct silent_mounts *mounts, pid_t pid, bool may_wait,
			     struct silent_map *ret_map)
{
	const struct devices *devices;
	struct devices room;
	enum silent_why why = suspect(mounts, pid, &room, &devices);

	if (why != SILENT_NOT)
		return why;
	if (look(pid, may_wait && silent_may_wait(pid), devices, ret_map) < 0)
		return SILENT_FILE;
	return ret_map->n ? ret_map->v[0].why : SILENT_NOT;
}

/* --- mounts --------------------------------------------------------------------------- */

/* The number of the mount that @fd is on; -1: not known. */
static int mount_of(int fd)
{
	struct lines lines;
	const char *line;
	char name[32];
	int id = -1;

	(void)snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (!lines_open(&lines, 0, name))
		return -1;
	while ((line = lines_next(&lines)))
		if (sscanf(line, "mnt_id: %d", &id) == 1)
			break;
	(void)lines_close(&lines);
	return id;
}

static bool has_mount(pid_t pid, int id)
{
	struct lines lines;
	bool found = false;
	const char *line;
	int its;

	if (!lines_open(&lines, pid, "mountinfo"))
		return false;
	while (!found && (line = lines_next(&lines)))
		found = sscanf(line, "%d ", &its) == 1 && its == id;
	(void)lines_close(&lines);
	return found;
}

bool silent_is_mount_ours(pid_t pid, int fd)
{
	int id = mount_of(fd);

	return id >= 0 && (has_mount(0, id) ||
			   (proc_same_namespace(0, pid, "user") == 1 && has_mount(pid, id)));
}
