/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/apart/err_wire.h"
#include "engine/base/err.h"
#include "engine/session/exclude.h"
#include "engine/session/serve_priv.h"
#include "engine/ubp_record.h"
#include "engine/ubp_trigger.h"

void serve_take_folder(struct served *v, unsigned i)
{
	pthread_mutex_lock(&v->shared->folder);
	v->has_folder = true;
	if (i < v->fds.n)
		(void)!fchdir(v->fds.fd[i]);
}

void serve_give_folder(struct served *v)
{
	if (v->has_folder)
		pthread_mutex_unlock(&v->shared->folder);
	v->has_folder = false;
}

void serve_set_state(struct served *v)
{
	struct ubp_session *s = v->session;
	uint64_t bytes = 0;

	if (!s)
		return;
	__atomic_store_n(&v->state->has_failed, ubp_has_failed(s), __ATOMIC_RELEASE);
	__atomic_store_n(&v->state->command_pid, (uint32_t)ubp_command_pid(s),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&v->state->is_tracing, ubp_trigger_is_tracing(s), __ATOMIC_RELEASE);
	__atomic_store_n(&v->state->record_count, ubp_record_count(s, &bytes),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&v->state->record_bytes, bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&v->state->record_is_full, ubp_record_is_full(s), __ATOMIC_RELEASE);
	__atomic_store_n(&v->state->is_done, ubp_is_done(s), __ATOMIC_RELEASE);
}

/* --- opening -------------------------------------------------------------------------------- */

static void tell(struct served *v, bool is_warning, const char *text)
{
	struct served_shared *shared = v->shared;

	pthread_mutex_lock(&shared->lock);
	wire_put(&shared->told, is_warning);
	wire_put_text(&shared->told, text);
	shared->n_told++;
	pthread_mutex_unlock(&shared->lock);
}

static void on_warning(void *ctx, const char *text)
{
	tell(ctx, true, text);
}

static void on_tell(void *ctx, const char *text)
{
	tell(ctx, false, text);
}

/* The host says so, or there is no host any more. */
static bool is_over(void *ctx)
{
	const struct served *v = ctx;
	struct pollfd p[2] = { { .fd = v->host, .events = POLLIN },
			       { .fd = v->socket, .events = POLLRDHUP } };

	return __atomic_load_n(&v->state->n_over, __ATOMIC_ACQUIRE) || poll(p, 2, 0) > 0;
}

static int watch(struct served *v, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events };

	return fd < 0 ? 0 : epoll_ctl(v->wakes, EPOLL_CTL_ADD, fd, &ev);
}

/* What takes long is asked by all of these whether it is to go on. */
static int watch_host(struct served *v, pid_t pid, struct ubp_err *err)
{
	v->host = (int)syscall(SYS_pidfd_open, pid, 0);
	v->wakes = epoll_create1(EPOLL_CLOEXEC);
	if (v->wakes < 0 || watch(v, v->over, EPOLLIN) < 0 || watch(v, v->host, EPOLLIN) < 0 ||
	    watch(v, v->socket, EPOLLRDHUP) < 0)
		return ubp_fail_sys(err, "the engine cannot watch its host");
	v->until = (struct ubp_until){ v->wakes, is_over, v };
	return 0;
}

static int take_memory(struct served *v, struct ubp_err *err)
{
	unsigned char *at = MAP_FAILED;

	if (v->fds.n >= 3)
		at = mmap(NULL, APART_SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			  v->fds.fd[0], 0);
	if (at == MAP_FAILED)
		return ubp_fail(err, EPROTO, "the engine has no memory to share");
	v->state = (struct apart_state *)at;
	v->events = at + APART_EVENTS_AT;
	v->over = v->fds.fd[1];
	v->bell = v->fds.fd[2];
	close(v->fds.fd[0]);
	v->fds.n = 0;
	return 0;
}

static void get_options(struct served *v, struct ubp_options *o)
{
	struct wire *in = &v->opened;
	size_t len;

	wire_get_struct(in, o, sizeof(*o));
	o->pids = wire_get_bytes(in, &len);
	o->n_pids = len / sizeof(*o->pids);
	o->debug.dirs = wire_get_text(in);
	o->debug.symbols = wire_get_text(in);
	v->exclude = wire_get_texts(in, &len);
	o->exclude = v->exclude;
	o->sample = wire_get_text(in);
	o->clock = wire_get_text(in);
	o->engine = (struct ubp_engine){ .apart = UBP_APART_NO };
	o->warn = o->warn ? on_warning : NULL;
	o->tell = o->tell ? on_tell : NULL;
	o->warn_ctx = v;
	o->until = &v->until;
}

/* The first request. */
static int64_t serve_open(struct served *v, struct ubp_err *err)
{
	uint64_t version = wire_get(&v->opened);
	const char *text = wire_get_text(&v->opened);
	pid_t pid = (pid_t)wire_get(&v->opened);
	struct ubp_options opt;
	int rc;

	if (version != APART_VERSION || !text || strcmp(text, UBP_VERSION) != 0)
		return ubp_fail(err, EPROTO, "the engine is that of ubp %s, the library is %s",
				UBP_VERSION, text ? text : "another one");
	get_options(v, &opt);
	if (v->opened.failed)
		return ubp_fail(err, EPROTO, "the engine is that of another library");
	rc = take_memory(v, err);
	if (rc < 0)
		return rc;
	rc = watch_host(v, pid, err);
	if (rc < 0)
		return rc;
	exclude_host(pid);
	return ubp_session_new(&opt, &v->session, err);
}

/* --- requests ---------------------------------------------------------------------------------- */

/* Who answers next tells it, but not in a handler. */
static void put_told(struct wire *out, const struct served *v)
{
	struct served_shared *shared = v->shared;

	if (v->line == SERVE_HITS) {
		wire_put(out, 0);
		return;
	}
	pthread_mutex_lock(&shared->lock);
	wire_put(out, shared->n_told);
	for (; shared->n_told; shared->n_told--) {
		wire_put(out, wire_get(&shared->told));
		wire_put_text(out, wire_get_text(&shared->told));
	}
	wire_reset(&shared->told);
	pthread_mutex_unlock(&shared->lock);
}

static int send_answer(struct served *v, int64_t n, const struct ubp_err *err)
{
	struct wire out = { 0 };
	int rc;

	wire_put(&out, (uint64_t)n);
	err_wire_put(&out, err);
	put_told(&out, v);
	wire_append(&out, &v->answer);
	rc = link_send(v->socket, v->host, &out, NULL);
	wire_free(&out);
	return rc;
}

static void free_changes(struct served *v);

/* One that goes on ends when the host has, as all that takes long. */
static void end_changes(struct served *v)
{
	if (!v->changes)
		return;
	(void)shutdown(v->changes->socket, SHUT_RDWR);
	pthread_join(v->changes->thread, NULL);
	free_changes(v->changes);
	v->changes = NULL;
}

/* By whose socket may it be asked for? */
static bool is_for(enum serve_line line, enum apart_op op)
{
	if (line == SERVE_MAIN)
		return !apart_is_of_hit(op);
	return line == SERVE_CHANGES ? apart_is_change(op) : apart_is_for_handlers(op);
}

static int64_t answer(struct served *v, struct ubp_err *err)
{
	uint64_t op = wire_get(&v->in);
	serve_fn *fn = serve_call(op);

	ubp_err_reset(err);
	if (!is_for(v->line, (enum apart_op)op))
		fn = NULL;
	else if (!v->session && op == APART_OPEN) {
		v->opened = v->in;
		v->in = (struct wire){ 0 };
		return serve_open(v, err);
	} else if (op == APART_FREE) {
		end_changes(v);
		ubp_session_free(v->session);
		v->session = NULL;
		v->has_ended = true;
		return 0;
	}
	if (!v->session || !fn)
		return ubp_fail(err, EPROTO, "the engine does not know request %d", (int)op);
	return fn(v, err);
}

int serve_request(struct served *v)
{
	struct ubp_err err;
	int64_t n;
	int rc = link_receive(v->socket, v->host, &v->in, &v->fds);

	if (rc < 0)
		return rc;
	wire_reset(&v->answer);
	n = answer(v, &err);
	link_close_fds(&v->fds);
	serve_give_folder(v);
	if (v->line == SERVE_MAIN)
		serve_set_state(v);
	/* A verdict is not answered. */
	if (v->line == SERVE_HITS && (v->has_ended || n == -EPROTO))
		return v->has_ended ? 0 : -EPROTO;
	return send_answer(v, n, &err);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void *answer_changes(void *arg)
{
	struct served *v = arg;

	while (serve_request(v) == 0)
		;
	return NULL;
}

static void free_changes(struct served *v)
{
	close(v->socket);
	wire_free(&v->in);
	wire_free(&v->answer);
	free(v);
}

/* What takes long does not keep events waiting: another thread does it. */
int64_t serve_changes(struct served *v, struct ubp_err *err)
{
	struct served *changes = v->changes || !v->fds.n ? NULL : calloc(1, sizeof(*changes));
	int rc;

	if (!changes)
		return ubp_fail(err, ENOMEM, "out of memory");
	*changes = (struct served){ .socket = v->fds.fd[--v->fds.n],
				    .session = v->session,
				    .state = v->state,
				    .shared = v->shared,
				    .host = v->host,
				    .line = SERVE_CHANGES };
	rc = pthread_create(&changes->thread, NULL, answer_changes, changes);
	if (rc != 0) {
		free_changes(changes);
		return ubp_fail(err, rc, "cannot create a thread: %s", strerror(rc));
	}
	v->changes = changes;
	return 0;
}

/* --- the loop ------------------------------------------------------------------------------------ */

/* Once, until the host comes to look. */
static void ring(struct served *v)
{
	const uint64_t one = 1;

	serve_set_state(v);
	__atomic_store_n(&v->state->is_rung, 1, __ATOMIC_RELEASE);
	(void)!write(v->bell, &one, sizeof(one));
}

static int serve_until_end(struct served *v)
{
	int rc = 0;

	while (rc == 0 && !v->has_ended) {
		bool listens = v->session && !v->state->is_rung;
		struct pollfd p[3] = { { .fd = v->socket, .events = POLLIN },
				       { .fd = v->host, .events = POLLIN },
				       { .fd = listens ? ubp_fd(v->session) : -1,
					 .events = POLLIN } };

		if (poll(p, 3, -1) < 0) {
			rc = errno == EINTR ? 0 : -errno;
			continue;
		}
		/* A child of the host's may have the socket, so its end alone is not enough. */
		if (p[0].revents)
			rc = serve_request(v);
		else if (p[1].revents)
			rc = -EPIPE;
		if (rc == 0 && p[2].revents && v->session && !v->state->is_rung)
			ring(v);
	}
	return rc;
}

int session_serve(int socket)
{
	struct served_shared shared = { .lock = PTHREAD_MUTEX_INITIALIZER,
					.folder = PTHREAD_MUTEX_INITIALIZER };
	struct served v = { .socket = socket,
			    .host = -1,
			    .over = -1,
			    .bell = -1,
			    .wakes = -1,
			    .shared = &shared };
	int rc = serve_until_end(&v);

	serve_hits_break(&v);
	end_changes(&v);
	ubp_session_free(v.session);
	serve_hits_free(&v);
	serve_events_free(&v);
	if (v.state)
		munmap(v.state, APART_SHARED_BYTES);
	wire_free(&v.in);
	wire_free(&v.answer);
	wire_free(&shared.told);
	wire_free(&v.opened);
	wire_free(&v.command);
	free(v.exclude);
	free(v.argv);
	return rc == -EPIPE ? 0 : rc;
}
