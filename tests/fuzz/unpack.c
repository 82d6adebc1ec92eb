/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: what is packed into an ELF file (.gnu_debugdata), and mangled names. The input is
 * either: names end in NUL bytes.
 */

#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "engine/files/debug_unpack.h"
#include "engine/symbols/demangle.h"

static void ask_unpack(const uint8_t *data, size_t size)
{
	void *image = NULL;
	size_t len = 0;
	int rc = debug_unpack(data, size, &image, &len);

	if (rc < 0) {
		CLAIM(rc == -EBADMSG || rc == -EFBIG || rc == -ENOMEM);
		CLAIM(!image);
		return;
	}
	CLAIM(len <= (1u << 20) + 64 * size);
	free(image);
}

static void ask_name(const char *name)
{
	char *full = demangle(name), *brief = demangle_short(name);

	CLAIM(!brief || full);
	CLAIM(!full || (full[0] != '\0' && strlen(full) <= 65536));
	free(full);
	free(brief);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 2);

	ask_unpack(data, size);
	CLAIM(text);
	memcpy(text, data, size);
	text[size] = text[size + 1] = '\0';
	for (size_t at = 0; at < size; at += strlen(text + at) + 1)
		ask_name(text + at);
	free(text);
	return 0;
}
