/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where is the calling thread called from? */

#ifndef UBP_SESSION_CALLER_H
#define UBP_SESSION_CALLER_H

#include <stdbool.h>

struct ubp_session;

/* In a callback of ubp_dispatch()? In a handler? In one of these? */
bool calls_is_callback(const struct ubp_session *s);
bool calls_is_handler(const struct ubp_session *s);
bool calls_is_inside(const struct ubp_session *s);

#endif
