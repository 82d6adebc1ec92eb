/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/seize_limit.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/trace/task.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define SIGNALS 65 /* their numbers are below */

/* How a call was broken off. */
enum broken { BROKEN_NOT, BROKEN_LATE, BROKEN_FOREIGN };

/* The call that this thread is in. The signal's value is its address. */
static __thread struct {
	sigjmp_buf back;
	volatile sig_atomic_t is_on;
} call;

/* Of all threads that seize. */
static struct {
	pthread_mutex_t lock;
	unsigned n_users[SIGNALS];
	bool is_foreign[SIGNALS]; /* atomic: somebody else uses it */
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_own(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_value.sival_ptr == &call;
}

/* As it was sent, to whoever is to have it. */
static void give_back(int sig, siginfo_t *info)
{
	__atomic_store_n(&all.is_foreign[sig], true, __ATOMIC_RELAXED);
	(void)syscall(SYS_rt_sigqueueinfo, getpid(), sig, info);
}

static void come(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (call.is_on && is_own(info))
		siglongjmp(call.back, BROKEN_LATE);
	if (is_own(info))
		return;
	/* In a thread that lets it in the default action is what it was sent for. */
	if (!call.is_on)
		(void)signal(sig, SIG_DFL);
	give_back(sig, info);
	if (call.is_on)
		siglongjmp(call.back, BROKEN_FOREIGN);
}

/* --- the signal ------------------------------------------------------------------------ */

static bool is_ours(const struct sigaction *sa)
{
	return (sa->sa_flags & SA_SIGINFO) && sa->sa_sigaction == come;
}

static bool is_default(const struct sigaction *sa)
{
	return !(sa->sa_flags & SA_SIGINFO) && sa->sa_handler == SIG_DFL;
}

/* False: it is somebody else's. */
static bool take(int sig)
{
	struct sigaction ours = { .sa_sigaction = come, .sa_flags = SA_SIGINFO }, now;

	if (__atomic_load_n(&all.is_foreign[sig], __ATOMIC_RELAXED) ||
	    sigaction(sig, NULL, &now) < 0)
		return false;
	if (is_default(&now)) {
		if (sigaction(sig, &ours, &now) < 0)
			return false;
		/* Somebody was faster. */
		if (!is_default(&now) && !is_ours(&now)) {
			(void)sigaction(sig, &now, NULL);
			return false;
		}
	} else if (!is_ours(&now)) {
		return false;
	}
	all.n_users[sig]++;
	return true;
}

/* 0: there is none. */
static int take_one(void)
{
	int sig = SIGRTMAX < SIGNALS ? SIGRTMAX : SIGNALS - 1;

	(void)pthread_mutex_lock(&all.lock);
	while (sig >= SIGRTMIN && !take(sig))
		sig--;
	(void)pthread_mutex_unlock(&all.lock);
	return sig >= SIGRTMIN ? sig : 0;
}

static bool is_still_ours(int sig)
{
	struct sigaction now;

	return !__atomic_load_n(&all.is_foreign[sig], __ATOMIC_RELAXED) &&
	       sigaction(sig, NULL, &now) == 0 && is_ours(&now);
}

static void put(int sig)
{
	struct sigaction now;

	(void)pthread_mutex_lock(&all.lock);
	if (--all.n_users[sig] == 0 && sigaction(sig, NULL, &now) == 0 && is_ours(&now))
		(void)signal(sig, SIG_DFL);
	(void)pthread_mutex_unlock(&all.lock);
}

/* --- the call -------------------------------------------------------------------------- */

int seize_limit_begin(struct seize_limit *limit)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID };
	int rc;

	limit->sig = take_one();
	if (!limit->sig)
		return -EAGAIN;
	event.sigev_signo = limit->sig;
	event.sigev_value.sival_ptr = &call;
	event.sigev_notify_thread_id = gettid();
	if (timer_create(CLOCK_MONOTONIC, &event, &limit->timer) == 0)
		return 0;
	rc = -errno;
	put(limit->sig);
	limit->sig = 0;
	return rc;
}

void seize_limit_end(struct seize_limit *limit)
{
	if (!limit->sig)
		return;
	(void)timer_delete(limit->timer);
	put(limit->sig);
	limit->sig = 0;
}

static void set_timer(timer_t timer, uint64_t ns, struct itimerspec *ret_before)
{
	struct itimerspec when = { .it_value = { (time_t)(ns / 1000000000),
						 (long)(ns % 1000000000) } };

	(void)timer_settime(timer, 0, &when, ret_before);
}

/* The timer's may have come behind the call, and waits. */
static void drop_late(int sig, const sigset_t *set)
{
	const struct timespec now = { 0 };
	siginfo_t info;

	if (sigtimedwait(set, &info, &now) == sig && !is_own(&info))
		give_back(sig, &info);
}

/* Returns 0 or -errno; *ret_broken: or it was broken off, and may have been over. */
static int call_broken_off(pid_t tid, unsigned long options, const sigset_t *set,
			   enum broken *ret_broken)
{
	int rc = 0, how = sigsetjmp(call.back, 0);

	*ret_broken = (enum broken)how;
	if (how == BROKEN_NOT) {
		call.is_on = 1;
		(void)pthread_sigmask(SIG_UNBLOCK, set, NULL);
		rc = again_ptrace(PTRACE_SEIZE, tid, 0, options) < 0 ? -errno : 0;
		(void)pthread_sigmask(SIG_BLOCK, set, NULL);
	}
	call.is_on = 0;
	return rc;
}

int seize_limit_try(struct seize_limit *limit, pid_t tid, unsigned long options, uint64_t ns)
{
	enum broken broken = BROKEN_FOREIGN;
	struct itimerspec left;
	sigset_t set, before;
	int rc = 0;

	while (broken == BROKEN_FOREIGN) {
		if (!limit->sig || !is_still_ours(limit->sig)) {
			seize_limit_end(limit);
			rc = seize_limit_begin(limit);
			if (rc < 0)
				return rc;
		}
		sigemptyset(&set);
		sigaddset(&set, limit->sig);
		(void)pthread_sigmask(SIG_BLOCK, &set, &before);
		set_timer(limit->timer, ns, NULL);
		rc = call_broken_off(tid, options, &set, &broken);
		set_timer(limit->timer, 0, &left);
		if (left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0)
			drop_late(limit->sig, &set);
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
		/* The signal may have come when it was just done. */
		if (broken != BROKEN_NOT && task_tracer(tid) == gettid())
			return 0;
	}
	return broken == BROKEN_LATE ? -ETIMEDOUT : rc;
}
