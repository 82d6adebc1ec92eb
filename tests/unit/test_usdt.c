/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Definitions of static probes: how they are taken apart, and the fetch args that they become. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/define/plain.h"
#include "engine/define/usdt.h"
#include "engine/elf/object.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

/* Parts are joined by blanks, "-" for what is not there. */
static const struct {
	const char *text, *parts;
} heads[] = {
	{ "p:n", "- - - p n" },
	{ "python:gc__start", "- - - python gc__start" },
	{ "  /usr/bin/x:p:n  ", "- - /usr/bin/x p n" },
	{ "/a:b/c:p:n", "- - /a:b/c p n" },
	{ "p:p:n", "- - - p n" },
	{ "p:t:p:n", "- - t p n" },
	{ "p: p:n", "- - - p n" },
	{ "p:al t:p:n", "- al t p n" },
	{ "p:g/al p:n", "g al - p n" },
	{ "p:g.al\tp:n", "g al - p n" },
	{ "p:g/ p:n", "g - - p n" },
	{ "p:a-b/c p:n", "a-b c - p n" },
	{ "p:*[a-z]?", "- - - p *[a-z]?" },
};

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

static void test_heads(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(heads); i++) {
		struct usdt_definition d;
		struct ubp_err err;
		char parts[128];

		ubp_err_reset(&err);
		assert_int_equal(usdt_parse(heads[i].text, &d, &err), 0);
		snprintf(parts, sizeof(parts), "%s %s %s %s %s", or_dash(d.group),
			 or_dash(d.event), or_dash(d.target), d.provider, d.name);
		assert_string_equal(parts, heads[i].parts);
		usdt_definition_free(&d);
	}
}

/* With the note's arguments "-4@%edi 8@-16(%rbp) 2@$7 1@%ah 8f@%xmm0 4@nonsense". */
static const struct {
	const char *args, *filter;
	const char *made; /* or the error ... */
	int caret;        /* ... at this column of .args; -1: none */
} cases[] = {
	{ "", NULL,
	  "arg1=%di:s32 arg2=-16(%bp):u64 arg3=\\7:u16 arg4=%ax:b8@8/16 arg5=%xmm0:f64", -1 },
	{ "arg1", NULL, "arg1=%di:s32", -1 },
	{ "arg2", NULL, "arg2=-16(%bp):u64", -1 },
	{ "arg2:x8", NULL, "arg2=-16(%bp):x8", -1 },
	{ "arg2:string", NULL, "arg2=+0(-16(%bp)):string", -1 },
	{ "arg2:u8[4]", NULL, "arg2=+0(-16(%bp)):u8[4]", -1 },
	{ "arg2:string[2]", NULL, "arg2=+0(-16(%bp)):string[2]", -1 },
	{ "+8(arg2)", NULL, "arg2=+8(-16(%bp))", -1 },
	{ "+0(-8(arg2)):string", NULL, "arg2=+0(-8(-16(%bp))):string", -1 },
	{ "x=arg3 y=arg3:u64", NULL, "x=\\7:u16 y=\\7:u64", -1 },
	{ "arg1 arg1:x16 arg1", NULL, "arg1=%di:s32 arg1_2=%di:x16 arg1_3=%di:s32", -1 },
	{ "$comm arg1 %ax", NULL, "arg2=$comm arg1=%di:s32 arg3=%ax", -1 },
	{ "%ax %bx", NULL, "arg1=%ax arg2=%bx", -1 },
	{ "arg2:b4@2/64 arg1:sb4@2/32", NULL, "arg2=-16(%bp):b4@2/64 arg1=%di:sb4@2/32", -1 },
	{ "arg1", "arg3 == 1 && arg1 != 2 || arg9 & 1", "arg1=%di:s32 arg3=\\7:u16", -1 },
	{ "x=arg1", "x == 1 && y ~ \"arg2\" || 'arg2' == xarg2 || arg2x == arg02", "x=%di:s32",
	  -1 },
	{ "arg7", NULL, "q:n has only 6 arguments", 0 },
	{ "arg0", NULL, "q:n has only 6 arguments", 0 },
	{ "x=arg18446744073709551617", NULL, "q:n has only 6 arguments", 2 },
	{ "arg1 arg6", NULL, "arg6 of q:n, 4@nonsense: ", 5 },
	{ "arg1:string", NULL, "arg1 is no pointer: s32", 0 },
	{ "+8(arg5)", NULL, "arg5 is no pointer: f64", 3 },
	{ "arg1:u64", NULL, "arg1 has 4 bytes, not 8", 5 },
	{ "arg1:sb1@1/64", NULL, "arg1 has 4 bytes, not 8", 5 },
	{ "arg4:x8", NULL, "arg4 can only be taken as it is: b8@8/16", 5 },
	{ "argument", NULL, "'argument' is no argument of a static probe", 0 },
	{ "+0(arg2", NULL, "Dereference brace is not closed", 7 },
	{ "+0(arg2))", NULL, "the argument ends here", 8 },
	{ "arg2)", NULL, "the argument ends here", 4 },
};

static void no_warning(void *ctx, const char *text)
{
	*(const char **)ctx = strstr(text, "4@nonsense") ? "left out" : text;
}

static void check_case(struct object *object, size_t i)
{
	const struct object_note note = {
		.elf_vaddr = object_entry(object),
		.provider = "q",
		.name = "n",
		.args = "-4@%edi 8@-16(%rbp) 2@$7 1@%ah 8f@%xmm0 4@nonsense",
	};
	const char *warning = "nothing";
	struct usdt_definition d;
	struct usdt_args args = { 0 };
	char text[256], made[512] = "";
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	snprintf(text, sizeof(text), "q:n %s", cases[i].args);
	rc = usdt_parse(text, &d, &err);
	if (rc == 0)
		rc = usdt_args(&d, object, &note, cases[i].filter, no_warning, &warning, &args,
			       &err);
	for (size_t k = 0; k < args.n && rc == 0; k++)
		snprintf(made + strlen(made), sizeof(made) - strlen(made), "%s%s=%s",
			 k ? " " : "", args.v[k].name, args.v[k].text);
	if (cases[i].caret < 0) {
		assert_string_equal(rc == 0 ? made : err.text, cases[i].made);
		assert_string_equal(warning, cases[i].args[0] ? "nothing" : "left out");
	} else {
		assert_int_equal(rc, -EINVAL);
		assert_non_null(strstr(err.text, cases[i].made));
		assert_true(err.has_caret);
		assert_int_equal(err.caret, 4 + cases[i].caret);
	}
	usdt_args_free(&args);
	usdt_definition_free(&d);
}

static void test_args(void **state)
{
	struct object *object = NULL;
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	assert_int_equal(object_open("/proc/self/exe", &object, &err), 0);
	/* The operands are of that machine. */
	if (strcmp(object_arch(object)->name, "x86_64") != 0) {
		object_free(object);
		skip();
	}
	for (size_t i = 0; i < N_ELEMS(cases); i++)
		check_case(object, i);
	object_free(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_args),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
