/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Synthetic events as texts define them: the tracer's session has them (engine/ubp_trigger.h). All of it is the worker's. */

#ifndef UBP_CLI_FS_MADE_H
#define UBP_CLI_FS_MADE_H

#include <stdbool.h>
#include <stddef.h>

struct state;

/* Each returns 0 or a negative errno, the kernel's. What was wrong is in error_log. */

/* @text: of synthetic_events; NULL: all go, or, if one is in use, none. */
int made_change(struct state *state, const char *text);

/* Lines of dynamic_events, "s:[synthetic/]NAME FIELDS": is it one, and what it does. */
bool made_is_definition(const char *line, size_t len);
int made_define(struct state *state, const char *line, size_t len);
/* "-:[synthetic/]NAME", or any definition behind "!". -ENOENT: none is meant. */
int made_remove(struct state *state, const char *line, size_t len);

#endif
