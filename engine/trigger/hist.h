/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Histograms: what other files of this room, and those of the histogram itself, see of one.
 *
 * A histogram is parsed into fields: first its values (hitcount first of all), then its variables, then its keys, each a
 * tree of fields where it is an expression. An entry of the table stands for one combination of keys; it holds the sums
 * of the values, and the variables.
 */

#ifndef UBP_TRIGGER_HIST_H
#define UBP_TRIGGER_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/trigger/hist_map.h"
#include "engine/trigger/pool.h"
#include "engine/trigger/synth.h"

struct event_record;
struct hist_text;
struct sink_buf;
struct tally;
struct trigger;
struct trigger_command;
struct trigger_event;
struct trigger_field;
struct trigger_set;

#define HIST_SORTS_MAX  2
#define HIST_FIELDS_MAX (HIST_VALUES_MAX + HIST_VARS_MAX + HIST_KEYS_MAX)
#define HIST_DOERS_MAX  8

#define HIST_STACK_ENTRIES 16
#define HIST_ADDRESS_MAX   256 /* of its name */

enum hist_flags {
	HIST_KEY = 1 << 0,
	HIST_VAR = 1 << 1,
	HIST_REF = 1 << 2,   /* a variable's value */
	HIST_ALIAS = 1 << 3, /* a variable that is another one's value */
	HIST_EXPR = 1 << 4,
	HIST_CONST = 1 << 5,
	HIST_STRING = 1 << 6,
	HIST_STACK = 1 << 7,
	HIST_HITCOUNT = 1 << 8,
	HIST_CPU = 1 << 9,
	HIST_TIME = 1 << 10,
	/* Modifiers. */
	HIST_HEX = 1 << 16,
	HIST_SYM = 1 << 17,
	HIST_SYM_OFFSET = 1 << 18,
	HIST_EXECNAME = 1 << 19,
	HIST_SYSCALL = 1 << 20,
	HIST_LOG2 = 1 << 21,
	HIST_BUCKET = 1 << 22,
	HIST_USECS = 1 << 23,
	HIST_PERCENT = 1 << 24,
	HIST_GRAPH = 1 << 25,
};

struct hist_field {
	unsigned flags;
	const struct trigger_field *field; /* of the event; NULL: it is none */
	const char *name;                  /* of an expression, of the variable that is meant */
	const char *type;
	unsigned size;
	bool is_signed;
	unsigned offset;      /* keys: in the bytes of all */
	const char *var_name; /* NULL: it is no variable */
	unsigned var; /* its number in the entry; references: of the one that is meant */
	struct hist *var_hist;           /* whose that is */
	const char *system, *event_name; /* how the reference was written, or NULL */
	unsigned ref;                    /* number of the reference in its histogram */
	bool read_once;
	char op; /* + - * /, or _ for the minus in front; 0: none */
	struct hist_field *operand[2];
	uint64_t constant;
	uint64_t multiplier; /* division by it, in a way of its own; 0: none */
	uint64_t buckets;
};

struct hist_sort {
	unsigned value; /* number among values and keys */
	bool descending;
};

/* A variable that takes a field at each hit, for an action. */
struct hist_copy {
	struct hist_field *from, *var;
};

enum hist_handler { HIST_ONMATCH, HIST_ONMAX, HIST_ONCHANGE };
enum hist_action { HIST_TRACE, HIST_SAVE, HIST_SNAPSHOT };

/* What the last snapshot of snapshot() was made for. */
struct track {
	struct hist_doer *doer;
	struct hist *hist;
	uint64_t value;
	bool is_taken;
	char comm[16];
	uint8_t key[HIST_KEY_MAX];
};

/* A handler with its action. */
struct hist_doer {
	enum hist_handler handler;
	enum hist_action action;
	const char *system, *event_name; /* onmatch */
	const char *watched;             /* onmax, onchange: $VAR as written */
	struct hist_field *watched_ref, *best;
	const char *word;  /* the action's name as written */
	const char *synth; /* trace(SYNTH,...): its name; else NULL */
	const char *params[SYNTH_FIELDS_MAX];
	size_t n_params;
	struct trigger_event *makes;
	unsigned refs[SYNTH_FIELDS_MAX]; /* whose values the event takes */
	struct track *track;
};

/* A histogram that was made on another event, for a field of it. */
struct hist_inner {
	struct trigger_event *event;
	const char *text;
	struct hist *like; /* whose keys it has */
};

struct hist {
	struct pool pool;
	struct trigger_set *set;
	struct trigger_event *event;
	struct hist_text *text;
	bool removes; /* it is to be removed: names may be taken */
	bool in_usecs;
	bool has_time;
	bool has_comm;
	unsigned n_users; /* triggers that share it */
	struct hist_field *fields[HIST_FIELDS_MAX];
	size_t n_values; /* and variables */
	size_t n_fields;
	size_t n_vars; /* of entries: those of actions, too */
	size_t key_size;
	struct hist_sort sorts[HIST_SORTS_MAX];
	size_t n_sorts;
	struct hist_field *refs[HIST_VARS_MAX];
	size_t n_refs;
	struct hist_copy copies[SYNTH_FIELDS_MAX], saved[SYNTH_FIELDS_MAX];
	size_t n_copies, n_saved;
	struct hist_doer *doers[HIST_DOERS_MAX];
	size_t n_doers;
	struct hist_inner inner[SYNTH_FIELDS_MAX];
	size_t n_inner;
	struct hist_map map;
};

/* The command: hist:... on an event. */
int hist_command(struct trigger_command *command);
/* A hit that the trigger's filter lets pass. */
void hist_hit(struct trigger_set *set, struct hist *hist, const struct event_record *record);
/* A line of the trigger file; what the hist file says of it. */
void hist_list(const struct trigger *trigger, struct sink_buf *out);
typedef void hist_print_fn(struct trigger_set *set, const struct trigger *trigger,
			   struct sink_buf *out);
hist_print_fn hist_print;
/* The same as JSON. */
hist_print_fn hist_json;
/* With what was counted by its plan: into the table, until hist_count_out() has it as it was, also after -ENOMEM. 0 or -ENOMEM. */
int hist_count_in(struct hist *hist, const struct tally *counted, struct hist_map *ret_own);
void hist_count_out(struct hist *hist, const struct hist_map *own);
void hist_print_counted(struct trigger_set *set, const struct trigger *trigger,
			const struct tally *counted, hist_print_fn *print,
			struct sink_buf *out);
/* Is it a stack that is told frame by frame? */
bool hist_is_frames(const struct hist_field *field);
/* "main+0x12", or a number. */
void hist_name_address(const struct trigger_set *set, uint64_t address, bool with_offset,
		       char *ret, size_t size);
/* All histograms of @event go, whoever uses them: at the end. */
void hist_drop_all(struct trigger_set *set, struct trigger_event *event);

#endif
