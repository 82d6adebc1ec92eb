/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/exec_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/descriptors.h"
#include "engine/base/proc.h"
#include "engine/event/clock.h"
#include "engine/os/local_fs.h"
#include "engine/trace/loading.h"
#include "engine/trace/task.h"

#define HELD_MAX  256 /* at once; more are not held */
#define READ_MAX  64  /* questions taken at once */
#define LIMIT_NS  (EXEC_HOLD_MS * 1000000ULL)
#define LIMIT_MAX 5 /* such limits, while we are seen to want a processor */
/* A seizure takes some microseconds, unless it waits for an exec. */
#define TAKING_NS  200000ULL
#define WAITS_MAX  2 /* looks that find it waiting */
#define WORDS_ROOM (1 << 20)

struct exec_hold {
	int fan;      /* the descriptor; -1 once the holder has it */
	int word;     /* to the holder; stays open for the tracer, whatever becomes of that */
	bool is_over; /* the finder's: nothing comes any more */
	pid_t holder; /* 0: none */
	pid_t tracer;
};

/* What goes between the two: from the holder, and to it. */
/* Behind WORD_FILE are two descriptors: the file, and where "y" is to be written if it is held from then on. */
enum word_kind { WORD_HELD, WORD_PASSED, WORD_EARLY, WORD_TAKING, WORD_DONE, WORD_FILE };

struct word {
	enum word_kind kind;
	enum exec_hold_purpose purpose; /* of the first three, and of WORD_FILE */
	unsigned n_untold;              /* the same */
	pid_t tid;
};

/* --- the holder -------------------------------------------------------------------------- */

/* A thread that waits for its answer: the kernel knows the question by its descriptor. */
struct held {
	int fd;
	pid_t tid;
	enum exec_hold_purpose purpose;
	unsigned n_limits; /* that have passed */
	uint64_t until_ns;
	uint64_t look_ns; /* at the tracer, which is about to seize it; 0: it is not */
	unsigned n_waits; /* such looks that found it waiting */
};

/* Nothing here allocates or locks: it is the child of a process with threads. */
struct holder {
	int fan, word;
	pid_t owner;          /* the process ... */
	pid_t tracer, finder; /* ... and its threads that have to do with the answer */
	bool is_silent; /* the tracer, when somebody waited for long: then nobody else does */
	bool tells_calls; /* the kernel tells in which call the tracer waits; one may wait for an exec */
	unsigned n_untold; /* went on without being traced, and the finder was not told */
	uint64_t heard_ns;
	unsigned n;
	struct held held[HELD_MAX];
};

static void allow(const struct holder *h, int fd)
{
	struct fanotify_response yes = { .fd = fd, .response = FAN_ALLOW };

	while (write(h->fan, &yes, sizeof(yes)) < 0 && errno == EINTR)
		;
	(void)close(fd);
}

static void release(struct holder *h, unsigned i)
{
	allow(h, h->held[i].fd);
	h->held[i] = h->held[--h->n];
}

/* False: there is no room for it. Who goes on then is counted, and told of with the next word. */
static bool tell(struct holder *h, struct word *word)
{
	word->n_untold = h->n_untold;
	if (send(h->word, word, sizeof(*word), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*word)) {
		h->n_untold = 0;
		return true;
	}
	h->n_untold += word->purpose != EXEC_HOLD_READS;
	return false;
}

/* The tracer has not said that it has it. */
static void release_early(struct holder *h, unsigned i)
{
	struct word word = { .kind = WORD_EARLY,
			     .purpose = h->held[i].purpose,
			     .tid = h->held[i].tid };

	release(h, i);
	(void)tell(h, &word);
}

static enum exec_hold_purpose purpose(const struct fanotify_event_metadata *event)
{
	if (!(event->mask & FAN_OPEN_PERM))
		return EXEC_HOLD_EXECUTES;
	return event->pid > 0 && loading_is_loader(event->pid) ? EXEC_HOLD_LOADS
							       : EXEC_HOLD_READS;
}

/* False: nobody has to be told. */
static bool make_word(const struct holder *h, const struct fanotify_event_metadata *event,
		      struct word *ret_word)
{
	bool has_room = !h->is_silent && h->n < HELD_MAX && event->pid > 0;
	struct loading who;

	if (event->pid > 0 && loading_ask(event->pid, &who) &&
	    (who.pid == h->owner || who.tracer == h->tracer))
		return false; /* ours; or its exec and its loader's breakpoints will tell */
	ret_word->tid = event->pid;
	ret_word->purpose = purpose(event);
	ret_word->kind =
		has_room && ret_word->purpose != EXEC_HOLD_READS ? WORD_HELD : WORD_PASSED;
	return true;
}

static void take_question(struct holder *h, const struct fanotify_event_metadata *event)
{
	struct word word = { 0 };
	bool holds;

	if (event->fd < 0) {
		/* More wait than the kernel keeps a list of: it has let some go on. */
		h->n_untold += (event->mask & FAN_Q_OVERFLOW) != 0;
		return;
	}
	if (!make_word(h, event, &word)) {
		allow(h, event->fd);
		return;
	}
	holds = word.kind == WORD_HELD;
	if (!tell(h, &word) || !holds) {
		allow(h, event->fd);
		return;
	}
	h->held[h->n++] = (struct held){
		.fd = event->fd,
		.tid = event->pid,
		.purpose = word.purpose,
		.until_ns = event_clock_now(CLOCK_KIND_MONO) + LIMIT_NS,
	};
}

/* Ours does not block: it was made so. */
static void take_questions(struct holder *h)
{
	struct fanotify_event_metadata events[READ_MAX];
	ssize_t n = read(h->fan, events, sizeof(events));
	const struct fanotify_event_metadata *event = events;

	for (; n > 0 && FAN_EVENT_OK(event, n); event = FAN_EVENT_NEXT(event, n))
		take_question(h, event);
}

static bool mark(int fan, int fd, bool is_library)
{
	return fanotify_mark(fan, FAN_MARK_ADD, is_library ? FAN_OPEN_PERM : FAN_OPEN_EXEC_PERM,
			     fd, NULL) == 0;
}

#define FILE_FDS 2

union word_room {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(FILE_FDS * sizeof(int))];
};

/* As recv(); *ret_n_fds of @fds have come with it. */
static ssize_t receive(int from, struct word *word, int fds[FILE_FDS], unsigned *ret_n_fds)
{
	union word_room room;
	struct iovec text = { .iov_base = word, .iov_len = sizeof(*word) };
	struct msghdr message = { .msg_iov = &text,
				  .msg_iovlen = 1,
				  .msg_control = room.bytes,
				  .msg_controllen = sizeof(room) };
	ssize_t n = recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *head = n < 0 ? NULL : CMSG_FIRSTHDR(&message);

	*ret_n_fds = 0;
	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return n;
	*ret_n_fds = (unsigned)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds, CMSG_DATA(head), *ret_n_fds * sizeof(int));
	return n;
}

/* That nothing comes back says no. */
static void take_file(const struct holder *h, const struct word *word, const int fds[FILE_FDS],
		      unsigned n_fds)
{
	if (n_fds == FILE_FDS && mark(h->fan, fds[0], word->purpose == EXEC_HOLD_LOADS))
		(void)!write(fds[1], "y", 1);
	while (n_fds)
		(void)close(fds[--n_fds]);
}

/* False: the tracer is gone. */
static bool take_words(struct holder *h)
{
	int fds[FILE_FDS];
	struct word word;
	unsigned n_fds;
	ssize_t n;

	while ((n = receive(h->word, &word, fds, &n_fds)) == sizeof(word)) {
		unsigned i = 0;

		if (word.kind == WORD_FILE) {
			take_file(h, &word, fds, n_fds);
			continue;
		}
		h->is_silent = false;
		h->heard_ns = event_clock_now(CLOCK_KIND_MONO);
		while (i < h->n && h->held[i].tid != word.tid)
			i++;
		if (i == h->n)
			continue;
		if (word.kind == WORD_DONE) {
			release(h, i);
			continue;
		}
		h->held[i].look_ns = h->heard_ns + TAKING_NS;
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/*
 * Does the tracer wait for the exec that it is about to seize a thread in? It may also wait for a processor, a
 * page or a lock, and then all is well. Where nothing tells for what: does it wait at all?
 */
static bool tracer_waits(const struct holder *h)
{
	uint64_t pc, sp;
	long call;

	if (!h->tells_calls)
		return task_state(h->tracer) != 'R';
	return task_asleep_in(h->tracer, &pc, &sp, &call) && call == SYS_ptrace;
}

/* Does it answer others, or would it, if it got a processor? */
static bool is_working(const struct holder *h, uint64_t now)
{
	return now - h->heard_ns < LIMIT_NS || task_state(h->tracer) == 'R' ||
	       task_state(h->finder) == 'R';
}

/* Has it waited for long enough? */
static bool is_over(struct holder *h, struct held *held, uint64_t now)
{
	if (now >= held->until_ns && ++held->n_limits < LIMIT_MAX && is_working(h, now))
		held->until_ns = now + LIMIT_NS;
	if (now >= held->until_ns) {
		h->is_silent |= now - h->heard_ns >= LIMIT_NS;
		return true;
	}
	if (!held->look_ns || now < held->look_ns)
		return false;
	held->look_ns = now + TAKING_NS;
	held->n_waits = tracer_waits(h) ? held->n_waits + 1 : 0;
	return held->n_waits == WAITS_MAX;
}

/* Let go of whom it is time for. Returns how long the next has left; NULL: nobody waits. */
static const struct timespec *release_late(struct holder *h, struct timespec *ret_left)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO), next = UINT64_MAX;

	for (unsigned i = 0; i < h->n; i++) {
		struct held *held = &h->held[i];

		if (is_over(h, held, now)) {
			release_early(h, i--);
			continue;
		}
		if (held->until_ns < next)
			next = held->until_ns;
		if (held->look_ns && held->look_ns < next)
			next = held->look_ns;
	}
	if (next == UINT64_MAX)
		return NULL;
	*ret_left = (struct timespec){ (time_t)((next - now) / 1000000000),
				       (long)((next - now) % 1000000000) };
	return ret_left;
}

/* Before Linux 5.7 who looks at a thread in the middle of an exec waits for the end of that. */
static bool can_look_in_exec(void)
{
	struct utsname name;
	int major, minor;

	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 7));
}

/* May it look at that file? */
static bool can_look_at_calls(pid_t tracer)
{
	char path[64], text[16];

	(void)snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tracer);
	return proc_read(path, text, sizeof(text)) > 0;
}

static void hold(const struct exec_hold *own, int word, pid_t owner, pid_t finder)
{
	struct pollfd fds[2] = { { .fd = own->fan, .events = POLLIN },
				 { .fd = word, .events = POLLIN } };
	struct holder h = { .fan = own->fan,
			    .word = word,
			    .owner = owner,
			    .tracer = own->tracer,
			    .tells_calls = can_look_in_exec() && can_look_at_calls(own->tracer),
			    .finder = finder };
	struct timespec left;
	int keep[2] = { own->fan, word };

	descriptors_keep(keep);
	/* Whoever stops all of our name shall not stop it. */
	(void)prctl(PR_SET_NAME, "ubp-holder");
	(void)signal(SIGPIPE, SIG_IGN); /* who asked may have waited long enough */
	(void)setsid(); /* keys are not for it: a stopped holder would hold all */
	do {
		if (ppoll(fds, 2, release_late(&h, &left), NULL) <= 0)
			continue;
		if (fds[0].revents)
			take_questions(&h);
	} while (!fds[1].revents || take_words(&h));
	_exit(0); /* the kernel answers those that still wait */
}

/* --- its owner --------------------------------------------------------------------------- */

/* The kernel says no where the holder has no descriptor left for a question. */
static bool has_descriptors(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	       limit.rlim_cur > 2 * (HELD_MAX + READ_MAX);
}

struct exec_hold *exec_hold_new(pid_t tracer)
{
	struct exec_hold *h = has_descriptors() ? calloc(1, sizeof(*h)) : NULL;

	if (!h)
		return NULL;
	h->word = -1;
	h->tracer = tracer;
	h->fan = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_TID,
			       O_RDONLY | O_CLOEXEC);
	if (h->fan >= 0)
		return h;
	free(h);
	return NULL;
}

void exec_hold_free(struct exec_hold *h)
{
	if (!h)
		return;
	if (h->fan >= 0)
		close(h->fan);
	if (h->word >= 0)
		close(h->word);
	free(h);
}

/*
 * With each question the holder has the file opened: where another machine or program has to
 * answer for that, the holder might wait, or be refused. It looks at who opens a library, which may be
 * an interpreter that is opened in the middle of an exec.
 */
static bool can_hold(int fd, bool is_library)
{
	return local_fs_has_file(fd) && (!is_library || can_look_in_exec());
}

bool exec_hold_add(const struct exec_hold *h, int fd, bool is_library)
{
	return can_hold(fd, is_library) && mark(h->fan, fd, is_library);
}

static bool send_file(const struct exec_hold *h, int fd, int answer, bool is_library)
{
	struct word word = { .kind = WORD_FILE,
			     .purpose = is_library ? EXEC_HOLD_LOADS : EXEC_HOLD_EXECUTES };
	const int fds[FILE_FDS] = { fd, answer };
	union word_room room = { .head = { .cmsg_len = CMSG_LEN(sizeof(fds)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS } };
	struct iovec text = { .iov_base = &word, .iov_len = sizeof(word) };
	struct msghdr message = { .msg_iov = &text,
				  .msg_iovlen = 1,
				  .msg_control = room.bytes,
				  .msg_controllen = sizeof(room) };

	memcpy(CMSG_DATA(&room.head), fds, sizeof(fds));
	return sendmsg(h->word, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(word);
}

bool exec_hold_add_more(const struct exec_hold *h, int fd, bool is_library, bool *ret_is_late)
{
	struct pollfd answer = { .events = POLLIN };
	bool is_held = false;
	int ends[2], n;
	char byte;

	*ret_is_late = false;
	if (!can_hold(fd, is_library) || pipe2(ends, O_CLOEXEC) < 0)
		return false;
	answer.fd = ends[0];
	if (send_file(h, fd, ends[1], is_library)) {
		(void)close(ends[1]);
		ends[1] = -1;
		n = poll(&answer, 1, EXEC_HOLD_ADD_MS);
		is_held = n == 1 && read(ends[0], &byte, 1) == 1;
		*ret_is_late = n == 0;
	}
	(void)close(ends[0]);
	if (ends[1] >= 0)
		(void)close(ends[1]);
	return is_held;
}

/* Two words for each that is held, and those that are not held: though nobody reads them for a while. */
static void make_room(const int word[2])
{
	const int room = WORDS_ROOM;

	for (int i = 0; i < 2; i++)
		(void)setsockopt(word[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
}

bool exec_hold_begin(struct exec_hold *h)
{
	pid_t pid, owner = getpid(), finder = gettid();
	int word[2];

	h->is_over = true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, word) < 0) {
		close(h->fan);
		h->fan = -1;
		return false;
	}
	make_room(word);
	pid = fork();
	if (pid == 0)
		hold(h, word[1], owner, finder);
	close(word[1]);
	close(h->fan);
	h->fan = -1;
	h->word = word[0];
	h->holder = pid > 0 ? pid : 0;
	h->is_over = pid < 0;
	return pid > 0;
}

void exec_hold_end(struct exec_hold *h)
{
	h->is_over = true;
	if (h->word >= 0)
		(void)shutdown(h->word, SHUT_RDWR);
	if (h->holder) {
		exec_hold_wake(h);
		while (waitpid(h->holder, NULL, 0) < 0 && errno == EINTR)
			;
	}
	h->holder = 0;
}

int exec_hold_fd(const struct exec_hold *h)
{
	return h->is_over ? -1 : h->word;
}

bool exec_hold_next(struct exec_hold *h, struct exec_hold_news *ret_news)
{
	static const enum exec_hold_fate fates[] = {
		[WORD_HELD] = EXEC_HOLD_WAITS,
		[WORD_PASSED] = EXEC_HOLD_PASSED,
		[WORD_EARLY] = EXEC_HOLD_EARLY,
	};
	struct word word;
	ssize_t n;

	do {
		n = recv(h->word, &word, sizeof(word), MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(word)) {
		h->is_over |= n == 0 || (n < 0 && errno != EAGAIN);
		return false;
	}
	*ret_news = (struct exec_hold_news){
		.tid = word.tid,
		.purpose = word.purpose,
		.fate = fates[word.kind],
		.n_untold = word.n_untold,
	};
	return true;
}

void exec_hold_wake(const struct exec_hold *h)
{
	if (h->holder && task_state(h->holder) == 'T')
		(void)kill(h->holder, SIGCONT);
}

static void say(const struct exec_hold *h, enum word_kind kind, pid_t tid)
{
	struct word word = { .kind = kind, .tid = tid };

	(void)send(h->word, &word, sizeof(word), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void exec_hold_taking(const struct exec_hold *h, pid_t tid)
{
	say(h, WORD_TAKING, tid);
}

void exec_hold_done(const struct exec_hold *h, pid_t tid)
{
	say(h, WORD_DONE, tid);
}
