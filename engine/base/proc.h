/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The small text files of /proc, and whether processes live in one namespace. What cannot be
 * read is most often of a process that has ended.
 */

#ifndef UBP_BASE_PROC_H
#define UBP_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The beginning of a file, up to @size - 1 bytes, as a string. Its length; 0: it can't be read. */
size_t proc_read(const char *path, char *buf, size_t size);

/*
 * Are we so short of descriptors or memory that no file of /proc can be opened? Then what could not be read of
 * a process says nothing about it. Returns 0 or -errno.
 */
int proc_shortage(void);

/* @each gets each process of /proc; what it returns, if not 0, ends that and is returned. 0, or -errno of opendir(). */
int proc_each(int (*each)(void *ctx, pid_t pid), void *ctx);

/* All of a file, as a string; free() it. NULL: it can't be read, or there is nothing in it. */
char *proc_read_all(const char *path);

/*
 * All of /proc/TID/status, which is long where a process has many groups. The name in it is the
 * program's own, but has no newline: the kernel escapes that.
 */
char *proc_read_status(pid_t tid);
/* The number behind @name, "\nNAME:", in such a text (NULL: none), or -1. */
long proc_number(const char *status, const char *name);
/*
 * The last number of a line of several, one for each of the pid namespaces that a process is in: the one
 * in its own. 0: there is none.
 */
pid_t proc_own_id(const char *status, const char *name);
/* Id of a thread in its own pid namespace; its own where the kernel has none of these. 0: it has ended. */
pid_t proc_own_tid(pid_t tid);
/* Does a process live in a pid namespace below ours? Threads of it know their ids in there. 1, 0; -1: it cannot be told. */
int proc_is_below(pid_t pid);
/* The thread of process @pid that is @own in its own pid namespace. 0: there is none (any more). */
pid_t proc_find_thread(pid_t pid, pid_t own);
/* The bits behind it, which the kernel writes with 16 as the base. False: there is no such name. */
bool proc_bits(const char *status, const char *name, uint64_t *ret_bits);

/* Time of the processor that this thread has had: what it waited for on a busy machine is not in it. */
uint64_t proc_cpu_ns(void);

/* The name of a thread, with zeros up to the end of comm[]. False, and comm[] as it was: it has ended. */
bool proc_read_comm(pid_t tid, char comm[16]);
/* The same, of a thread of that process alone. */
bool proc_read_thread_comm(pid_t pid, pid_t tid, char comm[16]);

/*
 * Do two processes (0: we) live in one namespace of this @kind: "pid", "user", ...? 1, 0, or
 * -errno where that of one cannot be looked at.
 */
int proc_same_namespace(pid_t a, pid_t b, const char *kind);

/* Do we live in the pid namespace that the kernel has begun with? */
bool proc_in_first_pid_namespace(void);

#endif
