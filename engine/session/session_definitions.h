/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is to be probed: definitions (engine/define) by a session's options. */

#ifndef UBP_SESSION_SESSION_DEFINITIONS_H
#define UBP_SESSION_SESSION_DEFINITIONS_H

struct definitions;
struct ubp_err;
struct ubp_session;

/* Definitions as the session's options say; nothing is defined yet. */
int session_definitions_new(const struct ubp_session *s, struct definitions **ret_defs,
			    struct ubp_err *err);
/* The session's own. */
int session_definitions_init(struct ubp_session *s, struct ubp_err *err);

#endif
