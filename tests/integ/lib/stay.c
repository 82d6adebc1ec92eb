/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * For make check-stay: runs PROGRAM with --stay in front of all other arguments. A shell script would change the environment, and with it
 * where the stack of a command is.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char **args = calloc((size_t)argc + 2, sizeof(*args));

	if (!args)
		return 125;
	args[0] = argv[0];
	args[1] = "--stay";
	memcpy(args + 2, argv + 1, (size_t)(argc - 1) * sizeof(*args));
	execv(PROGRAM, args);
	perror(PROGRAM);
	return 126;
}
