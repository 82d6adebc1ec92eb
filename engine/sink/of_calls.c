/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/of_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"

static struct calls *make_calls(struct sink *sink, calls_fn *fn)
{
	const struct sink_probes *probes = sink->opt.probes;
	struct calls *calls = calls_new(fn, sink);
	const struct spec_probe *probe;
	unsigned at = 0;

	while (calls && probes && (probe = probes->next(probes->ctx, &at)))
		if (calls_add_probe(calls, probe) < 0)
			sink->is_short = true;
	return calls;
}

enum calls_record sink_calls_add(struct sink *sink, struct calls **calls, calls_fn *fn,
				 const struct spec_probe *probe,
				 const struct event_record *record)
{
	int rc;

	if (!*calls)
		*calls = make_calls(sink, fn);
	if (*calls)
		calls_set_host(*calls, sink->host);
	rc = *calls ? calls_add(*calls, probe, record) : -1;
	if (rc >= 0)
		return (enum calls_record)rc;
	sink->is_short = true;
	return CALLS_OTHER;
}

uint64_t sink_calls_weight(const struct sink *sink, const struct call *call)
{
	/* A call that did not return is told of by another's record. */
	return call->ret && sink->weight ? sink->weight : 1;
}

void sink_calls_lost(struct calls *calls, uint64_t n)
{
	struct event_record gap = { .kind = EVENT_LOST, .n_lost = n };

	if (calls)
		(void)calls_add(calls, NULL, &gap);
}

static void take_host(struct sink_threads *threads, const char *host)
{
	uintptr_t n = threads->hosts.n + 1;
	void *known;

	if (host == threads->host)
		return;
	threads->host = host;
	threads->add = 0;
	if (!host)
		return;
	known = map_get(&threads->hosts, hash_text(1, host));
	if (n > SINK_HOSTS_MAX)
		n = SINK_HOSTS_MAX;
	if (known)
		n = (uintptr_t)known;
	else
		(void)map_put(&threads->hosts, hash_text(1, host), (void *)n);
	threads->add = (int32_t)n * SINK_HOST_PIDS;
}

enum sink_thread_news sink_threads_see(struct sink_threads *threads, const char *host,
				       const struct event_record *record)
{
	bool is_new;
	uint64_t key;
	char *name;

	take_host(threads, host);
	key = (uint64_t)(uint32_t)sink_threads_id(threads, record->pid) << 32 |
	      (uint32_t)sink_threads_id(threads, record->tid);
	name = map_get(&threads->names, key);
	is_new = !name;
	if (name && strncmp(name, record->comm, sizeof(record->comm)) == 0)
		return SINK_THREAD_KNOWN;
	if (is_new)
		name = malloc(sizeof(record->comm));
	if (is_new && name && map_put(&threads->names, key, name) < 0) {
		free(name);
		name = NULL;
	}
	if (name)
		memcpy(name, record->comm, sizeof(record->comm));
	return is_new ? SINK_THREAD_NEW : SINK_THREAD_NAMED;
}

size_t sink_threads_name(char name[SINK_THREAD_NAME_MAX], const char *host,
			 const struct event_record *record)
{
	return (size_t)snprintf(name, SINK_THREAD_NAME_MAX, "%.*s%s%.*s",
				SINK_THREAD_NAME_MAX / 2, host ? host : "", host ? ": " : "",
				(int)strnlen(record->comm, sizeof(record->comm)), record->comm);
}

void sink_threads_free(struct sink_threads *threads)
{
	size_t pos = 0;
	void *name;

	while (map_next(&threads->names, &pos, NULL, &name))
		free(name);
	map_free(&threads->names);
	map_free(&threads->hosts);
}
