/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* All that a descriptor has. */

#ifndef UBP_CLI_COMMON_READ_FD_H
#define UBP_CLI_COMMON_READ_FD_H

#include <stddef.h>

/* Up to its end, in memory of the caller's, to be freed. 0 or -errno; -EFBIG: it is more than @most bytes. */
int read_fd(int fd, size_t most, char **ret_text, size_t *ret_len);

#endif
