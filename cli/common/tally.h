/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --count, --hist, --sum: what is counted in place of events, and how it is printed. */

#ifndef UBP_CLI_COMMON_TALLY_H
#define UBP_CLI_COMMON_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/common/unit.h"

struct output;
struct trace_options;
struct ubp_session;
struct ubp_tally_part;

struct tally_options {
	bool count, hist;  /* given */
	bool with_events;  /* --with-events: they are printed, too */
	const char *keys;  /* --count=KEY[,KEY]; NULL: by event */
	const char *arg;   /* --hist=ARG, with :STEP perhaps; NULL: the first one */
	const char *sum;   /* --sum=ARG */
	const char *by;    /* --by=KEY[,KEY] */
	uint64_t top;      /* 0: all */
	uint64_t every_ns; /* 0: at the end */
	bool with_sum;     /* --hist: the sum of ARG, too, for those that want it */
};

/* As .set of struct cli_option, of a structure that begins with trace_options. */
int tally_set_count(void *into, const char *arg);
int tally_set_hist(void *into, const char *arg);
int tally_set_sum(void *into, const char *arg);
int tally_set_by(void *into, const char *arg);
int tally_set_top(void *into, const char *arg);
int tally_set_every(void *into, const char *arg);

/* Is something counted? */
bool tally_is_wanted(const struct tally_options *o);
/* Is something counted by stacks? */
bool tally_needs_stacks(const struct tally_options *o);
/* CLI_OK, or said why not. */
int tally_check(const struct trace_options *all);
/* The session, which has its probes, counts from its start on. CLI_OK, or said why not. */
int tally_begin(struct ubp_session *session, const struct tally_options *o);
/* The trigger that the options are short for; allocated, NULL: out of memory. */
char *tally_text(const struct tally_options *o);

/* Does the user's locale say that bars may have parts of characters? */
bool tally_has_unicode(void);

/* What an arg counts, as far as its definition tells: $duration, or a name that speaks of bytes. */
enum unit tally_unit(struct ubp_session *session, const char *name);

/* What is printed, and how. */
struct tally_print {
	const struct tally_options *opt;
	struct ubp_session *session;
	bool json, unicode;
	size_t n_lines; /* of the last block, where the next one takes its place */
};

/* Text that is no table comes: what stands on a terminal to be replaced by the next table goes away now. True: it did. */
bool tally_make_way(struct tally_print *p, struct output *out);
/* All there is by now. @is_last: no block comes behind it. */
void tally_print(struct tally_print *p, struct output *out, bool is_last);

#endif
