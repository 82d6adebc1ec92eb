/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Definitions that were written in another way (USDT, source lines, variables), as
 * definitions of the kernel's: a file, an offset, fetch args. They are parsed as if the user
 * had typed them, but messages show what was really typed.
 */

#ifndef UBP_DEFINE_PLAIN_H
#define UBP_DEFINE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/probe_kind.h"
#include "engine/base/value_names.h"

struct ubp_err;
struct definitions;

struct plain_arg {
	const char *name;                /* NULL: argN, N from its place */
	const char *text;                /* EXPR[:TYPE], the extended grammar */
	unsigned col;                    /* of what it was made from, in the origin */
	bool is_verbatim;                /* .text stands there: carets go into it */
	const struct value_names *names; /* NULL: none. Stays as long as the definitions */
};

struct plain_probe {
	enum probe_kind kind;
	const char *group;    /* NULL: the usual */
	const char *event;    /* never NULL; made an identifier here */
	bool is_name_typed;   /* the user's: never numbered */
	const char *path;     /* with a '/' */
	uint64_t offset, ref; /* ref 0: none */
	uint32_t past_entry;  /* as in struct spec_probe */
	unsigned col;         /* of the place, in the origin */
	const struct plain_arg *args;
	size_t n_args;
};

/* As the user typed it: words joined by one blank. */
struct plain_origin {
	const char *text;
	unsigned line;      /* of several, from 1; 0: not one of several */
	const char *filter; /* NULL: none */
};

/*
 * Add @n probes, or none: probes of one event's name whose args differ are numbered (_1, _2)
 * unless the name was typed. Strings need not outlive the call.
 */
int plain_add(struct definitions *defs, const struct plain_probe *probes, size_t n,
	      const struct plain_origin *origin, struct ubp_err *err);

#endif
