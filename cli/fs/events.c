/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fs/text.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/ubp.h"

/* Numbers that the kernel gives to no event of its own's kind are not known here: any will do. */
#define ID_FIRST 100

static int check_new(struct ubp_session **ret, struct ubp_err *err)
{
	struct ubp_options options = UBP_OPTIONS_INIT;

	options.strict = true;
	options.files_only = true;
	options.engine.apart = UBP_APART_NO;
	return ubp_session_new(&options, ret, err);
}

int events_init(struct events *events, pthread_mutex_t *lock, struct ubp_err *err)
{
	*events = (struct events){ .lock = lock };
	return check_new(&events->check, err);
}

/* --- look-up ---------------------------------------------------------------- */

struct event *events_find(const struct events *events, uint32_t number)
{
	for (size_t i = 0; i < events->n_events; i++)
		if (events->events[i]->number == number)
			return events->events[i];
	return NULL;
}

struct group *events_group(const struct events *events, uint32_t number)
{
	for (size_t i = 0; i < events->n_groups; i++)
		if (events->groups[i]->number == number)
			return events->groups[i];
	return NULL;
}

static struct group *group_named(const struct events *events, const char *name)
{
	for (size_t i = 0; i < events->n_groups; i++)
		if (strcmp(events->groups[i]->name, name) == 0)
			return events->groups[i];
	return NULL;
}

struct event *events_named(const struct events *events, const char *group, const char *name)
{
	for (size_t i = 0; i < events->n_events; i++)
		if (strcmp(events->events[i]->name, name) == 0 &&
		    strcmp(events->events[i]->group->name, group) == 0)
			return events->events[i];
	return NULL;
}

static unsigned free_id(const struct events *events)
{
	unsigned id = ID_FIRST;

	for (size_t i = 0; i < events->n_events; i++)
		if (events->events[i]->id == id) {
			id++;
			i = (size_t)-1;
		}
	return id;
}

/* --- what goes -------------------------------------------------------------- */

static void remove_at(void *array, size_t *n, size_t i)
{
	void **v = array;

	memmove(v + i, v + i + 1, (--*n - i) * sizeof(*v));
}

static void free_group(struct events *events, struct group *group)
{
	for (size_t i = 0; i < events->n_groups; i++)
		if (events->groups[i] == group)
			remove_at(events->groups, &events->n_groups, i);
	free(group->name);
	free(group);
}

static void free_event(struct events *events, struct event *event)
{
	for (size_t i = 0; i < events->n_events; i++)
		if (events->events[i] == event)
			remove_at(events->events, &events->n_events, i);
	if (event->group && --event->group->n_events == 0)
		free_group(events, event->group);
	free(event->name);
	free(event->format);
	free(event->made_of);
	free(event);
}

static void free_probe(struct probe *probe)
{
	if (probe->folder >= 0)
		(void)close(probe->folder);
	free(probe->listing);
	free(probe->path);
	free(probe);
}

/* With .lock; of .check it is gone. */
static void forget(struct events *events, size_t i, struct events_by *by)
{
	struct probe *probe = events->probes[i];

	remove_at(events->probes, &events->n_probes, i);
	if (--probe->event->n_probes == 0) {
		if (by)
			by->gone(by->ctx, probe->event);
		free_event(events, probe->event);
	}
	free_probe(probe);
}

void events_free(struct events *events)
{
	while (events->n_probes)
		forget(events, events->n_probes - 1, NULL);
	free(events->probes);
	free(events->events);
	free(events->groups);
	ubp_session_free(events->check);
}

/* --- definitions ------------------------------------------------------------ */

/* The text of the format file, with @id in place of the session's. */
static char *format_with(const char *format, unsigned id)
{
	const char *at = strstr(format, "\nID: ");
	struct text text = { 0 };

	if (!at)
		return NULL;
	text_add(&text, format, (size_t)(at - format));
	text_printf(&text, "\nID: %u", id);
	text_add(&text, strchr(at + 1, '\n'), strlen(strchr(at + 1, '\n')) + 1);
	if (!text.is_short)
		return text.data;
	text_free(&text);
	return NULL;
}

/* The group of @name, made if need be; NULL: memory is short. */
static struct group *take_group(struct events *events, const char *name)
{
	struct group *group = group_named(events, name);

	if (group || VEC_DOUBLE(events->groups, events->n_groups) < 0)
		return group;
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	group->name = strdup(name);
	if (!group->name) {
		free(group);
		return NULL;
	}
	group->number = ++events->last_number;
	events->groups[events->n_groups++] = group;
	return group;
}

/* NULL: memory is short. */
static struct event *make_event(struct events *events, const char *group, const char *name,
				const char *format)
{
	struct event *event;

	if (VEC_DOUBLE(events->events, events->n_events) < 0)
		return NULL;
	event = calloc(1, sizeof(*event));
	if (!event)
		return NULL;
	event->id = free_id(events);
	event->number = ++events->last_number;
	event->name = strdup(name);
	event->format = format_with(format, event->id);
	event->group = event->name && event->format ? take_group(events, group) : NULL;
	if (!event->group) {
		free_event(events, event);
		return NULL;
	}
	event->group->n_events++;
	events->events[events->n_events++] = event;
	return event;
}

/* The event of the newest of .check's probes, made if need be; NULL: memory is short. */
static struct event *take_event(struct events *events)
{
	size_t i = events->n_probes;
	const char *group = ubp_probe_group(events->check, i);
	const char *name = ubp_probe_event(events->check, i);
	struct event *event = events_named(events, group, name);

	return event ? event
		     : make_event(events, group, name, ubp_probe_format(events->check, i));
}

int events_add_made(struct events *events, const char *name, const char *fields,
		    const char *format)
{
	char *made_of;
	struct event *event;

	if (events_named(events, EVENTS_MADE_GROUP, name))
		return 0;
	made_of = strdup(fields);
	event = made_of ? make_event(events, EVENTS_MADE_GROUP, name, format) : NULL;
	if (!event) {
		free(made_of);
		return -ENOMEM;
	}
	event->is_made = true;
	event->made_of = made_of;
	return 0;
}

void events_remove_made(struct events *events, struct event *event)
{
	free_event(events, event);
}

static struct probe *new_probe(const struct events *events, const struct events_by *by)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	const char *colon;
	struct word all, place;
	size_t pos = 0;

	if (!probe)
		return NULL;
	probe->folder = -1;
	probe->listing = strdup(ubp_probe_listing(events->check, events->n_probes));
	if (probe->listing) {
		all = (struct word){ probe->listing, strlen(probe->listing) };
		(void)word_next(&all, &pos, &place);
		(void)word_next(&all, &pos, &place);
		colon = memrchr(place.s, ':', place.len);
		probe->path =
			colon ? word_copy((struct word){ place.s, (size_t)(colon - place.s) })
			      : NULL;
	}
	if (probe->path && *probe->path != '/')
		probe->folder = fcntl(by->folder, F_DUPFD_CLOEXEC, 3);
	if (!probe->path || (*probe->path != '/' && probe->folder < 0)) {
		free_probe(probe);
		return NULL;
	}
	return probe;
}

/* Of .check alone. */
static int take_back(struct events *events, const char *listing, struct ubp_err *err)
{
	struct text line = { 0 };
	int rc = -ENOMEM;

	text_printf(&line, "-%s", listing + 1);
	if (!line.is_short)
		rc = ubp_add_events(events->check, line.data, line.len, NULL, err);
	text_free(&line);
	return rc;
}

/* A synthetic event has its name. */
static int refuse(struct events *events, struct probe *probe, struct ubp_err *err)
{
	int rc = take_back(events, probe->listing, err);

	free_probe(probe);
	return rc < 0 ? rc : ubp_fail(err, EEXIST, "there is a synthetic event of that name");
}

/* The newest of .check's probes becomes one of ours. */
static int take_up(struct events *events, const struct events_by *by, struct ubp_err *err)
{
	struct probe *probe = new_probe(events, by);
	const struct event *same =
		events_named(events, ubp_probe_group(events->check, events->n_probes),
			     ubp_probe_event(events->check, events->n_probes));
	int rc = -ENOMEM;

	if (probe && same && same->is_made)
		return refuse(events, probe, err);
	(void)pthread_mutex_lock(events->lock);
	if (probe && VEC_DOUBLE(events->probes, events->n_probes) == 0)
		probe->event = take_event(events);
	if (probe && probe->event) {
		probe->number = ++events->last_number;
		probe->is_late = by->is_busy(by->ctx, probe->event);
		probe->event->n_probes++;
		events->probes[events->n_probes++] = probe;
		rc = 0;
	}
	(void)pthread_mutex_unlock(events->lock);
	if (rc == 0)
		return 0;
	if (probe)
		free_probe(probe);
	return ubp_fail(err, ENOMEM, "out of memory");
}

/* Where a definition's relative path starts from. */
static int enter(int folder)
{
	return folder >= 0 ? fchdir(folder) : chdir("/");
}

static int define(struct events *events, const char *line, size_t len, struct events_by *by,
		  struct ubp_err *err)
{
	int rc;

	if (enter(by->folder) < 0)
		return ubp_fail_sys(err, "the writer's working directory");
	rc = ubp_add_events(events->check, line, len, NULL, err);
	(void)enter(-1);
	if (rc < 0 || ubp_n_probes(events->check) == events->n_probes)
		return rc;
	return take_up(events, by, err);
}

/* --- deletions -------------------------------------------------------------- */

/* What a deletion is for, of which .event has a length of 0 for all of the group. */
struct deletion {
	struct word group, event;
	bool has_group;
	struct word all; /* of the line, and behind its first word */
	size_t rest;
};

static int parse_deletion(const char *line, size_t len, struct deletion *d)
{
	struct word first, name;
	const char *slash;

	*d = (struct deletion){ .all = word_trim(line, len) };
	(void)word_next(&d->all, &d->rest, &first);
	name = first;
	if (*first.s == '-') {
		if (first.len < 2 || first.s[1] != ':')
			return -EINVAL;
		name.s += 2;
	} else {
		name.s = memchr(first.s, ':', first.len);
		if (!name.s)
			return -EINVAL;
		name.s++;
	}
	name.len = (size_t)(first.s + first.len - name.s);
	slash = memchr(name.s, '/', name.len);
	d->event = name;
	d->has_group = slash;
	if (slash) {
		d->group = (struct word){ name.s, (size_t)(slash - name.s) };
		d->event = (struct word){ slash + 1, name.len - d->group.len - 1 };
	}
	return d->has_group || d->event.len ? 0 : -EINVAL;
}

/* Words behind the name are the first ones of the listing's, behind its name. */
static bool is_meant(const struct probe *probe, const struct deletion *d)
{
	struct word listing = { probe->listing, strlen(probe->listing) }, have, want;
	size_t pos = 0, rest = d->rest;

	if (d->event.len && !word_is(d->event, probe->event->name))
		return false;
	if (d->has_group && !word_is(d->group, probe->event->group->name))
		return false;
	(void)word_next(&listing, &pos, &have);
	while (word_next(&d->all, &rest, &want))
		if (!word_next(&listing, &pos, &have) || have.len != want.len ||
		    memcmp(have.s, want.s, have.len) != 0)
			return false;
	return true;
}

/* Of .check and of ours. */
static int delete_at(struct events *events, size_t i, struct events_by *by, struct ubp_err *err)
{
	int rc = take_back(events, events->probes[i]->listing, err);

	if (rc < 0)
		return rc;
	(void)pthread_mutex_lock(events->lock);
	forget(events, i, by);
	(void)pthread_mutex_unlock(events->lock);
	return 0;
}

static int delete (struct events *events, const char *line, size_t len, struct events_by *by,
		   struct ubp_err *err)
{
	struct deletion d;
	int rc = parse_deletion(line, len, &d);
	size_t i = 0, n = events->n_probes;

	if (rc < 0)
		return ubp_fail(err, -rc, "no event is named");
	by->has_deleted = true;
	while (rc == 0 && i < events->n_probes) {
		const struct event *event = events->probes[i]->event;

		if (!is_meant(events->probes[i], &d)) {
			i++;
			continue;
		}
		if (by->is_busy(by->ctx, event)) {
			by->busy = event;
			return ubp_fail(err, EBUSY, "%s/%s is enabled", event->group->name,
					event->name);
		}
		rc = delete_at(events, i, by, err);
	}
	return rc < 0 || events->n_probes < n ? rc : ubp_fail(err, ENOENT, "no such event");
}

int events_delete_all(struct events *events, struct events_by *by)
{
	struct ubp_err err;
	int rc = 0;

	ubp_err_reset(&err);
	by->has_deleted = true;
	for (size_t i = 0; i < events->n_events; i++)
		if (!events->events[i]->is_made && by->is_busy(by->ctx, events->events[i]))
			return -EBUSY;
	while (rc == 0 && events->n_probes)
		rc = delete_at(events, 0, by, &err);
	return rc;
}

int events_run(struct events *events, const char *line, size_t len, struct events_by *by,
	       struct ubp_err *err)
{
	const char *comment = memchr(line, '#', len);

	if (len && (*line == '-' || (by->is_any && *line == '!')))
		return delete (events, line, comment ? (size_t)(comment - line) : len, by, err);
	return define(events, line, len, by, err);
}

/* --- for others ------------------------------------------------------------- */

void events_definition(const struct probe *probe, const char *group, struct text *out)
{
	const char *behind = strchr(probe->listing, ' ') + 1 + strlen(probe->path);

	text_printf(out, "%c:%s/%s ", *probe->listing, group, probe->event->name);
	if (probe->folder >= 0)
		text_printf(out, "/proc/self/fd/%d/", probe->folder);
	text_printf(out, "%s%s", probe->path, behind);
}

int events_check_filter(struct events *events, const struct event *event, const char *filter,
			struct ubp_err *err)
{
	struct text definition = { 0 };
	struct ubp_session *session;
	int rc;

	for (size_t i = 0; i < events->n_probes && !definition.len; i++)
		if (events->probes[i]->event == event)
			events_definition(events->probes[i], "filter", &definition);
	if (!definition.len || definition.is_short) {
		text_free(&definition);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	rc = check_new(&session, err);
	if (rc == 0) {
		rc = ubp_add_events(session, definition.data, definition.len, filter, err);
		ubp_session_free(session);
	}
	text_free(&definition);
	return rc;
}
