/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * notes_dump FILE: its static probes, a line for each: provider, name, address, semaphore
 * (hex), arguments as they stand there.
 * notes_dump GROUP FILE: as definitions of the kernel's, NAME_N for the N-th note, with arg1,
 * arg2... An argument that cannot be told is left out, with the reason on stderr.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/operand.h"
#include "engine/base/err.h"
#include "engine/object/notes.h"
#include "engine/object/object.h"
#include "engine/object/operand.h"
#include "engine/spec/operand_text.h"

struct dump {
	struct object *object;
	const char *group;
	uint16_t machine;
	unsigned n;
};

static void fail(const char *what)
{
	fprintf(stderr, "notes_dump: %s\n", what);
	exit(1);
}

static int print_note(void *ctx, const struct object_note *note)
{
	(void)ctx;
	printf("%s\t%s\t%" PRIx64 "\t%" PRIx64 "\t%s\n", note->provider, note->name,
	       note->elf_vaddr, note->semaphore, note->args);
	return 0;
}

static int make_text(const struct dump *dump, const struct object_note *note, const char **at,
		     struct operand_text *ret, struct ubp_err *err)
{
	struct operand_context context = {
		.probe_vaddr = note->elf_vaddr,
		.is_fixed = !object_is_pie(dump->object),
	};
	const char *start = *at;
	struct operand operand;
	int rc = operand_parse(dump->machine, at, &operand, err);

	if (rc < 0) {
		*at = start;
		operand_skip(dump->machine, at);
		return rc;
	}
	if (object_vaddr_to_foffset(dump->object, note->elf_vaddr, &context.probe_foffset) < 0)
		fail("a probe outside of all segments");
	if (operand.symbol)
		rc = object_operand_symbol(dump->object, &operand, note->elf_vaddr,
					   &context.symbol, err);
	return rc < 0 ? rc : operand_fetch_text(&operand, &context, ret, err);
}

static int print_definition(void *ctx, const struct object_note *note)
{
	struct dump *dump = ctx;
	const char *at = note->args;
	uint64_t foffset = 0, semaphore;

	(void)object_vaddr_to_foffset(dump->object, note->elf_vaddr, &foffset);
	printf("p:%s/%s_%u %s:0x%" PRIx64, dump->group, note->name, ++dump->n,
	       object_path(dump->object), foffset);
	if (note->semaphore &&
	    object_vaddr_to_foffset(dump->object, note->semaphore, &semaphore) == 0)
		printf("(0x%" PRIx64 ")", semaphore);
	for (unsigned n = 1; *at; n++) {
		const char *start = at;
		struct operand_text text;
		struct ubp_err err;

		ubp_err_reset(&err);
		if (make_text(dump, note, &at, &text, &err) < 0)
			fprintf(stderr, "%s:%s arg%u %.*s: %s\n", note->provider, note->name, n,
				(int)(at - start), start, err.text);
		else
			printf(" arg%u=%s:%s", n, text.value, text.type);
	}
	putchar('\n');
	return 0;
}

/* e_machine, as the file has it. */
static uint16_t machine_of(const struct object *object)
{
	uint8_t bytes[2] = { 0 };

	if (object_read(object, 18, bytes, sizeof(bytes)) != sizeof(bytes))
		fail("no header");
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

int main(int argc, char **argv)
{
	struct dump dump = { .group = argc == 3 ? argv[1] : NULL };
	struct ubp_err err;

	if (argc != 2 && argc != 3)
		fail("usage: notes_dump [GROUP] FILE");
	ubp_err_reset(&err);
	if (object_open(argv[argc - 1], &dump.object, &err) < 0)
		fail(err.text);
	dump.machine = machine_of(dump.object);
	object_each_note(dump.object, dump.group ? print_definition : print_note, &dump);
	object_free(dump.object);
	return 0;
}
