/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The host program's limit of descriptors, of which each traced process takes one. */

#ifndef UBP_SESSION_LIMIT_H
#define UBP_SESSION_LIMIT_H

struct ubp_session;

/* The soft limit is there for programs that still use select(); ours may be as high as it is allowed to be. */
void descriptor_limit_raise(struct ubp_session *s);
/* It is the host program's: unless that has set another meanwhile, it gets its own back. */
void descriptor_limit_lower(struct ubp_session *s);

#endif
