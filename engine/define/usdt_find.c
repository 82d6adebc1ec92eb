/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where the static probes are that a definition means: in a target, in the files a process
 * maps, in every process.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/nearest.h"
#include "engine/base/proc.h"
#include "engine/base/vec.h"
#include "engine/define/files.h"
#include "engine/define/usdt.h"
#include "engine/elf/object.h"
#include "engine/event/clock.h"
#include "engine/files/locate.h"
#include "engine/files/mapped.h"
#include "engine/os/maps.h"
#include "engine/os/untrusted_file.h"
#include "engine/sink/buf.h"
#include "engine/trace/task.h"

#define DELETED " (deleted)"
/* Libraries of a program, and of those; files of all processes together. */
#define NEEDED_MAX 256
#define SEARCH_NS  5000000000ULL

struct search {
	struct definitions *defs;
	const struct usdt_definition *d;
	pid_t view; /* whose names paths are; 0: ours */
	struct usdt_files *files;
	struct map seen;   /* files that were looked into */
	size_t n_seen;     /* how many */
	size_t n_notes;    /* static probes in them */
	unsigned n_unseen; /* processes that may not be looked at */
	struct nearest nearest;
	uint64_t deadline_ns; /* 0: none */
	bool gave_up;
};

void usdt_files_free(struct usdt_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->v[i].path);
		object_free(files->v[i].object);
	}
	free(files->v);
	memset(files, 0, sizeof(*files));
}

/* --- files that processes map -------------------------------------------------------- */

/* Mixed so that no two files are likely to have one; the map has nothing wider. */
static uint64_t file_key(uint64_t dev, uint64_t ino)
{
	return ino ^ dev * 0x9e3779b97f4a7c15ULL;
}

/* True: it was there already. */
static bool was_seen(struct map *seen, uint64_t dev, uint64_t ino)
{
	uint64_t key = file_key(dev, ino);

	if (map_get(seen, key))
		return true;
	(void)map_put(seen, key, seen);
	return false;
}

/* The name of a mapping's file in the process, allocated. */
static char *clean_path(const struct mapping *m)
{
	size_t len = strlen(m->path);

	if (len > strlen(DELETED) && strcmp(m->path + len - strlen(DELETED), DELETED) == 0)
		len -= strlen(DELETED);
	return strndup(m->path, len);
}

static int each_new(pid_t pid, struct map *seen,
		    int (*each)(void *ctx, const char *path, struct object *object), void *ctx,
		    struct ubp_err *err)
{
	pid_t live = task_live_thread(pid);
	struct maps maps;
	int rc = maps_read(live ? live : pid, &maps, err);

	for (size_t i = 0; i < maps.n && rc == 0; i++) {
		const struct mapping *m = &maps.v[i];
		struct object *object;
		char *path;

		if (!m->exec || !m->ino || m->path[0] != '/' || was_seen(seen, m->dev, m->ino))
			continue;
		object = mapped_open(live ? live : pid, m);
		path = object ? clean_path(m) : NULL;
		if (path)
			rc = each(ctx, path, object);
		else
			object_free(object);
		free(path);
	}
	maps_free(&maps);
	return rc;
}

int usdt_each_mapped(pid_t pid, int (*each)(void *ctx, const char *path, struct object *object),
		     void *ctx, struct ubp_err *err)
{
	struct map seen = { 0 };
	int rc = each_new(pid, &seen, each, ctx, err);

	map_free(&seen);
	return rc;
}

/* --- one file -------------------------------------------------------------------------- */

static int look_at_note(void *ctx, const struct object_note *note)
{
	struct search *search = ctx;
	char *name;

	search->n_notes++;
	if (usdt_is_meant(search->d, note))
		return 1;
	if (asprintf(&name, "%s:%s", note->provider, note->name) < 0)
		return 0;
	nearest_offer(&search->nearest, name);
	free(name);
	return 0;
}

/* @path and @object belong to the list, or are freed. */
static int add_file(struct usdt_files *files, char *path, struct object *object,
		    struct ubp_err *err)
{
	if (!path || VEC_FIT(files->v, files->n + 1) < 0) {
		free(path);
		object_free(object);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	files->v[files->n++] = (struct usdt_file){ path, object };
	return 0;
}

/* @object is the search's now. */
static int look_into(struct search *search, const char *path, struct object *object,
		     struct ubp_err *err)
{
	search->n_seen++;
	if (object_each_note(object, look_at_note, search) == 1)
		return add_file(search->files, strdup(path), object, err);
	object_free(object);
	return 0;
}

/* --- the target ------------------------------------------------------------------------ */

/* By the name of a program or library, or a path; *ret_object is the caller's. */
static int open_target(const struct search *search, const char *target, char **ret_path,
		       struct object **ret_object, struct ubp_err *err)
{
	char *open_path = NULL;
	int rc = object_locate(target, search->view, ret_path, &open_path, err);

	if (rc == 0)
		rc = object_open(open_path, ret_object, err);
	if (rc < 0) {
		free(*ret_path);
		*ret_path = NULL;
	}
	free(open_path);
	return rc;
}

static int find_in_target(struct search *search, struct ubp_err *err)
{
	struct object *object = NULL;
	char *path = NULL;
	int rc = open_target(search, search->d->target, &path, &object, err);

	if (rc == 0)
		rc = look_into(search, path, object, err);
	else
		rc = usdt_at(search->d, search->d->at, err);
	free(path);
	return rc;
}

/* --- without target -------------------------------------------------------------------- */

/* Names of programs, then of what they need, each but once: one behind the other, with a NUL. */
struct candidates {
	struct sink_buf names;
	size_t n;
};

static void add_candidate(struct candidates *c, const char *name)
{
	for (size_t at = 0; at < c->names.len; at += strlen(c->names.data + at) + 1)
		if (strcmp(c->names.data + at, name) == 0)
			return;
	if (c->n++ < NEEDED_MAX)
		sink_buf_add(&c->names, name, strlen(name) + 1);
}

/* What can't be found or opened is passed over: it was a guess. */
static int try_candidate(struct search *search, struct candidates *c, const char *name,
			 struct ubp_err *err)
{
	struct object *object = NULL;
	struct ubp_err ignored;
	const char *needed;
	char *path = NULL;
	int rc = 0;

	ubp_err_reset(&ignored);
	if (open_target(search, name, &path, &object, &ignored) < 0)
		return 0;
	if (was_seen(&search->seen, object_dev(object), object_ino(object))) {
		object_free(object);
	} else {
		for (size_t i = 0; (needed = object_needed(object, i)); i++)
			add_candidate(c, needed);
		rc = look_into(search, path, object, err);
	}
	free(path);
	return rc;
}

/* The program or library called @name, and what it needs, until the probe is found. */
static int find_named(struct search *search, const char *name, struct ubp_err *err)
{
	struct candidates c = { .n = 0 };
	int rc = 0;

	if (name[0])
		add_candidate(&c, name);
	for (size_t at = 0; at < c.names.len && rc == 0 && search->files->n == 0;) {
		char *one = strdup(c.names.data + at);

		rc = one ? try_candidate(search, &c, one, err)
			 : ubp_fail(err, ENOMEM, "out of memory");
		free(one);
		at += strlen(c.names.data + at) + 1;
	}
	sink_buf_free(&c.names);
	return rc;
}

static bool is_pattern(const char *provider)
{
	return strpbrk(provider, "*?[/") != NULL;
}

/* postgres; python3 for python; then the library. */
static int find_by_provider(struct search *search, struct ubp_err *err)
{
	static const char *const around[][2] = { { "", "" }, { "", "3" }, { "lib", "" } };
	const char *provider = search->d->provider;
	int rc = 0;

	if (is_pattern(provider))
		return 0;
	for (size_t i = 0; i < 3 && rc == 0 && search->files->n == 0; i++) {
		char *name;

		if (asprintf(&name, "%s%s%s", around[i][0], provider, around[i][1]) < 0)
			return ubp_fail(err, ENOMEM, "out of memory");
		rc = find_named(search, name, err);
		free(name);
	}
	return rc;
}

/* By which definitions name the file that a process calls @path: so, if that leads to it. */
static char *definition_path(const struct search *search, const char *path,
			     const struct object *object)
{
	char *own = NULL, *open_path = NULL;
	struct ubp_err ignored;
	struct stat st;

	ubp_err_reset(&ignored);
	if (object_locate(path, search->view, &own, &open_path, &ignored) < 0 ||
	    file_stat(open_path, &st) < 0 || st.st_dev != object_dev(object) ||
	    st.st_ino != object_ino(object)) {
		free(own);
		own = strdup(object_path(object));
	}
	free(open_path);
	return own;
}

struct mapped_search {
	struct search *search;
	struct ubp_err *err;
};

static int look_into_mapped(void *ctx, const char *path, struct object *object)
{
	struct mapped_search *m = ctx;
	struct search *search = m->search;

	search->n_seen++;
	if (search->deadline_ns && event_clock_now(CLOCK_KIND_MONO) > search->deadline_ns) {
		object_free(object);
		search->gave_up = true;
		return -ETIMEDOUT;
	}
	if (object_each_note(object, look_at_note, search) == 1)
		return add_file(search->files, definition_path(search, path, object), object,
				m->err);
	object_free(object);
	return 0;
}

static int find_in_process(struct search *search, pid_t pid, struct ubp_err *err)
{
	struct mapped_search m = { search, err };

	return each_new(pid, &search->seen, look_into_mapped, &m, err);
}

static int look_at_process(void *ctx, pid_t pid)
{
	struct mapped_search *m = ctx;
	struct ubp_err err;
	int rc;

	if (pid == getpid())
		return 0;
	ubp_err_reset(&err);
	rc = find_in_process(m->search, pid, &err);
	if (rc == -EACCES || rc == -EPERM)
		m->search->n_unseen++;
	if (rc != -ENOMEM && rc != -ETIMEDOUT)
		return 0;
	*m->err = err;
	return rc;
}

static int find_in_all(struct search *search, struct ubp_err *err)
{
	struct mapped_search m = { search, err };
	int rc;

	search->deadline_ns = event_clock_now(CLOCK_KIND_MONO) + SEARCH_NS;
	rc = proc_each(look_at_process, &m);
	if (rc == 0 || rc == -ETIMEDOUT)
		return 0;
	return err->code ? rc : ubp_fail(err, -rc, "cannot look through /proc");
}

static int find_without_target(struct search *search, struct ubp_err *err)
{
	struct definitions *defs = search->defs;
	int rc = 0;

	for (size_t i = 0; i < defs->opt.n_pids && rc == 0; i++)
		rc = find_in_process(search, defs->opt.pids[i], err);
	if (rc == 0 && defs->opt.tid)
		rc = find_in_process(search, task_tgid(defs->opt.tid), err);
	if (rc < 0 || defs->opt.n_pids || defs->opt.tid)
		return rc;
	if (defs->program)
		rc = find_named(search, defs->program, err);
	if (rc == 0 && !search->files->n)
		rc = find_by_provider(search, err);
	return rc == 0 && !search->files->n ? find_in_all(search, err) : rc;
}

static int fail_not_found(const struct search *search, struct ubp_err *err)
{
	const struct usdt_definition *d = search->d;
	char near_text[NEAREST_TEXT_MAX], where[192], more[96] = "";

	nearest_text(&search->nearest, near_text, sizeof(near_text));
	if (!d->target && (search->defs->program || search->defs->opt.n_pids) &&
	    !search->nearest.n)
		snprintf(near_text, sizeof(near_text),
			 "; if a library has it that is opened later, give its name as TARGET");
	if (d->target && search->n_notes == 0)
		snprintf(where, sizeof(where), "%.150s: it has none at all", d->target);
	else if (d->target)
		snprintf(where, sizeof(where), "%.150s", d->target);
	else if (search->defs->opt.n_pids == 1)
		snprintf(where, sizeof(where), "the files of process %d",
			 (int)search->defs->opt.pids[0]);
	else if (search->defs->opt.n_pids || search->defs->opt.tid)
		snprintf(where, sizeof(where), "the files of these processes");
	else if (is_pattern(d->provider))
		snprintf(where, sizeof(where), "the programs that run now");
	else
		snprintf(where, sizeof(where),
			 "a program or library called %.64s, nor in those that run now",
			 d->provider);
	if (search->gave_up)
		snprintf(more, sizeof(more), " (gave up after %llu s and %zu files)",
			 SEARCH_NS / 1000000000, search->n_seen);
	else if (search->n_unseen)
		snprintf(more, sizeof(more), " (%u process%s may not be looked at)",
			 search->n_unseen, search->n_unseen == 1 ? "" : "es");
	(void)ubp_fail(err, ENOENT, "no static probe '%.128s' in %s%s%s", d->probe, where, more,
		       near_text);
	return usdt_at(d, d->probe_at, err);
}

int usdt_find(struct definitions *defs, const struct usdt_definition *d,
	      struct usdt_files *ret_files, struct ubp_err *err)
{
	struct search search = {
		.defs = defs, .d = d, .view = files_view(defs), .files = ret_files
	};
	int rc;

	memset(ret_files, 0, sizeof(*ret_files));
	nearest_init(&search.nearest, d->probe, strlen(d->probe), NEAREST_EDITS);
	rc = d->target ? find_in_target(&search, err) : find_without_target(&search, err);
	if (rc == 0 && ret_files->n == 0)
		rc = fail_not_found(&search, err);
	map_free(&search.seen);
	return rc;
}
