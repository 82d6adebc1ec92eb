/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What is known of a thread that waits for the answer to its open(). Nothing here allocates
 * or locks: the child of a process with threads asks.
 */

#ifndef UBP_TRACE_LOADING_H
#define UBP_TRACE_LOADING_H

#include <stdbool.h>
#include <sys/types.h>

struct loading {
	pid_t pid;    /* its process */
	pid_t tracer; /* the thread that traces it; 0: nobody does */
};

/* False: it is gone. */
bool loading_ask(pid_t tid, struct loading *ret);

/*
 * Does the dynamic loader of its program make that call? It opens a library in order to map it, others to read
 * it. False also where the program is one that the loader was given by name; true where that can't be told
 * soon.
 */
bool loading_is_loader(pid_t tid);

#endif
