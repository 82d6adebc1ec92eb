/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/list_aside.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/aside.h"
#include "engine/base/err.h"
#include "engine/define/target.h"
#include "engine/dwarf/dwarf.h"

/* All that the thread needs: what is the caller's may go when it is left behind. */
struct work {
	list_fn *list;
	char *what, *name, *dirs, *symbols; /* copies */
	struct define_target target;
	struct ubp_err err;
	int rc;
	pthread_mutex_t lock;
	/* Under the lock: */
	bool is_left;
	list_each *each;
	void *ctx;
};

static void free_work(void *ctx)
{
	struct work *w = ctx;

	(void)pthread_mutex_destroy(&w->lock);
	free(w->what);
	free(w->name);
	free(w->dirs);
	free(w->symbols);
	free(w);
}

static bool copy(const char *text, char **ret_copy)
{
	*ret_copy = text ? strdup(text) : NULL;
	return *ret_copy || !text;
}

static struct work *new_work(const struct define_target *target, const char *what)
{
	struct work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	(void)pthread_mutex_init(&w->lock, NULL);
	if (!copy(what, &w->what) || !copy(target->name, &w->name) ||
	    !copy(target->debug.dirs, &w->dirs) || !copy(target->debug.symbols, &w->symbols)) {
		free_work(w);
		return NULL;
	}
	w->target = (struct define_target){ .name = w->name,
					    .pid = target->pid,
					    .debug = { w->dirs, w->symbols },
					    .explain = target->explain };
	ubp_err_reset(&w->err);
	return w;
}

/* Who was left behind has nobody to tell. */
static int tell(void *ctx, const char *line)
{
	struct work *w = ctx;
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = w->is_left ? -EINTR : w->each(w->ctx, line);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

static void run(void *ctx)
{
	struct work *w = ctx;

	w->rc = w->list(&w->target, w->what, tell, w, &w->err);
}

static void leave(struct work *w)
{
	pthread_mutex_lock(&w->lock);
	w->is_left = true;
	pthread_mutex_unlock(&w->lock);
}

int list_aside(list_fn *list, const struct define_target *target, const char *what,
	       list_each *each, void *ctx, struct ubp_err *err)
{
	struct work *w = new_work(target, what);
	struct aside_late late;
	struct aside *aside = NULL;
	int rc = -ENOMEM;

	if (w) {
		w->list = list;
		w->each = each;
		w->ctx = ctx;
		rc = aside_do(&aside, run, w, NULL, &late);
	}
	if (rc < 0) {
		if (w)
			free_work(w);
		return ubp_fail(err, -rc, "cannot start a thread: %s", strerror(-rc));
	}
	if (rc == ASIDE_DONE) {
		aside_free(aside);
		*err = w->err;
		rc = w->rc;
		free_work(w);
		return rc;
	}
	leave(w);
	if (!aside_leave(aside, free_work, w))
		free_work(w);
	return dwarf_fail_late(late.path, late.limit_ns, err);
}
