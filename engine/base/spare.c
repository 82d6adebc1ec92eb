/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void close_first(struct spare *spare, int n)
{
	while (n-- > 0)
		(void)close(spare->fds[n]);
}

bool spare_keep(struct spare *spare)
{
	for (int i = 0; !spare->is_kept && i < SPARE_N; i++) {
		spare->fds[i] = open("/", O_PATH | O_CLOEXEC);
		if (spare->fds[i] < 0) {
			int error = errno;

			close_first(spare, i);
			errno = error;
			return false;
		}
	}
	spare->is_kept = true;
	return true;
}

void spare_use(struct spare *spare)
{
	if (spare->is_kept)
		close_first(spare, SPARE_N);
	spare->is_kept = false;
}
