/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is said to be traced. */

#ifndef UBP_CLI_COMMON_BANNER_H
#define UBP_CLI_COMMON_BANNER_H

struct ubp_session;

/* "Tracing ...": what is traced by @session, before it starts; @what: what a probe is called. @duration: in seconds, as it was given; NULL: until Ctrl-C.
 * Allocated; NULL: out of memory. */
char *banner_text(struct ubp_session *session, const char *what, const char *duration);

#endif
