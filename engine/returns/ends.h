/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Threads that end, and programs that are replaced: what will not return any more is counted. */

#ifndef UBP_RETURNS_ENDS_H
#define UBP_RETURNS_ENDS_H

struct tracee;

/*
 * A thread is about to end: what detours have replaced in its stacks is the tracer's from now on,
 * so return_thread_ended() counts it.
 */
void return_thread_ends(struct tracee *t);

/* A thread is about to execute a program: what detours have replaced is noted while it can be seen. */
void return_execs(struct tracee *t);

/* Count what is still open in a thread that is gone, or left its image, as missed. */
void return_thread_ended(struct tracee *t);

#endif
