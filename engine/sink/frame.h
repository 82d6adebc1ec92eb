/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A stack entry with its names; who knows them is handed in (engine/stack/symbolise.h). */

#ifndef UBP_SINK_FRAME_H
#define UBP_SINK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/event/record.h"

#define SINK_FRAMES_MAX 32 /* of one address: itself and those it is inlined into */

/* Strings belong to the resolver and are good until its next call. */
struct sink_frame {
	uint64_t vaddr;
	const char *function; /* demangled; NULL: not known */
	uint64_t offset;      /* from the function's start; not of .is_inlined */
	const char *file;     /* that is mapped there; NULL: none */
	uint64_t file_vaddr;  /* elf_vaddr in it */
	const char *source;   /* source file; NULL: not known, or not asked for */
	unsigned line;
	bool is_inlined; /* into the one that follows */
};

struct sink_resolver {
	/* Entry @i of the record's stack. Returns how many frames it stands for, 1 at least. */
	size_t (*resolve)(void *ctx, const struct event_record *record, size_t i,
			  struct sink_frame frames[SINK_FRAMES_MAX]);
	void *ctx;
};

#endif
