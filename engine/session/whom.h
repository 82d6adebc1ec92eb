/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Which of all processes are traced, where not all are. */

#ifndef UBP_SESSION_WHOM_H
#define UBP_SESSION_WHOM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ubp_err;

/* Zeroed: all are. It does not change once the session has started: any thread may ask. */
struct whom {
	bool of_user; /* of .user alone, by its effective id */
	uid_t user;
	char *cgroup;     /* "HIERARCHY:PATH" or "PATH": in that, or below it; NULL: in any */
	const char *path; /* of it, in .cgroup */
	size_t hierarchy_len; /* of what stands before the colon there */
	bool of_hierarchy;    /* there is one */
	pid_t view;           /* targets are sought as this process sees them; 0: as we do */
};

int whom_set_cgroup(struct whom *whom, const char *cgroup, struct ubp_err *err);
void whom_free(struct whom *whom);

/* Is @pid, a process or a thread of it, one of them, as it is now? No, if it has ended. */
bool whom_has(const struct whom *whom, pid_t pid);

#endif
