/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Memory that is short when a test says so: malloc(), calloc() and realloc() of the whole program, of the libraries in it, too.
 * Defined here and not in a file of their own, which every test would be linked with: included once, by the
 * test itself.
 */

#ifndef TESTS_UNIT_SHORT_MEMORY_H
#define TESTS_UNIT_SHORT_MEMORY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* The test's: is there no memory for @len bytes, which the code at @caller asks for? On any thread. */
static bool allocation_fails(const void *caller, size_t len);

__attribute__((visibility("default"))) void *malloc(size_t len)
{
	static void *(*next)(size_t len);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "malloc");
	return allocation_fails(__builtin_return_address(0), len) ? NULL : next(len);
}

/* @len is one element's: what is asked for by calloc() are structs. */
__attribute__((visibility("default"))) void *calloc(size_t n, size_t len)
{
	static void *(*next)(size_t n, size_t len);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "calloc");
	return allocation_fails(__builtin_return_address(0), len) ? NULL : next(n, len);
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t len)
{
	static void *(*next)(void *old, size_t len);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "realloc");
	return allocation_fails(__builtin_return_address(0), len) ? NULL : next(old, len);
}

#ifdef __SANITIZE_ADDRESS__
/* The loader leaks where a test leaves it without memory. LeakSanitizer knows the loader's by who called malloc(), which is the one above. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:ld-linux\n";
}
#endif

#endif
