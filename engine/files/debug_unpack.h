/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* .gnu_debugdata: an ELF file with the names of functions, packed by xz. */

#ifndef UBP_FILES_DEBUG_UNPACK_H
#define UBP_FILES_DEBUG_UNPACK_H

#include <stddef.h>

/*
 * Decompress xz. *ret_image is malloc()ed. Returns 0; -EBADMSG: corrupt; -EFBIG: too much comes
 * out of it; -ENOMEM; -EINTR: cancelled.
 */
int debug_unpack(const void *bytes, size_t len, void **ret_image, size_t *ret_len);

#endif
