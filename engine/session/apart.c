/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The host's half of a session that is apart: how its engine is started and asked. */

#include "engine/session/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/apart/err_wire.h"
#include "engine/apart/spawn.h"
#include "engine/base/err.h"
#include "engine/base/hash.h"
#include "engine/base/vec.h"
#include "engine/session/apart_priv.h"
#include "engine/session/caller.h"
#include "engine/session/owner.h"
#include "engine/trace/permission.h"

/* Names another engine, and that sessions are apart whose options do not say. */
#define ENGINE_VARIABLE "UBP_ENGINE"

static bool is_secure(void)
{
	return getauxval(AT_SECURE) != 0;
}

static const char *engine_path(const struct ubp_options *opt)
{
	const char *path = opt->engine.path ? opt->engine.path : secure_getenv(ENGINE_VARIABLE);

	return path && path[0] ? path : UBP_ENGINE_PATH;
}

/* A capability that is the caller's by a file, or by what it did, is not the engine's, which it executes. */
static bool keeps_capability(void)
{
	bool is_root = geteuid() == 0 && !(prctl(PR_GET_SECUREBITS) & SECBIT_NOROOT);

	return is_root || !permission_for_all() ||
	       prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_SYS_PTRACE, 0, 0) == 1;
}

/* Where Yama lets processes trace their descendants alone, the caller can trace what an engine, which is nobody's ancestor, could not. */
static bool is_allowed_apart(void)
{
	return keeps_capability() && (permission_yama() == 0 || permission_for_all());
}

static bool is_named(const struct ubp_options *opt)
{
	const char *path = secure_getenv(ENGINE_VARIABLE);

	return opt->engine.path || (path && path[0]);
}

bool apart_is_wanted(const struct ubp_options *opt)
{
	if (opt->engine.apart != UBP_APART_AUTO)
		return opt->engine.apart == UBP_APART_YES;
	return is_named(opt) || (access(UBP_ENGINE_PATH, X_OK) == 0 && is_allowed_apart());
}

bool apart_is_needed(const struct ubp_options *opt)
{
	return opt->engine.apart == UBP_APART_YES || is_named(opt);
}

/* --- requests ------------------------------------------------------------------------ */

static int dead(struct apart *a, struct ubp_err *err)
{
	__atomic_store_n(&a->is_dead, true, __ATOMIC_RELEASE);
	return ubp_fail(err, EPIPE,
			"the engine has ended: what it had planted stays harmless until "
			"another session "
			"takes it out");
}

void apart_break(struct apart *a)
{
	struct ubp_err not_told = { 0 };

	(void)dead(a, &not_told);
	(void)shutdown(a->line.socket, SHUT_RDWR);
}

static void begin_on(struct apart_request *r, struct apart_line *line, enum apart_op op)
{
	r->line = line;
	pthread_mutex_lock(&line->lock);
	wire_reset(&line->out);
	wire_put(&line->out, op);
}

int apart_connect(struct ubp_session *s, struct apart_line *line, enum apart_op op,
		  struct ubp_err *err)
{
	struct apart *a = s->tracing.apart;
	struct apart_request r = { .s = s };
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return ubp_fail_sys(err, "a socket for the engine");
	begin_on(&r, &a->line, op);
	r.fds = (struct link_fds){ { pair[1] }, 1 };
	rc = (int)apart_ask(&r, NULL, err);
	apart_end(&r);
	if (rc == 0)
		line->socket = pair[0];
	else
		close(pair[0]);
	return rc;
}

/* Which is asked by a socket of its own: what may take long, and what a handler asks, since who waits for that has the others. */
static struct apart_line *line_of(struct ubp_session *s, enum apart_op op)
{
	struct apart *a = s->tracing.apart;

	if (apart_is_for_handlers(op) && calls_is_handler(s))
		return &a->hits.line;
	return apart_is_change(op) ? &a->changes : &a->line;
}

int apart_begin(struct apart_request *r, const struct ubp_session *session, enum apart_op op,
		struct ubp_err *err)
{
	struct ubp_session *s = (struct ubp_session *)session;
	struct apart *a = s->tracing.apart;
	struct ubp_err not_told = { 0 };
	int rc;

	err = err ? err : &not_told;
	ubp_err_reset(err);
	*r = (struct apart_request){ .s = s };
	rc = owner_check(s, err);
	if (rc < 0)
		return rc;
	if (__atomic_load_n(&a->is_dead, __ATOMIC_ACQUIRE))
		return dead(a, err);
	begin_on(r, line_of(s, op), op);
	if (r->line == &a->changes && a->changes.socket < 0)
		rc = apart_connect(s, r->line, APART_CHANGES, err);
	if (rc < 0)
		apart_end(r);
	return rc;
}

void apart_add_folder(struct apart_request *r)
{
	int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		r->fds.fd[r->fds.n++] = fd;
}

/* Each read of the descriptor takes one from what was written. */
static void add_over(struct apart *a)
{
	const uint64_t one = 1;

	(void)__atomic_add_fetch(&a->state->n_over, 1, __ATOMIC_RELEASE);
	(void)!write(a->over, &one, sizeof(one));
}

static void drop_over(struct apart *a)
{
	uint64_t one;

	(void)__atomic_sub_fetch(&a->state->n_over, 1, __ATOMIC_RELEASE);
	(void)!read(a->over, &one, sizeof(one));
}

/* True: the engine was told to give up. */
static bool wait_until(struct apart_request *r, const struct ubp_until *until)
{
	struct pollfd p[2] = { { .fd = r->line->socket, .events = POLLIN },
			       { .fd = until->fd, .events = POLLIN } };

	while (!p[0].revents) {
		if (poll(p, 2, -1) <= 0 || !p[1].revents || !until->is_over(until->ctx))
			continue;
		add_over(r->s->tracing.apart);
		p[1].fd = -1;
	}
	return p[1].fd < 0;
}

/* What is in front of each answer. */
static int64_t take_answer(struct apart_request *r, struct ubp_err *err)
{
	struct wire *in = &r->line->in;
	int64_t rc = (int64_t)wire_get(in);

	err_wire_get(in, err);
	for (uint64_t n = wire_get(in); n && !in->failed; n--) {
		wire_put(&r->told, wire_get(in));
		wire_put_text(&r->told, wire_get_text(in));
		r->n_told++;
	}
	return rc;
}

int64_t apart_ask(struct apart_request *r, const struct ubp_until *until, struct ubp_err *err)
{
	struct apart *a = r->s->tracing.apart;
	struct apart_line *line = r->line;
	bool is_over = false;
	struct ubp_err not_told = { 0 };
	int64_t n;
	int rc;

	err = err ? err : &not_told;
	if (line->out.failed)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = link_send(line->socket, -1, &line->out, &r->fds);
	link_close_fds(&r->fds);
	if (rc == 0 && until && until->fd >= 0)
		is_over = wait_until(r, until);
	if (rc == 0)
		rc = link_receive(line->socket, -1, &line->in, NULL);
	if (is_over)
		drop_over(a);
	if (rc < 0)
		return dead(a, err);
	ubp_err_reset(err);
	n = take_answer(r, err);
	return line->in.failed ? dead(a, err) : n;
}

void apart_end(struct apart_request *r)
{
	const struct ubp_options *opt = &r->s->opt;

	link_close_fds(&r->fds);
	pthread_mutex_unlock(&r->line->lock);
	while (r->n_told--) {
		bool is_warning = wire_get(&r->told);
		const char *text = wire_get_text(&r->told);
		void (*tell)(void *ctx, const char *text) = is_warning ? opt->warn : opt->tell;

		if (tell && text)
			tell(opt->warn_ctx, text);
	}
	wire_free(&r->told);
}

/* --- texts -------------------------------------------------------------------------------- */

static const char *keep_text(struct apart *a, const char *text)
{
	char *copy;

	for (size_t i = 0; text && i < a->n_kept; i++)
		if (strcmp(a->kept[i], text) == 0)
			return a->kept[i];
	copy = text ? strdup(text) : NULL;
	if (!copy || VEC_ROOM(a->kept, &a->cap_kept, a->n_kept) < 0) {
		free(copy);
		return NULL;
	}
	a->kept[a->n_kept++] = copy;
	return copy;
}

const char *apart_keep_text(struct apart *a, const char *text)
{
	const char *kept;

	pthread_mutex_lock(&a->texts_lock);
	kept = keep_text(a, text);
	pthread_mutex_unlock(&a->texts_lock);
	return kept;
}

static const char *remember(struct apart *a, uint64_t key, const char *text)
{
	char *old = map_get(&a->texts, key), *copy;

	/* It lasts, if it is the same. */
	if (!text || (old && strcmp(old, text) == 0))
		return text ? old : NULL;
	copy = strdup(text);
	if (!copy || map_put(&a->texts, key, copy) < 0) {
		free(copy);
		return NULL;
	}
	free(old);
	return copy;
}

const char *apart_remember(struct apart *a, uint64_t key, const char *text)
{
	const char *kept;

	pthread_mutex_lock(&a->texts_lock);
	kept = remember(a, key, text);
	pthread_mutex_unlock(&a->texts_lock);
	return kept;
}

void apart_forget_texts(struct apart *a, const size_t *numbers, size_t n)
{
	pthread_mutex_lock(&a->texts_lock);
	for (size_t i = 0; i < n; i++)
		for (unsigned what = 0; what < APART_TEXT_N; what++)
			free(map_remove(&a->texts, (uint64_t)what << 32 | numbers[i]));
	pthread_mutex_unlock(&a->texts_lock);
}

static void free_texts(struct apart *a)
{
	size_t pos = 0;
	void *text;

	while (map_next(&a->texts, &pos, NULL, &text))
		free(text);
	map_free(&a->texts);
	while (a->n_kept)
		free(a->kept[--a->n_kept]);
	free(a->kept);
}

/* --- begin and end -------------------------------------------------------------------------- */

static void put_options(struct wire *out, const struct ubp_options *o)
{
	wire_put_bytes(out, o, sizeof(*o));
	wire_put_bytes(out, o->pids, o->n_pids * sizeof(*o->pids));
	wire_put_text(out, o->debug.dirs);
	wire_put_text(out, o->debug.symbols);
	wire_put_texts(out, o->exclude);
	wire_put_text(out, o->sample);
	wire_put_text(out, o->clock);
}

/* Memory that is shared with the engine, and no child of the host's has. */
static int share_memory(struct apart *a, int *ret_fd, struct ubp_err *err)
{
	int fd = memfd_create("ubp-apart", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	unsigned char *at = MAP_FAILED;

	*ret_fd = fd;
	if (fd >= 0 && ftruncate(fd, APART_SHARED_BYTES) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		at = mmap(NULL, APART_SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return ubp_fail_sys(err, "memory to share with the engine");
	(void)madvise(at, APART_SHARED_BYTES, MADV_DONTFORK);
	a->state = (struct apart_state *)at;
	a->events = at + APART_EVENTS_AT;
	return 0;
}

int apart_refuse_self(const char *why, struct ubp_err *err)
{
	return ubp_fail(err, EINVAL,
			"process %d is the caller itself, which cannot wait for %s",
			(int)getpid(), why);
}

/* A thread of the host's that makes room for records must not wait for the engine, which waits for it, nor for a handler, which may come to the probe itself. */
int apart_trace_self(struct ubp_session *s, struct ubp_err *err)
{
	struct apart *a = s->tracing.apart;
	bool has_handlers;

	if (s->opt.lossless)
		return apart_refuse_self("itself (lossless)", err);
	pthread_mutex_lock(&a->probes_lock);
	has_handlers = a->hits.n > 0;
	a->n_own += !has_handlers;
	pthread_mutex_unlock(&a->probes_lock);
	return has_handlers ? apart_refuse_self("its own handlers", err) : 0;
}

void apart_leave_self(struct ubp_session *s)
{
	struct apart *a = s->tracing.apart;

	pthread_mutex_lock(&a->probes_lock);
	a->n_own -= a->n_own > 0;
	pthread_mutex_unlock(&a->probes_lock);
}

static int check_self(struct ubp_session *s, struct ubp_err *err)
{
	for (size_t i = 0; i < s->opt.n_pids; i++)
		if (s->opt.pids[i] == getpid())
			return apart_trace_self(s, err);
	return 0;
}

static int open_session(struct ubp_session *s, int memory, struct ubp_err *err)
{
	struct apart *a = s->tracing.apart;
	struct apart_request r;
	int rc = check_self(s, err);

	if (rc == 0)
		rc = apart_begin(&r, s, APART_OPEN, err);
	if (rc < 0) {
		close(memory);
		return rc;
	}
	r.fds = (struct link_fds){ { memory, fcntl(a->over, F_DUPFD_CLOEXEC, 0),
				     fcntl(a->bell, F_DUPFD_CLOEXEC, 0) },
				   3 };
	wire_put(&a->line.out, APART_VERSION);
	wire_put_text(&a->line.out, UBP_VERSION);
	wire_put(&a->line.out, (uint64_t)getpid());
	put_options(&a->line.out, &s->opt);
	rc = (int)apart_ask(&r, NULL, err);
	apart_end(&r);
	return rc;
}

static int watch(struct ubp_session *s, int fd, uint32_t events, struct ubp_err *err)
{
	struct epoll_event ev = { .events = events };

	return epoll_ctl(s->out.poll_fd, EPOLL_CTL_ADD, fd, &ev) < 0
		       ? ubp_fail_sys(err, "epoll_ctl")
		       : 0;
}

static int connect_engine(struct ubp_session *s, struct ubp_err *err)
{
	struct apart *a = s->tracing.apart;
	int memory = -1, rc;

	a->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	a->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->out.poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (a->over < 0 || a->bell < 0 || s->out.poll_fd < 0)
		return ubp_fail_sys(err, "cannot make descriptors");
	rc = share_memory(a, &memory, err);
	if (rc == 0)
		rc = spawn_engine(engine_path(&s->opt), is_secure(), &a->line.socket, err);
	if (rc == 0)
		rc = watch(s, a->bell, EPOLLIN, err);
	/* Answers come while somebody waits for them; that the engine has ended comes at any time. */
	if (rc == 0)
		rc = watch(s, a->line.socket, EPOLLRDHUP, err);
	if (rc < 0) {
		if (memory >= 0)
			close(memory);
		return rc;
	}
	return open_session(s, memory, err);
}

int apart_new(struct ubp_session *s, struct ubp_err *err)
{
	struct apart *a = calloc(1, sizeof(*a));

	if (!a)
		return ubp_fail(err, ENOMEM, "out of memory");
	s->tracing.apart = a;
	a->line.socket = a->changes.socket = a->hits.line.socket = a->bell = a->over = -1;
	pthread_mutex_init(&a->line.lock, NULL);
	pthread_mutex_init(&a->changes.lock, NULL);
	pthread_mutex_init(&a->hits.line.lock, NULL);
	pthread_mutex_init(&a->probes_lock, NULL);
	pthread_mutex_init(&a->texts_lock, NULL);
	s->tracing.was_there = true;
	s->until.fd = -1;
	s->tracing.owner = getpid();
	return connect_engine(s, err);
}

static void ask_to_free(struct ubp_session *s)
{
	struct apart_request r;

	if (s->tracing.apart->line.socket < 0 || apart_begin(&r, s, APART_FREE, NULL) < 0)
		return;
	(void)apart_ask(&r, NULL, NULL);
	apart_end(&r);
}

void apart_free(struct ubp_session *s)
{
	struct apart *a = s->tracing.apart;
	const int fds[] = { a->line.socket, a->changes.socket, a->hits.line.socket,
			    a->bell,        a->over,           s->out.poll_fd };
	bool is_other = owner_is_other(s);

	if (!is_other) {
		ask_to_free(s);
		apart_hits_end(s);
	}
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (a->state && !is_other)
		munmap(a->state, APART_SHARED_BYTES);
	wire_free(&a->line.out);
	wire_free(&a->line.in);
	wire_free(&a->changes.out);
	wire_free(&a->changes.in);
	wire_free(&a->hits.line.out);
	wire_free(&a->hits.line.in);
	free(a->hits.handlers);
	apart_probes_free(a);
	apart_counts_free(a);
	free_texts(a);
	sink_buf_free(&s->out.texts.line);
	sink_buf_free(&s->out.texts.arg);
	free(a);
	s->tracing.apart = NULL;
}
