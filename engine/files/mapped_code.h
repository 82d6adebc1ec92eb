/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A mapping of code, and what its file says of itself: enough to know the file again, on another day or machine. */

#ifndef UBP_FILES_MAPPED_CODE_H
#define UBP_FILES_MAPPED_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/files/build_id.h"

struct mapped_code {
	uint64_t start, end;          /* vaddrs */
	uint64_t foffset;             /* of its start in the file */
	const char *path;             /* as /proc/PID/maps shows it */
	bool is_known;                /* the file was there, and says the rest */
	uint64_t elf_vaddr;           /* of its start */
	char build_id[BUILD_ID_TEXT]; /* "": it has none */
};

#endif
