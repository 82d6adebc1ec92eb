/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: which of all processes are traced, where none are named and there is no command. They are asked for as they
 * are when they are found, and when they execute a program; their children are traced with them. All functions are called before
 * ubp_start(). -EINVAL: others were named; -EBUSY: it has started.
 */

#ifndef UBP_WHOM_H
#define UBP_WHOM_H

#include "ubp.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Those of @user alone, by their effective id. */
int ubp_only_user(struct ubp_session *session, uid_t user, struct ubp_err *err);
/*
 * Those in a control group, or below it: "PATH", as /proc/PID/cgroup has it, of any hierarchy, or "HIERARCHY:PATH", of the one that has
 * this controller ("": of version 2). With ubp_only_user() those of that user in that group. -EINVAL: it is no such text.
 */
int ubp_only_cgroup(struct ubp_session *session, const char *cgroup, struct ubp_err *err);
/* Targets of what is added from now on are sought as process @pid sees them, in its container perhaps; it may be any. -ESRCH: it has ended. */
int ubp_files_as(struct ubp_session *session, pid_t pid, struct ubp_err *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
