/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* ubp-engine: the process that libubp starts to trace in its host's place. It is nothing to be run by people. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/apart/spawn.h"
#include "engine/session/serve.h"

int main(int argc, char **argv)
{
	sigset_t all;

	(void)argv;
	if (argc > 1 || fcntl(SPAWN_SOCKET, F_SETFD, FD_CLOEXEC) < 0) {
		fprintf(stderr, "ubp-engine: libubp starts this program, see libubp(3)\n");
		return 2;
	}
	/* Signals of a terminal are for the host, which says when it is over. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, "ubp-engine");
	return session_serve(SPAWN_SOCKET) < 0;
}
