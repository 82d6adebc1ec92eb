/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifndef UBP_CLI_REPORT_OPTIONS_H
#define UBP_CLI_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/common/text_options.h"
#include "engine/ubp_recording.h"
#include "engine/ubp_sink.h"

/* Events that are wanted: by name, by filter; NULL: all. */
struct report_rule {
	const char *event, *filter;
};

struct report_options {
	const char **files;
	size_t n_files;
	bool is_aligned; /* --align: */
	int64_t *
		shifts; /* what is added to the times of each file but the first; NULL: by CLOCK_REALTIME */
	size_t n_shifts;
	struct ubp_sink_form form;
	bool stats, diff;
	struct report_rule *rules;
	size_t n_rules;
	pid_t *pids;
	size_t n_pids;
	struct ubp_recording_time from, to;
	const char *output; /* NULL: standard output */
	const char *otlp;   /* --otlp: a file, or a collector; NULL: not */
	struct text_options text;
	bool help, version, header, info;
};

int report_options_parse(int argc, char **argv, struct report_options *ret_options,
			 bool *ret_done);
void report_options_free(struct report_options *o);

#endif
