/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: variables of debug information. The input is two texts (a variable, a type) and an ELF
 * file, which is not to be trusted: whatever it says, there is an answer or an error,
 * soon.
 */

#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/dwarf/dwarf.h"
#include "engine/elf/object.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/match.h"

#define PLACES_MAX 6
#define NAMES_MAX  12

struct asking {
	struct dwarf *d;
	const struct dwarf_place *place;
	const char *names[NAMES_MAX];
	size_t n, seen;
};

static void check_error(int rc, const struct ubp_err *err)
{
	if (rc < 0)
		CLAIM(rc == -err->code && err->text[0] != '\0');
}

static void ask(struct asking *a, const char *text, const char *type)
{
	struct dwarf_value value;
	struct ubp_err err;
	size_t at = 0;
	int rc;

	ubp_err_reset(&err);
	rc = dwarf_value(a->d, a->place, text, strlen(text), type, &value, &at, &err);
	check_error(rc, &err);
	CLAIM(at <= strlen(text));
	if (rc < 0)
		return;
	CLAIM(strnlen(value.expr, sizeof(value.expr)) > 0);
	CLAIM(strnlen(value.type, sizeof(value.type)) > 0);
	CLAIM(strlen(value.expr) + 1 + strlen(value.type) <= 63);
	for (size_t i = 0; value.names && i < value.names->n; i++)
		CLAIM(value.names->v[i].name);
}

static int take(void *ctx, const struct dwarf_variable *v)
{
	struct asking *a = ctx;

	CLAIM(v->name && v->type && strlen(v->type) < 4096);
	CLAIM(v->has_value || v->why_not);
	if (a->n < NAMES_MAX)
		a->names[a->n++] = v->name;
	return ++a->seen > 10000; /* enough */
}

/* What may be written behind and before a name. */
static void ask_forms(struct asking *a, const char *name)
{
	static const char *const forms[] = { "%s",     "*%s",      "&%s",   "**%s",
					     "%s[1]",  "%s[1][2]", "%s->a", "%s->next->next->a",
					     "%s.b.c", "(*%s).u",  "%s.0" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char text[300];

		if (strlen(name) > 200)
			return;
		snprintf(text, sizeof(text), forms[i], name);
		ask(a, text, NULL);
		ask(a, text, i % 2 ? "string" : "u8[8]");
	}
}

static void ask_place(struct dwarf *d, uint64_t elf_vaddr, const char *text, const char *type)
{
	struct dwarf_place place = { .elf_vaddr = elf_vaddr };
	struct asking a = { .d = d, .place = &place };
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = dwarf_each_variable(d, &place, take, &a, &err);
	check_error(rc, &err);
	ask(&a, text, NULL);
	ask(&a, text, type);
	for (size_t i = 0; i < a.n; i++)
		ask_forms(&a, a.names[i]);
}

struct places {
	uint64_t v[PLACES_MAX];
	size_t n;
};

static int take_function(void *ctx, const struct object_symbol *symbol)
{
	struct places *places = ctx;

	if (places->n + 2 > PLACES_MAX)
		return 1;
	places->v[places->n++] = symbol->elf_vaddr;
	places->v[places->n++] = symbol->elf_vaddr + 12;
	return 0;
}

static void ask_all(struct object *object, const char *text, const char *type)
{
	struct places places = { .n = 0 };
	struct dwarf *d = NULL;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = dwarf_open(object, &d, &err);
	check_error(rc, &err);
	if (rc < 0)
		return;
	(void)object_each_wanted(object, NULL, take_function, &places, &err);
	for (size_t i = 0; i < places.n; i++)
		ask_place(d, places.v[i], text, type);
	dwarf_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct fuzz_input in = { data, size };
	char *text = fuzz_text(&in), *type = fuzz_text(&in);
	struct object *object = NULL;
	struct ubp_err err;

	if (fd < 0) {
		fd = memfd_create("elf", MFD_CLOEXEC);
		CLAIM(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	CLAIM(ftruncate(fd, 0) == 0 && pwrite(fd, in.at, in.left, 0) == (ssize_t)in.left);
	ubp_err_reset(&err);
	if (object_open(path, &object, &err) == 0)
		ask_all(object, text, type);
	object_free(object);
	free(type);
	free(text);
	return 0;
}
