/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/live/ask.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/read_fd.h"
#include "cli/common/trace_options.h"
#include "cli/live/detach.h"
#include "cli/live/obey.h"
#include "cli/live/place.h"
#include "engine/base/err.h"

/* One that is busy with planting answers when that is done. */
#define HELLO_SECONDS 2

/* --- the request --------------------------------------------------------------------------- */

static void put(FILE *request, const char *word)
{
	(void)fwrite(word, 1, strlen(word) + 1, request);
}

static void put_definitions(FILE *request, const struct trace_options *o)
{
	for (size_t i = 0; i < o->n_definitions; i++) {
		put(request, o->definitions[i].text);
		put(request, o->definitions[i].filter ? o->definitions[i].filter : "");
	}
}

static void put_request(FILE *request, const struct trace_options *o, const char *form,
			const char *folder)
{
	static const char *const words[] = {
		[LIVE_ADD] = "add",         [LIVE_REMOVE] = "remove", [LIVE_ENABLE] = "enable",
		[LIVE_DISABLE] = "disable", [LIVE_FILTER] = "filter", [LIVE_LIST] = "list",
		[LIVE_STATS] = "stats",     [LIVE_DUMP] = "dump",     [LIVE_END] = "end",
		[LIVE_SESSIONS] = "hello",
	};
	const char *event = o->live.event ? o->live.event : "";

	put(request, words[o->live.ask]);
	switch (o->live.ask) {
	case LIVE_ADD:
		put(request, folder);
		put(request, form);
		put_definitions(request, o);
		break;
	case LIVE_DUMP:
		put(request, folder);
		put(request, event);
		break;
	case LIVE_REMOVE:
	case LIVE_ENABLE:
	case LIVE_DISABLE:
		put(request, event);
		break;
	case LIVE_FILTER:
		put(request, event);
		put(request, o->live.filter);
		break;
	default:
		break;
	}
	put(request, OBEY_LAST);
}

/* --- the answer ---------------------------------------------------------------------------- */

struct answer {
	char *text;
	size_t len;
};

/* Its three texts; false: it is not whole. */
static bool take_apart(const struct answer *answer, const char *ret_texts[3])
{
	const char *p = answer->text, *end = p + answer->len;

	for (int i = 0; i < 3; i++) {
		const char *zero = p < end ? memchr(p, '\0', (size_t)(end - p)) : NULL;

		if (!zero)
			return false;
		ret_texts[i] = p;
		p = zero + 1;
	}
	return ret_texts[0][0] >= '0' && ret_texts[0][0] <= '9';
}

/* All of it, and that it is all: 0 or -errno. */
static int send_all(int fd, const char *request, size_t len)
{
	while (len) {
		ssize_t n = send(fd, request, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		request += n;
		len -= (size_t)n;
	}
	return shutdown(fd, SHUT_WR) < 0 ? -errno : 0;
}

/* Send @request, and have the answer. 0 or -errno, with a text. */
static int exchange(int fd, const char *name, const char *request, size_t len,
		    struct answer *answer, struct ubp_err *err)
{
	int rc = send_all(fd, request, len);

	if (rc == 0)
		rc = read_fd(fd, SIZE_MAX, &answer->text, &answer->len);
	/* It ended before it took all of the request. */
	if (rc == -EPIPE || rc == -ECONNRESET)
		return ubp_fail(err, -rc, "session '%s' has ended", name);
	if (rc == -EAGAIN)
		return ubp_fail(err, ETIMEDOUT, "session '%s' does not answer", name);
	return rc < 0 ? ubp_fail(err, -rc, "session '%s': %s", name, strerror(-rc)) : 0;
}

static int print(const struct answer *answer, const char *name)
{
	const char *texts[3];

	if (!take_apart(answer, texts))
		return cli_error("session '%s' has ended", name);
	(void)fputs(texts[1], stdout);
	(void)fputs(texts[2], stderr);
	return texts[0][0] - '0';
}

/* --- one session, or all of them ----------------------------------------------------------- */

static int ask_one(int place, const struct trace_options *o, const char *request, size_t len)
{
	const char *name = o->live.session;
	struct answer answer = { 0 };
	struct ubp_err err;
	int status, fd;

	ubp_err_reset(&err);
	fd = place_connect(place, name, 0, &err);
	if (fd < 0) {
		status = cli_error_record(&err);
		/* It has ended by itself, perhaps since something failed. */
		if (err.code == ENOENT)
			detach_print_log(place, name);
		return status;
	}
	if (exchange(fd, name, request, len, &answer, &err) < 0)
		status = cli_error_record(&err);
	else
		status = print(&answer, name);
	if (status == CLI_OK && o->live.ask == LIVE_END)
		detach_print_log(place, name);
	free(answer.text);
	(void)close(fd);
	return status;
}

static void list_one(int place, const char *name, const char *request, size_t len)
{
	struct answer answer = { 0 };
	struct ubp_err err;
	const char *texts[3];
	int fd;

	ubp_err_reset(&err);
	fd = place_connect(place, name, HELLO_SECONDS, &err);
	if (fd < 0)
		return;
	if (exchange(fd, name, request, len, &answer, &err) < 0)
		cli_warn(NULL, err.text);
	else if (take_apart(&answer, texts))
		printf("%s: %s", name, texts[1]);
	free(answer.text);
	(void)close(fd);
}

static int list_all(int place, const char *request, size_t len)
{
	struct dirent **found;
	int n = scandirat(place, ".", &found, NULL, alphasort);

	if (n < 0)
		return cli_error("sessions: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		if (place_is_name(found[i]->d_name))
			list_one(place, found[i]->d_name, request, len);
		free(found[i]);
	}
	free(found);
	return CLI_OK;
}

/* The request, to be freed; NULL: said why not. */
static char *make_request(const struct trace_options *o, const char *form, size_t *ret_len)
{
	bool has_paths = o->live.ask == LIVE_ADD || o->live.ask == LIVE_DUMP;
	char folder[PATH_MAX] = "", *request = NULL;
	FILE *file;

	if (has_paths && !getcwd(folder, sizeof(folder))) {
		(void)cli_error("this folder: %s", strerror(errno));
		return NULL;
	}
	file = open_memstream(&request, ret_len);
	if (file)
		put_request(file, o, form, folder);
	if (!file || fclose(file) != 0) {
		(void)cli_error("out of memory");
	} else if (*ret_len >= OBEY_BYTES_MAX || o->n_definitions > OBEY_DEFINITIONS_MAX) {
		(void)cli_error("--add takes %d definitions and %d bytes of them at a time",
				OBEY_DEFINITIONS_MAX, OBEY_BYTES_MAX);
	} else {
		return request;
	}
	free(request);
	return NULL;
}

int live_ask(const struct trace_options *o, const char *form)
{
	size_t len = 0;
	char *request = make_request(o, form, &len);
	struct ubp_err err;
	int place, status;

	if (!request)
		return CLI_FAILED;
	ubp_err_reset(&err);
	place = place_open(false, &err);
	if (place >= 0)
		status = o->live.ask == LIVE_SESSIONS ? list_all(place, request, len)
						      : ask_one(place, o, request, len);
	else if (err.code != ENOENT)
		status = cli_error_record(&err);
	else
		status = o->live.ask == LIVE_SESSIONS
				 ? CLI_OK
				 : cli_error("there is no session '%s'", o->live.session);
	if (place >= 0)
		(void)close(place);
	free(request);
	return status;
}
