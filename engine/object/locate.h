/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * From the TARGET of a definition to a file: a path, a program in PATH, or a
 * library name.
 */

#ifndef UBP_OBJECT_LOCATE_H
#define UBP_OBJECT_LOCATE_H

#include <sys/types.h>

struct ubp_err;

/*
 * Find the file @target means. With @pid > 0 the answer is for that process: its
 * own maps are searched first (by library or program name), paths are taken in
 * its root, and *ret_open is a path that opens from here (/proc/PID/root/...,
 * or /proc/PID/map_files where the file is deleted or out of reach) while
 * *ret_path is the path as the process sees it. With @pid 0: a '/' makes it a
 * path; else PATH, then libraries: the loader's cache (/etc/ld.so.cache, read
 * only), LD_LIBRARY_PATH, the default folders. "libc", "libc.so", "libc.so.6" and
 * "c" all name libc.so.6 (the highest version that fits; other ISAs' entries
 * are skipped). A linker script or a text "libc.so" is never returned.
 *
 * *ret_path and *ret_open are malloc()ed. Errors: -ENOENT with near names,
 * -EEXIST when several different libraries fit (lists them), errno of look-ups.
 */
int object_locate(const char *target, pid_t pid, char **ret_path, char **ret_open,
		  struct ubp_err *err);

#endif
