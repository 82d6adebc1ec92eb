/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The ways to print a trace: a table, with a row for each. A new way is a file with a row, its
 * declaration below and its line in sink.c's table; nothing else names a way, the commands look
 * them up.
 */

#ifndef UBP_SINK_SINK_H
#define UBP_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/event/record.h"
#include "engine/picture/picture.h"
#include "engine/sink/buf.h"
#include "engine/sink/frame.h"
#include "engine/sink/stamp.h"
#include "engine/spec/spec.h"

/* The probes whose records may come. More may come with their first record. */
struct sink_probes {
	/* The one with number *@at, or the next that there is; *@at is the number behind it then. NULL: there are no more. */
	const struct spec_probe *(*next)(void *ctx, unsigned *at);
	void *ctx;
};

struct sink_options {
	const struct sink_resolver *resolver; /* names for stacks; NULL: addresses */
	const struct sink_probes *probes; /* to be asked when the first record comes; or NULL */
	const struct picture_about *about; /* where the trace comes from; or NULL */
	const char
		*service; /* what its processes are called as services; NULL: by their names */
	bool escape;      /* what is printed raw else: see sink_text_options */
	enum sink_time time; /* text: when events were */
	bool colour;         /* text: for a terminal */
	bool header;         /* a line or more in front, where there are any */
	unsigned n_cpus;     /* for that header */
};

/* One trace that is printed. A way that keeps more begins a structure of its own with it. */
struct sink {
	const struct sink_kind *kind;
	struct sink_options opt;
	uint64_t weight;   /* of the next event, where hits are sampled; 0: they are not */
	const char *host;  /* of the next event, where there are several; else NULL */
	uint64_t n_untold; /* lost events that the text does not tell of */
	bool is_short;     /* memory was short: the text is not whole */
};

/*
 * A row. Each function appends to @to what comes next; NULL: nothing does. A buffer that
 * finds no memory says so itself (sink_buf.failed).
 */
struct sink_kind {
	const char *name; /* as users choose it: "json" */
	bool is_data;     /* for programs: no banner may stand in it */
	bool is_binary;   /* not for terminals */
	bool is_whole; /* what it gives is one thing: nothing can be appended, or be left out */
	/* It is a folder: what all functions give goes into this file there, and what beside() gives into another. NULL: it is one file. */
	const char *file, *file_beside;
	bool has_header;  /* sink_options.header means something */
	bool needs_stack; /* without stacks it prints nothing */
	bool is_apart;    /* what it makes of an event depends on no other one */
	size_t size;      /* of the structure that begins with struct sink */
	/* Why this program does not have it; it returns NULL: it does. NULL: so does any program. */
	const char *(*missing)(void);
	void (*begin)(struct sink *sink, struct sink_buf *to);
	void (*event)(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		      const struct event_record *record);
	void (*lost)(struct sink *sink, struct sink_buf *to, uint64_t n);
	/* What waits to be written with others, though it is not much. */
	void (*flush)(struct sink *sink, struct sink_buf *to);
	void (*end)(struct sink *sink, struct sink_buf *to);
	void (*beside)(struct sink *sink,
		       struct sink_buf *to); /* behind end(); NULL: nothing */
	/* How two traces differ, of which all has come, and end() was called; NULL: this way has no answer. */
	void (*diff)(struct sink *old, struct sink *new, struct sink_buf *to);
	void (*free)(struct sink *sink); /* what the structure owns; NULL: nothing */
};

extern const struct sink_kind sink_text, sink_json, sink_folded, sink_otlp, sink_html,
	sink_flame, sink_heat, sink_csv, sink_chrome, sink_stats, sink_stats_json,
	sink_perfetto, sink_pprof, sink_ctf, sink_tree;

/* The row of a name; NULL: there is none. */
const struct sink_kind *sink_kind_find(const char *name);

/* Free with sink_free(). NULL: out of memory. Borrows the resolver. */
struct sink *sink_new(const struct sink_kind *kind, const struct sink_options *opt);
void sink_free(struct sink *sink);

/* What stands in front of all, for a record (EVENT_LOST too: @probe may be NULL then), for @n
 * events that no record tells of, and behind all. */
void sink_begin(struct sink *sink, struct sink_buf *to);
void sink_record(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		 const struct event_record *record);
void sink_lost(struct sink *sink, struct sink_buf *to, uint64_t n);
void sink_flush(struct sink *sink, struct sink_buf *to);
void sink_end(struct sink *sink, struct sink_buf *to);

#endif
