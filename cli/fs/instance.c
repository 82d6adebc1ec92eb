/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/instance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fs/clock.h"
#include "cli/fs/text.h"
#include "engine/base/vec.h"

const char *const instance_option_names[OPTIONS] = {
	[OPTION_USERSTACKTRACE] = "userstacktrace",
	[OPTION_OVERWRITE] = "overwrite",
	[OPTION_MARKERS] = "markers",
};

struct instance *instance_new(const char *name, size_t len, uint16_t number, int n_cpus)
{
	struct instance *instance = calloc(1, sizeof(*instance));

	if (!instance)
		return NULL;
	instance->number = number;
	instance->name = strndup(name, len);
	instance->is_on = true;
	instance->options[OPTION_OVERWRITE] = true;
	instance->options[OPTION_MARKERS] = true;
	if (!instance->name || buffer_init(&instance->buffer, n_cpus) < 0) {
		instance_free(instance);
		return NULL;
	}
	return instance;
}

static void free_state(struct event_state *state)
{
	free(state->filter);
	free(state->shown);
}

void instance_free(struct instance *instance)
{
	for (size_t i = 0; i < instance->n_states; i++)
		free_state(&instance->states[i]);
	free(instance->states);
	free(instance->pids);
	buffer_free(&instance->buffer);
	instance_snapshot_free(instance);
	error_log_clear(&instance->errors);
	free(instance->name);
	free(instance);
}

/* --- events ----------------------------------------------------------------- */

struct event_state *instance_state(struct instance *instance, uint32_t number, bool make)
{
	for (size_t i = 0; i < instance->n_states; i++)
		if (instance->states[i].number == number)
			return &instance->states[i];
	if (!make || VEC_DOUBLE(instance->states, instance->n_states) < 0)
		return NULL;
	instance->states[instance->n_states] = (struct event_state){ .number = number };
	return &instance->states[instance->n_states++];
}

void instance_forget_state(struct instance *instance, uint32_t number)
{
	struct event_state *state = instance_state(instance, number, false);

	if (!state)
		return;
	free_state(state);
	*state = instance->states[--instance->n_states];
}

bool instance_is_enabled(const struct instance *instance, uint32_t number)
{
	for (size_t i = 0; i < instance->n_states; i++)
		if (instance->states[i].number == number)
			return instance->states[i].is_enabled;
	return false;
}

bool event_state_is_traced(const struct event_state *of)
{
	return of->is_enabled || of->is_soft || of->is_held;
}

bool event_state_is_mute(const struct event_state *of)
{
	return of->is_held && !of->is_enabled && !of->is_soft;
}

bool instance_has_probes(const struct instance *instance, uint32_t number)
{
	for (size_t i = 0; i < instance->n_states; i++)
		if (instance->states[i].number == number)
			return instance->states[i].is_enabled || instance->states[i].is_soft;
	return false;
}

void instance_event(struct instance *instance, bool is_on, int tid, unsigned cpu,
		    uint64_t mono_ns, const char *line, size_t len)
{
	uint64_t ns = fs_clock_of(instance->clock, mono_ns);
	struct text other = { 0 };

	bool is_wanted = is_on && !instance->n_pids;

	for (size_t i = 0; is_on && i < instance->n_pids; i++)
		is_wanted |= instance->pids[i] == (unsigned long)tid;
	if (!is_wanted)
		return;
	if (ns != mono_ns)
		fs_clock_line(line, len, ns, &other);
	if (other.is_short)
		instance->buffer.cpus[0].dropped++;
	else
		buffer_add(&instance->buffer, cpu, ns, other.len ? other.data : line,
			   other.len ? other.len : len);
	text_free(&other);
}

int instance_snapshot_room(struct instance *instance)
{
	int rc = 0;

	if (!instance->has_snapshot)
		rc = buffer_init(&instance->snapshot, instance->buffer.n_cpus);
	instance->has_snapshot |= rc == 0;
	return rc;
}

/* As in the kernel, the buffer gets what the last snapshot had. */
int instance_snapshot(struct instance *instance)
{
	int rc = instance_snapshot_room(instance);

	if (rc < 0)
		return rc;
	buffer_swap(&instance->buffer, &instance->snapshot);
	return 0;
}

void instance_snapshot_free(struct instance *instance)
{
	buffer_free(&instance->snapshot);
	instance->has_snapshot = false;
}

void instance_clear(struct instance *instance)
{
	buffer_clear(&instance->buffer, BUFFER_ALL_CPUS);
	if (instance->has_snapshot)
		buffer_clear(&instance->snapshot, BUFFER_ALL_CPUS);
}

int instance_set_option(struct instance *instance, const char *name, size_t len, bool on)
{
	for (unsigned i = 0; i < OPTIONS; i++) {
		if (strlen(instance_option_names[i]) != len ||
		    memcmp(instance_option_names[i], name, len) != 0)
			continue;
		instance->options[i] = on;
		instance->buffer.keep_old = !instance->options[OPTION_OVERWRITE];
		return 0;
	}
	return -EINVAL;
}
