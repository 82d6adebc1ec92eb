/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The host's half of a session that is apart: what the public functions ask the engine. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/session/apart_priv.h"
#include "engine/session/calls.h"
#include "engine/session/numbers.h"
#include "engine/session/owner.h"

/* --- questions ---------------------------------------------------------------------------- */

/* A request without more than @n numbers. */
static int64_t ask_numbers(struct ubp_session *s, enum apart_op op, const uint64_t *numbers,
			   unsigned n, struct ubp_err *err)
{
	struct apart_request r;
	int64_t rc = apart_begin(&r, s, op, err);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < n; i++)
		wire_put(&r.line->out, numbers[i]);
	rc = apart_ask(&r, NULL, err);
	apart_end(&r);
	return rc;
}

const char *apart_text(const struct ubp_session *s, enum apart_text what, size_t i)
{
	struct apart *a = s->tracing.apart;
	const char *text = NULL;
	struct apart_request r;

	if (i > UINT32_MAX || apart_begin(&r, s, APART_TEXT, NULL) < 0)
		return NULL;
	wire_put(&r.line->out, what);
	wire_put(&r.line->out, i);
	if (apart_ask(&r, NULL, NULL) >= 0)
		text = apart_remember(a, (uint64_t)what << 32 | i, wire_get_text(&r.line->in));
	apart_end(&r);
	return text;
}

uint64_t apart_number(const struct ubp_session *s, enum apart_number what, size_t i)
{
	struct apart_request r;
	uint64_t n = 0;

	if (apart_begin(&r, s, APART_NUMBER, NULL) < 0)
		return what == APART_NEXT ? SIZE_MAX : 0;
	wire_put(&r.line->out, what);
	wire_put(&r.line->out, i);
	if (apart_ask(&r, NULL, NULL) >= 0)
		n = wire_get(&r.line->in);
	else if (what == APART_NEXT)
		n = SIZE_MAX;
	apart_end(&r);
	return n;
}

int apart_arg_index(const struct ubp_session *s, size_t i, const char *name)
{
	struct apart_request r;
	int rc;

	if (!name)
		return -EINVAL;
	rc = apart_begin(&r, s, APART_ARG_INDEX, NULL);
	if (rc < 0)
		return rc;
	wire_put(&r.line->out, i);
	wire_put_text(&r.line->out, name);
	rc = (int)apart_ask(&r, NULL, NULL);
	apart_end(&r);
	return rc;
}

const char *apart_definition(const struct ubp_session *s, size_t i, const char **ret_why)
{
	struct apart *a = s->tracing.apart;
	const char *text = NULL;
	struct apart_request r;

	*ret_why = NULL;
	if (i > UINT32_MAX || apart_begin(&r, s, APART_FOR_KERNEL, NULL) < 0)
		return NULL;
	wire_put(&r.line->out, i);
	if (apart_ask(&r, NULL, NULL) >= 0) {
		text = apart_remember(a, (uint64_t)APART_TEXT_N << 32 | i,
				      wire_get_text(&r.line->in));
		*ret_why = apart_keep_text(a, wire_get_text(&r.line->in));
	}
	apart_end(&r);
	return text;
}

const char *apart_explain_tracing(const struct ubp_session *s, const char **ret_perhaps)
{
	struct apart *a = s->tracing.apart;
	const char *text = NULL;
	struct apart_request r;

	*ret_perhaps = NULL;
	if (apart_begin(&r, s, APART_EXPLAIN_TRACING, NULL) < 0)
		return NULL;
	if (apart_ask(&r, NULL, NULL) >= 0) {
		text = apart_keep_text(a, wire_get_text(&r.line->in));
		*ret_perhaps = apart_keep_text(a, wire_get_text(&r.line->in));
	}
	apart_end(&r);
	return text;
}

void apart_stats(const struct ubp_session *s, struct ubp_stats *ret_stats)
{
	struct apart *a = s->tracing.apart;
	struct apart_request r;

	*ret_stats = (struct ubp_stats){ .finder = "none" };
	if (apart_begin(&r, s, APART_STATS, NULL) < 0)
		return;
	if (apart_ask(&r, NULL, NULL) >= 0) {
		wire_get_struct(&r.line->in, ret_stats, sizeof(*ret_stats));
		ret_stats->why_traced = apart_keep_text(a, wire_get_text(&r.line->in));
		ret_stats->finder = apart_keep_text(a, wire_get_text(&r.line->in));
		ret_stats->why_skipped = apart_keep_text(a, wire_get_text(&r.line->in));
	}
	apart_end(&r);
}

void apart_probe_stats(const struct ubp_session *s, size_t i, struct ubp_probe_stats *ret_stats)
{
	struct apart *a = s->tracing.apart;
	struct apart_request r;

	*ret_stats = (struct ubp_probe_stats){ 0 };
	if (apart_begin(&r, s, APART_PROBE_STATS, NULL) < 0)
		return;
	wire_put(&r.line->out, i);
	if (apart_ask(&r, NULL, NULL) >= 0) {
		wire_get_struct(&r.line->in, ret_stats, sizeof(*ret_stats));
		ret_stats->why_unanswered = apart_keep_text(a, wire_get_text(&r.line->in));
		ret_stats->no_jump = apart_keep_text(a, wire_get_text(&r.line->in));
	}
	apart_end(&r);
}

uint64_t apart_untold(const struct ubp_session *s)
{
	return apart_number(s, APART_UNTOLD, 0) +
	       __atomic_load_n(&s->tracing.apart->n_untold, __ATOMIC_RELAXED);
}

static bool is_dead(const struct ubp_session *s)
{
	return __atomic_load_n(&s->tracing.apart->is_dead, __ATOMIC_ACQUIRE);
}

bool apart_is_done(const struct ubp_session *s)
{
	const struct apart_state *state = s->tracing.apart->state;

	if (is_dead(s) || __atomic_load_n(&state->is_done, __ATOMIC_ACQUIRE))
		return true;
	/* Nobody looks at what has become of the session until the bell was heard. */
	return __atomic_load_n(&state->is_rung, __ATOMIC_ACQUIRE) &&
	       (apart_number(s, APART_IS_DONE, 0) || is_dead(s));
}

bool apart_has_failed(const struct ubp_session *s)
{
	return is_dead(s) ||
	       __atomic_load_n(&s->tracing.apart->state->has_failed, __ATOMIC_ACQUIRE);
}

pid_t apart_command_pid(const struct ubp_session *s)
{
	return (pid_t)__atomic_load_n(&s->tracing.apart->state->command_pid, __ATOMIC_ACQUIRE);
}

bool apart_command_status(const struct ubp_session *s, int *ret_status)
{
	struct apart_request r;
	bool has_ended = false;

	if (apart_begin(&r, s, APART_COMMAND_STATUS, NULL) < 0)
		return false;
	if (apart_ask(&r, NULL, NULL) > 0) {
		has_ended = true;
		*ret_status = (int)wire_get(&r.line->in);
	}
	apart_end(&r);
	return has_ended;
}

/* --- before the start, and that ------------------------------------------------------------- */

int apart_add(struct ubp_session *s, enum ubp_form form, const char *text, size_t len,
	      const char *filter, struct ubp_err *err)
{
	struct apart_request r;
	int rc = apart_begin(&r, s, APART_ADD, err);

	if (rc < 0)
		return rc;
	apart_add_folder(&r);
	wire_put(&r.line->out, form);
	if (form == UBP_FORM_EVENTS)
		wire_put_bytes(&r.line->out, text, len);
	else
		wire_put_text(&r.line->out, text);
	wire_put_text(&r.line->out, filter);
	rc = (int)apart_ask(&r, s->opt.until, err);
	apart_end(&r);
	return rc;
}

int apart_run_command(struct ubp_session *s, char *const argv[], struct ubp_err *err)
{
	struct apart_request r;
	sigset_t mask;
	int rc = apart_begin(&r, s, APART_COMMAND, err);

	if (rc < 0)
		return rc;
	/* What is closed is closed in the command, too: /dev/null there. */
	for (int fd = 0; fd <= 2; fd++) {
		int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

		r.fds.fd[r.fds.n++] = copy >= 0 ? copy : open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	apart_add_folder(&r);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	wire_put_texts(&r.line->out, (const char *const *)argv);
	wire_put_texts(&r.line->out, (const char *const *)environ);
	wire_put_bytes(&r.line->out, &mask, sizeof(mask));
	rc = (int)apart_ask(&r, NULL, err);
	apart_end(&r);
	return rc;
}

int apart_start(struct ubp_session *s, const struct ubp_until *until, struct ubp_err *err)
{
	struct apart_request r;
	int rc = apart_begin(&r, s, APART_START, err);

	if (rc < 0)
		return rc;
	apart_add_folder(&r);
	if (until)
		s->until = *until;
	rc = (int)apart_ask(&r, until, err);
	apart_end(&r);
	return rc;
}

void apart_stop(struct ubp_session *s)
{
	(void)ask_numbers(s, APART_STOP, NULL, 0, NULL);
	/* Of an engine that has ended one may still run. */
	if (!owner_is_other(s))
		calls_await_handler(s);
}

void apart_tell_processes(struct ubp_session *s)
{
	(void)ask_numbers(s, APART_TELL_PROCESSES, NULL, 0, NULL);
}

void apart_tell_faults(struct ubp_session *s)
{
	(void)ask_numbers(s, APART_TELL_FAULTS, NULL, 0, NULL);
}

void apart_sample_next(struct ubp_session *s, bool on)
{
	(void)ask_numbers(s, APART_SAMPLE_NEXT, (uint64_t[]){ on }, 1, NULL);
}

int apart_only_user(struct ubp_session *s, uid_t user, struct ubp_err *err)
{
	return (int)ask_numbers(s, APART_ONLY_USER, (uint64_t[]){ user }, 1, err);
}

int apart_files_as(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	return apart_pid(s, APART_FILES_AS, pid, err);
}

int apart_only_cgroup(struct ubp_session *s, const char *cgroup, struct ubp_err *err)
{
	struct apart_request r;
	int rc = apart_begin(&r, s, APART_ONLY_CGROUP, err);

	if (rc < 0)
		return rc;
	wire_put_text(&r.line->out, cgroup);
	rc = (int)apart_ask(&r, NULL, err);
	apart_end(&r);
	return rc;
}

void apart_set_latency(struct ubp_session *s, uint64_t max_ns)
{
	(void)ask_numbers(s, APART_LATENCY, &max_ns, 1, NULL);
}

int apart_enable(struct ubp_session *s, size_t i, bool on, struct ubp_err *err)
{
	return (int)ask_numbers(s, APART_ENABLE, (uint64_t[]){ i, on }, 2, err);
}

int apart_pid(struct ubp_session *s, enum apart_op op, pid_t pid, struct ubp_err *err)
{
	bool is_self = pid == getpid();
	struct ubp_err not_told;
	int rc = 0;

	err = err ? err : &not_told;
	ubp_err_reset(err);
	if (is_self && op == APART_ADD_PID)
		rc = apart_trace_self(s, err);
	if (rc < 0)
		return rc;
	rc = (int)ask_numbers(s, op, (uint64_t[]){ (uint64_t)pid }, 1, err);
	if (is_self && (op == APART_ADD_PID ? rc < 0 : op == APART_REMOVE_PID && rc == 0))
		apart_leave_self(s);
	return rc;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Events of these may have been handed out, since the engine knows their cookie, and the host may have set another one. */
static void set_cookies(struct apart *a, size_t first, size_t n, void *cookie)
{
	pthread_mutex_lock(&a->probes_lock);
	for (size_t i = 0; i < n; i++) {
		struct apart_probe *place = apart_probe_place(a, first + i);

		if (place && !place->has_cookie) {
			place->cookie = cookie;
			place->has_cookie = true;
		}
	}
	pthread_mutex_unlock(&a->probes_lock);
}

int apart_probes_add(struct ubp_session *s, const char *const *texts, size_t n,
		     const struct ubp_probe_options *opt, size_t *ret_first, size_t *ret_n,
		     struct ubp_err *err)
{
	struct apart *a = s->tracing.apart;
	struct apart_request r;
	size_t first, n_new;
	uint64_t handler;
	int rc = apart_handler_number(s, opt->handler, &handler, err);

	if (rc == 0)
		rc = apart_begin(&r, s, APART_PROBES_ADD, err);
	if (rc < 0)
		return rc;
	apart_add_folder(&r);
	wire_put(&r.line->out, opt->form);
	wire_put_text(&r.line->out, opt->filter);
	wire_put(&r.line->out, opt->disabled);
	wire_put(&r.line->out, (uintptr_t)opt->cookie);
	wire_put(&r.line->out, handler);
	wire_put(&r.line->out, opt->may_change);
	wire_put(&r.line->out, n);
	for (size_t i = 0; i < n; i++)
		wire_put_text(&r.line->out, texts[i]);
	rc = (int)apart_ask(&r, s->opt.until, err);
	if (rc == 0 || rc == -ETIMEDOUT) {
		first = wire_get(&r.line->in);
		n_new = wire_get(&r.line->in);
		set_cookies(a, first, n_new, opt->cookie);
		if (ret_first)
			*ret_first = first;
		if (ret_n)
			*ret_n = n_new;
	}
	apart_end(&r);
	return rc;
}

static void silence(struct apart *a, const size_t *numbers, size_t n)
{
	pthread_mutex_lock(&a->probes_lock);
	for (size_t i = 0; i < n; i++) {
		struct apart_probe *place = apart_probe_place(a, numbers[i]);

		if (place)
			place->is_removed = true;
	}
	pthread_mutex_unlock(&a->probes_lock);
}

int apart_probes_remove(struct ubp_session *s, const size_t *numbers, size_t n,
			struct ubp_err *err)
{
	struct apart *a = s->tracing.apart;
	struct apart_request r;
	int rc;

	if (n && !numbers)
		return ubp_fail(err, EINVAL, "no numbers are given");
	rc = apart_begin(&r, s, APART_PROBES_REMOVE, err);
	if (rc < 0)
		return rc;
	wire_put_bytes(&r.line->out, numbers, n * sizeof(*numbers));
	rc = (int)apart_ask(&r, NULL, err);
	if (rc == 0 || rc == -ETIMEDOUT) {
		silence(a, numbers, n);
		apart_forget_texts(a, numbers, n);
	}
	apart_end(&r);
	if ((rc == 0 || rc == -ETIMEDOUT) && !calls_is_inside(s))
		calls_await_events(s, numbers, n);
	return rc;
}

int apart_set_filter(struct ubp_session *s, size_t number, const char *filter,
		     struct ubp_err *err)
{
	struct apart_request r;
	int rc = apart_begin(&r, s, APART_SET_FILTER, err);

	if (rc < 0)
		return rc;
	wire_put(&r.line->out, number);
	wire_put_text(&r.line->out, filter);
	rc = (int)apart_ask(&r, NULL, err);
	apart_end(&r);
	return rc;
}

/* What the host sets later is the host's alone. */
int apart_set_cookie(struct ubp_session *s, size_t number, void *cookie, struct ubp_err *err)
{
	struct apart_probe *place;

	ubp_err_reset(err);
	if (apart_number(s, APART_STATE, number) == UBP_PROBE_NONE)
		return ubp_fail(err, ENOENT, "there is no probe with number %zu", number);
	pthread_mutex_lock(&s->tracing.apart->probes_lock);
	place = apart_probe_place(s->tracing.apart, number);
	if (place) {
		place->cookie = cookie;
		place->has_cookie = true;
	}
	pthread_mutex_unlock(&s->tracing.apart->probes_lock);
	return place ? 0 : ubp_fail(err, ENOMEM, "out of memory");
}

void *apart_cookie(const struct ubp_session *s, size_t number)
{
	struct apart *a = s->tracing.apart;
	void *cookie = NULL;

	if (apart_number(s, APART_STATE, number) == UBP_PROBE_NONE)
		return NULL;
	pthread_mutex_lock(&a->probes_lock);
	if (number < a->n_probes)
		cookie = a->probes[number].cookie;
	pthread_mutex_unlock(&a->probes_lock);
	return cookie;
}
