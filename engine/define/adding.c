/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/adding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/aside.h"
#include "engine/base/err.h"
#include "engine/base/escape.h"
#include "engine/define/add.h"
#include "engine/define/state.h"
#include "engine/define/usdt.h"
#include "engine/dwarf/dwarf.h"

/* What the user is to be told, on the thread of his own. */
struct told {
	struct told *next;
	bool is_warning;
	char text[];
};

/* The thread, and what it was given last. */
struct adding {
	struct aside *aside;
	struct definitions *defs;
	enum adding_kind kind;
	char *text, *filter; /* copies: the caller's may go */
	size_t len;
	struct ubp_err err;
	int rc;
	struct told *told, **last;
	void (*release)(struct definitions *defs);
};

static int add(struct definitions *defs, enum adding_kind kind, const char *text, size_t len,
	       const char *filter, struct ubp_err *err)
{
	switch (kind) {
	case ADD_WORD:
		return add_definition(defs, text, filter, err);
	case ADD_EVENTS:
		return add_events(defs, text, len, filter, err);
	default:
		return usdt_add(defs, text, filter, err);
	}
}

static void forget_last(struct adding *a)
{
	while (a->told) {
		struct told *next = a->told->next;

		free(a->told);
		a->told = next;
	}
	free(a->text);
	free(a->filter);
	a->text = a->filter = NULL;
}

static struct adding *take(struct definitions *defs, enum adding_kind kind, const char *text,
			   size_t len, const char *filter)
{
	struct adding *a = defs->adding;

	if (!a)
		a = defs->adding = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->defs = defs;
	a->kind = kind;
	a->len = len;
	a->last = &a->told;
	a->text = malloc(len + 1);
	a->filter = filter ? strdup(filter) : NULL;
	if (!a->text || (filter && !a->filter)) {
		forget_last(a);
		return NULL;
	}
	memcpy(a->text, text, len);
	a->text[len] = '\0';
	ubp_err_reset(&a->err);
	return a;
}

/* --- what is told meanwhile ------------------------------------------------------------- */

static void keep(struct adding *a, const char *text, bool is_warning)
{
	/* There are names in it that others chose. */
	size_t size = ESCAPE_BYTE_MAX * strlen(text) + 1;
	struct told *told = malloc(sizeof(*told) + size);

	if (!told)
		return;
	told->next = NULL;
	told->is_warning = is_warning;
	escape_line_cut(told->text, size, text);
	*a->last = told;
	a->last = &told->next;
}

static void keep_warning(void *ctx, const char *text)
{
	keep(ctx, text, true);
}

static void keep_word(void *ctx, const char *text)
{
	keep(ctx, text, false);
}

static void tell_all(const struct adding *a, const struct definitions_options *opt)
{
	for (const struct told *told = a->told; told; told = told->next)
		if (told->is_warning && opt->warn)
			opt->warn(opt->warn_ctx, told->text);
		else if (!told->is_warning && opt->tell)
			opt->tell(opt->warn_ctx, told->text);
}

/* --- the thread ------------------------------------------------------------------------- */

static void run_adding(void *arg)
{
	struct adding *a = arg;

	a->rc = add(a->defs, a->kind, a->text, a->len, a->filter, &a->err);
}

static int fail_over(const char *text, struct ubp_err *err)
{
	return ubp_fail(err, EINTR, "ended while '%.200s' was looked up", text);
}

/* With callbacks of its own until it has ended. */
static int add_aside(struct adding *a, struct ubp_err *err)
{
	struct definitions *defs = a->defs;
	struct definitions_options given = defs->opt;
	struct aside_late late;
	int end;

	defs->opt.warn = keep_warning;
	defs->opt.tell = given.tell ? keep_word : NULL;
	defs->opt.warn_ctx = a;
	end = aside_do(&a->aside, run_adding, a, given.until, &late);
	if (end < 0) {
		defs->opt = given;
		return ubp_fail(err, -end, "cannot start a thread: %s", strerror(-end));
	}
	if (end == ASIDE_DONE) {
		defs->opt = given;
		tell_all(a, &given);
		*err = a->err;
		return a->rc;
	}
	defs->is_given_up = true;
	return end == ASIDE_LATE ? dwarf_fail_late(late.path, late.limit_ns, err)
				 : fail_over(a->text, err);
}

int adding_do(struct definitions *defs, enum adding_kind kind, const char *text, size_t len,
	      const char *filter, struct ubp_err *err)
{
	struct adding *a = take(defs, kind, text, len, filter);
	int rc;

	if (!a)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = add_aside(a, err);
	if (!defs->is_given_up)
		forget_last(a);
	return rc;
}

static void free_adding(struct definitions *defs)
{
	forget_last(defs->adding);
	free(defs->adding);
	defs->adding = NULL;
}

/* By the thread: the caller has freed the definitions. */
static void free_definitions(void *ctx)
{
	struct definitions *defs = ctx;
	void (*release)(struct definitions *) = defs->adding->release;

	free_adding(defs);
	release(defs);
}

bool adding_end(struct definitions *defs, void (*release)(struct definitions *defs))
{
	struct adding *a = defs->adding;

	if (!a)
		return false;
	a->release = release;
	if (!defs->is_given_up)
		aside_free(a->aside);
	else if (aside_leave(a->aside, free_definitions, defs))
		return true;
	free_adding(defs);
	return false;
}
