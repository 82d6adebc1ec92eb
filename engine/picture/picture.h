/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a picture of a trace is drawn from: all events counted by time, function, thread, latency and path, and a few of them one by one.
 * Events go in, in order of time; a page (picture_html()) or a drawing (picture_flame(), picture_heat()) comes out. Memory is bounded
 * whatever comes: see cube.h, tree.h, names.h, kept.h. What that leaves out is told in the page.
 */

#ifndef UBP_PICTURE_PICTURE_H
#define UBP_PICTURE_PICTURE_H

#include <stddef.h>
#include <stdint.h>

struct event_record;
struct picture;
struct spec_probe;

/* What the room does not know. Texts are UTF-8 without control bytes (engine/base/escape.h) and the caller's, until the next call. */
struct picture_ops {
	/* The args of a record, in one line. */
	const char *(*args)(void *ctx, const struct spec_probe *probe,
			    const struct event_record *record, size_t *ret_len);
	/* Its stack, outermost first, as "comm;main;work". */
	const char *(*stack)(void *ctx, const struct event_record *record, size_t *ret_len);
	/* The picture, piece by piece. */
	void (*put)(void *ctx, const void *bytes, size_t len);
	void *ctx;
};

/* Where the trace comes from; NULL, 0: not known. Strings are borrowed until the end. */
struct picture_about {
	const char *host, *kernel, *machine;
	uint64_t clock_ns,
		real_ns; /* the same moment by the records' clock, and by CLOCK_REALTIME */
};

/* NULL: memory is short. @about may be NULL. */
struct picture *picture_new(const struct picture_ops *ops, const struct picture_about *about);
void picture_free(struct picture *picture); /* NULL is fine */

/* A probe whose records may come: before them. 0 or -ENOMEM. */
int picture_add_probe(struct picture *picture, const struct spec_probe *probe);
/* A record, which stands for @weight hits (0: for itself). Gaps too, of which @probe may be NULL. 0, or -ENOMEM: it is not in. */
int picture_add(struct picture *picture, const struct spec_probe *probe,
		const struct event_record *record, uint64_t weight);
/* The host that the next records come from, where there are several; NULL: there is one. Until the next call it is the caller's. */
void picture_host(struct picture *picture, const char *host);
/* @n events were lost, which no record tells of. */
void picture_lost(struct picture *picture, uint64_t n);
/* Nothing comes any more: once, before what follows. */
void picture_end(struct picture *picture);

/* The page, whole. -ENOSYS: this program was made without it (page.h). */
int picture_html(struct picture *picture);
/* A flame graph of calls, or of stacks, and a heat map, as SVG. */
void picture_flame(struct picture *picture);
void picture_heat(struct picture *picture);

#endif
