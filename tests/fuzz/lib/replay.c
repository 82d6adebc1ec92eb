/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a fuzzer is linked with where it is not to look for new inputs: it runs each FILE that is given, once. */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the fuzzer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT_S 20 /* for one input */

static void fail(const char *path)
{
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	exit(1);
}

/* To the byte, so that AddressSanitizer sees one read too far. */
static uint8_t *read_all(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;
	long len;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (len = ftell(file)) < 0 ||
	    fseek(file, 0, SEEK_SET) != 0)
		fail(path);
	bytes = malloc(len ? (size_t)len : 1);
	if (!bytes || fread(bytes, 1, (size_t)len, file) != (size_t)len)
		fail(path);
	(void)fclose(file);
	*ret_len = (size_t)len;
	return bytes;
}

static void run(const char *path)
{
	size_t len;
	uint8_t *bytes = read_all(path, &len);

	(void)alarm(LIMIT_S);
	(void)LLVMFuzzerTestOneInput(bytes, len);
	(void)alarm(0);
	free(bytes);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		/* The last line tells which input it was, if it does not come back. */
		printf("%s\n", argv[i]);
		(void)fflush(stdout);
		run(argv[i]);
	}
	return 0;
}
