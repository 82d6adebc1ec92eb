/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Every word of the code of arm64 libraries, where there are any (on an arm64 machine, or
 * beside a cross compiler): it must get a slot or be refused for a reason. Says how many
 * of what. More files may be named as arguments.
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
#include <unistd.h>

#include <cmocka.h>

#include "arch/arm64/arm64.h"
#include "engine/base/err.h"
#include "tests/unit/arm64_words.h"

#define N_FORMS   (ARM64_UNKNOWN + 1)
#define N_REASONS 16

struct count {
	unsigned long n, forms[N_FORMS], between;
	struct {
		char text[128];
		unsigned long n;
	} reasons[N_REASONS];
};

static void count_reason(struct count *c, const char *text)
{
	size_t i = 0;

	while (i < N_REASONS - 1 && c->reasons[i].n && strcmp(c->reasons[i].text, text) != 0)
		i++;
	snprintf(c->reasons[i].text, sizeof(c->reasons[i].text), "%s", text);
	c->reasons[i].n++;
}

static void look_at(struct count *c, const uint8_t *code, uint64_t vaddr)
{
	struct displaced_insn insn;
	struct slot_code slot;
	struct ubp_err err;
	const char *why;
	int rc;

	c->n++;
	ubp_err_reset(&err);
	rc = words_arch()->analyze_insn(code, ARM64_INSN, vaddr, &insn, &err);
	if (rc == -EILSEQ) {
		c->forms[ARM64_UNKNOWN]++;
		return;
	}
	c->forms[insn.form]++;
	if (rc < 0) {
		assert_int_equal(rc, -EOPNOTSUPP);
		why = strstr(err.text, "': ");
		assert_non_null(why);
		count_reason(c, why + 3);
		return;
	}
	/* Data may look like a branch to anywhere. */
	rc = words_arch()->build_slot(&insn, vaddr - 0x100000, &slot, &err);
	assert_true(rc == 0 || insn.form == ARM64_B || insn.form == ARM64_BL);
	assert_true(rc < 0 || (slot.len >= 4 && slot.len <= UBP_SLOT_SIZE));
}

static void look_at_section(struct count *c, const uint8_t *code, size_t len, uint64_t vaddr)
{
	for (size_t at = 0; len - at >= ARM64_INSN; at += ARM64_INSN) {
		look_at(c, code + at, vaddr + at);
		c->between += words_arch()->refuse_at(code, len, at) != NULL;
	}
}

static void look_at_file(const char *path, struct count *c)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;

	assert_non_null(elf);
	while ((section = elf_nextscn(elf, section))) {
		const Elf_Data *data;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		data = elf_rawdata(section, NULL);
		if (data)
			look_at_section(c, data->d_buf, data->d_size, header.sh_addr);
	}
	elf_end(elf);
	close(fd);
}

static void print_count(const char *path, const struct count *c)
{
	static const char *const names[N_FORMS] = {
		"copied",
		"nothing",
		"br or ret",
		"b",
		"b if",
		"bl",
		"blr",
		"blraa",
		"adr",
		"ldr literal",
		"ldr literal of vectors",
		"svc",
		"refused",
		"unknown",
	};

	print_message("%s: %lu words:", path, c->n);
	for (size_t i = 0; i < N_FORMS; i++)
		if (c->forms[i])
			print_message(" %lu %s%s", c->forms[i], names[i],
				      i + 1 < N_FORMS ? "," : "");
	print_message("; %lu between exclusives\n", c->between);
	for (size_t i = 0; i < N_REASONS && c->reasons[i].n; i++)
		print_message("  %lu: %s\n", c->reasons[i].n, c->reasons[i].text);
}

static void test_file(void **state)
{
	const char *path = *state;
	struct count c = { .n = 0 };

	look_at_file(path, &c);
	print_count(path, &c);
	assert_true(c.n > 1000 && c.forms[ARM64_COPY] > c.n / 2);
	assert_true(c.forms[ARM64_BL] && c.forms[ARM64_B_IF] && c.forms[ARM64_ADDRESS]);
	/* Most of what there is besides is data among the code of libraries of algorithms. */
	assert_true((c.forms[ARM64_REFUSED] + c.forms[ARM64_UNKNOWN]) * 20 < c.n);
}

int main(int argc, char **argv)
{
	static const char *const paths[] = {
		"/lib/aarch64-linux-gnu/libc.so.6",
		"/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
		"/usr/lib/aarch64-linux-gnu/libcrypto.so.3",
		"/lib/ld-linux-aarch64.so.1",
		"/usr/aarch64-linux-gnu/lib/libc.so.6",
		"/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
	};
	struct CMUnitTest tests[32];
	size_t n = 0;

	elf_version(EV_CURRENT);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) + (size_t)argc - 1; i++) {
		const char *path = i < sizeof(paths) / sizeof(paths[0])
					   ? paths[i]
					   : argv[i + 1 - sizeof(paths) / sizeof(paths[0])];

		if (access(path, R_OK) == 0 && n < sizeof(tests) / sizeof(tests[0]))
			tests[n++] = (struct CMUnitTest){ .name = path,
							  .test_func = test_file,
							  .initial_state = (void *)path };
	}
	if (n == 0) {
		printf("there is no arm64 library here\n");
		return 77;
	}
	return _cmocka_run_group_tests("arm64_libs", tests, n, NULL, NULL);
}
