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

/* The same for @n lost events that no record tells of. */
void sink_calls_lost(struct calls *calls, uint64_t n);

/* Names of threads, as the records had them last. Zero-initialise. */
struct sink_threads {
	struct map names; /* by pid and tid */
};

enum sink_thread_news {
	SINK_THREAD_KNOWN,
	SINK_THREAD_NAMED, /* it has another name than before */
	SINK_THREAD_NEW,
};

/* What a record tells of its thread. */
enum sink_thread_news sink_threads_see(struct sink_threads *threads,
				       const struct event_record *record);
void sink_threads_free(struct sink_threads *threads);

#endif
