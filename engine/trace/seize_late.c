/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/seize_late.h"

#include <stdlib.h>

#include "engine/event/clock.h"
#include "engine/trace/task.h"

/* An exec reads from a disk, which may be slow, once. */
#define LIMIT_FIRST_NS 300000000ULL
#define LIMIT_NS       50000000ULL
#define LIMIT_LEAST_NS 5000000ULL
#define LATELY_NS      60000000000ULL

#define MUTE_NS      1000000000ULL
#define MUTE_MAX_NS  (MUTE_NS << 10)
#define MUTE_FORGETS 16 /* as in care.c */
#define KNOWN_MAX    4096

struct late {
	uint64_t begun; /* another process may come to have its number */
	uint64_t mute_until_ns, mute_ns;
	const char *why;
};

static uint64_t now_ns(void)
{
	return event_clock_now(CLOCK_KIND_MONO);
}

uint64_t seize_late_limit(const struct seize_late *late, pid_t pid)
{
	unsigned n = now_ns() < late->lately_until_ns ? late->n_lately : 0;
	uint64_t limit;

	if (!n || map_get(&late->known, (uint64_t)pid))
		return n ? LIMIT_NS : LIMIT_FIRST_NS;
	limit = n <= 8 ? LIMIT_NS >> (n - 1) : 0;
	return limit > LIMIT_LEAST_NS ? limit : LIMIT_LEAST_NS;
}

static void forget_all(struct seize_late *late)
{
	size_t pos = 0;
	void *value;

	while (map_next(&late->known, &pos, NULL, &value))
		free(value);
	map_free(&late->known);
	late->known = (struct map){ 0 };
}

/* NULL: there is no memory. */
static struct late *get(struct seize_late *late, pid_t pid)
{
	struct late *one = map_get(&late->known, (uint64_t)pid);
	uint64_t begun = task_begun(pid), now = now_ns();

	if (!one) {
		if (late->known.n >= KNOWN_MAX)
			forget_all(late);
		one = calloc(1, sizeof(*one));
		if (!one || map_put(&late->known, (uint64_t)pid, one) < 0) {
			free(one);
			return NULL;
		}
	}
	if (one->begun != begun || now > one->mute_until_ns + MUTE_FORGETS * one->mute_ns) {
		*one = (struct late){ .begun = begun };
		if (now >= late->lately_until_ns)
			late->n_lately = 0;
		late->n_lately++;
	}
	return one;
}

void seize_late_note(struct seize_late *late, pid_t pid, const char *why)
{
	struct late *one = get(late, pid);
	uint64_t now = now_ns();

	late->lately_until_ns = now + LATELY_NS;
	if (!one)
		return;
	one->why = why;
	one->mute_ns = one->mute_ns ? 2 * one->mute_ns : MUTE_NS;
	if (one->mute_ns > MUTE_MAX_NS)
		one->mute_ns = MUTE_MAX_NS;
	one->mute_until_ns = now + one->mute_ns;
}

uint64_t seize_late_until(struct seize_late *late, pid_t pid, const char **ret_why)
{
	struct late *one = map_get(&late->known, (uint64_t)pid);

	if (!one || now_ns() >= one->mute_until_ns)
		return 0;
	if (one->begun == task_begun(pid)) {
		if (ret_why)
			*ret_why = one->why;
		return one->mute_until_ns;
	}
	map_remove(&late->known, (uint64_t)pid);
	free(one);
	return 0;
}

void seize_late_free(struct seize_late *late)
{
	forget_all(late);
}
