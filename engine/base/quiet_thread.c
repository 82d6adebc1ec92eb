/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/quiet_thread.h"

#include <signal.h>
#include <stddef.h>

int quiet_thread_create(pthread_t *ret_thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(ret_thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}
