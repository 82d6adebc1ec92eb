/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/fs/state.h"

/* Kinds of nodes: folders, and behind them the rows of the tables of files. */
enum kind {
	KIND_ROOT = TREE_ROOT,
	KIND_EVENTS,
	KIND_GROUP,
	KIND_EVENT,
	KIND_PER_CPU,
	KIND_CPU,
	KIND_OPTIONS,
	KIND_INSTANCES,
	KIND_FILES = 16,
};

/* A number has, from below: the kind (8 bits), a CPU (8 more than most machines need), what it is of, the instance. */
#define CPU_SHIFT      8
#define OF_SHIFT       20
#define INSTANCE_SHIFT 48

struct parts {
	unsigned kind, cpu;
	uint32_t of;
	uint16_t instance;
};

static uint64_t pack(const struct parts *p)
{
	return p->kind | (uint64_t)p->cpu << CPU_SHIFT | (uint64_t)p->of << OF_SHIFT |
	       (uint64_t)p->instance << INSTANCE_SHIFT;
}

static struct parts unpack(uint64_t number)
{
	return (struct parts){
		.kind = number & 0xff,
		.cpu = number >> CPU_SHIFT & 0xfff,
		.of = number >> OF_SHIFT & 0xfffffff,
		.instance = (uint16_t)(number >> INSTANCE_SHIFT),
	};
}

/* The row of the five tables together; NULL: behind them. */
static const struct file *file_row(size_t i)
{
	if (i < n_files_of_definitions)
		return &files_of_definitions[i];
	i -= n_files_of_definitions;
	if (i < n_files_of_events)
		return &files_of_events[i];
	i -= n_files_of_events;
	if (i < n_files_of_traces)
		return &files_of_traces[i];
	i -= n_files_of_traces;
	if (i < n_files_of_settings)
		return &files_of_settings[i];
	i -= n_files_of_settings;
	return i < n_files_of_triggers ? &files_of_triggers[i] : NULL;
}

/* What files of a folder of such a kind say. */
static unsigned in_of(const struct parts *p)
{
	static const unsigned in[] = {
		[KIND_EVENTS] = IN_EVENTS, [KIND_GROUP] = IN_GROUP,     [KIND_EVENT] = IN_EVENT,
		[KIND_CPU] = IN_CPU,       [KIND_OPTIONS] = IN_OPTIONS,
	};

	if (p->kind == KIND_ROOT)
		return p->instance ? IN_INSTANCE : IN_TOP;
	return p->kind < sizeof(in) / sizeof(*in) ? in[p->kind] : 0;
}

static mode_t folder_mode(const struct parts *p)
{
	if (p->kind == KIND_ROOT && !p->instance)
		return S_IFDIR | 0700;
	return S_IFDIR |
	       (p->kind == KIND_EVENTS || p->kind == KIND_GROUP || p->kind == KIND_EVENT
			? 0755
			: 0750);
}

/* --- from numbers ----------------------------------------------------------- */

int tree_find(const struct state *state, uint64_t number, struct tree_node *ret_node)
{
	struct parts p = unpack(number);
	bool is_file = p.kind >= KIND_FILES;
	unsigned in;

	*ret_node = (struct tree_node){ .number = number, .at.cpu = BUFFER_ALL_CPUS };
	ret_node->file = is_file ? file_row(p.kind - KIND_FILES) : NULL;
	ret_node->at.instance = state_instance(state, p.instance);
	if (!ret_node->at.instance || (is_file && !ret_node->file))
		return -ENOENT;
	in = is_file ? ret_node->file->in : in_of(&p);
	if (p.of && in & (IN_EVENT | IN_GROUP)) {
		ret_node->at.event = events_find(&state->events, p.of);
		ret_node->at.group = ret_node->at.event ? ret_node->at.event->group
							: events_group(&state->events, p.of);
		if (!ret_node->at.group)
			return -ENOENT;
	}
	if (p.cpu)
		ret_node->at.cpu = (int)p.cpu - 1;
	ret_node->mode = is_file ? S_IFREG | ret_node->file->mode : folder_mode(&p);
	return 0;
}

/* --- what is in a folder ---------------------------------------------------- */

struct listing {
	const struct state *state;
	struct parts of;
	int (*each)(void *ctx, const char *name, uint64_t number, mode_t mode);
	void *ctx;
};

static int tell_folder(const struct listing *l, const char *name, struct parts p)
{
	return l->each(l->ctx, name, pack(&p), folder_mode(&p));
}

static int list_root(const struct listing *l)
{
	static const struct {
		const char *name;
		enum kind kind;
	} folders[] = {
		{ "events", KIND_EVENTS },
		{ "per_cpu", KIND_PER_CPU },
		{ "options", KIND_OPTIONS },
		{ "instances", KIND_INSTANCES },
	};
	size_t n = sizeof(folders) / sizeof(*folders) - (l->of.instance ? 1 : 0);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = tell_folder(
			l, folders[i].name,
			(struct parts){ .kind = folders[i].kind, .instance = l->of.instance });
	return rc;
}

static int list_groups(const struct listing *l)
{
	struct parts p = l->of;
	int rc = 0;

	p.kind = KIND_GROUP;
	for (size_t i = 0; rc == 0 && i < l->state->events.n_groups; i++) {
		p.of = l->state->events.groups[i]->number;
		rc = tell_folder(l, l->state->events.groups[i]->name, p);
	}
	return rc;
}

static int list_events(const struct listing *l)
{
	struct parts p = l->of;
	int rc = 0;

	p.kind = KIND_EVENT;
	for (size_t i = 0; rc == 0 && i < l->state->events.n_events; i++) {
		const struct event *event = l->state->events.events[i];

		p.of = event->number;
		if (event->group->number == l->of.of)
			rc = tell_folder(l, event->name, p);
	}
	return rc;
}

static int list_cpus(const struct listing *l)
{
	struct parts p = l->of;
	char name[24];
	int rc = 0;

	p.kind = KIND_CPU;
	for (unsigned i = 0; rc == 0 && i < (unsigned)l->state->n_cpus; i++) {
		(void)snprintf(name, sizeof(name), "cpu%u", i);
		p.cpu = i + 1;
		rc = tell_folder(l, name, p);
	}
	return rc;
}

static int list_instances(const struct listing *l)
{
	int rc = 0;

	for (size_t i = 1; rc == 0 && i < l->state->n_instances; i++)
		rc = tell_folder(l, l->state->instances[i]->name,
				 (struct parts){ .kind = KIND_ROOT,
						 .instance = l->state->instances[i]->number });
	return rc;
}

static int list_files(const struct listing *l)
{
	struct parts p = l->of;
	const struct file *file;
	unsigned in = in_of(&p);
	int rc = 0;

	for (unsigned i = 0; rc == 0 && (file = file_row(i)); i++) {
		p.kind = KIND_FILES + i;
		if (file->in & in)
			rc = l->each(l->ctx, file->name, pack(&p), S_IFREG | file->mode);
	}
	return rc;
}

int tree_each(const struct state *state, uint64_t folder,
	      int (*each)(void *ctx, const char *name, uint64_t number, mode_t mode), void *ctx)
{
	static int (*const lists[])(const struct listing *) = {
		[KIND_ROOT] = list_root,           [KIND_EVENTS] = list_groups,
		[KIND_GROUP] = list_events,        [KIND_PER_CPU] = list_cpus,
		[KIND_INSTANCES] = list_instances, [KIND_FILES] = NULL,
	};
	struct listing l = { state, unpack(folder), each, ctx };
	struct tree_node node;
	int rc = tree_find(state, folder, &node);

	if (rc == 0 && node.file)
		rc = -ENOTDIR;
	if (rc == 0 && lists[l.of.kind])
		rc = lists[l.of.kind](&l);
	return rc == 0 ? list_files(&l) : rc;
}

struct search {
	const char *name;
	uint64_t number;
};

static int is_it(void *ctx, const char *name, uint64_t number, mode_t mode)
{
	struct search *search = ctx;

	(void)mode;
	if (strcmp(name, search->name) != 0)
		return 0;
	search->number = number;
	return 1;
}

int tree_look_up(const struct state *state, uint64_t folder, const char *name,
		 struct tree_node *ret_node)
{
	struct search search = { .name = name };
	int rc = tree_each(state, folder, is_it, &search);

	if (rc < 0)
		return rc;
	return rc ? tree_find(state, search.number, ret_node) : -ENOENT;
}

bool tree_takes_folders(uint64_t folder)
{
	return unpack(folder).kind == KIND_INSTANCES;
}
