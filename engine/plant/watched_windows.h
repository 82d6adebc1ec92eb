/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Windows of jumps at places that ubp itself watches. */

#ifndef UBP_PLANT_WATCHED_WINDOWS_H
#define UBP_PLANT_WATCHED_WINDOWS_H

#include <stdbool.h>
#include <sys/types.h>

struct plant;
struct space;

/*
 * Finds .window of those sites that stand, have no probe, and may become jumps; @pid: a thread of @space. False: of some a
 * file could not be read, and may be later.
 */
bool watched_windows_look(struct plant *plant, const struct space *space, pid_t pid);
void watched_windows_free(struct plant *plant);

#endif
