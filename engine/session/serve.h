/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The engine's half of a session that is apart: it has the session, and does what the host asks for. */

#ifndef UBP_SESSION_SERVE_H
#define UBP_SESSION_SERVE_H

/* Until the host has freed its session, or is gone: then all is taken out. @socket is the caller's. Returns 0; -errno: the host is none of ours. */
int session_serve(int socket);

#endif
