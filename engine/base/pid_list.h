/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Numbers of processes or threads, as many as come. */

#ifndef UBP_BASE_PID_LIST_H
#define UBP_BASE_PID_LIST_H

#include <stddef.h>
#include <sys/types.h>

/* Zero-initialise; free(.v). */
struct pid_list {
	pid_t *v;
	size_t n, cap;
};

/* At the end. Returns 0 or -ENOMEM. */
int pid_list_add(struct pid_list *list, pid_t pid);

#endif
