/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Inside the parser of definitions: what its parts share. A line is cut into
 * words (words.h); the parts work in the kernel's order, because the order
 * decides which of several mistakes is reported:
 *
 *   p:grp/evt  /bin/x:0x100%return(0x40)  a=+8(%di):u32
 *   name.c 2nd target.c 1st                arg.c, with expr.c and type.c, last
 */

#ifndef UBP_SPEC_PARSE_H
#define UBP_SPEC_PARSE_H

#include "engine/base/probe_kind.h"
#include "engine/spec/spec.h"
#include "engine/spec/words.h"

struct spec_env;
struct ubp_err;

/* One line at work. */
struct spec_parse {
	const struct spec_env *env;
	const struct spec_words *words;
	struct ubp_err *err;
	const struct ubp_arch *arch; /* register names; the file's, once it is known */
};

/* The parts of a line, whichever form it has. */
struct spec_form {
	enum probe_kind kind;
	bool is_short;         /* the perf-tools form, which names events its own way */
	bool has_name;         /* .name is set, though it may be empty */
	struct spec_span name; /* [GRP/][EVENT] */
	struct spec_span place;
	size_t first_arg; /* index of a word */
};

/*
 * Fail with the kernel's message and a caret at column @col of the command.
 * Returns -@code.
 */
int spec_fail(const struct spec_parse *p, int code, size_t col, const char *text);

/*
 * Fail where the kernel gives no reason: the text is ours. There is a caret in
 * extended grammar only, so that strict grammar tells what the kernel logs.
 */
int spec_fail_unlogged(const struct spec_parse *p, int code, size_t col, const char *text);

int spec_fail_memory(const struct spec_parse *p);

/* Is this expression $duration? It is no variable of the kernel's. */
bool spec_is_duration(const struct spec_parse *p, struct spec_span expr);

/* Column of a byte of one of the words. */
size_t spec_col(const struct spec_parse *p, const char *s);

/*
 * A definition in the kernel's form, line.c. On success *ret_probe is the
 * caller's; conflicts with other probes are not looked at.
 */
int spec_parse_line(const struct spec_parse *p, struct spec_probe **ret_probe);

/* Is this the perf-tools form, in one word? (extended grammar) */
bool spec_is_short(const struct spec_parse *p);
/* spec_parse_line() of a definition in that form. */
int spec_parse_short(const struct spec_parse *p, struct spec_probe **ret_probe);

/* TARGET:OFFSET[%return][(REF)], target.c. *ret_target is what stood before ':'. */
int spec_parse_place(const struct spec_parse *p, struct spec_span word,
		     struct spec_probe *probe, struct spec_span *ret_target);

/* [GRP/][EVENT], name.c. Leaves probe->event empty when only a group is given. */
int spec_parse_name(const struct spec_parse *p, struct spec_span text,
		    struct spec_probe *probe);

/* Make up an event's name. The kernel's for a number, or the symbol's. */
void spec_name_auto(struct spec_probe *probe, struct spec_span target, bool is_short);

/*
 * The event's name of a function that a pattern has found: [NAME_]SYMBOL. *may_join: all that
 * are found have that name, and a given one is theirs as it is; stays true if they may join one
 * event. 0 or -ENOMEM.
 */
int spec_name_match(struct spec_probe *probe, const char *symbol, bool *may_join);

/* Event's name with _@n behind, within its limit. */
void spec_name_number(const char *name, unsigned n, char ret_name[SPEC_NAME_MAX + 1]);

/* Arg number @i (from 0) of the probe, which holds the args before it; arg.c. */
int spec_parse_arg(const struct spec_parse *p, struct spec_span word, struct spec_probe *probe,
		   size_t i);

#endif
