/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Notes of static probes, wherever a file has them, and the symbols of their operands. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/operand.h"
#include "engine/base/err.h"
#include "engine/elf/notes.h"
#include "engine/elf/object.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/operand_symbol.h"
#include "tests/unit/fixture_file.h"

#define FILE_MAX (1 << 20)

static struct ubp_err err;

/* A fixture's bytes, to be changed. 64-bit, in our byte order. */
static uint8_t bytes[FILE_MAX] __attribute__((aligned(16)));
static size_t n_bytes;
static Elf64_Ehdr *const header = (Elf64_Ehdr *)bytes;

static void load(const char *fixture)
{
	FILE *f = fopen(fixture_or_skip(fixture), "rb");

	assert_non_null(f);
	n_bytes = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	assert_in_range(n_bytes, sizeof(*header), sizeof(bytes) - 1);
}

static struct object *open_path(const char *path)
{
	struct object *object = NULL;

	ubp_err_reset(&err);
	if (object_open(path, &object, &err) != 0)
		fail_msg("%s", err.text);
	return object;
}

static struct object *open_bytes(void)
{
	char path[64];
	int fd = memfd_create("notes", MFD_CLOEXEC);
	struct object *object;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n_bytes), (ssize_t)n_bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	object = open_path(path);
	close(fd);
	return object;
}

static Elf64_Shdr *section(const char *name)
{
	Elf64_Shdr *all = (Elf64_Shdr *)(bytes + header->e_shoff);
	const char *names = (const char *)bytes + all[header->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < header->e_shnum; i++)
		if (strcmp(names + all[i].sh_name, name) == 0)
			return &all[i];
	fail_msg("no section %s", name);
	return NULL;
}

static Elf64_Phdr *segment(uint32_t type)
{
	Elf64_Phdr *all = (Elf64_Phdr *)(bytes + header->e_phoff);

	for (unsigned i = 0; i < header->e_phnum; i++)
		if (all[i].p_type == type)
			return &all[i];
	fail_msg("no segment of type %u", type);
	return NULL;
}

/* The notes of an object, one after another. */
static int add_note(void *ctx, const struct object_note *note)
{
	char *all = ctx;
	size_t len = strlen(all);

	snprintf(all + len, 4096 - len, "%s:%s %s\n", note->provider, note->name, note->args);
	return 0;
}

static void check_notes(struct object *object, const char *want)
{
	char all[4096] = "";

	assert_int_equal(object_each_note(object, add_note, all), 0);
	assert_string_equal(all, want);
	object_free(object);
}

#define ONE "fixture:one 8@%rdi\n"

static void test_allocated(void **state)
{
	(void)state;
	load("obj_windows");
	check_notes(open_bytes(), ONE);
	section(".note.stapsdt")->sh_flags |= SHF_ALLOC;
	check_notes(open_bytes(), ONE);
}

/* Without sections there is what is loaded. */
static void test_segments(void **state)
{
	const Elf64_Shdr *notes;
	Elf64_Phdr *to;

	(void)state;
	load("obj_windows");
	notes = section(".note.stapsdt");
	to = segment(PT_NOTE);
	to->p_offset = notes->sh_offset;
	to->p_filesz = to->p_memsz = notes->sh_size;
	to->p_align = 4;
	header->e_shoff = 0;
	header->e_shnum = header->e_shstrndx = 0;
	check_notes(open_bytes(), ONE);
	to->p_filesz = UINT64_C(1) << 32;
	check_notes(open_bytes(), "");
}

/* One thing after another is wrong with the only note. */
static void test_corrupt(void **state)
{
	Elf64_Shdr *notes;
	Elf64_Nhdr *note;

	(void)state;
	load("obj_windows");
	notes = section(".note.stapsdt");
	note = (Elf64_Nhdr *)(bytes + notes->sh_offset);
	note->n_descsz -= 16; /* the last string has no end */
	check_notes(open_bytes(), "");
	note->n_descsz = 20; /* not even three numbers */
	check_notes(open_bytes(), "");
	note->n_descsz = UINT32_MAX;
	check_notes(open_bytes(), "");
	load("obj_windows");
	note->n_namesz = UINT32_MAX - 3;
	check_notes(open_bytes(), "");
	load("obj_windows");
	notes->sh_size = 3;
	check_notes(open_bytes(), "");
	load("obj_windows");
	note->n_type = 4;
	check_notes(open_bytes(), "");
	load("obj_windows");
	memcpy(note + 1, "stapsdT", 8);
	check_notes(open_bytes(), "");
}

/* ---- symbols --------------------------------------------------------------------------- */

static int value_of(struct object *object, const char *text, uint64_t probe, uint64_t *ret)
{
	struct operand operand;
	const char *at = text;

	ubp_err_reset(&err);
	assert_int_equal(operand_parse(EM_X86_64, &at, &operand, &err), 0);
	return object_operand_symbol(object, &operand, probe, ret, &err);
}

static void test_symbols(void **state)
{
	struct object *object = open_path(fixture_path("usdt_forms"));
	const Elf64_Phdr *tls;
	uint64_t value, want;
	size_t size;

	(void)state;
	/* The operands are of that machine. */
	if (strcmp(object_arch(object)->name, "x86_64") != 0) {
		object_free(object);
		skip();
	}
	load("usdt_forms");
	tls = segment(PT_TLS);
	size = (tls->p_memsz + tls->p_align - 1) / tls->p_align * tls->p_align;
	assert_int_equal(object_symbol_value(object, "global_data", &want), 0);
	assert_int_equal(value_of(object, "4@8+global_data(%rip)", 0, &value), 0);
	assert_int_equal(value, want);
	assert_int_equal(object_symbol_value(object, "thread_int", &want), 0);
	assert_int_equal(value_of(object, "4@%fs:thread_int@tpoff", 0, &value), 0);
	assert_int_equal((int64_t)value, (int64_t)want - (int64_t)size);
	assert_int_equal(object_symbol_value(object, "_GLOBAL_OFFSET_TABLE_", &want), 0);
	assert_int_equal(value_of(object, "4@_GLOBAL_OFFSET_TABLE_@GOTOFF(%rbx)", 0, &value),
			 0);
	assert_int_equal(value, 0);
	assert_int_equal(value_of(object, "4@no_such(%rip)", 0, &value), -ENOENT);
	assert_string_equal(err.text, "no symbol no_such");
	/* Only in another file. */
	assert_int_equal(value_of(object, "4@printf(%rip)", 0, &value), -ENOENT);
	object_free(object);
}

/* Where a function of that name and source is. */
static uint64_t function_at(struct object *object, const char *name)
{
	struct object_symbol symbol;

	ubp_err_reset(&err);
	if (object_find_symbol(object, name, &symbol, &err) != 0)
		fail_msg("%s", err.text);
	return symbol.elf_vaddr;
}

/* Which of several of one name is meant. Functions will do: what symbols are is not asked. */
static void test_symbols_of_source(void **state)
{
	static const struct {
		const char *probe, *operand, *meant;
	} cases[] = {
		{ "main", "4@twice(%rip)", "twice@obj_dup.c" },
		{ "call_b", "4@twice(%rip)", "twice@obj_dup_b.inc" },
		{ "call_c", "4@twice(%rip)", "twice@obj_dup_c.inc" },
		{ "twice@obj_dup_c.inc", "4@twice(%rip)", "twice@obj_dup_c.inc" },
		{ "main", "4@both(%rip)", "both@obj_dup.c" },
		{ "call_b", "4@both(%rip)", "both" },
		{ "call_c", "4@both(%rip)", "both" },
	};
	struct object *object = open_path(fixture_path("obj_dup"));

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t probe = function_at(object, cases[i].probe) + 1, value;
		uint64_t want = function_at(object, cases[i].meant);

		if (value_of(object, cases[i].operand, probe, &value) != 0 || value != want)
			fail_msg("%s from %s: %s", cases[i].operand, cases[i].probe, err.text);
	}
	object_free(object);
}

static void test_symbols_refused(void **state)
{
	struct object *object = open_path(fixture_path("obj_dup"));
	uint64_t value;

	(void)state;
	assert_int_equal(value_of(object, "4@twice(%rip)", 0, &value), -EEXIST);
	assert_string_equal(err.text, "several symbols have the name twice");
	assert_int_equal(value_of(object, "4@both(%rip)", 0, &value), -EEXIST);
	assert_int_equal(value_of(object, "4@.LC0(%rip)", 0, &value), -ENOENT);
	assert_string_equal(err.text, "the label .LC0 is in no file");
	assert_int_equal(value_of(object, "4@%fs:main@tpoff", 0, &value), -ENOTSUP);
	assert_string_equal(err.text, "the file has no variables of threads");
	object_free(object);
	object = open_path(fixture_path("obj_stripped"));
	assert_int_equal(value_of(object, "4@no_such(%rip)", 0, &value), -ENOENT);
	assert_string_equal(err.text, "no symbol no_such (the file is stripped)");
	object_free(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocated),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_symbols_of_source),
		cmocka_unit_test(test_symbols_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
