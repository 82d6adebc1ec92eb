/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The mappings of a process, as /proc/PID/maps lists them. */

#ifndef UBP_OS_MAPS_H
#define UBP_OS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ubp_err;

struct mapping {
	uint64_t start, end;
	uint64_t foffset;  /* of the first byte, in the file */
	uint64_t dev, ino; /* of the file; ino 0: none */
	bool read, write, exec, shared;
	const char *path; /* as the kernel prints it; "" without a name */
};

struct maps {
	struct mapping *v; /* ascending, none overlaps another */
	size_t n;
	char *text; /* what the paths point into */
	/* The process sees our files (file_root_is_ours()): its names may be looked up when it has ended. Set by
	 * whoever wants to do that. */
	bool is_our_root;
};

/* Errors: -ESRCH (gone, or a zombie: it has none), -EACCES; then there is nothing to be freed. */
int maps_read(pid_t pid, struct maps *ret_maps, struct ubp_err *err);
void maps_free(struct maps *maps);

/*
 * Mappings from a text in the format of /proc/PID/maps, allocated: it is changed, and belongs to
 * *ret_maps in any case. Lines of another form are left out. Returns 0 or -ENOMEM.
 */
int maps_parse(char *text, struct maps *ret_maps);

/* The mapping that contains @vaddr, or NULL. */
const struct mapping *maps_at(const struct maps *maps, uint64_t vaddr);

/*
 * How the file that is open as @fd shows in maps: on some file systems (btrfs,
 * overlayfs) not with the device number that stat() tells. Returns 0 or -errno.
 */
int maps_identity(int fd, uint64_t *ret_dev, uint64_t *ret_ino);

/* Does the process map this file with execute permission? */
bool maps_has_file(const struct maps *maps, uint64_t dev, uint64_t ino);

/*
 * The lowest of [low, high], all multiples of the page size, that @len free bytes begin at, with a page around them: far enough
 * from the heap and the stack that these hardly come there. @pid: whose mappings these are; 0: that is not known. @behind: bytes that are left to a heap
 * that grows. 0: there is none.
 */
uint64_t maps_find_within(const struct maps *maps, pid_t pid, uint64_t behind, uint64_t low,
			  uint64_t high, uint64_t len);
/* So far behind it a heap hardly comes. */
#define MAPS_BEHIND_HEAP 0x10000000ULL

/* From where to where is its file mapped around mapping @m, without a gap? */
void maps_file_extent(const struct maps *maps, const struct mapping *m, uint64_t *ret_lo,
		      uint64_t *ret_hi);

/*
 * A free range of @len bytes (whole pages) from which all of [lo, hi) is within
 * @reach. Keeps away from heap and stack, which grow. Returns its start, or 0.
 */
uint64_t maps_find_gap(const struct maps *maps, uint64_t lo, uint64_t hi, uint64_t len,
		       uint64_t reach);

#endif
