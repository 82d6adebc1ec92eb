/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * From the TARGET of a definition to a file: a path, a program in PATH, or a
 * library name.
 */

#ifndef UBP_FILES_LOCATE_H
#define UBP_FILES_LOCATE_H

#include <sys/types.h>

struct ubp_err;

/*
 * Find the file @target means.
 *
 * @pid 0: a '/' makes it a path, returned as typed; else a program in PATH, then
 * a library: LD_LIBRARY_PATH, the loader's cache (/etc/ld.so.cache, read only), the
 * default folders. "libc", "libc.so", "libc.so.6" and "c" all name libc.so.6. Only
 * ELF files of this machine are returned for a name: other ISAs' libraries,
 * scripts and the text "libc.so" of linkers are passed over.
 *
 * @pid > 0: for that process. The files it maps are searched first (its program,
 * then by library name), then PATH and libraries within its root and for its ISA;
 * paths are taken in its root (relative ones from our working directory).
 * *ret_path is the path as the process sees it, *ret_open a path that opens from
 * here: the same, /proc/PID/root/..., or /proc/PID/exe or /proc/PID/map_files/...
 * where the mapped file is deleted or out of reach.
 *
 * *ret_path and *ret_open are malloc()ed. Nothing is written, nothing is run.
 * Errors: -ENOENT with near names; -EEXIST when several different libraries fit
 * (lists them; an exact file name or a path chooses); -ENOEXEC when a name is that
 * of a script only; -EINVAL when a path is no regular file; -ESRCH: no such
 * process, or one without memory (zombie, kernel thread); -EACCES: the process may
 * not be looked at; errno of look-ups.
 */
int object_locate(const char *target, pid_t pid, char **ret_path, char **ret_open,
		  struct ubp_err *err);

#endif
