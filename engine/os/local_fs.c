/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/os/local_fs.h"

#include <stdint.h>
#include <string.h>
#include <sys/vfs.h>

#define OVERLAY 0x794c7630
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* The name in mountinfo, and what statfs() says (linux/magic.h, and the file systems' own headers). */
static const struct {
	const char *type;
	uint32_t magic; /* 0: that of another line */
} kinds[] = {
	/* on disks */
	{ "ext4", 0xef53 },
	{ "ext3", 0 },
	{ "ext2", 0 },
	{ "xfs", 0x58465342 },
	{ "btrfs", 0x9123683e },
	{ "f2fs", 0xf2f52010 },
	{ "bcachefs", 0xca451a4e },
	{ "zfs", 0x2fc12fc1 },
	{ "jfs", 0x3153464a },
	{ "reiserfs", 0x52654973 },
	{ "nilfs2", 0x3434 },
	{ "minix", 0x2478 },
	{ "vfat", 0x4d44 },
	{ "exfat", 0x2011bab0 },
	{ "ntfs3", 0x7366746e },
	{ "udf", 0x15013346 },
	{ "iso9660", 0x9660 },
	{ "squashfs", 0x73717368 },
	{ "erofs", 0xe0f5e1e2 },
	{ "cramfs", 0x28cd3d45 },
	{ "romfs", 0x7275 },
	{ "ubifs", 0x24051905 },
	{ "jffs2", 0x72b6 },
	/* in memory */
	{ "tmpfs", 0x01021994 },
	{ "devtmpfs", 0 },
	{ "ramfs", 0x858458f6 },
	{ "rootfs", 0 },
	{ "hugetlbfs", 0x958458f6 },
	/* of other file systems' files */
	{ "overlay", OVERLAY },
	/* of the kernel's own words */
	{ "proc", 0x9fa0 },
	{ "sysfs", 0x62656572 },
	{ "devpts", 0x1cd1 },
	{ "cgroup", 0x27e0eb },
	{ "cgroup2", 0x63677270 },
	{ "tracefs", 0x74726163 },
	{ "debugfs", 0x64626720 },
	{ "securityfs", 0x73636673 },
	{ "bpf", 0xcafe4a11 },
	{ "pstore", 0x6165676c },
	{ "mqueue", 0x19800202 },
	{ "configfs", 0x62656570 },
	{ "efivarfs", 0xde5e81e4 },
	{ "binfmt_misc", 0x42494e4d },
	{ "fusectl", 0x65735543 },
	{ "nsfs", 0x6e736673 },
};

bool local_fs_has_type(const char *type, size_t len)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (strlen(kinds[i].type) == len && memcmp(kinds[i].type, type, len) == 0)
			return true;
	return false;
}

bool local_fs_is_overlay(int fd)
{
	struct statfs st;

	return fstatfs(fd, &st) == 0 && (uint32_t)st.f_type == OVERLAY;
}

bool local_fs_has_file(int fd)
{
	struct statfs st;

	if (fstatfs(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i].magic && kinds[i].magic == (uint32_t)st.f_type)
			return true;
	return false;
}
