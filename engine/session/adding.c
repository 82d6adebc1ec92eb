/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * ubp_add() and its like. Where the caller may want to end it, a thread of its own does the work: a file
 * on a file system that does not answer keeps whoever reads it for ever, and only the end of the
 * process wakes that thread. So the caller goes on without it, and the session is left to it.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/cancel.h"
#include "engine/event/clock.h"
#include "engine/session/session.h"
#include "engine/session/usdt.h"

/* So long is who was told to give up waited for: what reads no file does it at once. */
#define GIVE_UP_MS 500

enum kind { ADD_WORD, ADD_EVENTS, ADD_USDT };

/* What the user is to be told, on the thread of his own. */
struct told {
	struct told *next;
	bool is_warning;
	char text[];
};

struct adding {
	struct ubp_session *s;
	enum kind kind;
	char *text, *filter; /* copies: the caller's may go */
	size_t len;
	struct ubp_err err;
	int rc;
	int done_fd;
	int cancelled; /* atomic */
	struct told *told, **last;
	bool is_done, is_left; /* under the session's lock: by the thread; by the caller */
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

static void free_adding(struct adding *a)
{
	while (a->told) {
		struct told *next = a->told->next;

		free(a->told);
		a->told = next;
	}
	if (a->done_fd >= 0)
		(void)close(a->done_fd);
	free(a->text);
	free(a->filter);
	free(a);
}

static struct adding *new_adding(struct ubp_session *s, const char *text, size_t len,
				 const char *filter)
{
	struct adding *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->s = s;
	a->len = len;
	a->last = &a->told;
	a->done_fd = eventfd(0, EFD_CLOEXEC);
	a->text = malloc(len + 1);
	a->filter = filter ? strdup(filter) : NULL;
	if (a->done_fd < 0 || !a->text || (filter && !a->filter)) {
		free_adding(a);
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

static void *run_adding(void *arg)
{
	const uint64_t one = 1;
	struct adding *a = arg;
	struct ubp_session *s = a->s;
	bool is_left;

	cancel_by(&a->cancelled);
	a->rc = add(s, a->kind, a->text, a->len, a->filter, &a->err);
	pthread_mutex_lock(&s->lock);
	a->is_done = true;
	is_left = a->is_left;
	if (!is_left)
		(void)again_write(a->done_fd, &one, sizeof(one));
	pthread_mutex_unlock(&s->lock);
	if (is_left)
		ubp_session_free(s);
	return NULL;
}

static int start_thread(struct adding *a, pthread_t *ret_thread)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(ret_thread, NULL, run_adding, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

/* False: it was told to give up, and has not done so. */
static bool wait_for_it(struct adding *a, const struct ubp_until *until)
{
	struct pollfd p[2] = { { .fd = a->done_fd, .events = POLLIN },
			       { .fd = until->fd, .events = POLLIN } };
	uint64_t end_ns = 0;

	while (!p[0].revents) {
		uint64_t now = event_clock_now(CLOCK_KIND_MONO);

		if (end_ns && now >= end_ns)
			return false;
		if (poll(p, 2, end_ns ? (int)((end_ns - now) / 1000000) + 1 : -1) <= 0 ||
		    !p[1].revents || !until->is_over(until->ctx))
			continue;
		__atomic_store_n(&a->cancelled, 1, __ATOMIC_RELAXED);
		end_ns = event_clock_now(CLOCK_KIND_MONO) + GIVE_UP_MS * 1000000ULL;
		p[1].fd = -1;
		p[1].revents = 0;
	}
	return true;
}

static int fail_over(const struct adding *a, struct ubp_err *err)
{
	return ubp_fail(err, EINTR, "ended while '%.200s' was looked up", a->text);
}

/* With callbacks of the session's own until it has ended. */
static int add_by_thread(struct adding *a, const struct ubp_until *until, struct ubp_err *err)
{
	struct ubp_session *s = a->s;
	struct ubp_options given = s->opt;
	pthread_t thread;
	int rc;

	s->opt.warn = keep_warning;
	s->opt.tell = given.tell ? keep_word : NULL;
	s->opt.warn_ctx = a;
	rc = start_thread(a, &thread);
	if (rc == 0 && !wait_for_it(a, until)) {
		s->is_given_up = true;
		s->adding = a;
		(void)pthread_detach(thread);
		return fail_over(a, err);
	}
	if (rc == 0)
		(void)pthread_join(thread, NULL);
	s->opt = given;
	if (rc)
		return ubp_fail(err, rc, "cannot start a thread: %s", strerror(rc));
	s->is_given_up = a->cancelled;
	tell_all(a, &given);
	*err = a->err;
	return a->cancelled ? fail_over(a, err) : a->rc;
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
	if (!s->opt.until)
		return add(s, kind, text, len, filter, err);
	a = new_adding(s, text, len, filter);
	if (!a)
		return ubp_fail(err, ENOMEM, "out of memory");
	a->kind = kind;
	rc = add_by_thread(a, s->opt.until, err);
	if (!s->adding)
		free_adding(a);
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

bool adding_goes_on(struct ubp_session *s)
{
	struct adding *a = s->adding;
	bool goes_on;

	if (!a)
		return false;
	pthread_mutex_lock(&s->lock);
	a->is_left = true;
	goes_on = !a->is_done;
	pthread_mutex_unlock(&s->lock);
	if (goes_on)
		return true;
	s->adding = NULL;
	free_adding(a);
	return false;
}
