/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Landings are found once for all objects of one file that are open at the same time: probes that come one after the other
 * each have an object of their own, and several threads may ask.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "engine/base/err.h"
#include "engine/code/landing_set.h"
#include "engine/code/landings.h"
#include "engine/elf/object_priv.h"

/* A file that was written to since is another one. */
struct identity {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec modified, changed;
};

struct shared {
	struct identity of;
	struct landings *landings;
	size_t n_objects; /* that have it; the last one frees it */
	struct shared *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared *all; /* under the lock, as is .n_objects of each */

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       is_same_time(a->modified, b->modified) && is_same_time(a->changed, b->changed);
}

static int identify(const struct object *object, struct identity *ret, struct ubp_err *err)
{
	struct stat st;

	if (fstat(object->fd, &st) < 0)
		return ubp_fail(err, errno, "%s: cannot look at it", object->path);
	*ret = (struct identity){ st.st_dev, st.st_ino, st.st_size, st.st_mtim, st.st_ctim };
	return 0;
}

/* One object more has it. NULL: nobody has. */
static struct shared *join(const struct identity *of)
{
	struct shared *s;

	pthread_mutex_lock(&lock);
	for (s = all; s && !is_same(&s->of, of);)
		s = s->next;
	if (s)
		s->n_objects++;
	pthread_mutex_unlock(&lock);
	return s;
}

static void leave(void *kept)
{
	struct shared *s = kept, **link = &all;
	bool is_last;

	pthread_mutex_lock(&lock);
	is_last = --s->n_objects == 0;
	while (is_last && *link != s)
		link = &(*link)->next;
	if (is_last)
		*link = s->next;
	pthread_mutex_unlock(&lock);
	if (!is_last)
		return;
	landings_free(s->landings);
	free(s);
}

/* For others too, from now on; two that were found at the same time are both kept. */
static void publish(struct shared *s)
{
	pthread_mutex_lock(&lock);
	s->next = all;
	all = s;
	pthread_mutex_unlock(&lock);
}

static struct shared *find(struct object *object, const struct identity *of,
			   struct ubp_err *err)
{
	struct shared *s = calloc(1, sizeof(*s));
	struct landings *landings = landings_new();
	int rc = s && landings ? landings_find(object, landings, err)
			       : ubp_fail(err, ENOMEM, "out of memory");

	if (rc < 0) {
		landings_free(landings);
		free(s);
		return NULL;
	}
	*s = (struct shared){ .of = *of, .landings = landings, .n_objects = 1 };
	publish(s);
	return s;
}

static const struct annex_kind landings_kind = { .free = leave };

int landings_get(struct object *object, const struct landings **ret_landings,
		 struct ubp_err *err)
{
	struct shared *s = annex_get(&object->annexes, &landings_kind);
	struct identity of = { 0 };

	if (s) {
		*ret_landings = s->landings;
		return 0;
	}
	if (identify(object, &of, err) < 0)
		return -err->code;
	s = join(&of);
	if (!s)
		s = find(object, &of, err);
	if (!s)
		return -err->code;
	if (annex_put(&object->annexes, &landings_kind, s) < 0) {
		leave(s);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	*ret_landings = s->landings;
	return 0;
}
