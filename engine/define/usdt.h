/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Static probes (USDT): from "PROVIDER:NAME arg1" to plain definitions. */

#ifndef UBP_DEFINE_USDT_H
#define UBP_DEFINE_USDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/operand.h"
#include "engine/elf/notes.h"
#include "engine/spec/operand_text.h"

struct object;
struct plain_arg;
struct ubp_err;
struct definitions;

/* --- what was typed (usdt_parse.c) -------------------------------------------------- */

/* Bytes of the definition's text. */
struct usdt_span {
	unsigned at, len;
};

/* [NAME=]HEAD argN TAIL[:TYPE], or an ordinary fetch arg. */
struct usdt_arg {
	bool is_named;
	struct usdt_span name;
	struct usdt_span all; /* EXPR[:TYPE] */
	unsigned number;      /* N; 0: an ordinary one, of which the rest is not known */
	struct usdt_span head, arg, tail, type;
};

struct usdt_definition {
	char *text;                    /* words joined by one blank */
	unsigned at;                   /* of [TARGET:]PROVIDER:NAME in it */
	char *group, *event;           /* of the ALIAS; NULL: not typed */
	char *target;                  /* NULL: none */
	char *provider, *name, *probe; /* patterns; "PROVIDER:NAME" */
	unsigned probe_at;
	struct usdt_arg *args;
	size_t n_args;
};

/*
 * Parse a definition as ubp_add_usdt() takes it. Free in any case. Returns 0, -EINVAL with a
 * caret, or -ENOMEM.
 */
int usdt_parse(const char *text, struct usdt_definition *ret_definition, struct ubp_err *err);
void usdt_definition_free(struct usdt_definition *d);
/* Does it mean this probe? */
bool usdt_is_meant(const struct usdt_definition *d, const struct object_note *note);
/* Does "PROVIDER:NAME", or NAME alone, match @pattern, or one of @exclude (NULL-ended, or NULL)? */
bool usdt_name_matches(const char *pattern, const struct object_note *note);
bool usdt_is_excluded(const char *const *exclude, const struct object_note *note);
/* Could it mean several? */
bool usdt_is_pattern(const struct usdt_definition *d);
/* A failure that is the fault of byte @at of the definition. Returns the failure. */
int usdt_at(const struct usdt_definition *d, unsigned at, struct ubp_err *err);

/* What ubp_add_usdt() does, on whatever thread. */
int usdt_add(struct definitions *defs, const char *definition, const char *filter,
	     struct ubp_err *err);

/* --- where it is (usdt_find.c) ------------------------------------------------------ */

struct usdt_file {
	char *path; /* for definitions */
	struct object *object;
};

struct usdt_files {
	struct usdt_file *v;
	size_t n;
};

/*
 * The files that have the probe: the TARGET; else those that .pids map; else the command's
 * program, or a program or library of the provider's name, or what they need; else of all running
 * programs. Free in any case. -ENOENT with near names, and a caret.
 */
int usdt_find(struct definitions *defs, const struct usdt_definition *d,
	      struct usdt_files *ret_files, struct ubp_err *err);
void usdt_files_free(struct usdt_files *files);

/* Of what process @pid maps: each file with code, once, by an object that @each takes over. Stops
 * when it returns a negative errno, and returns that. */
int usdt_each_mapped(pid_t pid, int (*each)(void *ctx, const char *path, struct object *object),
		     void *ctx, struct ubp_err *err);

/* --- its arguments (usdt_args.c) ---------------------------------------------------- */

#define USDT_ARGS_MAX 64

/* The operands of a note. */
struct usdt_operands {
	size_t n;
	struct usdt_operand {
		struct operand operand;
		struct operand_text fetch; /* the same as a fetch arg */
		const char *why;           /* not NULL: nobody can read it, for this reason */
		const char *text;          /* as in the note */
		size_t len;
	} v[USDT_ARGS_MAX];
	char reasons[1024]; /* what .why points to */
};

void usdt_operands(struct object *object, const struct object_note *note,
		   struct usdt_operands *ret_operands);

/* Fetch args for one location, in room that *ret_args owns. */
struct usdt_args {
	struct plain_arg *v;
	size_t n;
	char **texts; /* all strings */
	size_t n_texts;
};

/*
 * What @d asks for of @note; @filter (may be NULL) may name more. What is not asked for by name
 * and can't be read is left out, and @warn called. Free in any case. Errors have carets.
 */
int usdt_args(const struct usdt_definition *d, struct object *object,
	      const struct object_note *note, const char *filter,
	      void (*warn)(void *ctx, const char *text), void *ctx, struct usdt_args *ret_args,
	      struct ubp_err *err);
void usdt_args_free(struct usdt_args *args);

#endif
