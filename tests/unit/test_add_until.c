/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Who adds a definition may want to end that: while a file does not answer, and while one with
 * millions of symbols is read. The caller gets back; what was left behind goes when it can.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/ubp.h"

static char folder[] = "/tmp/ubp-add-until-XXXXXX";

/* Says that it is there, and answers nothing else. */
static void serve(int fd)
{
	static char buf[FUSE_MIN_READ_BUFFER * 2];
	const struct fuse_in_header *in = (const void *)buf;
	struct {
		struct fuse_out_header head;
		struct fuse_init_out init;
	} out = { .init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 } };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, buf, sizeof(buf)) > 0) {
		if (in->opcode != FUSE_INIT)
			continue;
		out.head.len = sizeof(out);
		out.head.unique = in->unique;
		(void)!write(fd, &out, sizeof(out));
	}
	_exit(0);
}

/* Returns the server, or 0: it is not to be had here. */
static pid_t mount_silent(void)
{
	char options[96];
	pid_t pid;
	int fd;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 0;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 0;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd,
		 getuid(), getgid());
	if (mount("silent", folder, "fuse.silent", MS_NOSUID | MS_NODEV, options) < 0) {
		close(fd);
		return 0;
	}
	pid = fork();
	if (pid == 0)
		serve(fd);
	close(fd);
	return pid;
}

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = -2; /* . and .. */

	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return n;
}

static unsigned n_asked, over_from;

static bool is_over(void *ctx)
{
	(void)ctx;
	return ++n_asked >= over_from;
}

static struct ubp_until now = { .is_over = is_over };

static void begin(struct ubp_session **session, unsigned from)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_err err;

	options.until = &now;
	over_from = from;
	options.files_only = true;
	n_asked = 0;
	if (ubp_session_new(&options, session, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_file_does_not_answer(void **state)
{
	pid_t server = mount_silent();
	struct ubp_session *session;
	char definition[96];
	struct ubp_err err;

	(void)state;
	if (!server)
		skip();
	snprintf(definition, sizeof(definition), "p:%s/file:main", folder);
	begin(&session, 1);
	assert_int_equal(ubp_add(session, definition, NULL, &err), -EINTR);
	assert_non_null(strstr(err.text, "ended while 'p:/tmp/ubp-add-until-"));
	assert_int_equal(ubp_add(session, "p:libc:puts", NULL, &err), -EBUSY);
	assert_int_equal(ubp_add_events(session, definition, 1, NULL, &err), -EBUSY);
	assert_int_equal(ubp_add_usdt(session, "libc:*", NULL, &err), -EBUSY);
	assert_int_equal(ubp_start(session, &err), -EBUSY);
	ubp_session_free(session);
	assert_int_equal(count_threads(), 2);
	/* Without its server it answers, with an error. */
	assert_int_equal(kill(server, SIGKILL), 0);
	assert_int_equal(waitpid(server, NULL, 0), server);
	while (count_threads() > 1)
		usleep(1000);
	(void)umount2(folder, MNT_DETACH);
}

static void one_that_answers_is_added(void **state)
{
	struct ubp_session *session;
	char own[] = "p:/proc/self/exe:main";
	struct ubp_err err;

	(void)state;
	begin(&session, UINT32_MAX);
	if (ubp_add(session, own, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(ubp_n_probes(session), 1);
	/* What fails, fails as ever, and nothing is given up for it. */
	assert_int_equal(ubp_add(session, "p:/proc/self/exe:nothing_is_called_so", NULL, &err), -ENOENT);
	if (ubp_add(session, "p:again /proc/self/exe:main", NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(ubp_n_probes(session), 2);
	ubp_session_free(session);
}

/* One thread for all of them, until the session is freed. */
static void many_are_added(void **state)
{
	struct ubp_session *session;
	struct ubp_err err;
	char text[64];

	(void)state;
	begin(&session, UINT32_MAX);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "p:event%u /proc/self/exe:main", i);
		if (ubp_add(session, text, NULL, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(count_threads(), 2);
	}
	assert_int_equal(ubp_n_probes(session), 200);
	ubp_session_free(session);
	while (count_threads() > 1)
		usleep(1000);
}

static char *told;

static void take_word(void *ctx, const char *text)
{
	(void)ctx;
	free(told);
	told = strdup(text);
}

static void words_are_told_by_the_caller(void **state)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_session *session;
	struct ubp_err err;

	(void)state;
	options.until = &now;
	over_from = UINT32_MAX;
	options.files_only = true;
	options.warn = take_word;
	assert_int_equal(ubp_session_new(&options, &session, &err), 0);
	/* Of all functions some cannot be probed. */
	if (ubp_add(session, "p:libc:*", NULL, &err) < 0)
		fail_msg("%s", err.text);
	ubp_session_free(session);
	assert_non_null(told);
	free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_answers_is_added),
		cmocka_unit_test(many_are_added),
		cmocka_unit_test(words_are_told_by_the_caller),
		cmocka_unit_test(a_file_does_not_answer),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	now.fd = eventfd(1, EFD_CLOEXEC);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(folder);
	return failed;
}
