/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: debug information. The input is an ELF file; what is asked of it are the functions
 * and files of fixtures/source.c, which the first inputs were made from.
 */

#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/elf/object.h"
#include "tests/unit/dwarf_ask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct object *object = NULL;
	struct ubp_err err;
	char path[64];

	CLAIM(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ubp_err_reset(&err);
	if (object_open(path, &object, &err) == 0)
		(void)dwarf_ask(object);
	object_free(object);
	close(fd);
	return 0;
}
