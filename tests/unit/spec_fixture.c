/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/spec_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/err.h"

static int reg_by_name(const char *name, size_t len)
{
	static const char *const names[] = { "r15",   "r14", "r13", "r12",     "bp", "bx",
					     "r11",   "r10", "r9",  "r8",      "ax", "cx",
					     "dx",    "si",  "di",  "orig_ax", "ip", "cs",
					     "flags", "sp",  "ss" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return (int)i;
	return -1;
}

static int more_reg_by_name(const char *name, size_t len)
{
	if (len == 7 && memcmp(name, "fs_base", len) == 0)
		return 21;
	if (len == 4 && memcmp(name, "xmm", 3) == 0 && name[3] >= '0' && name[3] <= '9')
		return UBP_REG_VECTOR + name[3] - '0';
	return -1;
}

static const struct ubp_arch arch = {
	.name = "x86_64",
	.reg.retval = 10,
	.reg.sp = 19,
	.reg.by_name = reg_by_name,
	.reg.more_by_name = more_reg_by_name,
};

static int find_file(void *ctx, const char *path, uint64_t *ret_dev, uint64_t *ret_ino,
		     char **ret_path, struct ubp_err *err)
{
	(void)ctx;
	if (strcmp(path, "/dir") == 0)
		return -EINVAL;
	if (strcmp(path, "several") == 0)
		return ubp_fail(err, EEXIST, "several libraries are named 'several'");
	if (strcmp(path, "prog") == 0 || strcmp(path, "libc") == 0) {
		*ret_path = malloc(64);
		if (!*ret_path)
			return -ENOMEM;
		strcpy(*ret_path, "/usr/bin/");
		strcat(*ret_path, path);
	} else if (strncmp(path, "/bin/", 5) != 0) {
		return -ENOENT;
	}
	*ret_dev = 1;
	*ret_ino = 0;
	for (const char *s = path; *s; s++)
		*ret_ino = *ret_ino * 31 + (unsigned char)*s;
	return 0;
}

struct spec_env fixture_env(bool strict)
{
	return (struct spec_env){
		.arch = &arch,
		.strict = strict,
		.find_file = find_file,
	};
}

const char *fixture_listing(const struct spec_table *table)
{
	static char text[65536];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < spec_table_count(table) && at < sizeof(text) - 2; i++) {
		if (i > 0)
			text[at++] = '\n';
		at += (size_t)spec_probe_listing(spec_table_probe(table, i), text + at,
						 sizeof(text) - at);
	}
	return text;
}
