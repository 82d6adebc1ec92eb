/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Memory that may not answer: who reads it waits for somebody, for ever perhaps. That are pages of
 * files on file systems that others serve (FUSE, NFS, ...), and pages that a userfaultfd is to
 * fill, as long as they are not in memory.
 *
 * What is asked here takes locks that the program may hold as long as it likes. So it is for a
 * process that may get stuck (engine/trace/stand_in.h), which is a fork of a program with threads: nothing
 * here allocates.
 */

#ifndef UBP_OS_SILENT_H
#define UBP_OS_SILENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Why memory is not read, or why one has to be careful with a process. */
enum silent_why {
	SILENT_NOT,
	SILENT_FILE,     /* a page of a file that others serve */
	SILENT_UFFD,     /* a page that a userfaultfd is to fill */
	SILENT_STUCK,    /* it did not answer in time */
	SILENT_NO_HELP,  /* nobody can be had who might wait for it */
	SILENT_STRANGER, /* another user's, or of another container */
	SILENT_SERVED, /* a FUSE file system is mounted where the process can open its files */
	SILENT_N,
};

/* For people; NULL: SILENT_NOT. */
const char *silent_text(enum silent_why why);

#define SILENT_RANGES 512

struct silent_range {
	uint64_t start, end;
	enum silent_why why;
};

/* What was found in one process. Zero-initialise; large. */
struct silent_map {
	size_t n;
	bool is_cut; /* there are more than were kept */
	struct silent_range v[SILENT_RANGES];
};

/*
 * The mappings of @pid that may not answer. Returns 0 or -EIO: nothing is known. Those that are for a
 * userfaultfd are found if @pid has it open; or if it is not large, anybody may have one, and @may_wait: that
 * may take the lock of all its memory.
 */
int silent_look(pid_t pid, bool may_wait, struct silent_map *ret_map);

/* SILENT_NOT: what is mapped at [start, end) always answers. */
enum silent_why silent_in(const struct silent_map *map, uint64_t start, uint64_t end);

/*
 * Might @pid get such memory at any time, in order to keep us waiting? Not if it could just as
 * well kill us, and sees no file system that it serves itself.
 */
enum silent_why silent_suspect(pid_t pid);

/*
 * Is there anything in a look at @pid that may take the lock of all its memory? If not, no look with @may_wait finds
 * more than one without.
 */
bool silent_may_wait(pid_t pid);

/*
 * What we know of our mounts is kept from one look to the next, until the kernel tells of a change: for who looks at
 * many processes. It has a descriptor open. NULL: it cannot be had, and each look reads all. For one thread at a time.
 */
struct silent_mounts;
struct silent_mounts *silent_mounts_new(void);
void silent_mounts_free(struct silent_mounts *mounts); /* NULL: nothing */

/*
 * Both in one look: silent_suspect(), and if it is none, why the first of its mappings that may not answer does not.
 * SILENT_NOT: all its memory answers. @mounts may be NULL. *ret_map is for what is found meanwhile.
 */
enum silent_why silent_check(struct silent_mounts *mounts, pid_t pid, bool may_wait,
			     struct silent_map *ret_map);

/*
 * Is the mount that @fd was opened on one of ours, or of @pid's as long as that lives in our user namespace? Others may
 * mount an overlay by themselves, and what is below that may be anything: nothing shows it.
 */
bool silent_is_mount_ours(pid_t pid, int fd);

#endif
