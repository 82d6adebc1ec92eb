/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/named_pids.h"

#include <errno.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/trace/permission.h"
#include "engine/trace/task.h"

static int drop_ended(pid_t *pids, size_t *n, void (*gone)(void *ctx, pid_t pid), void *ctx,
		      struct ubp_err *err)
{
	size_t n_there = 0;

	for (size_t i = 0; i < *n; i++) {
		char state = task_state(pids[i]);
		int rc = state ? 0 : proc_shortage();

		if (rc < 0)
			return ubp_fail(err, -rc, "process %d cannot be looked at: %s",
					(int)pids[i], strerror(-rc));
		if (state != 0 && (state != 'Z' || *n == 1))
			pids[n_there++] = pids[i];
		else if (*n == 1)
			return ubp_fail(err, ESRCH, "no process %d", (int)pids[i]);
		else
			gone(ctx, pids[i]);
	}
	if (*n && !n_there)
		return ubp_fail(err, ESRCH, "none of the %zu processes is there", *n);
	*n = n_there;
	return 0;
}

int named_pids_take(pid_t *pids, size_t *n, void (*gone)(void *ctx, pid_t pid), void *ctx,
		    struct ubp_err *err)
{
	int rc = drop_ended(pids, n, gone, ctx, err);

	for (size_t i = 0; i < *n && rc == 0; i++)
		rc = permission_to_look(pids[i], err);
	return rc;
}
