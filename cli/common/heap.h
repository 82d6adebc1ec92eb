/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --allocates, --frees: what lives of what was allocated. */

#ifndef UBP_CLI_COMMON_HEAP_H
#define UBP_CLI_COMMON_HEAP_H

#include <stdbool.h>

struct output;
struct trace_definition;
struct trace_options;
struct ubp_session;

/* As .set of struct cli_option, of a structure that begins with trace_options. */
int heap_set_allocates(void *into, const char *arg);
int heap_set_frees(void *into, const char *arg);

/* Is any of the definitions about memory? */
bool heap_is_wanted(const struct trace_options *o);
/* CLI_OK, or said why not. */
int heap_check(const struct trace_options *o);
/* The definition, which the session has now, does what was said of it. CLI_OK, or said why not. */
int heap_begin(struct ubp_session *session, const struct trace_definition *d);
/* All there is in the end. */
void heap_print(struct ubp_session *session, const struct trace_options *o, struct output *out);

#endif
