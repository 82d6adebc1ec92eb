/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * ubp_add() and its like. A thread of its own does the work (engine/base/aside.h): a file on a file system
 * that does not answer keeps whoever reads it for ever, and one that was made for that keeps libdw for hours.
 * So the caller goes on without it, and the session is left to it. Else it stays until the session starts.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/aside.h"
#include "engine/base/err.h"
#include "engine/dwarf/dwarf.h"
#include "engine/session/definitions.h"
#include "engine/session/inside.h"
#include "engine/session/usdt.h"

enum kind { ADD_WORD, ADD_EVENTS, ADD_USDT };

/* What the user is to be told, on the thread of his own. */
struct told {
	struct told *next;
	bool is_warning;
	char text[];
};

/* The thread, and what it was given last. */
struct adding {
	struct aside *aside;
	struct ubp_session *s;
	enum kind kind;
	char *text, *filter; /* copies: the caller's may go */
	size_t len;
	struct ubp_err err;
	int rc;
	struct told *told, **last;
};

static int add(struct ubp_session *s, enum kind kind, const char *text, size_t len,
	       const char *filter, struct ubp_err *err)
{
	switch (kind) {
	case ADD_WORD:
		return add_definition(s, text, filter, err);
	case ADD_EVENTS:
		return add_events(s, text, len, filter, err);
	default:
		return usdt_add(s, text, filter, err);
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

static struct adding *take(struct ubp_session *s, enum kind kind, const char *text, size_t len,
			   const char *filter)
{
	struct adding *a = s->defined.adding;

	if (!a)
		a = s->defined.adding = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->s = s;
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
	struct told *told = malloc(sizeof(*told) + strlen(text) + 1);

	if (!told)
		return;
	told->next = NULL;
	told->is_warning = is_warning;
	memcpy(told->text, text, strlen(text) + 1);
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

static void tell_all(const struct adding *a, const struct ubp_options *opt)
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

	a->rc = add(a->s, a->kind, a->text, a->len, a->filter, &a->err);
}

static int fail_over(const char *text, struct ubp_err *err)
{
	return ubp_fail(err, EINTR, "ended while '%.200s' was looked up", text);
}

/* With callbacks of the session's own until it has ended. */
static int add_aside(struct adding *a, struct ubp_err *err)
{
	struct ubp_session *s = a->s;
	struct ubp_options given = s->opt;
	struct aside_late late;
	int end;

	s->opt.warn = keep_warning;
	s->opt.tell = given.tell ? keep_word : NULL;
	s->opt.warn_ctx = a;
	end = aside_do(&a->aside, run_adding, a, given.until, &late);
	if (end < 0) {
		s->opt = given;
		return ubp_fail(err, -end, "cannot start a thread: %s", strerror(-end));
	}
	if (end == ASIDE_DONE) {
		s->opt = given;
		tell_all(a, &given);
		*err = a->err;
		return a->rc;
	}
	s->defined.is_given_up = true;
	return end == ASIDE_LATE ? dwarf_fail_late(late.path, late.limit_ns, err)
				 : fail_over(a->text, err);
}

static int add_until(struct ubp_session *s, enum kind kind, const char *text, size_t len,
		     const char *filter, struct ubp_err *err)
{
	struct adding *a;
	int rc;

	ubp_err_reset(err);
	rc = session_check_new(s, err);
	if (rc < 0)
		return rc;
	a = take(s, kind, text, len, filter);
	if (!a)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = add_aside(a, err);
	if (!s->defined.is_given_up)
		forget_last(a);
	return rc;
}

int ubp_add(struct ubp_session *s, const char *definition, const char *filter,
	    struct ubp_err *err)
{
	return add_until(s, ADD_WORD, definition, strlen(definition), filter, err);
}

int ubp_add_events(struct ubp_session *s, const char *text, size_t len, const char *filter,
		   struct ubp_err *err)
{
	return add_until(s, ADD_EVENTS, text, len, filter, err);
}

int ubp_add_usdt(struct ubp_session *s, const char *definition, const char *filter,
		 struct ubp_err *err)
{
	return add_until(s, ADD_USDT, definition, strlen(definition), filter, err);
}

static void free_adding(struct ubp_session *s)
{
	forget_last(s->defined.adding);
	free(s->defined.adding);
	s->defined.adding = NULL;
}

/* By the thread: the caller has freed the session. */
static void free_session(void *ctx)
{
	struct ubp_session *s = ctx;

	free_adding(s);
	ubp_session_free(s);
}

bool adding_end(struct ubp_session *s)
{
	struct adding *a = s->defined.adding;

	if (!a)
		return false;
	if (!s->defined.is_given_up)
		aside_free(a->aside);
	else if (aside_leave(a->aside, free_session, s))
		return true;
	free_adding(s);
	return false;
}
