/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Every instruction of every function that libc and bash export: it must decode,
 * and get a slot or be refused for a reason; every function a window for a jump, and
 * its copy, or a reason. Says what that costs.
 */

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"

struct walk {
	const char *path, *arch;
	unsigned long functions, insns, slots, unknown, refused, stopped, pc_relative;
	unsigned long windows, kernel, returns, ends, under, other;
	double len_ns, analyze_ns;
};

static const struct ubp_arch *arch;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void walk_insn(struct walk *w, const uint8_t *code, size_t len, uint64_t vaddr,
		      size_t insn_len)
{
	uint64_t near = vaddr - 0x10000000, far = vaddr + (1ull << 40);
	bool reaches = arch->addr_size == 4; /* from anywhere */
	struct displaced_insn insn;
	struct slot_code slot;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = arch->insn.analyze(code, len, vaddr, &insn, &err);
	if (rc < 0) {
		assert_int_equal(rc, -EOPNOTSUPP);
		assert_int_not_equal(err.text[0], '\0');
		/* Those that end what must not be reached. */
		if (strstr(err.text, "'hlt'") || strstr(err.text, "'int3'")) {
			w->stopped++;
			return;
		}
		w->refused++;
		print_message("  0x%llx %s\n", (unsigned long long)vaddr, err.text);
		return;
	}
	assert_int_equal(insn.len, insn_len);
	if (arch->slot.build(&insn, near, &slot, &err) < 0)
		fail_msg("%s", err.text);
	assert_in_range(slot.len, 1, UBP_SLOT_SIZE);
	rc = arch->slot.build(&insn, far, &slot, &err);
	assert_int_equal(rc, insn.pc_relative && !insn.addr_half && !reaches ? -ERANGE : 0);
	w->slots++;
	w->pc_relative += insn.pc_relative;
}

/* The window at a function's start, where nobody knows what follows the function. */
static void walk_entry(struct walk *w, const uint8_t *code, size_t size, uint64_t vaddr)
{
	uint64_t near = vaddr - 0x10000000;
	struct window_copy copy;
	struct window window;
	struct ubp_err err;
	uint8_t jump[UBP_INSN_MAX];

	ubp_err_reset(&err);
	if (arch->jump.find(code, size, 0, vaddr, &window, &err) < 0) {
		w->kernel += strstr(err.text, "call of the kernel") != NULL;
		w->returns += strstr(err.text, "return to under") != NULL;
		w->ends += strstr(err.text, "a jump takes") != NULL;
		w->under += strstr(err.text, "would be under") != NULL;
		w->other += strstr(err.text, "can't displace") != NULL;
		return;
	}
	assert_in_range(window.len, 1, UBP_WINDOW_MAX); /* fill may follow */
	if (arch->jump.build_copy(&window, near, &copy, &err) < 0 ||
	    arch->jump.build(&window, vaddr, near, jump, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < window.n; i++)
		assert_true(copy.at[i] < copy.at[i + 1] && copy.at[i + 1] <= copy.len);
	w->windows++;
}

static void walk_function(struct walk *w, const uint8_t *code, size_t size, uint64_t vaddr)
{
	w->functions++;
	walk_entry(w, code, size, vaddr);
	for (size_t at = 0; at < size;) {
		int len = arch->insn.len(code + at, size - at, vaddr + at);

		if (len == 0) {
			w->unknown++;
			print_message("  0x%llx unknown: %02x %02x %02x\n",
				      (unsigned long long)vaddr + at, code[at],
				      at + 1 < size ? code[at + 1] : 0,
				      at + 2 < size ? code[at + 2] : 0);
			return;
		}
		w->insns++;
		walk_insn(w, code + at, size - at, vaddr + at, (size_t)len);
		at += (size_t)len;
	}
}

/* The section that holds a function, and where in it. */
static const uint8_t *code_of(Elf *elf, const GElf_Sym *sym)
{
	Elf_Scn *scn = elf_getscn(elf, sym->st_shndx);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Shdr sh;

	if (!data || !data->d_buf || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS ||
	    sym->st_value < sh.sh_addr ||
	    sym->st_value + sym->st_size > sh.sh_addr + data->d_size)
		return NULL;
	return (const uint8_t *)data->d_buf + (sym->st_value - sh.sh_addr);
}

/* What one pass over all functions costs, per instruction. */
static void measure(struct walk *w, Elf *elf, Elf_Data *syms, size_t n)
{
	double t[3];
	unsigned long insns = 0;

	t[0] = now_ns();
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < n; i += 8) {
			const uint8_t *code;
			GElf_Sym sym;

			if (!gelf_getsym(syms, (int)i, &sym) ||
			    GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
			    !(code = code_of(elf, &sym)))
				continue;
			for (size_t at = 0; at < sym.st_size;) {
				size_t left = sym.st_size - at;
				struct displaced_insn insn;
				struct ubp_err err;
				int len;

				if (pass == 0) {
					len = arch->insn.len(code + at, left,
							     sym.st_value + at);
				} else {
					len = arch->insn.analyze(code + at, left,
								 sym.st_value + at, &insn,
								 &err);
					len = len < 0 ? 1 : insn.len;
				}
				at += (size_t)len;
				insns += pass == 0;
			}
		}
		t[pass + 1] = now_ns();
	}
	w->len_ns = (t[1] - t[0]) / (double)insns;
	w->analyze_ns = (t[2] - t[1]) / (double)insns;
}

static void walk_symbols(struct walk *w, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *syms = elf_getdata(scn, NULL);
	size_t n = sh->sh_size / sh->sh_entsize;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *code;
		GElf_Sym sym;

		if (gelf_getsym(syms, (int)i, &sym) && GELF_ST_TYPE(sym.st_info) == STT_FUNC &&
		    sym.st_size && (code = code_of(elf, &sym)))
			walk_function(w, code, sym.st_size, sym.st_value);
	}
	measure(w, elf, syms, n);
}

static void walk_file(struct walk *w)
{
	int fd = open(w->path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	GElf_Ehdr ehdr;
	Elf *elf;

	arch = ubp_arch_by_name(w->arch);
	if (fd < 0)
		skip();
	assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(elf);
	assert_non_null(gelf_getehdr(elf, &ehdr));
	if (ehdr.e_machine != arch->e_machine) {
		elf_end(elf);
		close(fd);
		skip();
	}
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM)
			walk_symbols(w, elf, scn, &sh);
	}
	elf_end(elf);
	close(fd);
	print_message(
		"%s: %lu functions, %lu instructions: %lu slots (%lu pc-relative), %lu hlt or "
		"int3, %lu refused, %lu unknown; insn_len %.0f ns, analyze_insn %.0f ns\n",
		w->path, w->functions, w->insns, w->slots, w->pc_relative, w->stopped,
		w->refused, w->unknown, w->len_ns, w->analyze_ns);
	print_message(
		"%lu windows; %lu without: %lu end too early, %lu for a system call, %lu "
		"for a call, %lu refer to what is under the jump, %lu for an instruction\n",
		w->windows, w->functions - w->windows, w->ends, w->kernel, w->returns, w->under,
		w->other);
	assert_int_equal(w->functions,
			 w->windows + w->ends + w->kernel + w->returns + w->under + w->other);
	assert_true(w->windows * 20 > w->functions * 19);
	assert_true(w->functions > 1000 && w->insns > 100000);
	assert_int_equal(w->insns, w->slots + w->stopped + w->refused);
	/* Below 0.1 %. */
	assert_true((w->refused + w->unknown) * 1000 < w->insns);
}

static void test_libc(void **state)
{
	struct walk w = { .path = "/lib/x86_64-linux-gnu/libc.so.6", .arch = "x86_64" };

	(void)state;
	if (access(w.path, R_OK) < 0)
		w.path = "/lib64/libc.so.6";
	walk_file(&w);
}

static void test_bash(void **state)
{
	struct walk w = { .path = "/bin/bash", .arch = "x86_64" };

	(void)state;
	walk_file(&w);
}

static void test_libc_i386(void **state)
{
	struct walk w = { .path = "/lib32/libc.so.6", .arch = "i386" };

	(void)state;
	walk_file(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_bash),
		cmocka_unit_test(test_libc_i386),
	};

	return cmocka_run_group_tests_name("x86_libs", tests, NULL, NULL);
}
