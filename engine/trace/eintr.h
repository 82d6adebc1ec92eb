/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* System calls that our stops break off: see ubp_host_redo_eintr(). All of a thread that is in a stop. */

#ifndef UBP_TRACE_EINTR_H
#define UBP_TRACE_EINTR_H

#include <stdbool.h>

struct tracee;

void eintr_redo(struct tracee *t);
void eintr_keep(struct tracee *t);
bool eintr_is_broken_off(const struct tracee *t);

#endif
