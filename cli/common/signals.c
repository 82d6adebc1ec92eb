/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"

static bool is_ignored(int number)
{
	struct sigaction sa;

	return sigaction(number, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

int signals_open(struct ubp_err *err)
{
	sigset_t set;
	int fd;

	/* INT and QUIT are taken even when ignored: a script's "uprobe ... &"
	 * starts that way, and "kill -INT" is how such a trace is ended. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	if (!is_ignored(SIGHUP))
		sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return ubp_fail_sys(err, "sigprocmask");
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? ubp_fail_sys(err, "signalfd") : fd;
}

bool signals_read(int fd, struct signals_one *ret_signal)
{
	struct signalfd_siginfo info;
	unsigned tries = 0;
	ssize_t n;

	for (;;) {
		n = read(fd, &info, sizeof(info));
		if (n < 0 && errno != EAGAIN && again(&tries))
			continue;
		if (n != sizeof(info))
			break;
		/* By a write(2) of ours, which tells it, too. */
		if ((info.ssi_signo == SIGPIPE || info.ssi_signo == SIGXFSZ) &&
		    info.ssi_pid == (uint32_t)getpid())
			continue;
		ret_signal->number = (int)info.ssi_signo;
		ret_signal->from_terminal = info.ssi_code == SI_KERNEL;
		return true;
	}
	ret_signal->failed = n >= 0 || errno != EAGAIN;
	return false;
}

void signals_no_stop(void)
{
	(void)signal(SIGTSTP, SIG_IGN);
}

void signals_no_pipe(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
}

void signals_hold_writes(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}
