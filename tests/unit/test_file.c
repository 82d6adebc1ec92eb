/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Paths in another root: what openat2() finds and what is found without it are the same, and neither leads
 * out while somebody renames.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/os/untrusted_file.h"
#include "tests/unit/temp.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static char tree[TEMP_LEN];

static void shell(const char *command)
{
	char text[2048];

	snprintf(text, sizeof(text), "cd %s && %s", tree, command);
	assert_int_equal(system(text), 0);
}

static int make_tree(void **state)
{
	(void)state;
	temp_folder(tree);
	shell("mkdir -p root/a/b root/etc out && echo in > root/etc/passwd && echo out > "
	      "out/etc && echo b > root/a/b/file && "
	      "ln -s /etc/passwd root/absolute && ln -s ../../../../../../etc/passwd root/a/up "
	      "&& "
	      "ln -s b root/a/link && ln -s loop root/loop && ln -s /a/link root/folder && "
	      "ln -s ../../out root/a/b/away && ln -s nothing root/dangling && ln -s . "
	      "root/here");
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	shell("rm -r ../\"${PWD##*/}\"");
	return 0;
}

static int open_root(void)
{
	char path[64];
	int root;

	snprintf(path, sizeof(path), "%s/root", tree);
	root = open(path, O_PATH | O_DIRECTORY);
	assert_true(root >= 0);
	return root;
}

/* What it is: device and number, or a negative errno. */
static uint64_t what(int fd)
{
	struct stat st;
	uint64_t id;

	if (fd < 0)
		return (uint64_t)(int64_t)fd;
	assert_int_equal(fstat(fd, &st), 0);
	id = (uint64_t)st.st_dev << 40 ^ st.st_ino;
	close(fd);
	return id;
}

static uint64_t by_kernel(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH, .resolve = RESOLVE_IN_ROOT };
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return what(fd < 0 ? -errno : fd);
}

static void is_as_the_kernel_finds_it(void **state)
{
	static const char *const paths[] = {
		"/etc/passwd",
		"etc//./passwd",
		"/absolute",
		"/a/up",
		"/a/link/file",
		"/folder/file",
		"/folder/../../etc/passwd",
		"/../../../../etc/passwd",
		"/a/b/away",
		"/a/b/away/etc",
		"/loop",
		"/dangling",
		"/none",
		"/etc/passwd/x",
		"/here/here/here/a/../etc/passwd",
		"/a/b/../../etc/../a/link",
		"/",
		"..",
	};
	int root = open_root();

	(void)state;
	if (by_kernel(root, "/") == (uint64_t)-ENOSYS)
		skip();
	for (size_t i = 0; i < N_ELEMS(paths); i++)
		if (what(file_walk(root, paths[i])) != by_kernel(root, paths[i]))
			fail_msg("%s is another", paths[i]);
	close(root);
}

static atomic_bool done;

/* A folder of the root, moved out of it and back. */
static void *move(void *arg)
{
	char in[64], out[64];

	(void)arg;
	snprintf(in, sizeof(in), "%s/root/a/b", tree);
	snprintf(out, sizeof(out), "%s/out/b", tree);
	while (!done) {
		(void)!rename(in, out);
		(void)!rename(out, in);
	}
	return NULL;
}

static void never_leads_out(void **state)
{
	int root = open_root();
	char outside[64];
	pthread_t mover;
	uint64_t out, in, found;
	struct stat st;

	(void)state;
	snprintf(outside, sizeof(outside), "%s/out/etc", tree);
	out = what(open(outside, O_PATH));
	in = what(file_walk(root, "/etc"));
	assert_int_equal(pthread_create(&mover, NULL, move, NULL), 0);
	for (unsigned i = 0; i < 20000; i++) {
		found = what(file_walk(root, "/a/b/../../etc"));
		if (found != in && found != (uint64_t)-ENOENT)
			break;
		found = what(file_walk(root, "/a/b/../etc"));
		if (found == out || found != (uint64_t)-ENOENT)
			break;
	}
	done = true;
	pthread_join(mover, NULL);
	assert_true(found == in || found == (uint64_t)-ENOENT);
	assert_int_equal(file_stat("/proc/self/root/etc", &st), 0);
	close(root);
}

/* Links of /proc/PID/root itself. */
static void looks_in_the_root_of_a_process(void **state)
{
	struct stat st, other;
	char path[96];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/root%s/root/a/b/file", (int)getpid(), tree);
	fd = file_open(path, &st);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &other), 0);
	assert_int_equal(st.st_ino, other.st_ino);
	close(fd);
	snprintf(path, sizeof(path), "/proc/%d/root%s/root/a", (int)getpid(), tree);
	assert_int_equal(file_open(path, &st), -EINVAL);
	assert_int_equal(file_stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	snprintf(path, sizeof(path), "/proc/%d/root/dev/null", (int)getpid());
	assert_int_equal(file_open(path, &st), -EINVAL);
	assert_int_equal(file_stat("/proc/1073741824/root/etc", &st), -ENOENT);
}

static void reads_a_link_there(void **state)
{
	char path[96], text[32];
	uint64_t dev, ino;
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/root%s/root/folder", (int)getpid(), tree);
	assert_int_equal(file_readlink(path, text, sizeof(text)), 0);
	assert_string_equal(text, "/a/link");
	assert_int_equal(file_readlink(path, text, strlen("/a/link")), -ENAMETOOLONG);
	snprintf(path, sizeof(path), "/proc/%d/root%s/root/a", (int)getpid(), tree);
	assert_int_equal(file_readlink(path, text, sizeof(text)), -EINVAL);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)getpid());
	assert_int_equal(file_identity(path, &dev, &ino), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(dev == st.st_dev && ino == st.st_ino);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_as_the_kernel_finds_it),
		cmocka_unit_test(never_leads_out),
		cmocka_unit_test(looks_in_the_root_of_a_process),
		cmocka_unit_test(reads_a_link_there),
	};

	return cmocka_run_group_tests_name("file", tests, make_tree, remove_tree);
}
