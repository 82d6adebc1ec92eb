/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Messages (wire.h) over a connected stream socket, with descriptors. Neither end raises SIGPIPE. Both take turns: who has said something waits for what the other
 * says to it. @gone: a descriptor that is readable when the other one has ended, though somebody may have his end of the socket still; -1: there is none.
 */

#ifndef UBP_APART_LINK_H
#define UBP_APART_LINK_H

#include "engine/apart/wire.h"

/* With one message, at most. */
#define LINK_FDS 4

/* Descriptors that come or go with a message. */
struct link_fds {
	int fd[LINK_FDS];
	unsigned n;
};

/* All of it. @fds stay the caller's, and may be NULL. 0, or -errno: the other end is gone. */
int link_send(int socket, int gone, const struct wire *message, const struct link_fds *fds);
/*
 * Wait for one, which is all that is in @ret_message then. @fds: the descriptors that came with it, the caller's from then on; NULL: they
 * are closed. -EPIPE: the other end is gone; another -errno.
 */
int link_receive(int socket, int gone, struct wire *ret_message, struct link_fds *ret_fds);
void link_close_fds(struct link_fds *fds);

#endif
