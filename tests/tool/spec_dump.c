/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Runs definitions through a table, for tests written in Python.
 *
 *   spec_dump [-s]    -s: strict grammar
 *
 * Requests on stdin, "VERB NUMBER\n", for the first three followed by as many bytes:
 *   write N, all N, short N   one write; one write, all or nothing; the short form
 *   clear 0                   start with an empty table
 *   format I                  format text of probe I, with id 0
 * Each is answered by fields "KEY LENGTH\nVALUE\n", the last with key "end".
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/spec/format.h"
#include "engine/spec/table.h"

static int find_file(void *ctx, const char *path, uint64_t *ret_dev, uint64_t *ret_ino,
		     char **ret_path, struct ubp_err *err)
{
	struct stat st;

	(void)ctx;
	(void)ret_path;
	(void)err;
	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_dev = st.st_dev;
	*ret_ino = st.st_ino;
	return 0;
}

static void put_field(const char *key, const char *value, size_t len)
{
	printf("%s %zu\n", key, len);
	fwrite(value, 1, len, stdout);
	putchar('\n');
}

static void put_number(const char *key, long number)
{
	char text[24];

	put_field(key, text, (size_t)snprintf(text, sizeof(text), "%ld", number));
}

static void put_error(const struct ubp_err *err)
{
	put_field("text", err->text, strlen(err->text));
	if (!err->has_caret)
		return;
	put_number("caret", err->caret);
	put_field("command", err->command, strlen(err->command));
}

static void put_listing(const struct spec_table *table)
{
	for (size_t i = 0; i < spec_table_count(table); i++) {
		const struct spec_probe *probe = spec_table_probe(table, i);
		size_t size = (size_t)spec_probe_listing(probe, NULL, 0) + 1;
		char *line = malloc(size);

		if (!line)
			abort();
		spec_probe_listing(probe, line, size);
		put_field("line", line, size - 1);
		free(line);
	}
}

static void put_format(const struct spec_table *table, size_t i)
{
	const struct spec_probe *probe;
	size_t size;
	char *text;

	if (i >= spec_table_count(table))
		return;
	probe = spec_table_probe(table, i);
	size = (size_t)spec_format_text(probe, 0, NULL, 0) + 1;
	text = malloc(size);
	if (!text)
		abort();
	spec_format_text(probe, 0, text, size);
	put_field("format", text, size - 1);
	free(text);
}

static void run_text(struct spec_table *table, const char *verb, const char *text, size_t len)
{
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	if (strcmp(verb, "write") == 0)
		rc = spec_table_write(table, text, len, &err);
	else if (strcmp(verb, "all") == 0)
		rc = spec_table_write_all(table, text, len, &err);
	else
		rc = spec_table_add_short(table, text, &err);
	put_number("rc", rc);
	if (rc < 0)
		put_error(&err);
	put_listing(table);
}

/* Exactly @len bytes, so that a sanitizer sees any read past them. */
static char *read_text(const char *verb, size_t len)
{
	size_t size = len + (strcmp(verb, "short") == 0 ? 1 : 0);
	char *text = malloc(size > 0 ? size : 1);

	if (!text || fread(text, 1, len, stdin) != len)
		abort();
	if (size > len)
		text[len] = '\0';
	return text;
}

static void run(const struct spec_env *env)
{
	struct spec_table *table = spec_table_new(env);
	char verb[16];
	size_t number;

	while (scanf("%15s %zu", verb, &number) == 2 && getchar() == '\n') {
		if (strcmp(verb, "clear") == 0) {
			spec_table_free(table);
			table = spec_table_new(env);
		} else if (strcmp(verb, "format") == 0) {
			put_format(table, number);
		} else {
			char *text = read_text(verb, number);

			run_text(table, verb, text, number);
			free(text);
		}
		put_field("end", "", 0);
		fflush(stdout);
	}
	spec_table_free(table);
}

int main(int argc, char **argv)
{
	struct spec_env env = {
		.arch = ubp_arch_by_name("x86_64"),
		.find_file = find_file,
	};
	int opt;

	while ((opt = getopt(argc, argv, "s")) != -1) {
		if (opt == 's')
			env.strict = true;
		else
			return 2;
	}
	run(&env);
	return 0;
}
