/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* In place of http_post.c in a static build, which loads no library: nothing is sent. */

#include "cli/hosts/http_post.h"

#include <errno.h>
#include <string.h>

#include "engine/base/err.h"

int http_post_new(const char *url, struct http_post **ret_post, struct ubp_err *err)
{
	(void)url;
	*ret_post = NULL;
	return ubp_fail(err, ENOTSUP,
			"--otlp: this static build sends nothing; it takes a FILE");
}

void http_post_free(struct http_post *post)
{
	(void)post;
}

bool http_post_add(struct http_post *post, const char *path, const char *text, size_t len,
		   uint64_t items, bool waits)
{
	(void)post;
	(void)path;
	(void)text;
	(void)len;
	(void)items;
	(void)waits;
	return false;
}

int http_post_fd(const struct http_post *post)
{
	(void)post;
	return -1;
}

bool http_post_is_idle(struct http_post *post)
{
	(void)post;
	return true;
}

void http_post_give_up(struct http_post *post)
{
	(void)post;
}

void http_post_counts(struct http_post *post, struct http_post_counts *ret_counts)
{
	(void)post;
	memset(ret_counts, 0, sizeof(*ret_counts));
}
