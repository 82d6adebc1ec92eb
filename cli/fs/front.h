/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The tree as the kernel's FUSE asks for it: requests in, answers out. */

#ifndef UBP_CLI_FS_FRONT_H
#define UBP_CLI_FS_FRONT_H

#include <stdbool.h>

struct front;
struct state;
struct ubp_err;

/*
 * Mount at @path, a folder, in place of what an earlier run has left there. @options: of mount(8), as "allow_other"; NULL: none.
 * Returns 0 or a negative errno.
 */
int front_mount(struct state *state, const char *path, const char *options,
		struct front **ret_front, struct ubp_err *err);
/* The parent process ends, this one goes on in the background. Before threads are there. 0 or a negative errno. */
int front_detach(struct front *front, struct ubp_err *err);
/* Answers until a signal comes, by @signal_fd (cli/common/signals.h), or somebody unmounts it. 0 or a negative errno. */
int front_run(struct front *front, int signal_fd, struct ubp_err *err);
/* Unmounts. NULL is fine. */
void front_free(struct front *front);

#endif
