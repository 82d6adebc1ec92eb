/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a signal tells of an instruction that was carried out elsewhere. */

#ifndef UBP_HIT_FAULT_H
#define UBP_HIT_FAULT_H

#include <stdint.h>
#include <sys/types.h>

/*
 * SIGILL and SIGFPE tell the address of the instruction: if that is @is, in a copy, the one of
 * thread @tid that is about to be delivered tells @should_be.
 */
void hit_correct_fault(int sig, pid_t tid, uint64_t is, uint64_t should_be);

#endif
