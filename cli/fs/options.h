/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The command line of ubp-fs. */

#ifndef UBP_CLI_FS_OPTIONS_H
#define UBP_CLI_FS_OPTIONS_H

#include <stdbool.h>

struct fs_options {
	const char *mountpoint;
	const char *mount_options; /* NULL: none */
	bool foreground;
	bool show_help, show_version;
};

/* Returns CLI_OK, or the exit status after it said what is wrong. *ret_done: it is over, as by --help. */
int fs_options_parse(int argc, char **argv, struct fs_options *o, bool *ret_done);

#endif
