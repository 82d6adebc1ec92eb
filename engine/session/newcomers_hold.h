/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Which files are held: whoever comes to execute or to load one waits until he is traced (trace/exec_hold.h). */

#ifndef UBP_SESSION_NEWCOMERS_HOLD_H
#define UBP_SESSION_NEWCOMERS_HOLD_H

#include <stdbool.h>
#include <stdint.h>

struct object;
struct plant_change;
struct ubp_session;

/* Is that file our own program? */
bool newcomers_is_own(const struct ubp_session *s, uint64_t dev, uint64_t ino);
/*
 * Are processes that come to map the file those that execute it? Libraries are mapped by others, and
 * programs by an interpreter that is given their names: rare, and seen by looking at all.
 */
bool newcomers_is_program(const struct object *object);

/* Before the finder starts: those that are probed. .newcomer.hold is NULL then if none of them can be held; if there are none, it is there for more. */
void newcomers_hold_files(struct ubp_session *s);
/* Who opens the files is not told to everybody, but that they are. -1: that isn't, either. */
int newcomers_watch_opened(const struct ubp_session *s);
/* On the tracing thread: those of probes that are new, before the change is said to be done. What cannot be held is found by looks; one that is held too late is told of. */
void newcomers_hold_more(struct ubp_session *s, const struct plant_change *change);

#endif
