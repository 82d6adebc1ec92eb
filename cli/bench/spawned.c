/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/spawned.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "engine/base/err.h"

static _Noreturn void become(const struct bench_spawn *what, int in, int out)
{
	int null = what->is_silent ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDERR_FILENO;
	sigset_t none;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (what->ignores_keys) {
		(void)signal(SIGINT, SIG_IGN);
		(void)signal(SIGQUIT, SIG_IGN);
	}
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
	    dup2(null, STDERR_FILENO) >= 0)
		(void)execvp(what->file, what->argv);
	_exit(127);
}

int bench_spawn(const struct bench_spawn *what, struct bench_spawned *ret, struct ubp_err *err)
{
	int in[2], out[2];

	*ret = (struct bench_spawned){ -1, -1, -1 };
	if (pipe2(in, O_CLOEXEC) < 0)
		return ubp_fail_sys(err, "pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		(void)close(in[0]);
		(void)close(in[1]);
		return ubp_fail_sys(err, "pipe");
	}
	ret->pid = fork();
	if (ret->pid == 0)
		become(what, in[0], out[1]);
	(void)close(in[0]);
	(void)close(out[1]);
	if (ret->pid > 0) {
		ret->in = in[1];
		ret->out = out[0];
		return 0;
	}
	(void)close(in[1]);
	(void)close(out[0]);
	return ubp_fail_sys(err, "fork");
}
