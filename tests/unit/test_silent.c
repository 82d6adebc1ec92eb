/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A FUSE file system is seen however long the name of its folder is; a userfaultfd that is closed counts no more. (Root's
 * alone.)
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/os/silent.h"

/* Folders inside each other, of names that mountinfo spells with four letters for each. */
static void go_down(int depth)
{
	char name[251];

	memset(name, ' ', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < depth; i++) {
		assert_int_equal(mkdir(name, 0755), 0);
		assert_int_equal(chdir(name), 0);
	}
}

/* Nobody serves it. False: that cannot be done here. */
static bool mount_fuse(const char *source)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[80];

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	return fd >= 0 && mount(source, ".", "fuse", 0, options) == 0;
}

/* Changes are seen, too, where the list is kept. */
static struct silent_mounts *mounts;

static void expect(enum silent_why why)
{
	static struct silent_map map;

	assert_int_equal(silent_suspect(getpid()), why);
	assert_int_equal(silent_check(mounts, getpid(), false, &map), why);
}

static void look(int depth, const char *source)
{
	if (chdir("/tmp") < 0 || mount("ubp", "/tmp", "tmpfs", 0, NULL) < 0 ||
	    chdir("/tmp") < 0)
		skip();
	expect(SILENT_NOT);
	go_down(depth);
	if (!mount_fuse(source))
		skip();
	expect(SILENT_SERVED);
	assert_int_equal(umount2(".", MNT_DETACH), 0);
	expect(SILENT_NOT);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(umount2("/tmp", MNT_DETACH), 0);
}

static void long_names_hide_nothing(void **state)
{
	char source[3500];

	(void)state;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    silent_suspect(getpid()) != SILENT_NOT)
		skip();
	memset(source, ' ', sizeof(source) - 1);
	source[sizeof(source) - 1] = '\0';
	mounts = silent_mounts_new();
	assert_non_null(mounts);
	look(0, "short");
	/* The line goes on behind the type. */
	look(10, source);
	/* It is over before the type. */
	look(40, "short");
	look(80, "short");
	silent_mounts_free(mounts);
}

#define SLAB "/sys/kernel/slab/userfaultfd_ctx_cache/"

/* As the kernel tells it, once it has been asked to count anew; -1: it does not. */
static int count_userfaultfds(bool anew)
{
	int fd = anew ? open(SLAB "shrink", O_WRONLY) : -1, count = -1;
	FILE *f;

	if (anew && (fd < 0 || write(fd, "1", 1) != 1 || close(fd) < 0))
		return -1;
	f = fopen(SLAB "objects", "r");
	if (!f || fscanf(f, "%d", &count) != 1)
		count = -1;
	if (f)
		fclose(f);
	return count;
}

static void a_closed_one_counts_no_more(void **state)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	(void)state;
	if (fd < 0 || close(fd) < 0 || count_userfaultfds(false) <= 0)
		skip(); /* it tells nothing, or counts them well */
	/* The first look asks for it; but another process may have one. */
	assert_true(!silent_may_wait(getpid()) || count_userfaultfds(true) != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_closed_one_counts_no_more),
					    cmocka_unit_test(long_names_hide_nothing) };

	return cmocka_run_group_tests_name("silent", tests, NULL, NULL);
}
