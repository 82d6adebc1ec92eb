/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the ways that show calls have in common. */

#ifndef UBP_SINK_OF_CALLS_H
#define UBP_SINK_OF_CALLS_H

#include "engine/base/map.h"
#include "engine/calls/calls.h"
#include "engine/sink/sink.h"

/*
 * calls_add(), for *@calls, which is NULL before the first record: then it is made, and told of the probes that the sink knows. @fn is called
 * with the sink. A record that there is no memory for sets .is_short, and is CALLS_OTHER.
 */
enum calls_record sink_calls_add(struct sink *sink, struct calls **calls, calls_fn *fn,
				 const struct spec_probe *probe,
				 const struct event_record *record);

/* For how many calls the one that the sink is just told of stands, where hits are sampled; else 1. */
uint64_t sink_calls_weight(const struct sink *sink, const struct call *call);

/* sink_calls_add() for @n lost events that no record tells of. */
void sink_calls_lost(struct calls *calls, uint64_t n);

/*
 * Names of threads, as the records had them last. Zero-initialise. Where there are several hosts their processes get numbers that differ: a
 * host's own, from 1, times SINK_HOST_PIDS, is added to its process and thread ids.
 */
#define SINK_HOST_PIDS (1 << 22)
#define SINK_HOSTS_MAX 511 /* what comes behind these is with the last one */

struct sink_threads {
	struct map names; /* by pid and tid */
	struct map hosts; /* by name's hash: number */
	const char *host; /* the last one */
	int32_t add;      /* what is added for it */
};

enum sink_thread_news {
	SINK_THREAD_KNOWN,
	SINK_THREAD_NAMED, /* it has another name than before */
	SINK_THREAD_NEW,
};

/* Any id may stand in a recording. */
static inline int32_t sink_threads_id(const struct sink_threads *threads, int32_t id)
{
	return (int32_t)((uint32_t)id + (uint32_t)threads->add);
}

/* What a record of @host (sink.host) tells of its thread. Sets .add. */
enum sink_thread_news sink_threads_see(struct sink_threads *threads, const char *host,
				       const struct event_record *record);
/* What it is called: "host: comm", or "comm"; bytes as they were recorded. */
#define SINK_THREAD_NAME_MAX 256
size_t sink_threads_name(char name[SINK_THREAD_NAME_MAX], const char *host,
			 const struct event_record *record);
void sink_threads_free(struct sink_threads *threads);

#endif
