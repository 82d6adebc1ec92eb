/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* arm64 files, as far as their instructions differ from others': made here, on any host. */

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/boundary.h"
#include "engine/code/exits.h"
#include "engine/code/refusals.h"
#include "engine/code/window.h"
#include "engine/elf/object.h"
#include "tests/unit/arm64_words.h"

#define CODE_AT    0x1000 /* in the file, and in memory */
#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

/*
 * f, 0x1000: ldr x0, l; ldr d1, m; cbz x0, 1f; ret; 1: b g; nop
 *            l: two words that look like ret and b; m: another ret, and nothing known
 * g, 0x1028: 1: ldaxr w0, [x1]; cbz w0, h; stxr w2, w0, [x1]; cbnz w2, 1b; adr x3, .-4; ret
 * h, 0x1040: ret
 */
static const char words[] = "580000c0 5c0000e1 b4000040 d65f03c0 14000006 d503201f "
			    "d65f03c0 14000100 d65f03c0 02000000 "
			    "885ffc20 340000a0 88027c20 35ffffa2 10ffffe3 d65f03c0 "
			    "d65f03c0";

static const struct {
	const char *name;
	uint64_t vaddr, size;
} functions[] = { { "f", 0x1000, 0x28 }, { "g", 0x1028, 0x18 }, { "h", 0x1040, 4 } };

struct image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdrs[4]; /* none, code, symbols, names */
	Elf64_Sym syms[1 + N_ELEMS(functions)];
	char names[2 + 2 * N_ELEMS(functions)];
};

static void fill(struct image *m, size_t code_len)
{
	*m = (struct image){
		.ehdr = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			  .e_type = ET_DYN,
			  .e_machine = EM_AARCH64,
			  .e_version = EV_CURRENT,
			  .e_phoff = offsetof(struct image, phdr),
			  .e_shoff = offsetof(struct image, shdrs),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1,
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = N_ELEMS(m->shdrs),
			  .e_shstrndx = 3 },
		.phdr = { .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_filesz = CODE_AT + code_len,
			  .p_memsz = CODE_AT + code_len,
			  .p_align = 0x1000 },
		.shdrs = { [1] = { .sh_type = SHT_PROGBITS,
				   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				   .sh_addr = CODE_AT,
				   .sh_offset = CODE_AT,
				   .sh_size = code_len },
			   [2] = { .sh_type = SHT_SYMTAB,
				   .sh_offset = offsetof(struct image, syms),
				   .sh_size = sizeof(m->syms),
				   .sh_link = 3,
				   .sh_info = 1,
				   .sh_entsize = sizeof(Elf64_Sym) },
			   [3] = { .sh_type = SHT_STRTAB,
				   .sh_offset = offsetof(struct image, names),
				   .sh_size = sizeof(m->names) } },
	};
	for (size_t i = 0; i < N_ELEMS(functions); i++) {
		m->names[1 + 2 * i] = functions[i].name[0];
		m->syms[1 + i] = (Elf64_Sym){ .st_name = (Elf64_Word)(1 + 2 * i),
					      .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					      .st_shndx = 1,
					      .st_value = functions[i].vaddr,
					      .st_size = functions[i].size };
	}
}

static struct object *make(void)
{
	static int fd = -1;
	uint8_t code[128];
	size_t len = words_parse(words, code);
	struct object *object;
	struct ubp_err err;
	struct image image;
	char path[64];

	if (fd >= 0)
		close(fd);
	fd = memfd_create("arm64", MFD_CLOEXEC);
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fill(&image, len);
	assert_int_equal(pwrite(fd, &image, sizeof(image), 0), sizeof(image));
	assert_int_equal(pwrite(fd, code, len, CODE_AT), len);
	ubp_err_reset(&err);
	if (object_open(path, &object, &err) < 0)
		fail_msg("%s", err.text);
	assert_ptr_equal(object_arch(object), words_arch());
	return object;
}

/* Nothing that is data is taken for a way out, whatever it looks like. */
static void test_exits(void **state)
{
	struct object *object = make();
	struct object_exits exits;
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	if (object_find_exits(object, 0x1000, &exits, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(exits.n, 2);
	assert_int_equal(exits.exits[0].foffset, 0x100c);
	assert_int_equal(exits.exits[0].kind, EXIT_RET);
	assert_int_equal(exits.exits[1].foffset, 0x1010);
	assert_int_equal(exits.exits[1].kind, EXIT_JUMP);
	free(exits.exits);
	/* The jump between the exclusives, which would never end with a breakpoint, is none. */
	if (object_find_exits(object, 0x1028, &exits, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(exits.n, 1);
	assert_int_equal(exits.exits[0].foffset, 0x103c);
	free(exits.exits);
	object_free(object);
}

static void test_boundary(void **state)
{
	struct object *object = make();
	uint64_t start;

	(void)state;
	assert_int_equal(object_check_boundary(object, 0x1008, &start), BOUNDARY_OK);
	assert_int_equal(object_check_boundary(object, 0x100a, &start), BOUNDARY_INSIDE);
	assert_int_equal(start, 0x1008);
	object_free(object);
}

static void test_refuse_at(void **state)
{
	struct object *object = make();

	(void)state;
	assert_non_null(object_refuse_at(object, 0x102c));
	assert_null(object_refuse_at(object, 0x1008));
	assert_null(object_refuse_at(object, 0x1034));
	assert_null(object_refuse_at(object, 0x1040));
	assert_null(object_refuse_at(object, 0x5000));
	object_free(object);
}

/* One instruction is all that a jump takes: whoever comes there comes to its start. */
static void test_window(void **state)
{
	static const struct {
		uint64_t foffset;
		int why;
	} all[] = {
		{ 0x1000, WINDOW_OK },   { 0x1004, WINDOW_OK },
		{ 0x100c, WINDOW_OK },   { 0x1028, WINDOW_INSN }, /* ldaxr */
		{ 0x102c, WINDOW_INSN },                          /* behind it */
		{ 0x1034, WINDOW_OK }, /* its function makes addresses of its own */
		{ 0x1040, WINDOW_OK },   { 0x1046, WINDOW_UNKNOWN },
	};
	struct object *object = make();

	(void)state;
	for (size_t i = 0; i < N_ELEMS(all); i++) {
		struct window window;
		struct ubp_err err;
		int rc;

		ubp_err_reset(&err);
		rc = object_window(object, all[i].foffset, &window, &err);
		if ((rc == 0) != (all[i].why == WINDOW_OK) || window.why != all[i].why)
			fail_msg("0x%lx: %d %s", (unsigned long)all[i].foffset, window.why,
				 err.text);
	}
	object_free(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_boundary),
		cmocka_unit_test(test_refuse_at),
		cmocka_unit_test(test_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
