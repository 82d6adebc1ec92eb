/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Every instruction of the code of ppc64el libraries, where there are any (on an ppc64el machine, or
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

#include "arch/ppc64el/ppc64el.h"
#include "engine/base/err.h"
#include "tests/unit/ppc64el_words.h"

#define N_FORMS   (PPC64EL_UNKNOWN + 1)
#define N_REASONS 16

struct count {
	unsigned long n, forms[N_FORMS], between, two, nameless;
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

/* Returns how long it is. */
static size_t look_at(struct count *c, const uint8_t *code, size_t len, uint64_t vaddr)
{
	struct displaced_insn insn;
	struct slot_code slot;
	struct ubp_err err;
	const char *why;
	int rc;

	c->n++;
	ubp_err_reset(&err);
	rc = p64_arch()->analyze_insn(code, len, vaddr, &insn, &err);
	if (rc == -EILSEQ) {
		c->forms[PPC64EL_UNKNOWN]++;
		return PPC64EL_INSN;
	}
	c->forms[insn.form]++;
	c->two += insn.len == PPC64EL_PREFIXED;
	c->nameless += strncmp(insn.text, "(nameless)", 10) == 0;
	if (rc < 0) {
		assert_int_equal(rc, -EOPNOTSUPP);
		why = strstr(err.text, "': ");
		assert_non_null(why);
		count_reason(c, why + 3);
		return insn.len;
	}
	/* Data may look like a branch to anywhere. */
	rc = p64_arch()->build_slot(&insn, (vaddr & ~UINT64_C(63)) - 0x100000, &slot, &err);
	assert_true(rc == 0 || insn.form == PPC64EL_B || insn.form == PPC64EL_BL);
	assert_true(rc < 0 || (slot.len >= 4 && slot.len <= UBP_SLOT_SIZE));
	return insn.len;
}

static void look_at_section(struct count *c, const uint8_t *code, size_t len, uint64_t vaddr)
{
	for (size_t at = 0; len - at >= PPC64EL_INSN;) {
		c->between += p64_arch()->refuse_at(code, len, at) != NULL;
		at += look_at(c, code + at, len - at, vaddr + at);
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
		"copied",      "nothing",          "b",       "bl",       "b if",    "bl if",
		"by register", "call by register", "addpcis", "relative", "refused", "unknown",
	};

	print_message("%s: %lu instructions:", path, c->n);
	for (size_t i = 0; i < N_FORMS; i++)
		if (c->forms[i])
			print_message(" %lu %s%s", c->forms[i], names[i],
				      i + 1 < N_FORMS ? "," : "");
	print_message("; %lu of two words, %lu in reservations, %lu without a name\n", c->two,
		      c->between, c->nameless);
	for (size_t i = 0; i < N_REASONS && c->reasons[i].n; i++)
		print_message("  %lu: %s\n", c->reasons[i].n, c->reasons[i].text);
}

static void test_file(void **state)
{
	const char *path = *state;
	struct count c = { .n = 0 };

	look_at_file(path, &c);
	print_count(path, &c);
	assert_true(c.n > 1000 && c.forms[PPC64EL_COPY] > c.n / 2);
	assert_true(c.forms[PPC64EL_BL] && c.forms[PPC64EL_B_IF] && c.forms[PPC64EL_LEAVE]);
	/* Most of what there is besides is data among the code of libraries of algorithms. */
	assert_true((c.forms[PPC64EL_REFUSED] + c.forms[PPC64EL_UNKNOWN]) * 20 < c.n);
}

int main(int argc, char **argv)
{
	static const char *const paths[] = {
		"/lib/powerpc64le-linux-gnu/libc.so.6",
		"/usr/lib/powerpc64le-linux-gnu/libstdc++.so.6",
		"/usr/powerpc64le-linux-gnu/lib/libc.so.6",
		"/usr/powerpc64le-linux-gnu/lib/libm.so.6",
		"/usr/powerpc64le-linux-gnu/lib/libstdc++.so.6",
		"/usr/powerpc64le-linux-gnu/lib/ld64.so.2",
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
		printf("there is no ppc64el library here\n");
		return 77;
	}
	return _cmocka_run_group_tests("ppc64el_libs", tests, n, NULL, NULL);
}
