/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --flame and --heat: pictures of a trace, beside the trace itself, written when it is over. */

#ifndef UBP_CLI_COMMON_PICTURES_H
#define UBP_CLI_COMMON_PICTURES_H

#include <stdbool.h>

#include "cli/common/output.h"
#include "engine/ubp_event.h"
#include "engine/ubp_sink.h"

struct trace_options;

struct picture_options {
	const char *flame, *heat; /* files; NULL: not asked for */
};

#define PICTURES_MAX 2

struct pictures {
	struct ubp_sink *sinks[PICTURES_MAX];
	struct output outs[PICTURES_MAX];
	unsigned n;
};

/* As .set of struct cli_option, for a struct that begins with trace_options. */
int pictures_set_flame(void *into, const char *arg);
int pictures_set_heat(void *into, const char *arg);
/* Of the name of a file. */
bool pictures_ends_with(const char *name, const char *end);
/* Stacks are what a flame graph is made of, unless there are returns: then it is of calls. */
bool pictures_want_stacks(const struct trace_options *o);

/* Zero-initialise. Before the start: files are opened, which must not be that of @lines. CLI_OK, or said why not. */
int pictures_begin(struct pictures *pictures, struct ubp_session *session,
		   const struct picture_options *o, const struct output *lines);
void pictures_event(struct pictures *pictures, const struct ubp_event *event);
/* Nothing comes any more: they are written. CLI_OK, or said what went wrong. */
int pictures_end(struct pictures *pictures);
/* What was not written is not: the trace has failed before. */
void pictures_free(struct pictures *pictures);

#endif
