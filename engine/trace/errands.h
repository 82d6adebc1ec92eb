/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the stand-in (stand_in.h) does, in the process that it is, and the memory by which it is asked.
 * It is a fork of a program with threads, which may be given up at any moment.
 */

#ifndef UBP_TRACE_ERRANDS_H
#define UBP_TRACE_ERRANDS_H

#include <stdint.h>
#include <sys/types.h>

#include "engine/fetch/fetch.h"
#include "engine/os/silent.h"

#define ERRAND_SPANS 256
#define ERRAND_ROOM  0x20000 /* bytes of one request */

enum errand {
	ERRAND_LOOK, /* is the process suspect, has it memory that may not answer? */
	ERRAND_READ, /* the spans, what the program itself can read of them, where it answers */
	ERRAND_PEEK, /* the first span, through the open file, whoever serves it; and what answers of the others */
	ERRAND_WRITE, /* the spans, from the desk, in their order; the first that fails ends it */
	ERRAND_GONE, /* has it no memory any more? */
	ERRAND_VET,  /* do the ranges answer? Each has its own .why */
	ERRAND_POKE, /* does it answer whoever is to write there by ptrace()? */
};

struct errand_range {
	uint64_t start, len;
	enum silent_why why; /* it does not answer; SILENT_NOT: it does */
};

/* What the two share. One request at a time. */
struct errand_desk {
	uint32_t asked, answered; /* futexes: numbers of requests */
	enum errand errand;
	int cpu; /* where the tracer runs: to be there is to be heard sooner */
	pid_t tid;
	uint64_t serial;     /* of the address space */
	bool gets_file;      /* its /proc/PID/mem comes through the socket */
	bool has_no_file;    /* the tracer has none either */
	uint64_t start, len; /* of ERRAND_POKE */
	bool is_stopped;     /* of ERRAND_POKE: all threads that live there are */
	size_t n;
	struct errand_range ranges[ERRAND_SPANS];
	/* .buf is each one's own; .len is what answers, after ERRAND_PEEK. */
	struct fetch_span spans[ERRAND_SPANS];
	/* The answer. */
	bool needs_file; /* nothing was done: the same once more, with it */
	enum silent_why why;
	bool is_gone;
	size_t n_written; /* of ERRAND_WRITE: spans, whole */
	int error;        /* errno of the next one, or 0: there is none */
	uint64_t took_ns;
	uint8_t bytes[ERRAND_ROOM];
};

/* Does not return. Files come through @socket. */
void errands_run(struct errand_desk *desk, int socket) __attribute__((noreturn));

#endif
