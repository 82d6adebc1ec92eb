/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * --control: commands that somebody else gives while tracing goes on, a line each, by a FIFO or a descriptor. They are
 * those of perf record, and are answered as perf answers them.
 */

#ifndef UBP_CLI_COMMON_CONTROL_H
#define UBP_CLI_COMMON_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

struct ubp_session;

#define CONTROL_LINE_MAX 1024

struct control {
	int fd, ack_fd; /* -1: none */
	bool skips;     /* a line that is too long, up to its end */
	size_t len;     /* of .line, what was read of one that has not ended yet */
	char line[CONTROL_LINE_MAX];
};

/* Does @spec say where commands come from: "fifo:CTL[,ACK]", "fd:CTL[,ACK]"? CLI_OK, or said why not. */
int control_check(const char *spec);
/* @spec: NULL: there are none, and nothing is opened. CLI_OK, or said why not. */
int control_open(struct control *control, const char *spec);
void control_close(struct control *control);

/* Carry out what has come. True: tracing is to end. */
bool control_take(struct control *control, struct ubp_session *session);

/* @glob is of an event's name, or of GROUP:EVENT (perf writes it so) or GROUP/EVENT (so do definitions). */
bool control_matches(const struct ubp_session *session, size_t i, const char *glob);

/* Says, behind @prefix, that none matches @glob, and which are near. Returns CLI_FAILED. */
int control_no_event(const struct ubp_session *session, const char *prefix, const char *glob);

/* Those that match on, or off; @glob NULL: all. Returns how many there are; or a negative errno, which is told. */
long control_enable(struct ubp_session *session, const char *glob, bool on);
/* All probes on, or off. CLI_OK, or said why not. */
int control_enable_all(struct ubp_session *session, bool on);

#endif
