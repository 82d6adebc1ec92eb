/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Opening a file that a program under trace may have chosen. */

#ifndef UBP_OBJECT_FILE_H
#define UBP_OBJECT_FILE_H

struct stat;

/*
 * Open the regular file at @path for reading. Anything else (a fifo, a device) is
 * looked at, but never opened: that could block, or have effects. In a path of the
 * form /proc/PID/root/..., symlinks lead within that root, not out of it.
 *
 * Returns a descriptor, which is the caller's; -EINVAL: no regular file; or another
 * -errno. *ret_st is filled where something is there, whatever it is; else its
 * st_mode is 0.
 */
int file_open(const char *path, struct stat *ret_st);

#endif
