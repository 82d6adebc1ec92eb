/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A session: made, started, stopped, freed. */

#include "engine/session/inside.h"
#include "engine/session/letting_go.h"
#include "engine/session/tracing.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/base/quiet_thread.h"
#include "engine/define/definitions.h"
#include "engine/plant/setup.h"
#include "engine/session/apart.h"
#include "engine/session/calls.h"
#include "engine/session/counting.h"
#include "engine/session/heap.h"
#include "engine/session/limit.h"
#include "engine/session/live.h"
#include "engine/session/mail.h"
#include "engine/session/numbers.h"
#include "engine/session/options.h"
#include "engine/session/owner.h"
#include "engine/session/put_off.h"
#include "engine/session/record.h"
#include "engine/session/sample.h"
#include "engine/session/session_definitions.h"
#include "engine/session/tally.h"
#include "engine/session/tell.h"
#include "engine/session/triggers.h"
#include "engine/trace/exec_hold.h"
#include "engine/trace/named_pids.h"
#include "engine/trace/task.h"
#include "engine/trace/wait.h"

#define QUEUE_DEFAULT (16u << 20)

static int watch_fd(struct ubp_session *s, int fd, struct ubp_err *err)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(s->out.poll_fd, EPOLL_CTL_ADD, fd, &ev) < 0
		       ? ubp_fail_sys(err, "epoll_ctl")
		       : 0;
}

static int open_descriptors(struct ubp_session *s, struct ubp_err *err)
{
	int rc;

	s->out.poll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->out.news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->out.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->tracing.started_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->out.poll_fd < 0 || s->out.news_fd < 0 || s->out.timer_fd < 0 ||
	    s->tracing.started_fd < 0)
		return ubp_fail_sys(err, "cannot make descriptors");
	rc = event_queue_new(s->opt.room.queue_bytes ? s->opt.room.queue_bytes : QUEUE_DEFAULT,
			     &s->out.queue, err);
	if (rc == 0)
		rc = watch_fd(s, s->out.news_fd, err);
	if (rc == 0)
		rc = watch_fd(s, s->out.timer_fd, err);
	return rc == 0 ? watch_fd(s, event_queue_fd(s->out.queue), err) : rc;
}

/* Of several: the others are traced. */
static void tell_ended(void *ctx, pid_t pid)
{
	session_warn(ctx, "no process %d: the others are traced", (int)pid);
}

static int take_options(struct ubp_session *s, struct ubp_err *err)
{
	int clock = s->opt.clock ? event_clock_by_name(s->opt.clock) : CLOCK_KIND_MONO;

	if (clock < 0)
		return ubp_fail(err, EINVAL, "unknown clock '%s'", s->opt.clock);
	s->clock = (enum event_clock)clock;
	if (s->opt.limits.max_overhead > 100)
		return ubp_fail(err, EINVAL, "max_overhead is percent of a CPU: %u is over 100",
				s->opt.limits.max_overhead);
	s->pids = calloc(s->opt.n_pids + 1, sizeof(*s->pids));
	if (!s->pids)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (s->opt.n_pids)
		memcpy(s->pids, s->opt.pids, s->opt.n_pids * sizeof(*s->pids));
	s->opt.pids = s->pids;
	if (named_pids_take(s->pids, &s->opt.n_pids, tell_ended, s, err) < 0)
		return -err->code;
	if (s->opt.tid && task_state(s->opt.tid) == 0)
		return ubp_fail(err, ESRCH, "no thread %d", (int)s->opt.tid);
	return 0;
}

int session_check_pages(struct ubp_err *err)
{
	if (sysconf(_SC_PAGESIZE) == (long)PAGE)
		return 0;
	return ubp_fail(err, ENOTSUP,
			"this kernel has pages of %ld bytes: ubp works with %llu alone",
			sysconf(_SC_PAGESIZE), PAGE);
}

int ubp_session_new(const struct ubp_options *opt, struct ubp_session **ret_session,
		    struct ubp_err *err)
{
	struct ubp_options taken;
	struct ubp_session *s;
	int rc;

	ubp_err_reset(err);
	rc = ubp_need(opt, "option", err);
	if (rc == 0)
		rc = session_check_pages(err);
	if (rc == 0)
		rc = session_options_take(opt, &taken, err);
	if (rc < 0)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return ubp_fail(err, ENOMEM, "out of memory");
	s->opt = taken;
	s->out.poll_fd = s->out.news_fd = s->out.timer_fd = s->command.fd =
		s->tracing.started_fd = -1;
	s->warning.last = &s->warning.first;
	letting_go_init(s);
	pthread_mutex_init(&s->lock, NULL);
	calls_init(s);
	if (apart_is_wanted(&s->opt)) {
		rc = apart_new(s, err);
		if (rc == 0) {
			*ret_session = s;
			return 0;
		}
		ubp_session_free(s);
		if (apart_is_needed(&taken))
			return rc;
		/* Nobody has asked for it, and what is installed cannot be had: it is of another version, say. */
		taken.engine.apart = UBP_APART_NO;
		return ubp_session_new(&taken, ret_session, err);
	}
	plant_init(&s->plant);
	rc = take_options(s, err);
	if (rc == 0 && mail_init(s) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	if (rc == 0)
		rc = open_descriptors(s, err);
	if (rc == 0)
		rc = session_sample_init(s, err);
	if (rc == 0)
		rc = rings_init(s, err);
	if (rc == 0)
		rc = stacks_init(s, err);
	if (rc == 0)
		rc = session_definitions_init(s, err);
	if (rc < 0) {
		ubp_session_free(s);
		return rc;
	}
	*ret_session = s;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void session_close_descriptors(const struct ubp_session *s)
{
	close_fd(s->out.poll_fd);
	close_fd(s->out.news_fd);
	close_fd(s->out.timer_fd);
	close_fd(s->command.fd);
	close_fd(s->tracing.started_fd);
}

void ubp_session_free(struct ubp_session *s)
{
	if (!s || calls_is_handler(s))
		return;
	if (s->tracing.apart) {
		apart_free(s);
		calls_fini(s);
		pthread_mutex_destroy(&s->lock);
		free(s);
		return;
	}
	if (owner_is_other(s)) {
		ubp_session_forget(s);
		return;
	}
	ubp_stop(s);
	numbers_free(s);
	definitions_free(s->defined);
	event_queue_free(s->out.queue);
	put_off_free(s);
	ring_set_free(s->out.rings);
	stacks_free(s);
	session_tally_free(s);
	session_record_free(s);
	counting_free(s);
	session_heap_free(s);
	session_sample_free(s);
	while (s->warning.first) {
		struct warning *next = s->warning.first->next;

		free(s->warning.first);
		s->warning.first = next;
	}
	session_close_descriptors(s);
	triggers_free(s->out.triggers);
	sink_buf_free(&s->out.texts.line);
	sink_buf_free(&s->out.texts.arg);
	map_free(&s->out.processes.told);
	map_free(&s->found.known);
	map_free(&s->found.gone);
	map_free(&s->found.executed);
	map_free(&s->found.young);
	map_free(&s->found.given_up);
	map_free(&s->found.late);
	map_free(&s->excluded);
	free(s->newcomer.candidates.v);
	free(s->newcomer.executors.v);
	free(s->newcomer.loaders.v);
	whom_free(&s->newcomer.whom);
	mailbox_free(s->mail);
	plant_fini(&s->plant);
	free(s->pids);
	pthread_mutex_destroy(&s->lock);
	calls_fini(s);
	free(s);
}

int ubp_run_command(struct ubp_session *s, char *const argv[], struct ubp_err *err)
{
	if (ubp_need(argv, "command", err) < 0)
		return -EINVAL;
	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_run_command(s, argv, err);
	if (s->tracing.is_there)
		return ubp_fail(err, EBUSY, "the session has started");
	if (s->tracing.was_there)
		return ubp_fail(err, EBUSY, "the session has ended: make another one");
	if (!argv[0])
		return ubp_fail(err, EINVAL, "no command");
	s->command.argv = argv;
	definitions_set_program(s->defined, argv[0]);
	pthread_sigmask(SIG_SETMASK, NULL, &s->command.inherited.mask);
	return 0;
}

/* --- starting and stopping ------------------------------------------------------ */

static int start_thread(struct ubp_session *s, struct ubp_err *err)
{
	int rc;

	s->tracing.owner = getpid();
	rc = quiet_thread_create(&s->tracing.id, run_thread, s);
	if (rc)
		return ubp_fail(err, rc, "cannot start a thread: %s", strerror(rc));
	s->tracing.is_there = s->tracing.was_there = true;
	return 0;
}

/*
 * Of an ending thread the kernel lets its tracees go last, when pthread_join() has returned: until then
 * a parent that waits for one gets its stops, and another session is refused.
 */
static void join_thread(struct ubp_session *s)
{
	char path[48], state;
	uint64_t spin = 0;

	pthread_join(s->tracing.id, NULL);
	snprintf(path, sizeof(path), "/proc/self/task/%d", (int)s->tracing.tid);
	while (access(path, F_OK) == 0 && (state = task_state(s->tracing.tid)) &&
	       !strchr("ZX", state))
		wait_a_little(&spin);
	s->tracing.is_there = false;
}

/* In containers there may be none, or one with other numbers than those that we are told. */
static int check_proc(struct ubp_err *err)
{
	char name[24];
	ssize_t n = readlink("/proc/self", name, sizeof(name) - 1);

	if (n < 0)
		return ubp_fail(err, ENOENT, "no /proc is mounted here, or not ours");
	name[n] = '\0';
	if (strtol(name, NULL, 10) != (long)getpid())
		return ubp_fail(err, ENOENT, "/proc is that of another pid namespace");
	return 0;
}

/* Until the tracing thread has begun, or has failed to. */
static void wait_for_start(struct ubp_session *s, const struct ubp_until *until)
{
	struct pollfd p[2] = { { .fd = s->tracing.started_fd, .events = POLLIN },
			       { .fd = until ? until->fd : -1, .events = POLLIN } };

	while (!p[0].revents) {
		if (poll(p, 2, -1) <= 0 || !until || !p[1].revents ||
		    !until->is_over(until->ctx))
			continue;
		mail_post(s, MAIL_HURRY, 0);
		p[1].fd = -1;
	}
}

int session_check_new(const struct ubp_session *s, struct ubp_err *err)
{
	if (s->tracing.is_there)
		return ubp_fail(err, EBUSY, "the session has started");
	if (s->tracing.was_there)
		return ubp_fail(err, EBUSY, "the session has ended: make another one");
	if (definitions_are_given_up(s->defined))
		return ubp_fail(err, EBUSY, "the session was given up");
	return 0;
}

int ubp_start(struct ubp_session *s, struct ubp_err *err)
{
	return ubp_start_until(s, NULL, err);
}

int session_prepare(struct ubp_session *s, struct ubp_err *err)
{
	int rc = session_check_new(s, err);

	if (rc < 0)
		return rc;
	if (s->opt.files_only)
		return ubp_fail(err, EINVAL, "the session only looks at files");
	rc = check_proc(err);
	if (rc == 0)
		rc = definitions_check_symbols(s->defined, err);
	if (rc < 0)
		return rc;
	if (live_begin(s) < 0 || definitions_settle(s->defined) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	/* Who wants breakpoints knows that they stop. */
	definitions_tell(s->defined,
			 s->opt.mode == UBP_MODE_AUTO || s->opt.mode == UBP_MODE_JUMP);
	definitions_end_adding(s->defined);
	return 0;
}

int session_begin(struct ubp_session *s, const struct ubp_until *until, struct ubp_err *err)
{
	int rc;

	descriptor_limit_raise(s);
	rc = start_thread(s, err);
	if (rc < 0) {
		descriptor_limit_lower(s);
		return rc;
	}
	wait_for_start(s, until);
	if (until)
		s->until = *until;
	pthread_mutex_lock(&s->lock);
	if (s->tracing.start_failed)
		*err = s->tracing.err;
	pthread_mutex_unlock(&s->lock);
	if (s->tracing.start_failed) {
		rc = -err->code;
		join_thread(s);
		exec_hold_free(s->newcomer.hold);
		s->newcomer.hold = NULL;
		descriptor_limit_lower(s);
		return rc;
	}
	if (s->command.pid) {
		s->command.fd = (int)syscall(SYS_pidfd_open, s->command.pid, 0);
		if (s->command.fd >= 0)
			(void)watch_fd(s, s->command.fd, err);
	}
	/* The first dispatch finds what came meanwhile, and is what asks to be woken from then on. */
	session_news(s);
	return 0;
}

int ubp_start_until(struct ubp_session *s, const struct ubp_until *until, struct ubp_err *err)
{
	int rc;

	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_start(s, until, err);
	rc = session_prepare(s, err);
	return rc < 0 ? rc : session_begin(s, until, err);
}

void ubp_stop(struct ubp_session *s)
{
	if (s->tracing.apart) {
		if (!calls_is_handler(s))
			apart_stop(s);
		return;
	}
	if (!s->tracing.is_there || owner_is_other(s) || calls_is_handler(s))
		return;
	finder_stop(s->newcomer.finder, &s->count.finder);
	s->newcomer.finder = NULL;
	event_queue_close(s->out.queue);
	mail_post(s, MAIL_STOP, 0);
	join_thread(s);
	newcomers_end(s);
	exec_hold_free(s->newcomer.hold);
	s->newcomer.hold = NULL;
	descriptor_limit_lower(s);
}

bool ubp_is_done(const struct ubp_session *session)
{
	struct ubp_session *s = (struct ubp_session *)session;
	bool done;

	if (s->tracing.apart)
		return apart_is_done(s);
	pthread_mutex_lock(&s->lock);
	done = s->tracing.has_ended;
	pthread_mutex_unlock(&s->lock);
	return done;
}

bool ubp_has_failed(const struct ubp_session *session)
{
	struct ubp_session *s = (struct ubp_session *)session;
	bool has_failed;

	if (s->tracing.apart)
		return apart_has_failed(s);
	pthread_mutex_lock(&s->lock);
	has_failed = s->warning.has_failed;
	pthread_mutex_unlock(&s->lock);
	return has_failed;
}

pid_t ubp_command_pid(const struct ubp_session *s)
{
	return s->tracing.apart ? apart_command_pid(s) : s->command.pid;
}

bool ubp_command_status(const struct ubp_session *session, int *ret_status)
{
	struct ubp_session *s = (struct ubp_session *)session;
	bool ended;
	int status;

	if (s->tracing.apart)
		return apart_command_status(s, ret_status);
	pthread_mutex_lock(&s->lock);
	/* Once the tracing thread is gone, the command is an ordinary child. */
	if (!s->command.has_ended && s->command.pid && !s->tracing.is_there &&
	    waitpid(s->command.pid, &status, WNOHANG) == s->command.pid &&
	    (WIFEXITED(status) || WIFSIGNALED(status))) {
		s->command.has_ended = true;
		s->command.status = status;
	}
	ended = s->command.has_ended;
	if (ended)
		*ret_status = s->command.status;
	pthread_mutex_unlock(&s->lock);
	return ended;
}
