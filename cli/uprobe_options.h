/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The command line of uprobe. */

#ifndef UBP_CLI_UPROBE_OPTIONS_H
#define UBP_CLI_UPROBE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/session/ubp.h"

enum definition_kind {
	DEFINITION_PERF_TOOLS, /* a word without option */
	DEFINITION_EVENTS,     /* -e */
	DEFINITION_FILE,       /* -f */
};

struct uprobe_definition {
	enum definition_kind kind;
	const char *text; /* of the definition, or the file's name */
	const char *filter;
};

/* All strings are borrowed from argv. */
struct uprobe_options {
	struct uprobe_definition *definitions;
	size_t n_definitions;
	size_t n_words; /* words that were no options: a definition, its filter */
	pid_t *pids;
	size_t n_pids;
	pid_t tid;
	char **command;   /* NULL: none */
	const char *list; /* -l TARGET */
	const char *output;
	const char *duration; /* -d as typed, and in nanoseconds; NULL, 0: none */
	uint64_t duration_ns;
	uint64_t count; /* -n; 0: none */
	const char *clock;
	size_t ring_bytes; /* --buffer-size; 0: default */
	enum ubp_mode mode;
	int ready_fd; /* -1: none */
	bool help, version, format, check, explain;
	bool header, stack, json, stats, strict, lossless, force;
	bool no_version_check; /* -F of perf-tools: accepted, means nothing */
};

/*
 * Parse. --help and --version are obeyed here. Returns CLI_OK, or the exit
 * status to leave with; *ret_done then or when there is nothing more to do.
 */
int uprobe_options_parse(int argc, char **argv, struct uprobe_options *ret_options,
			 bool *ret_done);
void uprobe_options_free(struct uprobe_options *options);

#endif
