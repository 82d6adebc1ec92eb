/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What /proc and the kernel know about a thread: ids, name, state, the CPU it is on. Why it
 * cannot be attached to: permission.h.
 */

#ifndef UBP_TRACE_TASK_H
#define UBP_TRACE_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ubp_arch;
struct ubp_err;

/* Thread group, parent, tracer of a thread; 0 if it is gone (or has none). */
pid_t task_tgid(pid_t tid);
pid_t task_ppid(pid_t tid);
pid_t task_tracer(pid_t tid);

/* Seccomp mode of a thread (0: our own): 0, 1 (strict) or 2 (filters); -1 where the
 * kernel does not tell, as for the number of filters. */
long task_seccomp(pid_t tid, long *ret_n_filters);

/* Do two threads live in one address space? 1, 0, or -errno where kcmp() is refused. */
int task_shares_memory(pid_t a, pid_t b);
/* In an order of the kernel's, as qsort() wants it; 0 where kcmp() is refused, too. */
int task_compare_memory(pid_t a, pid_t b);

/*
 * Is a thread asleep in the kernel? Then where it will go on, and its stack pointer. False: it
 * runs, or is stopped, or /proc does not tell.
 */
bool task_asleep(pid_t tid, uint64_t *ret_pc, uint64_t *ret_sp);
/* task_asleep(), and *ret_nr: the system call it sleeps in, by the numbers of the program's own instruction set; -1: none. */
bool task_asleep_in(pid_t tid, uint64_t *ret_pc, uint64_t *ret_sp, long *ret_nr);

/* Does the process keep memory locked (mlock(), mlockall())? */
bool task_locks_memory(pid_t tid);

/*
 * Bytes of address space that the process may still map under its limit (RLIMIT_AS); UINT64_MAX: it
 * has none, or nothing is known.
 */
uint64_t task_room_left(pid_t pid);

/* State letter of /proc/TID/stat ('R', 'S', 'Z', ...), 0 if it is gone. */
char task_state(pid_t tid);
/* When the thread began, in the kernel's units: no two have the same number and the same time. 0: it is gone. */
uint64_t task_begun(pid_t tid);
/* How many threads process @pid has; 0: it is gone. */
unsigned task_n_threads(pid_t pid);
/* Is it gone, or about to be: without memory, perhaps, though its state does not tell yet? */
bool task_is_ending(pid_t tid);

/*
 * A thread of process @pid that has not ended: the leader, or another if that has
 * called pthread_exit(). /proc tells nothing of a process's memory under the name of
 * an ended leader. 0: there is none.
 */
pid_t task_live_thread(pid_t pid);

/*
 * The instruction set of the program that @pid runs, by its file. NULL: it can't be told, or
 * is none that this ubp traces, with a text: ENOTSUP, or why the file could not be read.
 */
const struct ubp_arch *task_arch(pid_t pid, struct ubp_err *err);
#define TASK_OTHER_KIND "process %d runs a program of a kind that this ubp does not trace"

/* Value of an entry (AT_ENTRY, ...) of a process's auxiliary vector; 0: none. */
uint64_t task_auxv(pid_t pid, uint64_t type);

/* Id of a process as it sees itself, in its own pid namespace; 0: not known. */
pid_t task_own_pid(pid_t pid);

/*
 * Has a thread a child that shares the memory of its process and that nobody traces
 * (CLONE_UNTRACED)? False where /proc does not tell.
 */
bool task_has_hidden_tracer(pid_t pid, pid_t tid);

/* Signal mask of a stopped tracee, bit N-1 for signal N. Returns 0 or -errno. */
int task_get_mask(pid_t tid, uint64_t *ret_mask);
int task_set_mask(pid_t tid, uint64_t mask);
/* Of signals 1 to 31, those that it has blocked; it need not be stopped. 0: none, or it is gone. */
uint64_t task_blocked(pid_t tid);
#define TASK_SIG_BIT(sig) (1ULL << ((sig)-1))
/*
 * Does the thread block @sig, or its process ignore it? When a fault raises it all the same,
 * the kernel sets it to the default action, and unblocks it.
 */
bool task_ignores(pid_t tid, int sig);

/* Does a thread block SIGTRAP? */
bool task_blocks_trap(pid_t tid);
/* Does its process have a handler for @sig? */
bool task_catches(pid_t tid, int sig);
/* Has the program left it at what the kernel does by itself? */
bool task_has_default(pid_t tid, int sig);
/* The signals that its process has handlers for; 0 where /proc does not tell. */
uint64_t task_caught(pid_t tid);

/* Is @sig pending for this very thread? */
bool task_signal_pending(pid_t tid, int sig);

/* Is @sig ignored by its process, by SIG_IGN? */
bool task_signal_ignored(pid_t tid, int sig);

/* Name of a thread into buf[16]; "<...>" if it is gone. */
void task_comm(pid_t tid, char comm[16]);

#endif
