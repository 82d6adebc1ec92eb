/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes that come, go and change, as callers ask for it (engine/ubp_live.h). */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/mailbox.h"
#include "engine/define/definitions.h"
#include "engine/session/apart.h"
#include "engine/session/calls.h"
#include "engine/session/handler.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/mail.h"
#include "engine/session/numbers.h"
#include "engine/session/tell.h"
#include "engine/space/uprobe.h"
#include "engine/spec/filter.h"
#include "engine/trace/named_pids.h"
#include "engine/ubp_live.h"

/* What the first version of the structure ended with. */
#define LEAST                                                                                  \
	(offsetof(struct ubp_probe_options, cookie) +                                          \
	 sizeof(((struct ubp_probe_options *)NULL)->cookie))

static int take_options(const struct ubp_probe_options *opt, struct ubp_probe_options *ret,
			struct ubp_err *err)
{
	const unsigned char *bytes = (const unsigned char *)opt;

	memset(ret, 0, sizeof(*ret));
	if (!opt)
		return 0;
	if (opt->size < LEAST)
		return ubp_fail(
			err, EINVAL,
			"the options have a size of %zu: UBP_PROBE_OPTIONS_INIT sets it",
			opt->size);
	for (size_t i = sizeof(*opt); i < opt->size; i++)
		if (bytes[i])
			return ubp_fail(err, E2BIG,
					"an option is set that this version of the library "
					"does not know");
	memcpy(ret, opt, opt->size < sizeof(*opt) ? opt->size : sizeof(*opt));
	return 0;
}

static int check_new(const struct live_new *what, unsigned form, struct ubp_err *err)
{
	if (form > UBP_FORM_USDT)
		return ubp_fail(err, EINVAL, "there is no form %u of definitions", form);
	if (!what->n_texts || !what->texts)
		return ubp_fail(err, EINVAL, "no definition is given");
	for (size_t i = 0; i < what->n_texts; i++)
		if (!what->texts[i])
			return ubp_fail(err, EINVAL, "definition %zu of %zu is NULL", i + 1,
					what->n_texts);
	return 0;
}

/* --- waiting ------------------------------------------------------------------------------ */

/*
 * The change is on its way. In a callback that is all. Returns what has come of it, as live_look() tells: above 0: in so many processes something
 * could not be planted.
 */
static int finish(struct ubp_session *s, uint64_t ticket, struct ubp_err *err)
{
	struct mailbox_answer answer = { 0 };

	if (calls_is_inside(s)) {
		live_leave(s, ticket);
		return 0;
	}
	if (calls_await(s, ticket, &answer) < 0)
		return ubp_fail(
			err, ETIMEDOUT,
			"too many records wait to be handed out: the change will be done");
	/* The next ubp_dispatch() looks at what was found out meanwhile. */
	session_news(s);
	if (answer.code == -ECANCELED)
		return ubp_fail(err, EINVAL, "the session does not run any more");
	if (answer.code)
		ubp_fail(err, answer.code < 0 ? -answer.code : EIO, "%s", answer.text);
	return answer.code;
}

/* There may be a change on its way for each of many threads. False: it makes no sense to try again. */
static bool wait_for_turn(struct ubp_session *s, int rc)
{
	return rc == -EAGAIN && !calls_is_inside(s) && calls_await_turn(s) == 0;
}

/* --- adding --------------------------------------------------------------------------------- */

static int send_new(struct ubp_session *s, const struct live_new *what, unsigned *ret_first,
		    unsigned *ret_n, uint64_t *ret_ticket, struct ubp_err *err)
{
	int rc;

	do {
		pthread_mutex_lock(&s->out.calls.change);
		if (what->folder)
			what->folder->take(what->folder->ctx);
		rc = live_add(s, what, ret_first, ret_n, ret_ticket, err);
		if (what->folder)
			what->folder->give(what->folder->ctx);
		pthread_mutex_unlock(&s->out.calls.change);
	} while (wait_for_turn(s, rc));
	return rc;
}

/* Taken out again, since one of the processes that were named cannot have them: @err tells which. */
static int take_back(struct ubp_session *s, unsigned first, unsigned n, struct ubp_err *err)
{
	size_t *numbers = calloc(n, sizeof(*numbers));
	struct ubp_err not_told;

	for (unsigned i = 0; numbers && i < n; i++)
		numbers[i] = first + i;
	if (numbers)
		(void)ubp_probes_remove(s, numbers, n, &not_told);
	free(numbers);
	return -err->code;
}

int live_probes_add(struct ubp_session *s, const char *const *texts, size_t n,
		    const struct ubp_probe_options *opt, const struct live_folder *folder,
		    size_t *ret_first, size_t *ret_n, struct ubp_err *err)
{
	struct ubp_probe_options o;
	struct live_new what;
	unsigned first = 0, n_new = 0;
	uint64_t ticket;
	int rc;

	ubp_err_reset(err);
	rc = take_options(opt, &o, err);
	if (rc < 0)
		return rc;
	what = (struct live_new){ .form = (enum live_form)o.form,
				  .texts = texts,
				  .n_texts = n,
				  .filter = o.filter,
				  .is_checked = true,
				  .is_off = o.disabled,
				  .cookie = o.cookie,
				  .handler = o.handler,
				  .folder = folder,
				  .its = handler_facts(o.handler, o.may_change) };
	rc = o.may_change && !o.handler
		     ? ubp_fail(err, EINVAL, ".may_change is for a handler, and there is none")
		     : check_new(&what, o.form, err);
	if (rc == 0 && s->tracing.apart)
		return apart_probes_add(s, texts, n, &o, ret_first, ret_n, err);
	if (rc == 0)
		rc = send_new(s, &what, &first, &n_new, &ticket, err);
	if (rc < 0)
		return rc;
	if (ret_first)
		*ret_first = first;
	if (ret_n)
		*ret_n = n_new;
	rc = finish(s, ticket, err);
	if (rc > 0 && s->opt.n_pids)
		return take_back(s, first, n_new, err);
	return rc < 0 ? rc : 0;
}

int ubp_probes_add(struct ubp_session *s, const char *const *texts, size_t n,
		   const struct ubp_probe_options *opt, size_t *ret_first, size_t *ret_n,
		   struct ubp_err *err)
{
	return live_probes_add(s, texts, n, opt, NULL, ret_first, ret_n, err);
}

/* --- removing, filtering ---------------------------------------------------------------------- */

static int check_known(struct ubp_session *s, const size_t *numbers, size_t n,
		       struct ubp_err *err)
{
	int rc = 0;

	if (n && !numbers)
		return ubp_fail(err, EINVAL, "no numbers are given");
	pthread_mutex_lock(&s->numbers.lock);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (!numbers_known(s, numbers[i]))
			rc = ubp_fail(err, ENOENT, "there is no probe with number %zu",
				      numbers[i]);
	pthread_mutex_unlock(&s->numbers.lock);
	return rc;
}

static int send_removal(struct ubp_session *s, const size_t *numbers, size_t n,
			uint64_t *ret_ticket, struct ubp_err *err)
{
	int rc;

	do {
		pthread_mutex_lock(&s->out.calls.change);
		rc = check_known(s, numbers, n, err);
		if (rc == 0)
			rc = live_remove(s, numbers, n, ret_ticket, err);
		pthread_mutex_unlock(&s->out.calls.change);
	} while (wait_for_turn(s, rc));
	return rc;
}

int ubp_probes_remove(struct ubp_session *s, const size_t *numbers, size_t n,
		      struct ubp_err *err)
{
	uint64_t ticket = 0;
	int rc;

	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_probes_remove(s, numbers, n, err);
	/* One may just be taken out, by limits: then the next try finds that. */
	do {
		rc = send_removal(s, numbers, n, &ticket, err);
		if (rc < 0)
			return rc;
		if (ticket)
			rc = finish(s, ticket, err);
	} while (rc == -ENOENT);
	if (rc < 0 && rc != -ETIMEDOUT)
		return rc;
	live_silence(s, numbers, n);
	if (!calls_is_inside(s))
		calls_await_events(s, numbers, n);
	return rc < 0 ? rc : 0;
}

int ubp_probe_set_filter(struct ubp_session *s, size_t number, const char *filter,
			 struct ubp_err *err)
{
	unsigned latest;
	uint64_t ticket;
	int rc;

	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_set_filter(s, number, filter, err);
	do {
		pthread_mutex_lock(&s->out.calls.change);
		rc = check_known(s, &number, 1, err);
		if (rc == 0)
			rc = live_filter(s, (unsigned)number, filter, &latest, &ticket, err);
		pthread_mutex_unlock(&s->out.calls.change);
	} while (wait_for_turn(s, rc));
	if (rc == 0)
		rc = finish(s, ticket, err);
	return rc < 0 ? rc : 0;
}

/* --- processes ------------------------------------------------------------------------------ */

static int ask_pid(struct ubp_session *s, enum session_mail kind, pid_t pid,
		   struct ubp_err *err)
{
	const struct mailbox_message message = { .kind = kind, .value = pid };
	uint64_t ticket;
	int rc;

	do {
		rc = live_send(s, &message, 0, 0, &ticket, err);
	} while (wait_for_turn(s, rc));
	return rc < 0 ? rc : finish(s, ticket, err);
}

static int check_has_pids(const struct ubp_session *s, struct ubp_err *err)
{
	int rc = live_check_running(s, err);

	if (rc == 0 && !s->opt.n_pids)
		return ubp_fail(err, EINVAL,
				"the session was not made for some processes (.pids)");
	return rc;
}

int ubp_add_pid(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	size_t n = 1;
	int rc = s->tracing.apart ? 0 : check_has_pids(s, err);

	if (s->tracing.apart)
		return apart_pid(s, APART_ADD_PID, pid, err);
	if (rc == 0)
		rc = named_pids_take(&pid, &n, NULL, NULL, err);
	return rc < 0 ? rc : ask_pid(s, MAIL_ADD_PID, pid, err);
}

int ubp_remove_pid(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	int rc = s->tracing.apart ? 0 : check_has_pids(s, err);

	if (s->tracing.apart)
		return apart_pid(s, APART_REMOVE_PID, pid, err);
	return rc < 0 ? rc : ask_pid(s, MAIL_REMOVE_PID, pid, err);
}

/* --- what there is ---------------------------------------------------------------------------- */

const char *ubp_probe_filter(const struct ubp_session *session, size_t number)
{
	struct ubp_session *s = (struct ubp_session *)session;
	const struct session_number *entry;
	const char *text = NULL;

	if (s->tracing.apart)
		return apart_text(s, APART_FILTER, number);
	if (!s->tracing.was_there)
		return number < definitions_n(s->defined)
			       ? filter_text(definitions_uprobe(s->defined, number)->filter)
			       : NULL;
	pthread_mutex_lock(&s->numbers.lock);
	entry = numbers_latest(s, number);
	if (entry)
		text = filter_text(entry->uprobe->filter);
	pthread_mutex_unlock(&s->numbers.lock);
	return text;
}

size_t ubp_probe_next(const struct ubp_session *session, size_t from)
{
	struct ubp_session *s = (struct ubp_session *)session;
	size_t n, found = SIZE_MAX;

	if (s->tracing.apart)
		return apart_number(s, APART_NEXT, from);
	if (!s->tracing.was_there)
		return from < definitions_n(s->defined) ? from : SIZE_MAX;
	pthread_mutex_lock(&s->numbers.lock);
	n = numbers_n(s);
	for (size_t i = from; found == SIZE_MAX && i < n; i++)
		if (numbers_latest(s, i))
			found = i;
	pthread_mutex_unlock(&s->numbers.lock);
	return found;
}

enum ubp_probe_state ubp_probe_state(const struct ubp_session *session, size_t number)
{
	struct ubp_session *s = (struct ubp_session *)session;
	const struct session_number *entry;
	enum ubp_probe_state state = UBP_PROBE_NONE;

	if (s->tracing.apart)
		return (enum ubp_probe_state)apart_number(s, APART_STATE, number);
	if (!s->tracing.was_there)
		return number < definitions_n(s->defined) ? UBP_PROBE_DEFINED : UBP_PROBE_NONE;
	pthread_mutex_lock(&s->numbers.lock);
	entry = numbers_latest(s, number);
	if (entry && __atomic_load_n(&entry->uprobe->stats.taken_out, __ATOMIC_RELAXED))
		state = UBP_PROBE_TAKEN_OUT;
	else if (entry)
		state = UBP_PROBE_THERE;
	pthread_mutex_unlock(&s->numbers.lock);
	return state;
}

int ubp_probe_set_cookie(struct ubp_session *s, size_t number, void *cookie,
			 struct ubp_err *err)
{
	struct session_number *first;

	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_set_cookie(s, number, cookie, err);
	if (!s->tracing.was_there && live_begin(s) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	pthread_mutex_lock(&s->numbers.lock);
	first = numbers_latest(s, number) ? numbers_known(s, number) : NULL;
	if (first)
		__atomic_store_n(&first->cookie, cookie, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&s->numbers.lock);
	return first ? 0 : ubp_fail(err, ENOENT, "there is no probe with number %zu", number);
}

void *ubp_probe_cookie(const struct ubp_session *session, size_t number)
{
	struct ubp_session *s = (struct ubp_session *)session;
	void *cookie;

	if (s->tracing.apart)
		return apart_cookie(s, number);
	pthread_mutex_lock(&s->numbers.lock);
	cookie = numbers_latest(s, number)
			 ? __atomic_load_n(&numbers_known(s, number)->cookie, __ATOMIC_RELAXED)
			 : NULL;
	pthread_mutex_unlock(&s->numbers.lock);
	return cookie;
}

uint64_t ubp_untold(const struct ubp_session *s)
{
	return s->tracing.apart ? apart_untold(s)
				: __atomic_load_n(&s->out.n_untold, __ATOMIC_RELAXED);
}
