/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Children that are no program of their own: they hold no descriptor of the host but those that they
 * are given. Nothing here allocates or takes a lock: the host may have had other threads.
 */

#ifndef UBP_BASE_DESCRIPTORS_H
#define UBP_BASE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Close all descriptors but two, @keep (-1: none). A pipe that a child of ours held open
 * would never see its end.
 */
void descriptors_keep(const int keep[2]);

/*
 * Send a message of @len bytes through a socket that keeps messages apart, with @fd (-1: without any),
 * which stays the caller's. @flags: of sendmsg(). False: it was not sent; errno.
 */
bool descriptors_send(int socket, const void *bytes, size_t len, int fd, int flags);

/*
 * Receive such a message. *ret_fd: the descriptor that came with it, or -1. @flags: of recvmsg(). False:
 * there is none, or not of this length.
 */
bool descriptors_receive(int socket, void *bytes, size_t len, int *ret_fd, int flags);

#endif
