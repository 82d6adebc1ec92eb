/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where sessions are found: a folder that is the user's alone, with a socket for each. */

#ifndef UBP_CLI_LIVE_PLACE_H
#define UBP_CLI_LIVE_PLACE_H

#include <limits.h>
#include <stdbool.h>

struct ubp_err;

#define PLACE_NAME_MAX 64

bool place_is_name(const char *name);

/* The path of file @name in that folder. Errors: as below. */
int place_path(const char *name, char path[PATH_MAX], struct ubp_err *err);

/*
 * A descriptor of the folder: /run/ubp for root, ubp in XDG_RUNTIME_DIR for others. @make: it is made, if it is not there. Errors: -ENOENT: it is not there; -EINVAL:
 * there is no XDG_RUNTIME_DIR; -EPERM: others may look into it; those of mkdir().
 */
int place_open(bool make, struct ubp_err *err);

/*
 * A socket that listens as session @name in @place; who has the name and does not live any more has none. -EBUSY: there is one; others: those of bind().
 */
int place_listen(int place, const char *name, struct ubp_err *err);
/* It is nobody's name any more. */
void place_forget(int place, const char *name);

/* A socket that is connected with it, and waits at most @seconds for an answer; 0: as long as it takes. -ENOENT: there is none. */
int place_connect(int place, const char *name, unsigned seconds, struct ubp_err *err);

#endif
