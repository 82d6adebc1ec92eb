/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The options about sessions that have a name: of who begins one, and of who asks something of one that runs. */

#ifndef UBP_CLI_LIVE_OPTIONS_H
#define UBP_CLI_LIVE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_option;
struct trace_options;

enum live_ask {
	LIVE_NONE, /* nothing: this command traces */
	LIVE_ADD,
	LIVE_REMOVE,
	LIVE_ENABLE,
	LIVE_DISABLE,
	LIVE_FILTER,
	LIVE_LIST,
	LIVE_STATS,
	LIVE_DUMP,
	LIVE_END,
	LIVE_SESSIONS, /* of all sessions of the user */
};

struct live_options {
	const char *session; /* --session; NULL: not given */
	bool detach, lists;  /* --detach, --list-sessions */
	uint64_t keep;       /* --keep: bytes; 0: not */
	bool keep_per_thread;
	enum live_ask ask;
	const char *
		event; /* what --remove, --enable, --disable are about; NULL: all. --dump: the file */
	const struct cli_option
		*other; /* the first option that one that runs is not asked by; NULL: none */
	const char *filter; /* --filter that stands before its event, or before nothing */
};

/* As .set of struct cli_option. */
int live_set_session(void *into, const char *arg);
int live_set_add(void *into, const char *arg);
int live_set_remove(void *into, const char *arg);
int live_set_enable(void *into, const char *arg);
int live_set_disable(void *into, const char *arg);
int live_set_dump(void *into, const char *arg);
int live_set_end(void *into, const char *name);

/* .see of struct cli_syntax. */
void live_see(void *into, const struct cli_option *option);

/* Once all options are there: what is asked, and whether it makes sense. CLI_OK, or said why not. */
int live_check(struct trace_options *o);

#endif
