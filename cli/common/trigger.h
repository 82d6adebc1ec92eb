/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --trigger and --synthetic. */

#ifndef UBP_CLI_COMMON_TRIGGER_H
#define UBP_CLI_COMMON_TRIGGER_H

#include <stddef.h>
#include <stdint.h>

/* --trigger, behind its definition. */
struct trigger_option {
	size_t definition; /* its number */
	const char *text;
};

struct trigger_options {
	struct trigger_option *v;
	size_t n;
	const char **synthetic; /* --synthetic */
	size_t n_synthetic;
	uint64_t after_ns; /* --snapshot-after */
};

struct trace_options;
/* --snapshot-after has a trigger that it is for. CLI_OK, or said why not. */
int trigger_check(const struct trace_options *all);

/* As .set of struct cli_option, for a struct that begins with trace_options. */
int trigger_add(void *into, const char *arg);
int trigger_add_synthetic(void *into, const char *arg);
int trigger_set_after(void *into, const char *arg);

#endif
