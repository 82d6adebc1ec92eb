/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Names are looked up, and files opened, by a child where a file system may be met that somebody else
 * serves: who waits for it cannot be woken, not even to end. The child is waited for no longer than a
 * limit. What it finds on such a file system is handed over as a copy in memory: reading waits, too.
 */

#ifndef UBP_OS_OPENER_H
#define UBP_OS_OPENER_H

#include <sys/types.h>

struct stat;

#define OPENER_HEAD_LEN 64

enum opener_want {
	OPENER_FILE, /* a descriptor to read from */
	OPENER_HEAD, /* the same, to read OPENER_HEAD_LEN bytes from its beginning */
	OPENER_STAT, /* what it is, alone */
	OPENER_DIR,  /* a descriptor of a folder */
	OPENER_LINK, /* a descriptor of a memory file with what a symlink says */
};

/* How it is done by who may wait: returns a descriptor (OPENER_STAT: 0) or -errno. */
typedef int (*opener_find)(const char *path, enum opener_want want, struct stat *ret_st);

/*
 * Have a child carry out @find; @pid: the process because of which we look there. -ETIMEDOUT: there was no answer, or too
 * many children wait for one. -ENOTSUP: a folder that somebody else serves. -EFBIG: a file too large to be copied. Safe from
 * any thread.
 */
int opener_ask(opener_find find, pid_t pid, const char *path, enum opener_want want,
	       struct stat *ret_st);

#endif
