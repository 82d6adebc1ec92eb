/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a descriptor of a target stands for: a new memory file of ours is opened, all else is refused, and
 * not opened for that.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/plant/memory_file.h"
#include "tests/unit/temp.h"

static struct ubp_err err;

static int ask(int number, struct memory_file *ret_file)
{
	ubp_err_reset(&err);
	*ret_file = (struct memory_file){ .fd = -1 };
	return memory_file_take(getpid(), (uint64_t)number, "ubp", ret_file, &err);
}

static void refuses(int number, int code, const char *text)
{
	struct memory_file file;

	assert_int_equal(ask(number, &file), code);
	assert_int_equal(file.fd, -1);
	assert_string_equal(err.text, text);
}

static int new_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	return fd;
}

static void test_taken(void **state)
{
	int made = new_file("ubp"), other = new_file("ubp");
	struct memory_file file;
	struct stat st, st_made;

	(void)state;
	assert_int_equal(ask(made, &file), 0);
	assert_int_equal(fstat(made, &st_made), 0);
	assert_int_equal(fstat(file.fd, &st), 0);
	assert_true(st.st_ino == st_made.st_ino && st.st_ino == file.ino);
	assert_true(st.st_dev == st_made.st_dev && st.st_dev == file.dev);
	assert_int_equal(fcntl(file.fd, F_GETFL) & O_ACCMODE, O_RDWR);
	assert_int_equal(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(ftruncate(file.fd, 4096), 0);
	assert_int_equal(fcntl(file.fd, F_ADD_SEALS, F_SEAL_GROW), 0);

	assert_true(memory_file_has(getpid(), (uint64_t)made, &file));
	assert_false(memory_file_has(getpid(), (uint64_t)other, &file));
	assert_true(dup2(other, made) == made);
	assert_false(memory_file_has(getpid(), (uint64_t)made, &file));
	close(made);
	assert_false(memory_file_has(getpid(), (uint64_t)made, &file));
	close(other);
	close(file.fd);
}

static void test_not_new(void **state)
{
	int plain = memfd_create("ubp", MFD_CLOEXEC), longer = new_file("ubp");
	int sealed = new_file("ubp"), named = new_file("ubq"), closed = new_file("ubp");
	int private = new_file("ubp");

	(void)state;
	assert_true(plain >= 0);
	refuses(plain, -EINVAL, "it was sealed");
	assert_int_equal(fcntl(sealed, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	refuses(sealed, -EINVAL, "it was sealed");
	assert_int_equal(ftruncate(longer, 1), 0);
	refuses(longer, -EINVAL, "another file has its number");
	refuses(named, -EINVAL, "another file has its number");
	/* Root's, perhaps, which the target was given for reading alone. */
	assert_int_equal(fchmod(private, 0755), 0);
	refuses(private, -EINVAL, "another file has its number");
	close(closed);
	refuses(closed, -EBADF, "it is closed");
	refuses(-1, -EBADF, "it is closed");
	for (int fd = plain; fd <= private; fd++)
		close(fd);
}

static bool was_opened(int watch)
{
	struct inotify_event event;

	return read(watch, &event, sizeof(event)) > 0;
}

/* @fd: of the file at @path. */
static void refuses_unopened(int fd, const char *path)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(inotify_add_watch(watch, path, IN_OPEN | IN_MODIFY | IN_CLOSE) >= 0);
	refuses(fd, -EINVAL, "another file has its number");
	assert_false(was_opened(watch));
	close(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	assert_true(was_opened(watch)); /* one would see it */
	close(watch);
	close(fd);
}

static void test_others(void **state)
{
	char folder[TEMP_LEN], path[64];
	int pipes[2];

	(void)state;
	temp_folder(folder);
	snprintf(path, sizeof(path), "%s/memfd:ubp", folder);
	refuses_unopened(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666), path);
	refuses_unopened(open(path, O_PATH | O_CLOEXEC), path);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	refuses_unopened(open(path, O_RDWR | O_CLOEXEC), path);
	refuses_unopened(open(path, O_PATH | O_CLOEXEC), path);
	unlink(path);
	rmdir(folder);
	refuses_unopened(open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null");
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	refuses(pipes[1], -EINVAL, "another file has its number");
	close(pipes[0]);
	close(pipes[1]);
}

/* On a tmpfs that is all of a root: its file looks by name, and by all else, like a memory file. */
static int forge(const char *folder)
{
	char path[64];
	int fd;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("ubp", folder, "tmpfs", 0, "mode=755") < 0)
		return 77;
	snprintf(path, sizeof(path), "%s/proc", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(mount("/proc", path, NULL, MS_BIND, NULL), 0);
	assert_int_equal(chroot(folder), 0);
	umask(0);
	fd = open("/memfd:ubp", O_RDWR | O_CREAT | O_CLOEXEC, 0777);
	assert_int_equal(unlink("/memfd:ubp"), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	refuses_unopened(fd, path);
	return 0;
}

static void test_forged(void **state)
{
	char folder[TEMP_LEN];
	int status;
	pid_t pid;

	(void)state;
	temp_folder(folder);
	pid = fork();
	if (pid == 0)
		_exit(forge(folder));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rmdir(folder);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_not_new),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_forged),
	};

	return cmocka_run_group_tests_name("memory_file", tests, NULL, NULL);
}
