/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/os/opener.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/descriptors.h"
#include "engine/base/lost.h"
#include "engine/os/local_fs.h"
#include "engine/os/silent.h"

#define IDLE_MS        2000 /* a child that is not asked for so long ends */
#define LIMIT_MS       1000 /* the first time */
#define LIMIT_LATER_MS 50   /* for a while after somebody kept us waiting */
#define WARY_MS        60000
#define COPY_MAX       (256LL << 20)
#define COPIES_MAX     (1LL << 30) /* of all copies that are open */
#define COPY_NAME      "ubp-copy"

struct question {
	pid_t pid;
	enum opener_want want;
	char path[PATH_MAX];
};

struct answer {
	int rc;
	bool is_copy;
	struct stat st;
};

static struct {
	pthread_mutex_t lock;
	pid_t owner; /* a process that is forked from it has none of the children */
	pid_t pid;   /* of the child that answers; 0: there is none */
	int socket;
	struct lost lost;
	int64_t wary_until_ms;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- the child ------------------------------------------------------------------------ */

/* Is it there without anybody else's doing? */
static bool is_local(pid_t pid, int fd)
{
	return local_fs_has_file(fd) &&
	       (!local_fs_is_overlay(fd) || silent_is_mount_ours(pid, fd));
}

/* @len bytes of @from to the end of @to. Returns 0 or -errno. */
static int copy_bytes(int from, int to, off_t len)
{
	char buf[65536];
	ssize_t n;

	for (off_t at = 0; at < len; at += n) {
		n = pread(from, buf, sizeof(buf), at);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		if (write(to, buf, (size_t)n) != n)
			return -EIO;
	}
	return lseek(to, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* Returns a memory file with all that is in it and @want asks for, or -errno. */
static int copy_of(int fd, enum opener_want want, const struct stat *st)
{
	off_t len = st->st_size;
	int copy, rc;

	if (want == OPENER_HEAD && len > OPENER_HEAD_LEN)
		len = OPENER_HEAD_LEN;
	if (len > COPY_MAX)
		return -EFBIG;
	copy = memfd_create(COPY_NAME, MFD_CLOEXEC);
	if (copy < 0)
		return -errno;
	rc = copy_bytes(fd, copy, len);
	if (rc < 0)
		(void)close(copy);
	return rc < 0 ? rc : copy;
}

/* False: nobody asks any more, or not for a while. */
static bool take_question(int socket, struct question *question)
{
	struct pollfd poll_fd = { .fd = socket, .events = POLLIN };
	ssize_t n = poll(&poll_fd, 1, IDLE_MS) > 0
			    ? recv(socket, question, sizeof(*question), 0)
			    : 0;

	return n > (ssize_t)offsetof(struct question, path) &&
	       ((char *)question)[n - 1] == '\0';
}

static void answer_all(opener_find find, int socket)
{
	struct question question;
	sigset_t set;

	sigfillset(&set);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "ubp-opener");
	/* It may never end: a pipe that it holds open would not, either. */
	(void)dup2(socket, 0);
	descriptors_keep((const int[]){ 0, -1 });
	while (take_question(0, &question)) {
		struct answer answer = { 0 };
		int fd = find(question.path, question.want, &answer.st);

		answer.rc = fd;
		if (fd > 0 && !is_local(question.pid, fd)) {
			answer.rc = question.want == OPENER_DIR
					    ? -ENOTSUP
					    : copy_of(fd, question.want, &answer.st);
			answer.is_copy = true;
		}
		(void)descriptors_send(0, &answer, sizeof(answer),
				       answer.rc > 0 ? answer.rc : -1, 0);
		if (answer.rc > 0 && answer.rc != fd)
			(void)close(answer.rc);
		if (fd > 0)
			(void)close(fd);
	}
	_exit(0);
}

/* --- who asks ------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/*
 * Bytes of the copies that this process has open. Whoever has one closes it as any other file, so descriptors
 * alone know.
 */
static int64_t copies_len(void)
{
	static const char name[] = "/memfd:" COPY_NAME " ";
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	char link[sizeof(name)];
	int64_t len = 0;
	struct stat st;

	while (dir && (entry = readdir(dir)))
		if (readlinkat(dirfd(dir), entry->d_name, link, sizeof(link)) ==
			    (ssize_t)sizeof(link) &&
		    memcmp(link, name, sizeof(name) - 1) == 0 &&
		    fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
			len += st.st_size;
	if (dir)
		(void)closedir(dir);
	return len;
}

static bool take_answer(int socket, struct answer *answer)
{
	int fd;

	if (!descriptors_receive(socket, answer, sizeof(*answer), &fd, MSG_DONTWAIT))
		return false;
	if (answer->rc <= 0)
		return true;
	/* The number that the child has it by is its own. */
	answer->rc = fd;
	if (fd < 0)
		return false;
	if (answer->is_copy && copies_len() > COPIES_MAX) {
		(void)close(fd);
		answer->rc = -EDQUOT;
	}
	return true;
}

/* Its answer is there in time, however often signals break the wait off. */
static bool comes_back(int socket)
{
	struct pollfd poll_fd = { .fd = socket, .events = POLLIN };
	int64_t now = now_ms(), limit = now < all.wary_until_ms ? LIMIT_LATER_MS : LIMIT_MS,
		until = now + limit;
	int rc;

	do {
		rc = poll(&poll_fd, 1, now < until ? (int)(until - now) : 0);
		now = now_ms();
	} while (rc < 0 && errno == EINTR && now < until);
	if (rc <= 0)
		all.wary_until_ms = now + WARY_MS;
	return rc > 0;
}

static int begin(opener_find find)
{
	int sockets[2];

	if (all.pid)
		return 0;
	if (!lost_has_room(&all.lost))
		return -ETIMEDOUT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	all.pid = fork();
	if (all.pid == 0)
		answer_all(find, sockets[1]);
	(void)close(sockets[1]);
	all.socket = sockets[0];
	if (all.pid > 0)
		return 0;
	all.pid = 0;
	(void)close(sockets[0]);
	return -EAGAIN;
}

/* It has ended, or is waited for no more. */
static void leave(bool is_ours)
{
	(void)close(all.socket);
	if (is_ours)
		lost_add(&all.lost, all.pid);
	all.pid = 0;
}

/* Another process has the same child, and the same socket: nothing of that is ours. */
static void forget_after_fork(void)
{
	if (all.owner == getpid())
		return;
	if (all.pid)
		leave(false);
	all.lost = (struct lost){ 0 };
	all.owner = getpid();
}

static int ask(opener_find find, const struct question *question, struct answer *ret_answer)
{
	size_t len = offsetof(struct question, path) + strlen(question->path) + 1;

	/* One that nobody asked for a while has ended. */
	for (int i = 0; i < 2; i++) {
		int rc = begin(find);

		if (rc < 0)
			return rc;
		if (send(all.socket, question, len, MSG_NOSIGNAL) == (ssize_t)len) {
			if (!comes_back(all.socket)) {
				leave(true);
				return -ETIMEDOUT;
			}
			if (take_answer(all.socket, ret_answer))
				return ret_answer->rc;
		}
		leave(true);
	}
	return -EIO;
}

int opener_ask(opener_find find, pid_t pid, const char *path, enum opener_want want,
	       struct stat *ret_st)
{
	struct question question = { .pid = pid, .want = want };
	struct answer answer = { 0 };
	size_t len = strlen(path);
	int rc;

	memset(ret_st, 0, sizeof(*ret_st));
	if (len >= sizeof(question.path))
		return -ENAMETOOLONG;
	memcpy(question.path, path, len + 1);
	pthread_mutex_lock(&all.lock);
	forget_after_fork();
	rc = ask(find, &question, &answer);
	pthread_mutex_unlock(&all.lock);
	*ret_st = answer.st;
	return rc;
}
