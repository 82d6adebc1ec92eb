/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/remote_facts.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/trace/process.h"
#include "engine/trace/seccomp.h"
#include "engine/trace/task.h"

/*
 * One that does nothing where nobody traces the thread: the kernel drops it when it is sent. So it must not be
 * blocked by this thread, whose mask is nobody else's, nor have a handler.
 */
static int choose_signal(const struct tracee *t, const char *status)
{
	static const int signals[] = { SIGURG, SIGWINCH };
	uint64_t caught, mask;

	if (!proc_bits(status, "\nSigCgt:", &caught) || task_get_mask(t->tid, &mask) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!((caught | mask) & TASK_SIG_BIT(signals[i])))
			return signals[i];
	return 0;
}

int remote_facts_learn(struct tracee *t, struct ubp_err *err)
{
	const struct space *space = t->process->space;
	enum seccomp_way way;
	char *status;
	int rc;

	/* Only its own threads, or who shares its signal actions, could change any of it while it stands. */
	if (t->remote.facts.are_known && t->remote.called && t->process->n_tracees == 1 &&
	    !space_is_shared(space))
		return 0;
	status = proc_read_status(t->tid);
	if (!status && task_state(t->tid)) {
		/* It is there: memory is short, or descriptors. A filter is not to be met unawares. */
		if (t->remote.facts.are_known)
			return 0;
		return ubp_fail(err, ENOMEM, "the state of thread %d cannot be read now",
				(int)t->tid);
	}
	rc = seccomp_check_status(t, status, &way, err);
	t->remote.facts.are_known = rc == 0;
	t->remote.facts.suspend = rc == 0 && way == SECCOMP_SUSPEND;
	t->remote.facts.own_pid = proc_own_id(status, "\nNStgid:");
	t->remote.facts.own_tid = proc_own_id(status, "\nNSpid:");
	/* A filter might know the calls, and not the signal. */
	t->remote.facts.sig = rc == 0 && space->arch->stub.batch.code &&
					      t->remote.facts.own_pid &&
					      t->remote.facts.own_tid &&
					      proc_number(status, "\nSeccomp:") <= 0
				      ? choose_signal(t, status)
				      : 0;
	free(status);
	return rc;
}
