/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: definitions. The first byte chooses the grammar and the way in; what
 * follows is written to a table, in pieces divided by NULs. Whatever is accepted
 * must compile to a fetch program, have a format, and its listing must be accepted
 * once more and come out the same.
 */

#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/fetch/fetch.h"
#include "engine/spec/format.h"
#include "engine/spec/table.h"

enum { STRICT = 1, ALL = 2, SHORT = 4 };

/* A file for each path that begins with a letter, as if in a file system. */
static int find_file(void *ctx, const char *path, uint64_t *ret_dev, uint64_t *ret_ino,
		     char **ret_path, struct ubp_err *err)
{
	const bool *strict = ctx;
	uint64_t hash = 0;

	if (path[0] == '\0' || path[0] == '.')
		return ubp_fail(err, ENOENT, "no such file");
	for (const char *c = path; *c; c++)
		hash = hash * 31 + (uint8_t)*c;
	*ret_dev = 1;
	*ret_ino = hash;
	if (!*strict && !strchr(path, '/') && asprintf(ret_path, "/bin/%s", path) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	return 0;
}

static char *listing_of(const struct spec_probe *probe)
{
	int len = spec_probe_listing(probe, NULL, 0);
	char *line;

	CLAIM(len > 0);
	line = malloc((size_t)len + 1);
	CLAIM(line);
	CLAIM(spec_probe_listing(probe, line, (size_t)len + 1) == len);
	CLAIM(strlen(line) == (size_t)len);
	return line;
}

static void check_program(const struct spec_probe *probe)
{
	struct fetch_program *program = NULL;
	struct ubp_err err;

	ubp_err_reset(&err);
	CLAIM(probe->n_args <= SPEC_ARGS_MAX);
	CLAIM(fetch_compile(probe, &program, &err) == 0);
	free(program);
}

static void check_format(const struct spec_probe *probe)
{
	int len = spec_format_text(probe, 7, NULL, 0);
	char *text;

	CLAIM(len > 0);
	text = malloc((size_t)len + 1);
	CLAIM(text);
	CLAIM(spec_format_text(probe, 7, text, (size_t)len + 1) == len);
	free(text);
}

/* The listing of what a write could define is a definition that makes the same. */
static void check_listing(const struct spec_probe *probe, struct spec_table *again)
{
	char *line = listing_of(probe), *back;
	struct ubp_err err;
	size_t n = spec_table_count(again);

	ubp_err_reset(&err);
	/* Names that the kernel makes up need not be names that it takes; and what is
	 * listed can be longer than what was written. The short form is no line: there
	 * '#' is not the start of a comment. */
	if (!probe->auto_event && strlen(line) < SPEC_LINE_MAX - 1 && !strpbrk(line, "#\n")) {
		if (spec_table_write(again, line, strlen(line), &err) < 0)
			fprintf(stderr, "listed: %s\nrefused: %s\n", line, err.text);
		CLAIM(err.code == 0);
		CLAIM(spec_table_count(again) == n + 1);
		back = listing_of(spec_table_probe(again, n));
		CLAIM(strcmp(line, back) == 0);
		free(back);
	}
	free(line);
}

static void check_table(const struct spec_table *table, const struct spec_env *env)
{
	struct spec_table *again = spec_table_new(env);

	CLAIM(again);
	for (size_t i = 0; i < spec_table_count(table); i++) {
		check_program(spec_table_probe(table, i));
		check_format(spec_table_probe(table, i));
		check_listing(spec_table_probe(table, i), again);
	}
	spec_table_free(again);
}

static void check_error(int rc, const struct ubp_err *err)
{
	CLAIM(rc < 0 && rc == -err->code && err->text[0] != '\0');
	CLAIM(!strchr(err->text, '\n'));
	/* The kernel's may lie behind the text, but not far. */
	if (err->has_caret)
		CLAIM(err->caret <= strlen(err->command) + SPEC_LINE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	unsigned how = (unsigned)fuzz_number(&in, 1);
	bool strict = (how & STRICT) && !(how & SHORT); /* the short form is ours */
	struct spec_env env = { .arch = ubp_arch_by_name("x86_64"),
				.strict = strict,
				.find_file = find_file,
				.ctx = &strict };
	struct spec_table *table = spec_table_new(&env);

	CLAIM(table && env.arch);
	while (in.left > 0) {
		size_t n = spec_table_count(table), len;
		char *text = fuzz_text(&in), *exact;
		struct ubp_err err;
		int rc;

		ubp_err_reset(&err);
		len = strlen(text);
		exact = fuzz_copy(text, len); /* a write has no NUL */
		if (how & SHORT)
			rc = spec_table_add_short(table, text, &err);
		else if (how & ALL)
			rc = spec_table_write_all(table, exact, len, &err);
		else
			rc = spec_table_write(table, exact, len, &err);
		if (rc < 0)
			check_error(rc, &err);
		if (rc < 0 && how & (SHORT | ALL))
			CLAIM(spec_table_count(table) == n);
		free(exact);
		free(text);
	}
	check_table(table, &env);
	spec_table_free(table);
	return 0;
}
