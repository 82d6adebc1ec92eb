/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* ubp-fs: the kernel's tracing tree, served from user space. */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/signals.h"
#include "cli/fs/front.h"
#include "cli/fs/options.h"
#include "cli/fs/state.h"
#include "engine/base/err.h"

const char cli_program[] = "ubp-fs";

static int serve(struct front *front, const struct fs_options *o, struct ubp_err *err)
{
	int signal_fd, rc = o->foreground ? 0 : front_detach(front, err);

	if (rc < 0)
		return rc;
	/* Relative paths are those of who writes them. */
	if (chdir("/") < 0)
		return ubp_fail_sys(err, "/");
	signal_fd = signals_open(err);
	if (signal_fd < 0)
		return signal_fd;
	signals_no_stop();
	rc = front_run(front, signal_fd, err);
	return rc;
}

static int run(const struct fs_options *o)
{
	struct front *front = NULL;
	struct state state = { 0 };
	struct ubp_err err;
	char path[PATH_MAX];
	int rc;

	ubp_err_reset(&err);
	/* A mount that died has no real path, but that of its folder's. */
	if (!realpath(o->mountpoint, path) && errno != ENOTCONN)
		return cli_error("%s: %s", o->mountpoint, strerror(errno));
	rc = state_init(&state, &err);
	if (rc == 0)
		rc = front_mount(&state, path, o->mount_options, &front, &err);
	if (rc == 0)
		rc = serve(front, o, &err);
	front_free(front);
	state_free(&state);
	return rc < 0 ? cli_error_record(&err) : CLI_OK;
}

int main(int argc, char **argv)
{
	struct fs_options options;
	bool done;
	int status = fs_options_parse(argc, argv, &options, &done);

	return done ? status : run(&options);
}
