/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/fs/text.h"
#include "cli/fs/tracer.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/ubp_event.h"
#include "engine/ubp_trigger.h"

/* A name of a group, and a zero behind it. */
#define GROUP_ROOM 80
/* A filter is shorter. */
#define FILTER_ROOM 4096

static void lock(struct state *state)
{
	(void)pthread_mutex_lock(&state->lock);
}

static void unlock(struct state *state)
{
	(void)pthread_mutex_unlock(&state->lock);
}

/* --- instances -------------------------------------------------------------- */

struct instance *state_instance(const struct state *state, uint16_t number)
{
	for (size_t i = 0; i < state->n_instances; i++)
		if (state->instances[i]->number == number)
			return state->instances[i];
	return NULL;
}

/* That of one that is gone is taken again as late as can be: who still has a folder or a file of that one open is to be told that it is gone. */
static uint16_t free_number(struct state *state)
{
	while (state_instance(state, state->next_number))
		state->next_number++;
	return state->next_number++;
}

int state_add_instance(struct state *state, const char *name)
{
	struct instance *instance;

	for (size_t i = 0; i < state->n_instances; i++)
		if (strcmp(state->instances[i]->name, name) == 0)
			return -EEXIST;
	if (state->n_instances > UINT16_MAX ||
	    VEC_DOUBLE(state->instances, state->n_instances) < 0)
		return -ENOMEM;
	instance = instance_new(name, strlen(name), free_number(state), state->n_cpus);
	if (!instance)
		return -ENOMEM;
	instance->born = state->events.last_number;
	state->instances[state->n_instances++] = instance;
	return 0;
}

void state_remove_instance(struct state *state, uint16_t number)
{
	struct instance *instance = state_instance(state, number);
	struct ubp_err err;

	lock(state);
	for (size_t i = 0; i < instance->n_states; i++)
		instance->states[i].is_enabled = instance->states[i].is_soft = false;
	unlock(state);
	fs_triggers_end(&state->triggers, instance);
	ubp_err_reset(&err);
	if (state_trace(state, &err) < 0)
		(void)cli_error_record(&err);
	lock(state);
	for (size_t i = 0; i < state->n_instances; i++)
		if (state->instances[i] == instance)
			state->instances[i] = state->instances[--state->n_instances];
	instance_free(instance);
	unlock(state);
}

/* --- events ----------------------------------------------------------------- */

static void keep_name(struct state *state, pid_t tid, const char *name)
{
	unsigned i;

	for (i = 0; i < STATE_NAMES && state->names[i].tid != tid; i++)
		;
	if (i == STATE_NAMES) {
		i = state->next_name;
		state->next_name = (i + 1) % STATE_NAMES;
	}
	state->names[i].tid = tid;
	(void)snprintf(state->names[i].name, sizeof(state->names[i].name), "%s", name);
}

/* Of a hit, or of what a trigger has made. */
static struct instance *instance_of(const struct state *state, const struct wanted *wanted,
				    const struct ubp_event *event)
{
	return state_instance(state,
			      wanted ? wanted->instance
				     : fs_triggers_instance(ubp_trigger_event_trace(event)));
}

static bool is_mute(const struct state *state, struct instance *instance,
		    const struct wanted *wanted)
{
	for (size_t i = 0; instance->is_held && wanted && i < state->events.n_probes; i++) {
		const struct probe *probe = state->events.probes[i];
		const struct event_state *of =
			probe->number == wanted->probe
				? instance_state(instance, probe->event->number, false)
				: NULL;

		if (of)
			return event_state_is_mute(of);
	}
	return false;
}

static void on_event(void *ctx, const struct wanted *wanted, const struct ubp_event *event,
		     const char *line, size_t len)
{
	struct state *state = ctx;
	struct instance *instance;
	bool is_made;

	lock(state);
	is_made = ubp_event_probe(event) == UBP_EVENT_SYNTHETIC;
	instance = instance_of(state, wanted, event);
	if (wanted || is_made)
		keep_name(state, ubp_event_tid(event), ubp_event_comm(event));
	if (instance && (wanted || is_made) && !is_mute(state, instance, wanted))
		/* Of what triggers know, the engine has seen to that. */
		instance_event(instance,
			       instance->is_on || fs_triggers_is_in(&state->triggers, instance),
			       ubp_event_tid(event), ubp_event_cpu(event),
			       ubp_event_time_ns(event), line, len);
	else if (instance && !wanted && !is_made)
		buffer_add(&instance->buffer, 0, 0, line, len);
	unlock(state);
}

static void on_snapshot(void *ctx, struct instance *instance)
{
	struct state *state = ctx;

	lock(state);
	(void)instance_snapshot(instance);
	unlock(state);
}

static void on_hits(void *ctx, uint32_t probe, uint64_t n)
{
	struct state *state = ctx;

	lock(state);
	for (size_t i = 0; i < state->events.n_probes; i++)
		if (state->events.probes[i]->number == probe)
			state->events.probes[i]->hits += n;
	unlock(state);
}

/* Nothing is traced any more: so nothing is enabled. */
static void disable_all(struct state *state)
{
	struct wanted_list none = { 0 };
	struct ubp_err err;

	lock(state);
	for (size_t i = 0; i < state->n_instances; i++)
		for (size_t k = 0; k < state->instances[i]->n_states; k++)
			state->instances[i]->states[k].is_enabled =
				state->instances[i]->states[k].is_soft =
					state->instances[i]->states[k].has_stack = false;
	unlock(state);
	ubp_err_reset(&err);
	fs_tracer_keep(state->tracer, false);
	(void)fs_tracer_set(state->tracer, &none, true, &err);
	(void)fs_triggers_look_at_made(&state->triggers);
}

void state_dispatch(struct state *state)
{
	if (!fs_tracer_dispatch(state->tracer))
		disable_all(state);
	fs_triggers_look(&state->triggers);
	fs_tracer_count(state->tracer);
	state->news(state->news_ctx);
}

void state_sync(struct state *state)
{
	if (!fs_tracer_sync(state->tracer))
		disable_all(state);
	fs_triggers_look(&state->triggers);
	fs_tracer_count(state->tracer);
	state->news(state->news_ctx);
}

/*
 * What the group of @probe's event is called in the session. Two instances have the same event, each with a filter of its own: their groups tell
 * them apart. Triggers know them by the names that they have here: fs_tracer_place().
 */
static void group_of(const struct state *state, const struct instance *instance,
		     const struct probe *probe, char group[GROUP_ROOM])
{
	const struct group *own = probe->event->group;
	bool is_free = false;

	if (!instance->number) {
		(void)snprintf(group, GROUP_ROOM, "%s", own->name);
		return;
	}
	for (unsigned i = 0; !is_free; i++) {
		(void)snprintf(group, GROUP_ROOM, "i%u_g%u_%u", instance->number, own->number,
			       i);
		is_free = true;
		for (size_t k = 0; k < state->events.n_groups; k++)
			is_free &= strcmp(state->events.groups[k]->name, group) != 0;
	}
}

/* For which only the threads of set_event_pid pass. Nothing: there are too many for a filter. */
static void filter_of_pids(const struct instance *instance, struct text *out)
{
	for (size_t i = 0; i < instance->n_pids; i++)
		text_printf(out, "%scommon_pid == %lu", i ? " || " : "", instance->pids[i]);
	if (out->len >= FILTER_ROOM)
		text_free(out);
}

/*
 * Where triggers are about an event, its filter is theirs to look at, for they see all hits. But, as in the kernel, those of threads that set_event_pid leaves
 * out only if no trigger of the event needs what was recorded.
 */
static int put_filter(const struct instance *instance, const struct event_state *of,
		      char **ret_filter)
{
	struct text text = { 0 };

	if (!of->is_soft && !of->is_held) {
		*ret_filter = of->filter ? strdup(of->filter) : NULL;
		return of->filter && !*ret_filter ? -ENOMEM : 0;
	}
	if (!of->is_soft || of->has_condition)
		filter_of_pids(instance, &text);
	if (text.len)
		text_add(&text, "", 1);
	if (text.is_short) {
		text_free(&text);
		return -ENOMEM;
	}
	*ret_filter = text.data;
	return 0;
}

/* Where a trigger asks for stacks, the engine gives those that it wants. */
static bool wants_stack(const struct instance *instance, const struct event_state *of)
{
	return instance->options[OPTION_USERSTACKTRACE] || of->has_stack;
}

static int want(const struct state *state, struct wanted_list *list,
		const struct instance *instance, const struct event_state *of,
		const struct probe *probe)
{
	struct wanted *wanted = calloc(1, sizeof(*wanted));
	struct text definition = { 0 };
	char group[GROUP_ROOM];

	group_of(state, instance, probe, group);
	events_definition(probe, group, &definition);
	text_add(&definition, "", 1);
	if (!wanted || definition.is_short || VEC_DOUBLE(list->items, list->n) < 0) {
		text_free(&definition);
		free(wanted);
		return -ENOMEM;
	}
	*wanted = (struct wanted){
		.probe = probe->number,
		.instance = instance->number,
		.definition = definition.data,
		.group = strdup(probe->event->group->name),
		.with_stack = wants_stack(instance, of),
	};
	list->items[list->n++] = wanted;
	return wanted->group ? put_filter(instance, of, &wanted->filter) : -ENOMEM;
}

static int want_all(const struct state *state, struct wanted_list *list)
{
	int rc = 0;

	for (size_t i = 0; i < state->n_instances; i++) {
		struct instance *instance = state->instances[i];

		for (size_t k = 0; rc == 0 && k < state->events.n_probes; k++) {
			const struct probe *probe = state->events.probes[k];
			const struct event_state *of =
				instance_state(instance, probe->event->number, false);

			if (of && event_state_is_traced(of) && !probe->is_late)
				rc = want(state, list, instance, of, probe);
		}
	}
	return rc;
}

/* Probes that came while their event was enabled are there from its next time on. */
static void let_late_ones_in(struct state *state)
{
	lock(state);
	for (size_t i = 0; i < state->events.n_probes; i++) {
		struct probe *probe = state->events.probes[i];

		probe->is_late &= state_is_busy(state, probe->event);
	}
	unlock(state);
}

int state_trace(struct state *state, struct ubp_err *err)
{
	struct wanted_list list = { 0 };
	int rc;

	let_late_ones_in(state);
	rc = want_all(state, &list);

	if (rc < 0)
		(void)ubp_fail(err, ENOMEM, "out of memory");
	else
		rc = fs_tracer_set(state->tracer, &list, !fs_triggers_any(&state->triggers),
				   err);
	wanted_free(&list);
	if (rc == 0)
		rc = fs_triggers_follow_all(&state->triggers, err);
	if (rc < 0 && fs_tracer_has_failed(state->tracer))
		disable_all(state);
	state->news(state->news_ctx);
	return rc;
}

void state_clear_deleted(struct state *state, bool is_kept)
{
	lock(state);
	for (size_t i = 0; i < state->n_instances; i++) {
		struct instance *instance = state->instances[i];

		if (instance->has_lost_event && !is_kept)
			instance_clear(instance);
		instance->has_lost_event = false;
	}
	unlock(state);
}

bool state_is_busy(const struct state *state, const struct event *event)
{
	for (size_t i = 0; i < state->n_instances; i++)
		if (instance_has_probes(state->instances[i], event->number))
			return true;
	return false;
}

/* --- begin and end ---------------------------------------------------------- */

int state_init(struct state *state, struct ubp_err *err)
{
	struct fs_tracer_ops ops = { on_event, on_hits, state };

	state->n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	(void)pthread_mutex_init(&state->lock, NULL);
	state->tracer = fs_tracer_new(&ops);
	if (!state->tracer || state_add_instance(state, "") < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	state->triggers = (struct fs_triggers){ .tracer = state->tracer,
						.events = &state->events,
						.instances = &state->instances,
						.n_instances = &state->n_instances,
						.lock = &state->lock,
						.snapshot = on_snapshot,
						.snapshot_ctx = state };
	return events_init(&state->events, &state->lock, err);
}

void state_free(struct state *state)
{
	fs_tracer_free(state->tracer);
	events_free(&state->events);
	while (state->n_instances)
		instance_free(state->instances[--state->n_instances]);
	free(state->instances);
	(void)pthread_mutex_destroy(&state->lock);
}
