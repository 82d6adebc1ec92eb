/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What definitions are made of: for the files of this folder. */

#ifndef UBP_DEFINE_STATE_H
#define UBP_DEFINE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/define/options.h"
#include "engine/elf/object.h"
#include "engine/space/uprobe.h"
#include "engine/spec/table.h"

struct adding;
struct dwarf;
struct ubp_err;

/* A file that definitions name. */
struct definition_file {
	uint64_t dev, ino;           /* as stat() tells: what spec compares */
	uint64_t maps_dev, maps_ino; /* as /proc/PID/maps tells */
	struct object *object;
	struct dwarf *dwarf; /* NULL: nobody asked for it yet */
	bool has_facts;
	struct return_facts facts; /* what it says about the way of returns */
	struct definition_file *next;
};

/* What a target was found to be, so that thousands of definitions look but once. */
struct file_alias {
	char *target;
	char *path; /* of a target that is none; or NULL */
	uint64_t dev, ino;
	struct file_alias *next;
};

/* A probe, beside the spec_probe of the same number. */
struct defined_probe {
	struct uprobe *uprobe; /* a reference; its .origin is this */
	struct object *object; /* its file; the definitions' */
	struct definition_file *file;
	uint64_t serial; /* the spec_probe's: tells it from others after a deletion */
	char *symbol;    /* "readline+0x4", or NULL */
	char *listing, *format, *explain;
	char *no_definition; /* why no kernel would take it */
};

/*
 * What a pattern has found and check_probe() has said yes to, in the order in which they will be made. Not of returns: what is asked for
 * counts there, too.
 */
struct checked {
	struct defined_probe **v;
	size_t n, n_taken; /* .v[.n_taken] is next */
};

struct definitions {
	struct definitions_options opt;
	pid_t *pids;         /* .opt.pids */
	const char *program; /* that will be run; or NULL */
	struct spec_table *table;
	struct definition_file *files;
	struct file_alias *aliases; /* files.c */
	uint64_t aliases_ns;        /* since when they are good */
	struct defined_probe **probes;
	size_t n_probes;
	struct checked checked;
	struct adding *adding; /* adding.c; NULL: nothing was added yet, or no more will be */
	bool is_given_up;      /* while something was added: no more can be done with it */
	bool is_settled;       /* windows_settle() was here since the last probe came */
};

#endif
