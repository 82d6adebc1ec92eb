/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of ubp_files.h. */

#include "engine/ubp_files.h"
#include "tests/tool/calls/calls.h"

static struct ubp_target a_target(void)
{
	static const char *const patterns[] = { "*", "step", "no_such*", "[" };
	static const char *const none[] = { NULL }, *const some[] = { "st*", NULL };

	return (struct ubp_target){
		.name = any(3) ? target.program : a_path(),
		.pid = seldom(6) ? a_pid() : 0,
		.pattern = A_TEXT(patterns),
		.exclude = seldom(4)   ? none
			   : seldom(4) ? some
				       : NULL,
		.explain = seldom(4),
		.debug = { .dirs = seldom(4) ? "/no/such:" : NULL,
			   .symbols = seldom(8) ? a_path() : NULL },
	};
}

static int on_function(void *ctx, const char *name, uint64_t offset, const char *explain)
{
	(void)ctx;
	(void)offset;
	look_at_text(name);
	look_at_text(explain);
	return seldom(50);
}

/* Files of all that is mapped are for those who have time. */
static bool is_large(const struct ubp_target *t)
{
	return !t->name && t->pid && any(20);
}

CALL(ubp_list_functions)
{
	struct ubp_target t = a_target();

	if (!is_large(&t))
		(void)is_well(ubp_list_functions(seldom(12) ? NULL : &t,
						 seldom(12) ? NULL : on_function, NULL,
						 &here.err));
}

static int on_library(void *ctx, const char *name, const char *path)
{
	(void)ctx;
	look_at_text(name);
	look_at_text(path);
	return seldom(50);
}

CALL(ubp_list_libraries)
{
	(void)is_well(ubp_list_libraries(seldom(12) ? NULL : on_library, NULL, &here.err));
}

static int on_usdt(void *ctx, const struct ubp_usdt *usdt)
{
	char text[64];

	(void)ctx;
	look_at_text(usdt->args);
	for (size_t i = 0; i <= usdt->n_args; i++)
		(void)ubp_usdt_arg(usdt, i, text, any(sizeof(text) + 1));
	(void)ubp_usdt_arg(usdt, (size_t)a_word(), text, sizeof(text));
	return seldom(50);
}

CALL(ubp_list_usdt)
{
	struct ubp_target t = a_target();

	if (!is_large(&t))
		(void)is_well(ubp_list_usdt(seldom(12) ? NULL : &t, seldom(12) ? NULL : on_usdt,
					    NULL, &here.err));
}

/* By way of a listing, which has what it is asked about: of the C library's. */
CALL(ubp_usdt_arg)
{
	struct ubp_target t = { .name = "libc" };

	(void)is_well(ubp_list_usdt(&t, on_usdt, NULL, &here.err));
}

static int on_line(void *ctx, const char *line)
{
	(void)ctx;
	look_at_text(line);
	return seldom(50);
}

static const char *a_place(void)
{
	static const char *const places[] = { "step",     "main", "step:1", "busy.c:40",
					      "busy.c:0", ":",    "no_such" };

	return A_TEXT(places);
}

CALL(ubp_list_lines)
{
	struct ubp_target t = a_target();

	(void)is_well(ubp_list_lines(seldom(12) ? NULL : &t, a_place(),
				     seldom(12) ? NULL : on_line, NULL, &here.err));
}

CALL(ubp_list_variables)
{
	struct ubp_target t = a_target();

	(void)is_well(ubp_list_variables(seldom(12) ? NULL : &t, a_place(),
					 seldom(12) ? NULL : on_line, NULL, &here.err));
}

CALL(ubp_coverage)
{
	struct ubp_coverage coverage;

	(void)is_well(ubp_coverage(any(2) ? target.program : a_path(), seldom(4), &coverage,
				   &here.err));
}

CALL(ubp_coverage_why)
{
	look_at_text(ubp_coverage_why((unsigned)a_word()));
	look_at_text(ubp_coverage_why(any(16)));
}
