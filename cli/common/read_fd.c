/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/read_fd.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST 4096

int read_fd(int fd, size_t most, char **ret_text, size_t *ret_len)
{
	size_t len = 0, cap = 0;
	char *text = NULL;
	int rc = 0;

	for (;;) {
		ssize_t n;

		if (len == cap) {
			char *more;

			cap = cap ? 2 * cap : FIRST;
			more = cap <= most ? realloc(text, cap) : NULL;
			if (!more) {
				rc = cap <= most ? -ENOMEM : -EFBIG;
				break;
			}
			text = more;
		}
		n = read(fd, text + len, cap - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = -errno;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (rc < 0) {
		free(text);
		return rc;
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}
