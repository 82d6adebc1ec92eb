/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * System calls that a target makes on our behalf (remote.h) meet its seccomp
 * filter like its own, and a filter may well kill for one. It is suspended for
 * just these calls where ubp is privileged to; else they are made only where ubp
 * lives under the same filter, which lets its own calls pass.
 */

#ifndef UBP_TRACE_SECCOMP_H
#define UBP_TRACE_SECCOMP_H

#include <stdbool.h>

struct tracee;
struct ubp_err;

/* What /proc says of a thread. */
struct seccomp_state {
	long mode;      /* 0: none, 1: strict, 2: filters */
	long n_filters; /* -1: this kernel does not tell (before 5.9) */
};

enum seccomp_way {
	SECCOMP_FREE,    /* make the call, nothing or nothing new stands in its way */
	SECCOMP_SUSPEND, /* make it with the filter suspended */
	SECCOMP_REFUSE,  /* it might kill */
};

/* Pure: what to do with @target, given ubp's own state, whether both live in the
 * same pid namespace, and whether ubp may suspend filters. */
enum seccomp_way seccomp_choose(const struct seccomp_state *target,
				const struct seccomp_state *own, bool same_namespace,
				bool may_suspend);

/*
 * The way for held thread @t. Returns 0, or -EACCES with a message where it must
 * make no call for us.
 */
int seccomp_check(const struct tracee *t, enum seccomp_way *ret_way, struct ubp_err *err);

/* seccomp_check() by the text of its status (proc_read_status(); NULL: it can't be read). */
int seccomp_check_status(const struct tracee *t, const char *status, enum seccomp_way *ret_way,
			 struct ubp_err *err);

/*
 * Suspend the filter of stopped thread @t, and end that again. The kernel ends it
 * by itself when ubp dies. Returns 0 or -errno.
 */
int seccomp_suspend(struct tracee *t);
void seccomp_restore(struct tracee *t);

#endif
