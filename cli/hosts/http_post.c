/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/http_post.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/clock.h"
#include "engine/base/err.h"
#include "engine/base/quiet_thread.h"

#define LIBRARY "libcurl.so.4"

#define WAITING_BYTES   (16UL << 20) /* of requests that wait */
#define ANSWER_BYTES    65536        /* of an answer: more is not looked at */
#define CONNECT_SECONDS 5L
#define REQUEST_SECONDS 10L
/* A request is tried again after so long, which doubles; and is given up once it is so old. */
#define PAUSE_FIRST_MS 250
#define PAUSE_MOST_MS  8000
#define PAUSE_ASKED_S  60 /* Retry-After: no longer than that */
#define TRIES_NS       (300 * 1000000000ULL)

/* --- the library --------------------------------------------------------------------------- */

#define FUNCTIONS(X)                                                                           \
	X(global_init)                                                                         \
	X(easy_init)                                                                           \
	X(easy_cleanup)                                                                        \
	X(easy_setopt)                                                                         \
	X(easy_perform)                                                                        \
	X(easy_getinfo)                                                                        \
	X(easy_strerror)                                                                       \
	X(easy_unescape)                                                                       \
	X(free)                                                                                \
	X(slist_append)                                                                        \
	X(slist_free_all)                                                                      \
	X(url)                                                                                 \
	X(url_set)                                                                             \
	X(url_cleanup)

/* Their checks of types are macros of the same names, which would not go through pointers. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

/* Linked, it would make the start of each uprobe some milliseconds longer: docs/dependencies.md. */
struct library {
#define MEMBER(name) __typeof__(curl_##name) *name; /* NOLINT(bugprone-macro-parentheses) */
	FUNCTIONS(MEMBER)
#undef MEMBER
};

static int load(struct library *lib, struct ubp_err *err)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return ubp_fail(err, ENOTSUP, "--otlp: %s is not installed (Debian: libcurl4)",
				LIBRARY);
#define FIND(name)                                                                             \
	*(void **)&lib->name = dlsym(handle, "curl_" #name);                                   \
	if (!lib->name)                                                                        \
		return ubp_fail(err, ENOTSUP, "--otlp: %s has no curl_" #name, LIBRARY);
	FUNCTIONS(FIND)
#undef FIND
	return 0;
}

/* --- what there is ------------------------------------------------------------------------- */

struct request {
	struct request *next;
	const char *path;
	uint64_t items;
	size_t len;
	char text[];
};

struct answer {
	size_t len;
	char text[ANSWER_BYTES];
};

struct http_post {
	struct library lib;
	CURL *curl; /* of the thread */
	struct curl_slist *headers;
	char *base;
	pthread_t thread;
	bool has_thread;
	int idle_fd;
	pthread_mutex_t lock;
	pthread_cond_t news;
	/* All below is under .lock. */
	struct request *first, **last;
	size_t bytes;
	bool ends, gives_up;
	struct http_post_counts counts;
};

static void ring(const struct http_post *p)
{
	const uint64_t one = 1;

	(void)!write(p->idle_fd, &one, sizeof(one));
}

/* --- one try ------------------------------------------------------------------------------- */

static size_t take_answer(char *data, size_t size, size_t n, void *ctx)
{
	struct answer *answer = ctx;
	size_t room = ANSWER_BYTES - 1 - answer->len;

	n *= size;
	memcpy(answer->text + answer->len, data, n < room ? n : room);
	answer->len += n < room ? n : room;
	return n;
}

/* Called now and then while a request is under way. */
static int look(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct http_post *p = ctx;
	bool ends;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	(void)pthread_mutex_lock(&p->lock);
	ends = p->ends || p->gives_up;
	(void)pthread_mutex_unlock(&p->lock);
	return ends;
}

enum outcome { DONE, AGAIN, NEVER };

static bool may_come_right(CURLcode code)
{
	return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
	       code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT ||
	       code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR ||
	       code == CURLE_RECV_ERROR || code == CURLE_PARTIAL_FILE ||
	       code == CURLE_SSL_CONNECT_ERROR;
}

/* Of a collector's answer: how many it has not taken, and why. */
static void take_partial(struct http_post *p, const struct answer *answer,
			 const struct request *r)
{
	static const char *const names[] = { "rejectedSpans", "rejectedLogRecords",
					     "rejectedDataPoints" };
	json_t *json = json_loadb(answer->text, answer->len, 0, NULL);
	json_t *partial = json_object_get(json, "partialSuccess");
	const char *why = json_string_value(json_object_get(partial, "errorMessage"));
	uint64_t n = 0;

	for (size_t i = 0; i < 3; i++) {
		const json_t *value = json_object_get(partial, names[i]);
		const char *text = json_string_value(value);

		n += text ? strtoull(text, NULL, 10) : (uint64_t)json_integer_value(value);
	}
	n = n > r->items ? r->items : n;
	p->counts.refused += n;
	p->counts.items += r->items - n;
	if (why && *why)
		(void)snprintf(p->counts.why, sizeof(p->counts.why), "%s", why);
	json_decref(json);
}

/* What the answer means. *ret_pause_ms: the collector asks to be left alone for so long. */
static enum outcome take_status(struct http_post *p, const struct answer *answer,
				const struct request *r, uint64_t *ret_pause_ms)
{
	curl_off_t after = 0;
	long status = 0;

	(void)p->lib.easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300) {
		take_partial(p, answer, r);
		return DONE;
	}
	(void)snprintf(p->counts.why, sizeof(p->counts.why), "the answer is %ld", status);
	if (status != 429 && status != 502 && status != 503 && status != 504)
		return NEVER;
	(void)p->lib.easy_getinfo(p->curl, CURLINFO_RETRY_AFTER, &after);
	if (after > 0)
		*ret_pause_ms =
			(uint64_t)(after < PAUSE_ASKED_S ? after : PAUSE_ASKED_S) * 1000;
	return AGAIN;
}

static enum outcome try(struct http_post *p, const struct request *r, struct answer *answer,
			uint64_t *ret_pause_ms)
{
	char *url = NULL;
	enum outcome outcome = NEVER;
	CURLcode code;

	answer->len = 0;
	*ret_pause_ms = 0;
	if (asprintf(&url, "%s%s", p->base, r->path) < 0)
		return AGAIN;
	(void)p->lib.easy_setopt(p->curl, CURLOPT_URL, url);
	(void)p->lib.easy_setopt(p->curl, CURLOPT_POSTFIELDS, r->text);
	(void)p->lib.easy_setopt(p->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->len);
	(void)p->lib.easy_setopt(p->curl, CURLOPT_WRITEDATA, answer);
	code = p->lib.easy_perform(p->curl);
	(void)pthread_mutex_lock(&p->lock);
	if (code == CURLE_OK)
		outcome = take_status(p, answer, r, ret_pause_ms);
	else if (code != CURLE_ABORTED_BY_CALLBACK)
		(void)snprintf(p->counts.why, sizeof(p->counts.why), "%s",
			       p->lib.easy_strerror(code));
	if (code != CURLE_OK && may_come_right(code))
		outcome = AGAIN;
	(void)pthread_mutex_unlock(&p->lock);
	free(url);
	return outcome;
}

/* --- the thread ---------------------------------------------------------------------------- */

/* Wait, under the lock, for so long or until something is to end. */
static void pause_ms(struct http_post *p, uint64_t ms)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (!p->ends && !p->gives_up)
		if (pthread_cond_timedwait(&p->news, &p->lock, &until) == ETIMEDOUT)
			return;
}

/* Some part of it by chance, so that many hosts do not come back at the same moment. */
static uint64_t some_of(uint64_t ms)
{
	return ms - ms / 4 + cli_now_ns() / 1000 % (ms / 2 + 1);
}

/* Until it is there, or will not get there. */
static enum outcome send_one(struct http_post *p, const struct request *r,
			     struct answer *answer)
{
	uint64_t begin = cli_now_ns(), pause = PAUSE_FIRST_MS, asked;
	enum outcome outcome;

	for (;;) {
		outcome = try(p, r, answer, &asked);
		if (outcome != AGAIN || cli_now_ns() - begin > TRIES_NS)
			return outcome;
		(void)pthread_mutex_lock(&p->lock);
		pause_ms(p, asked ? asked : some_of(pause));
		p->counts.retries++;
		outcome = p->ends || p->gives_up ? NEVER : AGAIN;
		(void)pthread_mutex_unlock(&p->lock);
		if (outcome == NEVER)
			return NEVER;
		pause = pause * 2 < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS;
	}
}

/* The first request is done with: it leaves the row. Under the lock. */
static void pop(struct http_post *p, bool is_there)
{
	struct request *r = p->first;

	p->counts.sent += is_there;
	if (!is_there)
		p->counts.lost += r->items;
	p->first = r->next;
	if (!p->first)
		p->last = &p->first;
	p->bytes -= r->len;
	p->counts.waiting--;
	free(r);
	(void)pthread_cond_broadcast(&p->news);
}

static void *send_all(void *arg)
{
	struct http_post *p = arg;
	struct answer *answer = malloc(sizeof(*answer));
	enum outcome outcome;

	(void)pthread_mutex_lock(&p->lock);
	while (!p->ends) {
		if (p->first && (p->gives_up || !answer)) {
			pop(p, false);
			continue;
		}
		p->gives_up = false;
		if (!p->first) {
			ring(p);
			(void)pthread_cond_wait(&p->news, &p->lock);
			continue;
		}
		(void)pthread_mutex_unlock(&p->lock);
		outcome = send_one(p, p->first, answer);
		(void)pthread_mutex_lock(&p->lock);
		pop(p, outcome == DONE);
	}
	(void)pthread_mutex_unlock(&p->lock);
	free(answer);
	return NULL;
}

/* --- its life ------------------------------------------------------------------------------ */

static int take_url(struct http_post *p, const char *url, struct ubp_err *err)
{
	CURLU *parts = p->lib.url();
	CURLUcode code =
		parts ? p->lib.url_set(parts, CURLUPART_URL, url, 0) : CURLUE_OUT_OF_MEMORY;
	size_t len;

	p->lib.url_cleanup(parts);
	if (code != CURLUE_OK || strpbrk(url, "?#"))
		return ubp_fail(err, EINVAL, "--otlp: '%s' is no address of a collector", url);
	p->base = strdup(url);
	if (!p->base)
		return ubp_fail(err, ENOMEM, "out of memory");
	len = strlen(p->base);
	if (len >= 10 && strcmp(p->base + len - 10, "/v1/traces") == 0)
		p->base[len -= 10] = '\0';
	while (len && p->base[len - 1] == '/')
		p->base[--len] = '\0';
	return 0;
}

static int add_header(struct http_post *p, const char *header)
{
	struct curl_slist *all = p->lib.slist_append(p->headers, header);

	if (!all)
		return -ENOMEM;
	p->headers = all;
	return 0;
}

/* "NAME=VALUE,NAME=VALUE", percent-encoded. */
static int add_headers(struct http_post *p, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, ",");
		char *plain = p->lib.easy_unescape(p->curl, text, (int)len, NULL);
		char *equals = plain ? strchr(plain, '=') : NULL, *header = NULL;
		int rc = plain ? 0 : -ENOMEM;

		/* A line's end would begin a header of its own. */
		if (equals && !strpbrk(plain, "\r\n")) {
			*equals = '\0';
			if (asprintf(&header, "%s: %s", plain, equals + 1) < 0)
				header = NULL;
			rc = header ? add_header(p, header) : -ENOMEM;
			free(header);
		}
		if (plain)
			p->lib.free(plain);
		if (rc < 0)
			return rc;
		text += len + (text[len] == ',');
	}
	return 0;
}

static int prepare(struct http_post *p, struct ubp_err *err)
{
	const char *more = getenv("OTEL_EXPORTER_OTLP_HEADERS");
	const char *trusted = getenv("OTEL_EXPORTER_OTLP_CERTIFICATE");

	p->curl = p->lib.easy_init();
	if (!p->curl || add_header(p, "Content-Type: application/json") < 0 ||
	    add_header(p, "Expect:") < 0 || (more && add_headers(p, more) < 0))
		return ubp_fail(err, ENOMEM, "out of memory");
	(void)p->lib.easy_setopt(p->curl, CURLOPT_HTTPHEADER, p->headers);
	(void)p->lib.easy_setopt(p->curl, CURLOPT_NOSIGNAL, 1L);
	(void)p->lib.easy_setopt(p->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	(void)p->lib.easy_setopt(p->curl, CURLOPT_TIMEOUT, REQUEST_SECONDS);
	(void)p->lib.easy_setopt(p->curl, CURLOPT_USERAGENT, "ubp");
	(void)p->lib.easy_setopt(p->curl, CURLOPT_WRITEFUNCTION, take_answer);
	(void)p->lib.easy_setopt(p->curl, CURLOPT_NOPROGRESS, 0L);
	(void)p->lib.easy_setopt(p->curl, CURLOPT_XFERINFOFUNCTION, look);
	(void)p->lib.easy_setopt(p->curl, CURLOPT_XFERINFODATA, p);
	if (trusted && *trusted)
		(void)p->lib.easy_setopt(p->curl, CURLOPT_CAINFO, trusted);
	return 0;
}

static int start(struct http_post *p, const char *url, struct ubp_err *err)
{
	pthread_condattr_t attr;
	int rc = load(&p->lib, err);

	if (rc < 0)
		return rc;
	if (p->lib.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return ubp_fail(err, EIO, "--otlp: libcurl does not start");
	rc = take_url(p, url, err);
	if (rc == 0)
		rc = prepare(p, err);
	if (rc < 0)
		return rc;
	p->idle_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->idle_fd < 0)
		return ubp_fail_sys(err, "--otlp: eventfd");
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&p->news, &attr);
	(void)pthread_condattr_destroy(&attr);
	rc = quiet_thread_create(&p->thread, send_all, p);
	if (rc)
		return ubp_fail(err, rc, "--otlp: no thread: %s", strerror(rc));
	p->has_thread = true;
	return 0;
}

int http_post_new(const char *url, struct http_post **ret_post, struct ubp_err *err)
{
	struct http_post *p = calloc(1, sizeof(*p));
	int rc;

	*ret_post = NULL;
	if (!p)
		return ubp_fail(err, ENOMEM, "out of memory");
	p->idle_fd = -1;
	p->last = &p->first;
	(void)pthread_mutex_init(&p->lock, NULL);
	rc = start(p, url, err);
	if (rc < 0) {
		http_post_free(p);
		return rc;
	}
	*ret_post = p;
	return 0;
}

void http_post_free(struct http_post *p)
{
	if (!p)
		return;
	if (p->has_thread) {
		(void)pthread_mutex_lock(&p->lock);
		p->ends = true;
		(void)pthread_cond_broadcast(&p->news);
		(void)pthread_mutex_unlock(&p->lock);
		(void)pthread_join(p->thread, NULL);
		(void)pthread_cond_destroy(&p->news);
	}
	while (p->first)
		pop(p, false);
	if (p->curl)
		p->lib.easy_cleanup(p->curl);
	if (p->headers)
		p->lib.slist_free_all(p->headers);
	if (p->idle_fd >= 0)
		(void)close(p->idle_fd);
	(void)pthread_mutex_destroy(&p->lock);
	free(p->base);
	free(p);
}

/* --- what is to be sent -------------------------------------------------------------------- */

bool http_post_add(struct http_post *p, const char *path, const char *text, size_t len,
		   uint64_t items, bool waits)
{
	struct request *r = malloc(sizeof(*r) + len + 1);
	bool has_room;

	if (r) {
		*r = (struct request){ .path = path, .items = items, .len = len };
		memcpy(r->text, text, len);
		r->text[len] = '\0';
	}
	(void)pthread_mutex_lock(&p->lock);
	/* One that is larger than all the room goes alone. */
	while (waits && r && p->first && p->bytes + len > WAITING_BYTES)
		(void)pthread_cond_wait(&p->news, &p->lock);
	has_room = r && (!p->first || p->bytes + len <= WAITING_BYTES);
	if (has_room) {
		*p->last = r;
		p->last = &r->next;
		p->bytes += len;
		p->counts.waiting++;
		(void)pthread_cond_broadcast(&p->news);
	} else {
		p->counts.lost += items;
	}
	(void)pthread_mutex_unlock(&p->lock);
	if (!has_room)
		free(r);
	return has_room;
}

int http_post_fd(const struct http_post *p)
{
	return p->idle_fd;
}

bool http_post_is_idle(struct http_post *p)
{
	uint64_t n;
	bool is_idle;

	(void)!read(p->idle_fd, &n, sizeof(n));
	(void)pthread_mutex_lock(&p->lock);
	is_idle = !p->first;
	(void)pthread_mutex_unlock(&p->lock);
	return is_idle;
}

void http_post_give_up(struct http_post *p)
{
	(void)pthread_mutex_lock(&p->lock);
	p->gives_up = true;
	(void)pthread_cond_broadcast(&p->news);
	while (p->first)
		(void)pthread_cond_wait(&p->news, &p->lock);
	(void)pthread_mutex_unlock(&p->lock);
}

void http_post_counts(struct http_post *p, struct http_post_counts *ret_counts)
{
	(void)pthread_mutex_lock(&p->lock);
	*ret_counts = p->counts;
	(void)pthread_mutex_unlock(&p->lock);
}
