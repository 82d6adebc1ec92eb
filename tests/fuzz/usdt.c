/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: definitions of static probes. Three texts, divided by NULs: a definition, the arguments
 * of a note, a filter. What is accepted becomes fetch args without blanks; those that the note
 * alone has made, the parser of definitions takes.
 */

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/table.h"

#include <elf.h>
#include <errno.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/define/plain.h"
#include "engine/define/usdt.h"
#include "engine/elf/object.h"
#include "engine/spec/table.h"

static void check_error(const struct usdt_definition *d, int rc, const struct ubp_err *err)
{
	CLAIM(rc == -err->code && err->text[0] != '\0' && !strchr(err->text, '\n'));
	if (err->has_caret)
		CLAIM(strcmp(err->command, d->text) == 0 && err->caret <= strlen(d->text));
}

static void check_accepted(const struct plain_arg *arg)
{
	static const struct spec_env env = { .find_file = fuzz_find_file };
	struct spec_env with_arch = env;
	struct spec_table *table;
	struct ubp_err err;
	char *line;

	with_arch.arch = ubp_arch_find(EM_X86_64, ELFCLASS64);
	table = spec_table_new(&with_arch);
	CLAIM(table && asprintf(&line, "p:g/e /x:0x10 %s=%s", arg->name, arg->text) > 0);
	ubp_err_reset(&err);
	if (spec_table_write(table, line, strlen(line), &err) < 0) {
		fprintf(stderr, "%s: %s\n", line, err.text);
		CLAIM(false);
	}
	free(line);
	spec_table_free(table);
}

static void no_warning(void *ctx, const char *text)
{
	(void)ctx;
	CLAIM(text[0] != '\0');
}

static void check_args(const struct usdt_definition *d, struct object *object,
		       const char *note_args, const char *filter)
{
	const struct object_note note = {
		.elf_vaddr = object_entry(object),
		.provider = "p",
		.name = "n",
		.args = note_args,
	};
	struct usdt_args args;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = usdt_args(d, object, &note, filter, no_warning, NULL, &args, &err);
	if (rc < 0)
		check_error(d, rc, &err);
	for (size_t i = 0; i < args.n && rc == 0; i++) {
		CLAIM(args.v[i].name && args.v[i].text && args.v[i].col <= strlen(d->text));
		CLAIM(!strpbrk(args.v[i].text, " \t\n"));
		if (d->n_args == 0 && args.n < 10)
			check_accepted(&args.v[i]);
	}
	usdt_args_free(&args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct object *object;
	struct fuzz_input in = { data, size };
	char *text = fuzz_text(&in), *note_args = fuzz_text(&in), *filter = fuzz_text(&in);
	struct usdt_definition d;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	if (!object)
		CLAIM(object_open("/proc/self/exe", &object, &err) == 0);
	rc = usdt_parse(text, &d, &err);
	if (rc < 0 && d.text && err.has_caret)
		check_error(&d, rc, &err);
	/* Others are no notes. */
	for (const char *c = note_args; *c && rc == 0; c++)
		rc = (unsigned char)*c < ' ' || *c == 0x7f;
	if (rc == 0)
		check_args(&d, object, note_args, filter);
	usdt_definition_free(&d);
	free(text);
	free(note_args);
	free(filter);
	return 0;
}
