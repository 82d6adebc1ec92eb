/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Definitions: from texts to probes (engine/space/uprobe.h) that are known to be plantable. An object of this kind keeps what
 * was defined, the files that this names, and the probes. It knows no process that is traced, and nothing of those who plant:
 * they get the probes, and what they have to know of the files.
 */

#ifndef UBP_DEFINE_DEFINITIONS_H
#define UBP_DEFINE_DEFINITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/define/options.h"

struct definition_file;
struct definitions;
struct object;
struct sample_text;
struct spec_probe;
struct ubp_err;
struct uprobe;
struct uprobe_handler;

/* @opt is copied, and its .pids. Errors: -ENOMEM. */
int definitions_new(const struct definitions_options *opt, struct definitions **ret_defs,
		    struct ubp_err *err);
/*
 * Where a thread was left behind that adds something (definitions_add()), that frees them when it ends. Who has a reference
 * to a probe keeps it, but its file goes. NULL is fine.
 */
void definitions_free(struct definitions *defs);
/* As definitions_options.tells_faults: of those that are added from now on. */
void definitions_tell_faults(struct definitions *defs);
bool definitions_tells_faults(const struct definitions *defs);
/* Targets are sought as @pid sees them from now on, as definitions_options.view. */
void definitions_see_as(struct definitions *defs, pid_t pid);
/* The program that will be run: static probes are sought there, too. It stays the caller's. */
void definitions_set_program(struct definitions *defs, const char *program);

/* --- adding ------------------------------------------------------------------------ */

/*
 * Add a definition in the perf-tools form, text as written to uprobe_events, or a static probe: all of it is parsed, resolved and
 * checked, or nothing is added. @filter may be NULL. A thread of its own does the work, since files may not answer, and the
 * caller waits. -EINTR: .until was over; -EFBIG, among others: debug information that takes too long to read. After
 * the first, and after the second where a call did not come back, they are given up: nobody may do anything with them, but free them.
 */
int definitions_add(struct definitions *defs, const char *definition, const char *filter,
		    struct ubp_err *err);
int definitions_add_events(struct definitions *defs, const char *text, size_t len,
			   const char *filter, struct ubp_err *err);
int definitions_add_usdt(struct definitions *defs, const char *definition, const char *filter,
			 struct ubp_err *err);
/* What definitions_add() does, on the caller's thread. */
int definitions_add_here(struct definitions *defs, const char *definition, const char *filter,
			 struct ubp_err *err);
/* Probes that what is added from now on must not collide with, as if they were defined here: borrowed, until the next call. */
void definitions_set_others(struct definitions *defs, const struct spec_probe *const *others,
			    size_t n);
/* What is added from now on has a handler, or none; and probe @i, which was added: 0 or -ENOMEM. */
void definitions_set_handler(struct definitions *defs, const struct uprobe_handler *handler);
int definitions_give_handler(struct definitions *defs, size_t i,
			     const struct uprobe_handler *handler);
bool definitions_are_given_up(const struct definitions *defs);
/* What is added from now on is sampled so; NULL: not. It is borrowed. */
void definitions_set_sample(struct definitions *defs, const struct sample_text *sample);
/* No more will be added: the thread ends. Not of those that are given up. */
void definitions_end_adding(struct definitions *defs);

/* .debug.symbols is good for one of the files at least, or there is an error. */
int definitions_check_symbols(struct definitions *defs, struct ubp_err *err);
/* Once all probes are there: the jumps of those of one place begin in one place. 0 or -ENOMEM. */
int definitions_settle(struct definitions *defs);
/*
 * Behind that, what the user may not know: which of those that stand for several places stop threads, if jumps are wanted (stops.h);
 * which registers are read too late (entry_note.h).
 */
void definitions_tell(const struct definitions *defs, bool wants_jumps);

/* --- what was added: @i counts probes in order of definition ------------------------ */

size_t definitions_n(const struct definitions *defs);
const struct spec_probe *definitions_spec(const struct definitions *defs, size_t i);
/* The definitions' reference. */
struct uprobe *definitions_uprobe(const struct definitions *defs, size_t i);
/* That reference is the caller's from now on; definitions_uprobe() tells NULL then. */
struct uprobe *definitions_take_uprobe(struct definitions *defs, size_t i);
/* The file that a probe is in. */
struct object *definitions_object(const struct definitions *defs, size_t i);

/* For people; they last as long as the probe. See the functions of the same names in ubp.h. */
const char *definitions_listing(struct definitions *defs, size_t i);
const char *definitions_format(struct definitions *defs, size_t i);
const char *definitions_explain(struct definitions *defs, size_t i);
/* The function that it is in, as people write it; "0x..." where none is known. For free(); NULL: out of memory. */
char *definitions_function(const struct definitions *defs, size_t i);
/* Why it stops threads, though there are jumps; NULL: it does not. */
const char *definitions_stop(struct definitions *defs, size_t i);
/* Why its jump may not stand in a process that nobody traces; NULL: it may. *ret_perhaps: if memory that it needs is not free in that. */
const char *definitions_break(struct definitions *defs, size_t i, bool *ret_perhaps);
/* NULL: no kernel takes it, *ret_why says what for. */
const char *definitions_for_kernel(struct definitions *defs, size_t i, const char **ret_why);

/* A file that has probes. */
struct defined_file {
	const char *path;            /* as the first of them names it */
	uint64_t maps_dev, maps_ino; /* as /proc/PID/maps tells */
	const struct object *object;
};

/* The next of these, from *@pos, which begins as NULL. False: there is none. */
bool definitions_next_file(const struct definitions *defs, const struct definition_file **pos,
			   struct defined_file *ret_file);
/* The file that maps show so, of those that were named; NULL: none was. */
const struct object *definitions_file_of(const struct definitions *defs, uint64_t maps_dev,
					 uint64_t maps_ino);

/* --- for who plants the probes, while the definitions are there --------------------- */

/* The file that @probe is in. */
struct object *definitions_object_of(const struct uprobe *probe);
/* plant_options.find_exits, .find_exit_jumps, .find_lead. */
void definitions_find_exits(struct uprobe *probe);
void definitions_find_exit_jumps(struct uprobe *probe);
void definitions_find_lead(const struct definitions *defs, struct uprobe *probe);

#endif
