/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The files of a recording: FILE, and with rotation those that were FILE before it: FILE.1, FILE.2, ... the newest has the largest number. */

#ifndef UBP_RECORDING_FILES_H
#define UBP_RECORDING_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct ubp_err;

struct recording_files {
	const char *path;
	bool append;   /* what is there stays, and more comes behind it */
	bool rotates;  /* FILE gets a number once another one is begun */
	unsigned keep; /* so many files, FILE among them; the oldest are deleted. 0: all */
};

/*
 * Open FILE to write to it. What is there and is no recording, but not empty, is refused (-EEXIST); so is one that another process is
 * recording to (-EBUSY), and one that cannot be as the options want it (-EINVAL). A recording that is there is appended to, gets its number, or is renamed to FILE.old.
 * Returns the descriptor, or a negative errno. *ret_size: bytes that are in it.
 */
int recording_files_open(const struct recording_files *files, uint64_t *ret_size,
			 bool *ret_is_regular, struct ubp_err *err);
/* FILE gets its number, and what is too old is deleted. Only recordings are. */
int recording_files_rotate(const struct recording_files *files, struct ubp_err *err);

#endif
