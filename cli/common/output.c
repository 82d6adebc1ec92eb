/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "engine/base/err.h"
#include "engine/base/escape.h"

/*
 * O_NONBLOCK belongs to the open file, which the shell or a command of ours
 * shares: so open the pipe or terminal a second time, for us alone. A socket
 * cannot be opened, another user's terminal may not be: then the descriptor
 * itself serves, in pieces that do not block after poll(2) said POLLOUT.
 */
static int own_stdout(bool is_stream, bool *ret_small)
{
	int fd = -1;

	if (is_stream) {
		fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		*ret_small = fd < 0;
	}
	if (fd < 0)
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return fd;
}

int output_open(struct output *out, const char *path, struct ubp_err *err)
{
	struct stat st;

	memset(out, 0, sizeof(*out));
	out->fd = -1;
	out->name = path ? path : "standard output";
	if (!path && (fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return ubp_fail(err, EBADF,
				"standard output is closed, or only to be read from");
	if (path)
		out->fd = open(path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666);
	if ((path && out->fd < 0) || fstat(path ? out->fd : STDOUT_FILENO, &st) < 0)
		return ubp_fail_sys(err, "%s", out->name);
	out->is_tty = isatty(path ? out->fd : STDOUT_FILENO);
	out->is_file = out->is_old = path && S_ISREG(st.st_mode);
	out->can_vanish = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || out->is_tty;
	if (path) {
		if (out->can_vanish)
			(void)fcntl(out->fd, F_SETFL, O_WRONLY | O_NONBLOCK);
		return 0;
	}
	out->fd = own_stdout(out->can_vanish, &out->small);
	return out->fd < 0 ? ubp_fail_sys(err, "%s", out->name) : 0;
}

void output_begin(struct output *out)
{
	if (out->is_old && ftruncate(out->fd, 0) < 0 && !out->error)
		out->error = errno;
	out->is_old = false;
}

void output_append(struct output *out)
{
	if (!out->is_file)
		return;
	out->is_old = false;
	(void)fcntl(out->fd, F_SETFL, O_WRONLY | O_APPEND);
}

int output_reopen(struct output *out, struct ubp_err *err)
{
	struct stat st;
	int fd;

	if (!out->is_file || !output_flush(out))
		return 0;
	fd = open(out->name, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		  0666);
	if (fd < 0)
		return ubp_fail_sys(err, "%s", out->name);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return ubp_fail(err, EINVAL, "%s: is no regular file any more", out->name);
	}
	if (close(out->fd) < 0 && !out->error)
		out->error = errno;
	out->fd = fd;
	return 0;
}

void output_close(struct output *out)
{
	if (out->fd >= 0 && close(out->fd) < 0 && !out->error)
		out->error = errno;
	out->fd = -1;
	free(out->data);
	out->data = NULL;
	out->len = out->cap = out->sent = 0;
}

static bool make_room(struct output *out, size_t len)
{
	size_t cap = out->cap ? out->cap : 64 * 1024;
	char *data;

	if (out->sent) {
		memmove(out->data, out->data + out->sent, out->len - out->sent);
		out->len -= out->sent;
		out->sent = 0;
	}
	while (cap - out->len < len) {
		if (cap > SIZE_MAX / 2)
			return false;
		cap *= 2;
	}
	if (cap == out->cap)
		return true;
	data = realloc(out->data, cap);
	if (!data)
		return false;
	out->data = data;
	out->cap = cap;
	return true;
}

void output_add(struct output *out, const void *data, size_t len)
{
	if (out->error || len == 0)
		return;
	if (out->cap - out->len < len && !make_room(out, len)) {
		out->error = ENOMEM;
		return;
	}
	memcpy(out->data + out->len, data, len);
	out->len += len;
}

void output_printf(struct output *out, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		out->error = out->error ? out->error : ENOMEM;
		return;
	}
	output_add(out, text, (size_t)n);
	free(text);
}

void output_raw(struct output *out, bool raw)
{
	out->raw = raw && !out->is_tty;
}

static void add_escaped(struct output *out, const char *text, size_t len)
{
	char *escaped = malloc(ESCAPE_BYTE_MAX * len + 1);

	if (escaped)
		output_add(out, escaped,
			   (size_t)(escape_put_line(escaped, text, len) - escaped));
	else if (!out->error)
		out->error = ENOMEM;
	free(escaped);
}

void output_line(struct output *out, const char *fmt, ...)
{
	const char *p, *tab;
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		out->error = out->error ? out->error : ENOMEM;
		return;
	}
	for (p = text; !out->raw && (tab = strchr(p, '\t')); p = tab + 1) {
		add_escaped(out, p, (size_t)(tab - p));
		output_add(out, "\t", 1);
	}
	if (out->raw)
		output_add(out, p, strlen(p));
	else
		add_escaped(out, p, strlen(p));
	output_add(out, "\n", 1);
	free(text);
}

/* One write(2); false when the rest has to wait or cannot be written at all. */
static bool write_piece(struct output *out)
{
	size_t len = out->len - out->sent;
	ssize_t n;

	if (out->small) {
		struct pollfd p = { .fd = out->fd, .events = POLLOUT };

		if (poll(&p, 1, 0) <= 0)
			return false;
		len = len < PIPE_BUF ? len : PIPE_BUF;
	}
	n = write(out->fd, out->data + out->sent, len);
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0) {
		if (errno != EAGAIN)
			out->error = errno;
		return false;
	}
	out->sent += (size_t)n;
	return true;
}

bool output_flush(struct output *out)
{
	if (out->hold)
		return !out->error;
	while (!out->error && out->sent < out->len) {
		if (!write_piece(out))
			break;
	}
	if (out->sent == out->len)
		out->sent = out->len = 0;
	return !out->error;
}

size_t output_pending(const struct output *out)
{
	return out->hold || out->error ? 0 : out->len - out->sent;
}

/* That is no failure: what was asked for is done. */
static bool reader_has_gone(const struct output *out)
{
	return out->error == EPIPE || (out->is_tty && out->error == EIO);
}

void output_polled(struct output *out, short revents)
{
	if ((revents & (POLLERR | POLLHUP | POLLNVAL)) && !out->error)
		out->error = EPIPE;
}

bool output_drain(struct output *out)
{
	while (output_flush(out) && output_pending(out)) {
		struct pollfd p = { .fd = out->fd, .events = POLLOUT };

		if (poll(&p, 1, -1) > 0)
			output_polled(out, p.revents);
	}
	return !out->error;
}

int output_wait(struct output *out)
{
	(void)output_drain(out);
	return output_finish(out);
}

int output_finish(struct output *out)
{
	size_t left;

	(void)output_flush(out);
	left = output_pending(out);
	output_close(out);
	if (left) {
		char text[PATH_MAX + 80];

		(void)snprintf(text, sizeof(text), "%s: nobody reads it: %zu bytes are lost",
			       out->name, left);
		cli_warn(NULL, text);
	}
	if (!out->error || reader_has_gone(out))
		return CLI_OK;
	return cli_error("%s: %s", out->name, strerror(out->error));
}

int output_lend(void)
{
	int ours = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (ours >= 0)
		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	return ours;
}

void output_take_back(int ours)
{
	if (ours < 0)
		return;
	(void)dup2(ours, STDOUT_FILENO);
	(void)close(ours);
}
