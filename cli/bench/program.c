/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/kernel.h"
#include "engine/base/err.h"
#include "engine/ubp.h"

int bench_exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status)
					: WEXITSTATUS(wait_status);
}

/* --- signals ------------------------------------------------------------------------- */

/* Blocked here and read from a descriptor; a command must not inherit that. */
static const int ours[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE, SIGXFSZ };

static void unblock(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sigaddset(&set, ours[i]);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static volatile sig_atomic_t noted;

static void note(int number)
{
	noted = number;
}

/*
 * The session takes the mask of this moment for the command. A signal that comes just
 * now must not end us with probes of the kernel still in place: it is sent once more
 * when all are blocked again.
 */
int bench_run_command(struct ubp_session *session, char *const argv[], struct ubp_err *err)
{
	struct sigaction before[sizeof(ours) / sizeof(ours[0])], sa = { .sa_handler = note };
	sigset_t mask;
	int rc;

	noted = 0;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		(void)sigaction(ours[i], NULL, &before[i]);
		if (before[i].sa_handler == SIG_DFL)
			(void)sigaction(ours[i], &sa, NULL);
	}
	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	unblock();
	rc = ubp_run_command(session, argv, err);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		(void)sigaction(ours[i], &before[i], NULL);
	if (noted)
		(void)kill(getpid(), noted);
	return rc;
}

/* --- the program ----------------------------------------------------------------------- */

static _Noreturn void become(char *const argv[], int gate, int failed)
{
	char go;

	unblock();
	/* No byte but an end: it is not wanted any more. */
	if (read(gate, &go, 1) == 1) {
		(void)execvp(argv[0], argv);
		(void)!write(failed, &errno, sizeof(errno));
	}
	_exit(127);
}

/* The child of bench_program_prepare(). One byte to @failed: it has made itself known. */
static _Noreturn void be_the_child(char *const argv[], int mark, int gate, int failed)
{
	if (mark >= 0 && write(mark, KERNEL_MARK, strlen(KERNEL_MARK)) < 0)
		_exit(127);
	if (write(failed, "m", 1) != 1)
		_exit(127);
	become(argv, gate, failed);
}

int bench_program_prepare(char *const argv[], int mark, struct bench_program *ret_program,
			  struct ubp_err *err)
{
	int gate[2], failed[2];
	char known;

	*ret_program = (struct bench_program){ .pid = -1, .gate = -1, .failed = -1 };
	if (pipe2(gate, O_CLOEXEC) < 0)
		return ubp_fail_sys(err, "pipe");
	ret_program->name = argv[0];
	ret_program->gate = gate[1];
	if (pipe2(failed, O_CLOEXEC) < 0) {
		(void)close(gate[0]);
		return ubp_fail_sys(err, "pipe");
	}
	ret_program->failed = failed[0];
	ret_program->pid = fork();
	if (ret_program->pid == 0) {
		(void)close(gate[1]);
		be_the_child(argv, mark, gate[0], failed[1]);
	}
	(void)close(gate[0]);
	(void)close(failed[1]);
	if (ret_program->pid < 0)
		return ubp_fail_sys(err, "fork");
	if (read(failed[0], &known, 1) != 1)
		return ubp_fail(err, EPROTO, "the command's process has ended too early");
	return 0;
}

int bench_wait_for_process(pid_t pid, int signal_fd, const struct bench_meanwhile *meanwhile,
			   struct ubp_err *err)
{
	int rc, fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 && errno == ESRCH)
		return 0;
	if (fd < 0)
		return ubp_fail_sys(err, "pidfd_open");
	rc = bench_wait(fd, signal_fd, meanwhile, err);
	(void)close(fd);
	return rc;
}

int bench_program_run(struct bench_program *program, int signal_fd,
		      const struct bench_meanwhile *meanwhile, int *ret_status, double *ret_ns,
		      struct ubp_err *err)
{
	uint64_t from = bench_now_ns();
	int rc, status, code;

	if (write(program->gate, "g", 1) != 1)
		return ubp_fail_sys(err, "the command");
	rc = bench_wait_for_process(program->pid, signal_fd, meanwhile, err);
	if (rc < 0)
		return rc;
	*ret_ns = (double)(bench_now_ns() - from);
	if (waitpid(program->pid, &status, 0) != program->pid)
		return ubp_fail_sys(err, "the command");
	program->pid = -1;
	if (read(program->failed, &code, sizeof(code)) == sizeof(code))
		return ubp_fail(err, code, "%s: %s", program->name, strerror(code));
	*ret_status = bench_exit_status(status);
	return 0;
}

void bench_program_end(struct bench_program *program)
{
	if (program->gate >= 0)
		(void)close(program->gate);
	if (program->failed >= 0)
		(void)close(program->failed);
	if (program->pid > 0) {
		(void)kill(program->pid, SIGKILL);
		(void)waitpid(program->pid, NULL, 0);
	}
	*program = (struct bench_program){ .pid = -1, .gate = -1, .failed = -1 };
}
