/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/libs.h"

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

#include "engine/base/err.h"

#define N_REASONS 16

static const struct libs *libs;
static const struct ubp_arch *arch;

struct count {
	unsigned long n, forms[LIBS_FORMS], between, longer, nameless;
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
	rc = arch->insn.analyze(code, len, vaddr, &insn, &err);
	if (rc == -EILSEQ) {
		c->forms[libs->unknown]++;
		return libs->min_len;
	}
	c->forms[insn.form]++;
	c->longer += insn.len > libs->min_len;
	c->nameless += strncmp(arch->insn.text(&insn).s, "(nameless)", 10) == 0;
	if (rc < 0) {
		assert_int_equal(rc, -EOPNOTSUPP);
		why = strstr(err.text, "': ");
		assert_non_null(why);
		count_reason(c, why + 3);
		return insn.len;
	}
	/* Data may look like a branch to anywhere. */
	rc = arch->slot.build(&insn, (vaddr & ~UINT64_C(63)) - 0x100000, &slot, &err);
	assert_true(rc == 0 || libs->may_be_far(insn.form));
	assert_true(rc < 0 || (slot.len >= 4 && slot.len <= UBP_SLOT_SIZE));
	return insn.len;
}

static void look_at_section(struct count *c, const uint8_t *code, size_t len, uint64_t vaddr)
{
	for (size_t at = 0; len - at >= libs->min_len;) {
		c->between += arch->insn.refuse_at(code, len, at) != NULL;
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
	print_message("%s: %lu instructions:", path, c->n);
	for (size_t i = 0; i < libs->n_forms; i++)
		if (c->forms[i])
			print_message(" %lu %s%s", c->forms[i], libs->forms[i],
				      i + 1 < libs->n_forms ? "," : "");
	print_message("; %lu longer ones, %lu in exclusive pairs, %lu without a name\n",
		      c->longer, c->between, c->nameless);
	for (size_t i = 0; i < N_REASONS && c->reasons[i].n; i++)
		print_message("  %lu: %s\n", c->reasons[i].n, c->reasons[i].text);
}

static void test_file(void **state)
{
	const char *path = *state;
	struct count c = { .n = 0 };

	look_at_file(path, &c);
	print_count(path, &c);
	assert_true(c.n > 1000 && c.forms[libs->copied] > c.n / 2);
	for (size_t i = 0; i < sizeof(libs->usual) / sizeof(libs->usual[0]); i++)
		assert_true(c.forms[libs->usual[i]]);
	/* Most of what there is besides is data among the code of libraries of algorithms. */
	assert_true((c.forms[libs->refused] + c.forms[libs->unknown]) * 20 < c.n);
}

int libs_test(const struct libs *which, int argc, char **argv)
{
	struct CMUnitTest tests[32];
	char name[32];
	size_t n = 0;

	libs = which;
	arch = ubp_arch_by_name(libs->arch);
	elf_version(EV_CURRENT);
	for (size_t i = 0; i < libs->n_paths + (size_t)argc - 1; i++) {
		const char *path =
			i < libs->n_paths ? libs->paths[i] : argv[i + 1 - libs->n_paths];

		if (access(path, R_OK) == 0 && n < sizeof(tests) / sizeof(tests[0]))
			tests[n++] = (struct CMUnitTest){ .name = path,
							  .test_func = test_file,
							  .initial_state = (void *)path };
	}
	if (n == 0) {
		printf("there is no %s library here\n", libs->arch);
		return 77;
	}
	snprintf(name, sizeof(name), "%s_libs", libs->arch);
	return _cmocka_run_group_tests(name, tests, n, NULL, NULL);
}
