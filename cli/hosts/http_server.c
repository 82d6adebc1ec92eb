/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/http_server.h"

#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/clock.h"
#include "cli/hosts/openmetrics.h"
#include "engine/base/err.h"
#include "engine/base/quiet_thread.h"

#define LIBRARY "libmicrohttpd.so.12"

/* What clients may take. */
#define CONNECTIONS    64
#define CONNECTIONS_IP 32
#define IDLE_SECONDS   5
#define CLIENT_NS                                                                              \
	(15 * 1000000000ULL) /* a request's, from its first byte to its answer's last */
#define CLIENT_BYTES 16384   /* a connection's memory: a request's head has to fit */
#define ANSWER_NS    (2 * 1000000000ULL) /* so long newer metrics are waited for */
/* Collecting takes at most a twentieth of the tracing thread's time, and is done 10 times a second at most. */
#define SHARE    20
#define FRESH_NS 100000000ULL

/* --- the library --------------------------------------------------------------------------- */

#define FUNCTIONS(X)                                                                           \
	X(start_daemon)                                                                        \
	X(stop_daemon)                                                                         \
	X(run)                                                                                 \
	X(get_timeout)                                                                         \
	X(get_daemon_info)                                                                     \
	X(get_connection_info)                                                                 \
	X(create_response_from_buffer)                                                         \
	X(add_response_header)                                                                 \
	X(queue_response)                                                                      \
	X(destroy_response)                                                                    \
	X(suspend_connection)                                                                  \
	X(resume_connection)                                                                   \
	X(lookup_connection_value)

/* Linked, it would make the start of each uprobe some milliseconds longer: docs/dependencies.md. */
struct library {
#define MEMBER(name) __typeof__(MHD_##name) *name; /* NOLINT(bugprone-macro-parentheses) */
	FUNCTIONS(MEMBER)
#undef MEMBER
};

static int load(struct library *lib, struct ubp_err *err)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return ubp_fail(err, ENOTSUP,
				"--prometheus: %s is not installed (Debian: libmicrohttpd12)",
				LIBRARY);
#define FIND(name)                                                                             \
	*(void **)&lib->name = dlsym(handle, "MHD_" #name);                                    \
	if (!lib->name)                                                                        \
		return ubp_fail(err, ENOTSUP, "--prometheus: %s has no MHD_" #name, LIBRARY);
	FUNCTIONS(FIND)
#undef FIND
	return 0;
}

/* --- what there is ------------------------------------------------------------------------- */

/* A client, from its connection to its end. */
struct client {
	struct client *next, *prev;
	int fd;
	uint64_t begin_ns; /* of its connection, or of when it had its last answer */
	bool is_shut;
	struct MHD_Connection *waiting; /* for newer metrics; NULL: not */
	uint64_t until_ns;
};

/* All but the two parts that are marked belongs to the server's thread. */
struct http_server {
	struct library lib;
	struct MHD_Daemon *daemon;
	int daemon_fd; /* its epoll */
	pthread_t thread;
	bool has_thread;
	int wanted_fd; /* of both: somebody wants newer metrics */
	int given_fd;  /* of both: there are, or the server ends */
	pthread_mutex_t lock;
	struct metrics *given; /* under .lock */
	bool is_given, ends;   /* under .lock */
	struct client *clients;
	struct metrics *metrics;
	uint64_t given_ns;
	bool is_asked;
	struct MHD_Response
		*responses[OPENMETRICS_FORMS]; /* of .metrics, once they are wanted */
};

static void ring(int fd)
{
	const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

static void unring(int fd)
{
	uint64_t n;

	(void)!read(fd, &n, sizeof(n));
}

/* --- answers ------------------------------------------------------------------------------- */

static struct MHD_Response *text_response(const struct library *lib, const char *text)
{
	return lib->create_response_from_buffer(strlen(text), (void *)text,
						MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result answer_text(const struct http_server *s, struct MHD_Connection *c,
				   unsigned status, const char *text, const char *header,
				   const char *value)
{
	struct MHD_Response *response = text_response(&s->lib, text);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	(void)s->lib.add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
	if (header)
		(void)s->lib.add_response_header(response, header, value);
	result = s->lib.queue_response(c, status, response);
	s->lib.destroy_response(response);
	return result;
}

/* One for all who ask for the same metrics in the same form. */
static struct MHD_Response *response_of(struct http_server *s, enum openmetrics_form form)
{
	struct MHD_Response *response;
	size_t len;
	char *text;

	if (s->responses[form])
		return s->responses[form];
	text = openmetrics_text(s->metrics, form, &len);
	if (!text)
		return NULL;
	response = s->lib.create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return NULL;
	}
	(void)s->lib.add_response_header(response, "Content-Type", openmetrics_type(form));
	(void)s->lib.add_response_header(response, "Vary", "Accept");
	s->responses[form] = response;
	return response;
}

static enum MHD_Result answer_metrics(struct http_server *s, struct MHD_Connection *c)
{
	const char *accept = s->lib.lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
	struct MHD_Response *response = NULL;

	if (s->metrics)
		response = response_of(s, openmetrics_wanted(accept));
	if (!response)
		return answer_text(s, c, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "There are no metrics at this moment.\n", "Retry-After",
				   "1");
	return s->lib.queue_response(c, MHD_HTTP_OK, response);
}

/* Are the metrics that there are good enough? Who waits takes those that come. */
static bool is_fresh(const struct http_server *s)
{
	uint64_t good;

	if (!s->metrics)
		return false;
	good = s->metrics->took_ns * SHARE;
	return cli_now_ns() - s->given_ns < (good > FRESH_NS ? good : FRESH_NS);
}

static struct client *client_of(const struct http_server *s, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		s->lib.get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* Called for each request: at its head first, then when all of it is there, then again behind a wait. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **request)
{
	static int known;
	struct http_server *s = ctx;
	struct client *client = client_of(s, c);

	(void)version;
	(void)upload;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return *upload_size ? MHD_NO
				    : answer_text(s, c, MHD_HTTP_METHOD_NOT_ALLOWED,
						  "GET or HEAD.\n", "Allow", "GET, HEAD");
	if (strcmp(url, "/metrics") != 0)
		return answer_text(s, c, MHD_HTTP_NOT_FOUND, "Metrics are at /metrics.\n", NULL,
				   NULL);
	if (*request || is_fresh(s) || !client)
		return answer_metrics(s, c);
	*request = &known;
	client->waiting = c;
	client->until_ns = cli_now_ns() + ANSWER_NS;
	if (!s->is_asked)
		ring(s->wanted_fd);
	s->is_asked = true;
	s->lib.suspend_connection(c);
	return MHD_YES;
}

/* --- clients ------------------------------------------------------------------------------- */

static void on_connection(void *ctx, struct MHD_Connection *c, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http_server *s = ctx;
	struct client *client = *socket_context;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		info = s->lib.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
		client = calloc(1, sizeof(*client));
		*socket_context = client;
		if (!client)
			return;
		client->fd = info ? info->connect_fd : -1;
		client->begin_ns = cli_now_ns();
		client->next = s->clients;
		if (client->next)
			client->next->prev = client;
		s->clients = client;
	} else if (client) {
		if (client->next)
			client->next->prev = client->prev;
		*(client->prev ? &client->prev->next : &s->clients) = client->next;
		free(client);
		*socket_context = NULL;
	}
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **request,
			 enum MHD_RequestTerminationCode code)
{
	struct client *client = client_of(ctx, c);

	(void)code;
	*request = NULL;
	if (client)
		client->begin_ns = cli_now_ns();
}

/* A byte now and then keeps a connection from being idle; no request lasts longer than this. */
static void end_old_clients(struct http_server *s, uint64_t now)
{
	for (struct client *client = s->clients; client; client = client->next) {
		if (client->is_shut || client->fd < 0 || now - client->begin_ns < CLIENT_NS)
			continue;
		client->is_shut = true;
		(void)shutdown(client->fd, SHUT_RDWR);
	}
}

/* @all: there are newer metrics; else those alone who have waited long enough. */
static void resume_clients(struct http_server *s, uint64_t now, bool all)
{
	for (struct client *client = s->clients; client; client = client->next) {
		struct MHD_Connection *c = client->waiting;

		if (!c || !(all || now >= client->until_ns))
			continue;
		client->waiting = NULL;
		s->lib.resume_connection(c);
	}
}

/* --- the thread ---------------------------------------------------------------------------- */

static void drop_metrics(struct http_server *s)
{
	for (size_t i = 0; i < OPENMETRICS_FORMS; i++) {
		if (s->responses[i])
			s->lib.destroy_response(s->responses[i]);
		s->responses[i] = NULL;
	}
	metrics_free(s->metrics);
	s->metrics = NULL;
}

/* Takes what was given. False: the server ends. */
static bool take_given(struct http_server *s)
{
	struct metrics *given;
	bool is_given, ends;

	(void)pthread_mutex_lock(&s->lock);
	given = s->given;
	is_given = s->is_given;
	ends = s->ends;
	s->given = NULL;
	s->is_given = false;
	(void)pthread_mutex_unlock(&s->lock);
	if (!is_given)
		return !ends;
	drop_metrics(s);
	s->metrics = given;
	s->given_ns = cli_now_ns();
	s->is_asked = false;
	resume_clients(s, s->given_ns, true);
	return !ends;
}

static int timeout_ms(struct http_server *s)
{
	MHD_UNSIGNED_LONG_LONG ms;
	int most = s->clients ? 250 : -1;

	if (s->lib.get_timeout(s->daemon, &ms) == MHD_NO)
		return most;
	return most >= 0 && ms > (unsigned)most ? most : (int)(ms > 60000 ? 60000 : ms);
}

static void *serve(void *arg)
{
	struct http_server *s = arg;
	struct pollfd p[2] = { { .fd = s->daemon_fd, .events = POLLIN },
			       { .fd = s->given_fd, .events = POLLIN } };
	uint64_t now;

	for (;;) {
		(void)poll(p, 2, timeout_ms(s));
		if (p[1].revents) {
			unring(s->given_fd);
			if (!take_given(s))
				break;
		}
		now = cli_now_ns();
		end_old_clients(s, now);
		resume_clients(s, now, false);
		(void)s->lib.run(s->daemon);
	}
	resume_clients(s, cli_now_ns(), true);
	(void)s->lib.run(s->daemon);
	return NULL;
}

/* --- its life ------------------------------------------------------------------------------ */

static int start(struct http_server *s, int fd, struct ubp_err *err)
{
	const union MHD_DaemonInfo *info;
	int rc = load(&s->lib, err);

	if (rc < 0) {
		(void)close(fd);
		return rc;
	}
	s->daemon = s->lib.start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, s,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, CONNECTIONS_IP,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CLIENT_BYTES, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_END);
	if (!s->daemon) {
		(void)close(fd);
		return ubp_fail(err, EIO, "--prometheus: libmicrohttpd does not start");
	}
	info = s->lib.get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	s->daemon_fd = info ? info->epoll_fd : -1;
	rc = quiet_thread_create(&s->thread, serve, s);
	if (rc)
		return ubp_fail(err, rc, "--prometheus: no thread: %s", strerror(rc));
	s->has_thread = true;
	return 0;
}

int http_server_new(int fd, struct http_server **ret_server, struct ubp_err *err)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int rc;

	*ret_server = NULL;
	if (!s) {
		(void)close(fd);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	(void)pthread_mutex_init(&s->lock, NULL);
	s->wanted_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->given_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wanted_fd < 0 || s->given_fd < 0) {
		rc = ubp_fail_sys(err, "--prometheus: eventfd");
		(void)close(fd);
	} else {
		rc = start(s, fd, err);
	}
	if (rc < 0) {
		http_server_free(s);
		return rc;
	}
	*ret_server = s;
	return 0;
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	if (s->has_thread) {
		(void)pthread_mutex_lock(&s->lock);
		s->ends = true;
		(void)pthread_mutex_unlock(&s->lock);
		ring(s->given_fd);
		(void)pthread_join(s->thread, NULL);
	}
	if (s->daemon)
		s->lib.stop_daemon(s->daemon);
	drop_metrics(s);
	metrics_free(s->given);
	if (s->wanted_fd >= 0)
		(void)close(s->wanted_fd);
	if (s->given_fd >= 0)
		(void)close(s->given_fd);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

int http_server_fd(const struct http_server *s)
{
	return s->wanted_fd;
}

void http_server_give(struct http_server *s, struct metrics *m)
{
	struct metrics *before;

	unring(s->wanted_fd);
	(void)pthread_mutex_lock(&s->lock);
	before = s->given;
	s->given = m;
	s->is_given = true;
	(void)pthread_mutex_unlock(&s->lock);
	ring(s->given_fd);
	metrics_free(before);
}
