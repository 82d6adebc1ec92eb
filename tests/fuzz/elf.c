/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: ELF files. The input is one. Either it is refused with an error, or all
 * that can be asked of it is asked: symbols, versions, unwinding tables, slots of
 * IFUNCs, boundaries of instructions, caves, files beside it.
 */

#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/code/boundary.h"
#include "engine/code/coverage.h"
#include "engine/elf/header.h"
#include "engine/elf/ifunc_slots.h"
#include "engine/elf/object.h"
#include "engine/elf/properties.h"
#include "engine/elf/segments.h"
#include "engine/files/debug.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/match.h"

#define NAMES_MAX 16

/* The first names there are, to look them up again. */
struct names {
	char *name[NAMES_MAX];
	size_t n, seen;
};

static void check_error(int rc, const struct ubp_err *err)
{
	if (rc < 0)
		CLAIM(rc == -err->code && err->text[0] != '\0' && !strchr(err->text, '\n'));
}

static void check_symbol(struct object *object, const struct object_symbol *symbol)
{
	uint64_t elf_vaddr;

	CLAIM(symbol->foffset < object_size(object) ||
	      object_foffset_to_vaddr(object, symbol->foffset, &elf_vaddr) == 0);
	if (symbol->name)
		(void)strlen(symbol->name);
	if (symbol->version)
		(void)strlen(symbol->version);
}

static int take_name(void *ctx, const struct object_symbol *symbol)
{
	struct names *names = ctx;

	names->seen++;
	CLAIM(symbol->name);
	if (names->n < NAMES_MAX) {
		names->name[names->n] = strdup(symbol->name);
		CLAIM(names->name[names->n]);
		names->n++;
	}
	return 0;
}

static void ask_name(struct object *object, const char *name)
{
	struct object_symbol symbol;
	uint64_t slots[2], value;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = object_find_symbol(object, name, &symbol, &err);
	check_error(rc, &err);
	if (rc == 0) {
		check_symbol(object, &symbol);
		(void)object_ifunc_slots(object, name, symbol.elf_vaddr, slots, 2);
	}
	(void)object_symbol_value(object, name, &value);
}

static void ask_place(struct object *object, uint64_t foffset)
{
	struct object_symbol symbol;
	uint64_t start = 0;

	if (object_function_at(object, foffset, &symbol) == 0)
		check_symbol(object, &symbol);
	if (object_check_boundary(object, foffset, &start) == BOUNDARY_INSIDE)
		CLAIM(start < foffset || object_is_executable(object, start));
}

static void ask_names(struct object *object)
{
	static const struct object_wanted wanted[] = {
		{ .text = "*f*" },
		{ .text = "f", .is_name = true },
		{ .text = "f@a.c", .is_name = true },
		{ .text = "f@*", .is_name = true },
		{ .text = "ns::f(int)", .is_name = true },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct object_symbol *v = NULL;
		struct ubp_err err;
		size_t n = 0;

		ubp_err_reset(&err);
		check_error(object_match_functions(object, &wanted[i], &v, &n, &err), &err);
		for (size_t k = 0; k < n; k++)
			check_symbol(object, &v[k]);
		free(v);
	}
}

/* That there is any, and that it belongs to the object; who reads it has a fuzzer of his own. */
static void ask_dwarf(struct object *object)
{
	struct ubp_err err;
	int64_t bias;
	Dwarf *dwarf;

	ubp_err_reset(&err);
	check_error(object_check_symbols(object, &err), &err);
	ubp_err_reset(&err);
	check_error(object_dwarf(object, &dwarf, &bias, &err), &err);
}

static void ask_all(struct object *object)
{
	static const char *const some[] = { "main", "f@V", "f@@V", "@", "_dl_debug_state" };
	struct names names = { .n = 0 };
	struct object_coverage coverage;
	uint64_t vaddr, len;
	struct ubp_err err;

	ubp_err_reset(&err);
	check_error(object_each_wanted(object, NULL, take_name, &names, &err), &err);
	for (size_t i = 0; i < names.n; i++) {
		ask_name(object, names.name[i]);
		free(names.name[i]);
	}
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		ask_name(object, some[i]);
	for (uint64_t at = 0; at < object_size(object); at += object_size(object) / 61 + 1)
		ask_place(object, at);
	if (object_vaddr_to_foffset(object, object_entry(object), &vaddr) == 0)
		ask_place(object, vaddr);
	ask_place(object, UINT64_MAX);
	if (object_find_bytes_slack(object, 16, &vaddr, &len) == 0)
		CLAIM(vaddr % 16 == 0 && len >= 16 && len <= 4096);
	for (size_t i = 0; object_needed(object, i); i++)
		;
	(void)object_is_go(object);
	(void)object_is_pie(object);
	(void)object_interp(object);
	(void)object_soname(object);
	ask_names(object);
	ask_dwarf(object);
	ubp_err_reset(&err);
	check_error(object_coverage(object, object_size(object) < 65536, &coverage, &err),
		    &err);
}

static void write_input(int fd, const uint8_t *data, size_t size)
{
	CLAIM(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1, copy;
	static char path[64], path_of_copy[64];
	struct object *object = NULL;
	struct elf_ident ident;
	struct ubp_err err;
	int rc;

	if (fd < 0) {
		fd = memfd_create("elf", MFD_CLOEXEC);
		copy = memfd_create("debug", MFD_CLOEXEC);
		CLAIM(fd >= 0 && copy >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		snprintf(path_of_copy, sizeof(path_of_copy), "/proc/self/fd/%d", copy);
	}
	write_input(fd, data, size);
	write_input(copy, data, size);
	(void)header_peek(path, &ident);
	ubp_err_reset(&err);
	rc = object_open(path, &object, &err);
	check_error(rc, &err);
	/* It belongs to itself: once with symbols given, once with what it has. */
	if (rc == 0 && size % 2)
		object_set_debug(object,
				 &(struct object_debug_options){ .symbols = path_of_copy });
	if (rc == 0)
		ask_all(object);
	object_free(object);
	return 0;
}
