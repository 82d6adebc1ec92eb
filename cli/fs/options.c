/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/options.h"

#include <stddef.h>
#include <stdio.h>

#include "cli/common/message.h"
#include "cli/common/option.h"
#include "cli/complete/complete.h"
#include "engine/ubp.h"

static int set_mount_options(void *into, const char *arg)
{
	struct fs_options *o = into;

	if (o->mount_options)
		return cli_usage_error("-o can be given once: options are divided by commas");
	o->mount_options = arg;
	return CLI_OK;
}

static int set_mountpoint(void *into, const char *word)
{
	struct fs_options *o = into;

	if (o->mountpoint)
		return cli_usage_error("'%s' is one word too many", word);
	o->mountpoint = word;
	return CLI_OK;
}

#define FLAG(member) .is_flag = true, .flag = offsetof(struct fs_options, member)

static const struct cli_option table[] = {
	{ 'f', "foreground", FLAG(foreground),
	  .help = "stay in the foreground, and print warnings" },
	{ 'o', "options", "OPT[,OPT]", .set = set_mount_options,
	  .help = "mount options, as allow_other" },
	{ 'h', "help", FLAG(show_help), .help = "print this" },
	{ 0, "version", FLAG(show_version), .help = "print the version" },
};

static const struct cli_syntax syntax = {
	.usage = "[OPTION]... MOUNTPOINT\n"
		 "\n"
		 "Serve the files that a kernel has for uprobe events (/sys/kernel/tracing) in "
		 "the\n"
		 "folder MOUNTPOINT, with ubp's probes behind them.\n",
	.about = "  ubp-fs /tmp/tracing\n"
		 "  echo 'p:open /bin/bash:0x4c7b0' >> /tmp/tracing/uprobe_events\n"
		 "  echo 1 > /tmp/tracing/events/uprobes/open/enable\n"
		 "  cat /tmp/tracing/trace_pipe\n"
		 "  fusermount3 -u /tmp/tracing\n",
	.options = table,
	.n_options = sizeof(table) / sizeof(table[0]),
	.positional = set_mountpoint,
	.word = "DIR",
};

int fs_options_parse(int argc, char **argv, struct fs_options *o, bool *ret_done)
{
	char **rest = NULL;
	int rc;

	*o = (struct fs_options){ 0 };
	*ret_done = true;
	if (complete(&syntax, argc, argv))
		return CLI_OK;
	rc = cli_parse(&syntax, argc, argv, o, &rest);
	if (rc != CLI_OK)
		return rc;
	if (o->show_help) {
		cli_print_help(&syntax);
		return CLI_OK;
	}
	if (o->show_version) {
		printf("%s %s\n", cli_program, UBP_VERSION);
		return CLI_OK;
	}
	if (rest && *rest && set_mountpoint(o, *rest) != CLI_OK)
		return CLI_USAGE;
	if (!o->mountpoint)
		return cli_usage_error("no mount point is given");
	*ret_done = false;
	return CLI_OK;
}
