/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Whose a session is: in a child of fork() there is no tracing thread. */

#ifndef UBP_SESSION_OWNER_H
#define UBP_SESSION_OWNER_H

#include <stdbool.h>

struct ubp_err;
struct ubp_session;

/* Was it started by another process, of which this one is a child? */
bool owner_is_other(const struct ubp_session *s);
/* 0; -ECHILD, with a text: it was. */
int owner_check(const struct ubp_session *s, struct ubp_err *err);

#endif
