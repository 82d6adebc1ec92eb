/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The file, or folder, that a form of output is written to. */

#ifndef UBP_CLI_COMMON_FORM_H
#define UBP_CLI_COMMON_FORM_H

#include <stdbool.h>

struct output;
struct ubp_err;
struct ubp_sink;
struct ubp_sink_form;

/*
 * Can it be written to @path (NULL: standard output), as far as the command line tells? @is_counted: there are no events; @is_appended: to
 * what is there. Returns CLI_OK, or CLI_USAGE after it said why not.
 */
int form_check(const struct ubp_sink_form *form, const char *path, bool is_counted,
	       bool is_appended);

/*
 * output_open() of what ubp_sink_begin() and those behind it give. Of a folder, which is made, that is a file in it; a folder that has anything
 * else in it than such files is left alone (-EEXIST).
 */
int form_open(struct output *out, const struct ubp_sink_form *form, const char *path,
	      struct ubp_err *err);
/* Behind ubp_sink_end(): what stands beside that. Returns CLI_OK, or CLI_FAILED after it said why. */
int form_write_beside(const struct ubp_sink_form *form, const char *path,
		      struct ubp_sink *sink);
/* output_finish(), and that. */
int form_finish(struct output *out, const struct ubp_sink_form *form, const char *path,
		struct ubp_sink *sink);

#endif
