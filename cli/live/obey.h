/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What may be asked of a trace that runs. A request is words, each with a zero behind it, of which the last is "." and the first says what is to be done:
 *
 *	add FOLDER uprobe|usdt {TEXT FILTER}...    what TEXT names is sought from FOLDER; FILTER: "" for none
 *	remove GLOB
 *	enable GLOB, disable GLOB                  "": all
 *	filter GLOB EXPR                           "0": none, as the kernel has it
 *	dump FOLDER FILE
 *	list, stats, hello, end
 *
 * The answer is three texts, with a zero behind each: the status that the asking command ends with, what it prints, what it says on standard error.
 */

#ifndef UBP_CLI_LIVE_OBEY_H
#define UBP_CLI_LIVE_OBEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_options;
struct ubp_session;

#define OBEY_LAST            "."
#define OBEY_BYTES_MAX       (1 << 20)
#define OBEY_DEFINITIONS_MAX 2000

struct live_session {
	struct ubp_session *session;
	const struct trace_options *options; /* that it began with */
	const uint64_t *n_dropped;
};

/* The answer, to be freed; NULL: out of memory. *ret_end: tracing is to end. */
char *live_obey(struct live_session *live, const char *request, size_t len, size_t *ret_len,
		bool *ret_end);

#endif
