/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Which file systems answer by themselves: by name and by number the same. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/os/local_fs.h"

static const struct {
	const char *type;
	bool is_local;
} types[] = {
	{ "ext4", true },        { "tmpfs", true },
	{ "overlay", true },     { "fusectl", true },
	{ "ext", false },        { "fuse", false },
	{ "fuse.sshfs", false }, { "fuseblk", false },
	{ "nfs4", false },       { "9p", false },
	{ "virtiofs", false },   { "", false },
	{ " ", false },          { "a_type_of_more_than_thirty_characters", false },
};

static void types_are_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (local_fs_has_type(types[i].type, strlen(types[i].type)) !=
		    types[i].is_local)
			fail_msg("%s", types[i].type);
}

/* What is mounted at @where now, if it is the file system on this device. */
static void compare(const char *where, unsigned major, unsigned minor, const char *type)
{
	struct stat st;
	int fd = open(where, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_dev == makedev(major, minor) &&
	    local_fs_has_file(fd) != local_fs_has_type(type, strlen(type)))
		fail_msg("%s: %s", where, type);
	(void)close(fd);
}

static void mounts_are_told_alike(void **state)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[8192], where[4096], type[64];
	unsigned major, minor, n = 0;

	(void)state;
	assert_non_null(mounts);
	while (fgets(line, sizeof(line), mounts)) {
		const char *behind = strstr(line, " - ");

		if (!behind || sscanf(behind, " - %63s", type) != 1 ||
		    sscanf(line, "%*d %*d %u:%u %*s %4095s", &major, &minor, where) != 3)
			continue;
		compare(where, major, minor, type);
		n++;
	}
	(void)fclose(mounts);
	assert_true(n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_are_told),
		cmocka_unit_test(mounts_are_told_alike),
	};

	return cmocka_run_group_tests_name("local_fs", tests, NULL, NULL);
}
