/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A memory file that a target has just made for us (memfd_create), taken by its number. Threads of
 * the target, and other processes that share its table of descriptors, run meanwhile: by the time of
 * our look, or between two, the number may stand for any file there is. So what it stands for is taken
 * once, without opening it, looked at, and only then opened. Nothing is ever opened, changed or waited
 * for that is not a new memory file of that name.
 */

#ifndef UBP_PLANT_MEMORY_FILE_H
#define UBP_PLANT_MEMORY_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ubp_err;

struct memory_file {
	int fd;            /* for reading and writing; the owner closes it */
	uint64_t dev, ino; /* as /proc/PID/maps has them */
};

/*
 * The file that is descriptor @number of thread @tid: made by memfd_create(@name,
 * MFD_ALLOW_SEALING), empty, with no seal that bears on its size or on who may write it. Returns
 * 0; -EBADF: there is no such descriptor; -EINVAL: it is another file; or what keeps us from
 * looking.
 */
int memory_file_take(pid_t tid, uint64_t number, const char *name, struct memory_file *ret_file,
		     struct ubp_err *err);

/* Does the number stand for @file, at this moment? */
bool memory_file_has(pid_t tid, uint64_t number, const struct memory_file *file);

#endif
