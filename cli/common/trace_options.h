/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The options that all commands that trace have in common. */

#ifndef UBP_CLI_COMMON_TRACE_OPTIONS_H
#define UBP_CLI_COMMON_TRACE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/common/notes.h"
#include "cli/common/option.h"
#include "cli/common/pictures.h"
#include "cli/common/record.h"
#include "cli/common/tally.h"
#include "cli/common/text_options.h"
#include "cli/common/trigger.h"
#include "cli/live/options.h"
#include "engine/ubp.h"
#include "engine/ubp_sink.h"

enum definition_kind {
	DEFINITION_WORD,   /* a word without option */
	DEFINITION_EVENTS, /* -e */
	DEFINITION_FILE,   /* -f */
};

struct trace_definition {
	enum definition_kind kind;
	const char *text; /* of the definition, or the file's name */
	const char *filter;
	const char *memory; /* --allocates, --frees: the argument, or both; NULL: neither */
	bool frees;
	size_t first, n_probes; /* that it defined, once it was added */
};

/* --exclude */
struct exclude_options {
	const char **v; /* NULL-ended; NULL: none */
	size_t n;
};

/* -l: what is to be listed. */
struct list_options {
	bool is_list;        /* -l was given */
	const char *list;    /* its TARGET; NULL: all that the process maps */
	const char *pattern; /* of names to be listed; NULL: all */
};

/* Stacks of events. */
struct stack_options {
	enum ubp_stack kind;    /* --stack; UBP_STACK_NONE: not given */
	uint64_t frames;        /* --frames; 0: not given */
	bool asked, raw, lines; /* -s, --stack-raw, --lines */
};

/* When tracing ends by itself. */
struct end_options {
	const char *duration; /* -d as typed, and in nanoseconds; NULL, 0: none */
	uint64_t duration_ns;
	uint64_t count; /* -n; 0: none */
};

/* What is printed in place of tracing. */
struct print_options {
	bool help, version, format, check, explain, definition;
};

/* What costs more is taken out; 0: no limit. */
struct budget_options {
	uint64_t rate, overhead; /* hits a second; percent */
	bool once;               /* each goes when it was hit */
	const char *sample;      /* --sample; NULL: not given */
	size_t ring_bytes;       /* --buffer-size, of each thread; 0: default */
};

/* Where events go. */
struct to_options {
	const char *output;              /* -o: as text; NULL: standard output */
	struct record_options record;    /* as they are */
	struct picture_options pictures; /* at the end, beside that */
	bool tui;                        /* a table in place of lines */
	struct text_options text;
	bool append;            /* to what is in either file, which is opened anew at SIGHUP */
	const char *otlp;       /* --otlp: a file, or a collector */
	const char *prometheus; /* --prometheus: where numbers are asked for; NULL: nowhere */
};

/* Whose hits are traced. */
struct target_options {
	pid_t *pids;
	size_t n_pids;
	pid_t tid;
	bool follow, no_follow;
	/* Of all processes: */
	bool of_user;
	uid_t user;
	char *cgroup;       /* as ubp_only_cgroup() takes it; NULL: any */
	bool of_container;  /* that is one's ... */
	pid_t in_container; /* ... and this is a process in there */
};

/* Where debug information is sought beside the usual places. */
struct debug_options {
	char *dirs; /* --debug-dir, joined by ':'; NULL: none */
	const char *symbols;
};

/* What goes on between the command and who has started it. */
struct steer_options {
	int ready_fd;        /* --ready-fd; -1: none */
	const char *control; /* --control; NULL: none */
	bool is_off;         /* -D: all probes are off at the start ... */
	uint64_t delay_ns;   /* ... for so long; 0: until they are switched on */
};

/* All strings are borrowed from argv, but debug_dirs. */
struct trace_options {
	const char *what; /* "uprobe": what banners call a probe */
	struct trace_definition *definitions;
	size_t n_definitions;
	size_t n_words; /* words that were no options: a definition, its filter */
	char **command; /* NULL: none */
	struct exclude_options exclude;
	struct ubp_sink_form form; /* --json, --folded, or text */
	const char *clock;
	enum ubp_mode mode;
	bool header;
	bool stats, strict, stay, lossless, force, beside_kernel;
	bool no_version_check; /* -F of perf-tools: accepted, means nothing */
	struct list_options lists;
	struct stack_options stacks;
	struct end_options ends;
	struct steer_options steer;
	struct print_options only;
	struct target_options who;
	struct notes_options notes;
	struct debug_options debug;
	struct budget_options budget;
	struct tally_options tally;
	struct to_options to;
	struct trigger_options triggers;
	struct live_options live;
};

/* For rows and words of the commands' own. As .set of struct cli_option. */
int trace_options_add_definition(struct trace_options *o, enum definition_kind kind,
				 const char *text);
int trace_options_add_word(void *into, const char *word);
int trace_options_set_list(void *into, const char *arg);
int trace_options_set_event(void *into, const char *arg);
/* As .choose. */
int trace_options_set_form(void *into, const char *name);
/* Are events printed on standard output, in a form for other programs? */
bool trace_options_prints_data(const struct trace_options *o);

/*
 * Parse by @syntax, to which the common rows are added; they write into a struct that begins
 * with *@o, zeroed. --help and --version are obeyed here. Then
 * @check looks at what was given. Returns CLI_OK, or the exit status to leave with; *ret_done
 * then or when there is nothing more to do.
 */
int trace_options_parse(const struct cli_syntax *syntax, int argc, char **argv,
			struct trace_options *o, int (*check)(const struct trace_options *o),
			bool *ret_done);
/* What makes no sense together, whichever command it is. CLI_OK, or said why not. */
int trace_options_check(const struct trace_options *o);
int trace_options_check_list(const struct trace_options *o);
void trace_options_free(struct trace_options *o);

#endif
