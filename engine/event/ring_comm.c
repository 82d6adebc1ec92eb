/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/event/ring_priv.h"

bool ring_comm_read(pid_t tid, char comm[16])
{
	char path[32], buf[16 + 1];
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, buf, sizeof(buf));
	close(fd);
	if (len <= 0)
		return false;
	if (buf[len - 1] == '\n')
		len--;
	if (len > 15)
		len = 15;
	memset(comm, 0, 16);
	memcpy(comm, buf, (size_t)len);
	return true;
}

void ring_comm_tell(const struct ring_space *space, uint32_t slot, const char comm[16])
{
	uint64_t *at = (uint64_t *)(space->region + RING_COMM_AT + slot * 16ULL);
	uint64_t words[2];

	memcpy(words, comm, sizeof(words));
	__atomic_store_n(&at[0], words[0], __ATOMIC_RELAXED);
	__atomic_store_n(&at[1], words[1], __ATOMIC_RELAXED);
}
