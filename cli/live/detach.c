/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/live/detach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/trace_options.h"
#include "cli/live/place.h"
#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"

/* The end by which the parent is told; -1: nobody waits. */
static int parent = -1;

/* Messages go there. */
static bool has_log;

/* Descriptors of who called, but for the standard ones: somebody may wait for the end of a pipe, or for a lock. */
static struct {
	int *v;
	size_t n;
} inherited;

static void find_inherited(void)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		int flags = fcntl(fd, F_GETFD);

		/* Our own are closed by exec, all of them. */
		if (fd > STDERR_FILENO && flags >= 0 && !(flags & FD_CLOEXEC) &&
		    VEC_FIT(inherited.v, inherited.n + 1) == 0)
			inherited.v[inherited.n++] = fd;
	}
	if (folder)
		(void)closedir(folder);
}

/* Those that options named are ours by now. */
static void close_inherited(void)
{
	for (size_t i = 0; i < inherited.n; i++) {
		int flags = fcntl(inherited.v[i], F_GETFD);

		if (flags >= 0 && !(flags & FD_CLOEXEC))
			(void)close(inherited.v[i]);
	}
	free(inherited.v);
	inherited.v = NULL;
	inherited.n = 0;
}

/* It says "done", or ends. */
static int wait_for_child(pid_t pid, int fd)
{
	char byte;
	int status;

	if (again_read(fd, &byte, 1) == 1)
		return CLI_OK;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return CLI_FAILED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool detach_begin(const struct trace_options *o, int *ret_status)
{
	int ends[2];
	pid_t caller, pid;

	*ret_status = CLI_OK;
	if (!o->live.detach)
		return false;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		*ret_status = cli_error("--detach: %s", strerror(errno));
		return true;
	}
	caller = getpid();
	pid = fork();
	if (pid == 0) {
		/* Who is killed meanwhile, by timeout(1) say, wants nothing to go on. */
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != caller)
			_exit(CLI_FAILED);
		(void)close(ends[0]);
		parent = ends[1];
		find_inherited();
		return false;
	}
	(void)close(ends[1]);
	*ret_status = pid < 0 ? cli_error("--detach: %s", strerror(errno))
			      : wait_for_child(pid, ends[0]);
	(void)close(ends[0]);
	return true;
}

static void name_log(char path[PLACE_NAME_MAX + 8], const char *session)
{
	(void)snprintf(path, PLACE_NAME_MAX + 8, ".%s.log", session);
}

static int open_log(const char *session)
{
	char path[PLACE_NAME_MAX + 8];
	struct ubp_err ignored;
	int fd, place;

	ubp_err_reset(&ignored);
	place = place_open(true, &ignored);
	if (place < 0)
		return -1;
	name_log(path, session);
	(void)unlinkat(place, path, 0);
	fd = openat(place, path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	(void)close(place);
	return fd;
}

void detach_done(const struct trace_options *o)
{
	int null, log;

	if (parent < 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, 0);
	(void)setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	log = open_log(o->live.session);
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(log >= 0 ? log : null, STDERR_FILENO);
		(void)close(null);
	}
	has_log = log >= 0;
	if (log >= 0)
		(void)close(log);
	close_inherited();
	(void)again_write(parent, "d", 1);
	(void)close(parent);
	parent = -1;
}

void detach_end(const struct trace_options *o)
{
	char path[PLACE_NAME_MAX + 8];
	struct ubp_err ignored;
	struct stat st;
	int place;

	if (!has_log)
		return;
	if (fstat(STDERR_FILENO, &st) < 0 || st.st_size)
		return;
	ubp_err_reset(&ignored);
	place = place_open(false, &ignored);
	if (place < 0)
		return;
	name_log(path, o->live.session);
	(void)unlinkat(place, path, 0);
	(void)close(place);
}

void detach_print_log(int place, const char *name)
{
	char path[PLACE_NAME_MAX + 8], text[4096];
	ssize_t n;
	int fd;

	name_log(path, name);
	fd = openat(place, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	while ((n = again_read(fd, text, sizeof(text))) > 0)
		(void)fwrite(text, 1, (size_t)n, stderr);
	(void)close(fd);
	(void)unlinkat(place, path, 0);
}
