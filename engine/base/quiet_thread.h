/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Threads of the library's own. The caller's signals stay the caller's. */

#ifndef UBP_BASE_QUIET_THREAD_H
#define UBP_BASE_QUIET_THREAD_H

#include <pthread.h>

/* pthread_create(), with all signals blocked in the new thread from its start. Returns 0, or an errno. */
int quiet_thread_create(pthread_t *ret_thread, void *(*run)(void *arg), void *arg);

#endif
