/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/control.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/option.h"
#include "engine/base/err.h"
#include "engine/base/nearest.h"
#include "engine/ubp.h"
#include "engine/ubp_live.h"

/* --- where commands come from ------------------------------------------------------ */

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The first of "CTL[,ACK]", or the second; false: it is not there, or too long. */
static bool get_part(const char *spec, bool is_ack, char part[PATH_MAX])
{
	const char *from = strchr(spec, ':') + 1, *comma = strchr(from, ',');
	size_t len;

	if (is_ack && !comma)
		return false;
	if (is_ack)
		from = comma + 1;
	len = is_ack || !comma ? strlen(from) : (size_t)(comma - from);
	if (len == 0 || len >= PATH_MAX)
		return false;
	memcpy(part, from, len);
	part[len] = '\0';
	return true;
}

static bool get_number(const char *spec, bool is_ack, uint64_t *ret_fd)
{
	char part[PATH_MAX];

	return get_part(spec, is_ack, part) && cli_number(part, 0, INT_MAX, ret_fd);
}

int control_check(const char *spec)
{
	bool has_ack = strchr(spec, ',') != NULL, is_good = false;
	char part[PATH_MAX];
	uint64_t fd;

	if (begins_with(spec, "fifo:"))
		is_good =
			get_part(spec, false, part) && (!has_ack || get_part(spec, true, part));
	else if (begins_with(spec, "fd:"))
		is_good = get_number(spec, false, &fd) &&
			  (!has_ack || get_number(spec, true, &fd));
	return is_good ? CLI_OK
		       : cli_usage_error("--control takes fifo:CTL[,ACK] or fd:CTL[,ACK], "
					 "not '%s'",
					 spec);
}

/* With both ends: it has no end of file, and nobody is waited for. */
static int open_fifo(const char *spec, bool is_ack, int *ret_fd)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	(void)get_part(spec, is_ack, path);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return cli_error("--control: %s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode)) {
		(void)close(fd);
		return cli_error("--control: %s is no FIFO", path);
	}
	*ret_fd = fd;
	return CLI_OK;
}

/* Ours from now on, and not the command's. */
static int take_descriptor(const char *spec, bool is_ack, int *ret_fd)
{
	uint64_t fd = 0;

	(void)get_number(spec, is_ack, &fd);
	if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return cli_error("--control: descriptor %d: %s", (int)fd, strerror(errno));
	*ret_fd = (int)fd;
	return CLI_OK;
}

int control_open(struct control *control, const char *spec)
{
	int (*get)(const char *, bool, int *);
	int status;

	*control = (struct control){ .fd = -1, .ack_fd = -1 };
	if (!spec)
		return CLI_OK;
	get = begins_with(spec, "fd:") ? take_descriptor : open_fifo;
	status = get(spec, false, &control->fd);
	if (status == CLI_OK && strchr(spec, ','))
		status = get(spec, true, &control->ack_fd);
	if (status != CLI_OK)
		control_close(control);
	return status;
}

void control_close(struct control *control)
{
	if (control->ack_fd >= 0 && control->ack_fd != control->fd)
		(void)close(control->ack_fd);
	if (control->fd >= 0)
		(void)close(control->fd);
	control->fd = control->ack_fd = -1;
}

/* --- commands ------------------------------------------------------------------------ */

/* Nobody is waited for: who wants no answers and does not read them has no more once there is no room. */
static void answer(const struct control *control)
{
	static const char text[] = "ack\n";
	struct pollfd p = { .fd = control->ack_fd, .events = POLLOUT };

	if (control->ack_fd >= 0 && poll(&p, 1, 0) == 1 && p.revents == POLLOUT)
		(void)!write(control->ack_fd, text, sizeof(text) - 1);
}

bool control_matches(const struct ubp_session *session, size_t i, const char *glob)
{
	const char *event = ubp_probe_event(session, i), *mark = strpbrk(glob, ":/");
	char whole[2 * NAME_MAX + 2];

	if (!mark)
		return fnmatch(glob, event, 0) == 0;
	(void)snprintf(whole, sizeof(whole), "%s%c%s", ubp_probe_group(session, i), *mark,
		       event);
	return fnmatch(glob, whole, 0) == 0;
}

int control_no_event(const struct ubp_session *session, const char *prefix, const char *glob)
{
	const char *mark = strpbrk(glob, ":/"), *name = mark ? mark + 1 : glob;
	char text[NEAREST_TEXT_MAX];
	struct nearest near;

	nearest_init(&near, name, strlen(name), NEAREST_EDITS);
	for (size_t i = ubp_probe_next(session, 0); i != SIZE_MAX;
	     i = ubp_probe_next(session, i + 1))
		nearest_offer(&near, ubp_probe_event(session, i));
	nearest_text(&near, text, sizeof(text));
	return cli_error("%sthere is no event '%s'%s", prefix, glob, text);
}

long control_enable(struct ubp_session *session, const char *glob, bool on)
{
	struct ubp_err err;
	long n = 0;

	ubp_err_reset(&err);
	for (size_t i = ubp_probe_next(session, 0); i != SIZE_MAX;
	     i = ubp_probe_next(session, i + 1)) {
		if (glob && !control_matches(session, i, glob))
			continue;
		if (ubp_probe_enable(session, i, on, &err) < 0) {
			(void)cli_error_record(&err);
			return -err.code;
		}
		n++;
	}
	return n;
}

int control_enable_all(struct ubp_session *session, bool on)
{
	return control_enable(session, NULL, on) < 0 ? CLI_FAILED : CLI_OK;
}

/* The line's second word, or NULL. The first ends behind @len. */
static char *argument(char *line, size_t len)
{
	char *arg = line + len + strspn(line + len, " \t");

	line[len] = '\0';
	arg[strcspn(arg, " \t")] = '\0';
	return *arg ? arg : NULL;
}

/* True: tracing is to end. Who gives an unknown command gets no answer, as from perf. */
static bool obey(const struct control *control, struct ubp_session *session, char *line)
{
	size_t len = strcspn(line, " \t");
	size_t rest = len + strspn(line + len, " \t");
	bool has_more = line[rest + strcspn(line + rest, " \t")] != '\0';
	char *arg = argument(line, len);
	bool on = strcmp(line, "enable") == 0, off = strcmp(line, "disable") == 0;
	bool stops = strcmp(line, "stop") == 0;

	if (!(on || off) && (arg || !(stops || strcmp(line, "ping") == 0))) {
		(void)cli_error("--control: '%s%s%s' is no command: there are enable [EVENT], "
				"disable [EVENT], ping and stop",
				line, arg ? " " : "", arg ? arg : "");
		return false;
	}
	if (has_more)
		(void)cli_error("--control: '%s' takes one event", line);
	else if ((on || off) && control_enable(session, arg, on) == 0)
		(void)control_no_event(session, "--control: ", arg ? arg : "");
	answer(control);
	return stops;
}

/* One that has ended. */
static bool end_line(struct control *control, struct ubp_session *session)
{
	size_t len = control->len;
	char *line = control->line;

	control->len = 0;
	if (control->skips) {
		control->skips = false;
		return false;
	}
	while (len && strchr(" \t\r", line[len - 1]))
		len--;
	line[len] = '\0';
	line += strspn(line, " \t");
	return *line && obey(control, session, line);
}

static void add(struct control *control, char c)
{
	if (control->skips)
		return;
	if (control->len == sizeof(control->line) - 1) {
		(void)cli_error("--control: a line is longer than %zu bytes, and is left out",
				sizeof(control->line) - 1);
		control->skips = true;
		return;
	}
	control->line[control->len++] = c;
}

bool control_take(struct control *control, struct ubp_session *session)
{
	char text[CONTROL_LINE_MAX];
	ssize_t n = read(control->fd, text, sizeof(text));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		/* Nobody will give any more of them. */
		if (n < 0)
			(void)cli_error("--control: %s", strerror(errno));
		(void)close(control->fd);
		if (control->ack_fd == control->fd)
			control->ack_fd = -1;
		control->fd = -1;
		return false;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] != '\n' && text[i] != '\0')
			add(control, text[i]);
		else if (end_line(control, session))
			return true;
	}
	return false;
}
