/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What was traced and not read yet: lines with their CPU, in the order in which they came, up to a number of bytes. The files
 * trace, trace_pipe, buffer_*_kb, and those of per_cpu/.
 */

#ifndef UBP_CLI_FS_BUFFER_H
#define UBP_CLI_FS_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text;

/* In place of a CPU's number. */
#define BUFFER_ALL_CPUS (-1)

struct buffer_cpu {
	unsigned long
		pages; /* of the kernel's size, that it may have: what others leave is for any CPU */
	uint64_t entries, bytes;
	uint64_t overrun; /* dropped for newer ones */
	uint64_t dropped; /* for older ones */
	uint64_t read;    /* by trace_pipe */
	uint64_t untold;  /* of .overrun, those that trace_pipe has not told of */
};

struct buffer_entry;

struct buffer {
	struct buffer_entry *first, *last;
	struct buffer_cpu *cpus;
	int n_cpus;
	size_t bytes;
	bool keep_old; /* when it is full new ones are dropped */
};

/* 0 or -ENOMEM. */
int buffer_init(struct buffer *buffer, int n_cpus);
void buffer_free(struct buffer *buffer);

/* Those of CPUs that are not known are counted as the first's. */
void buffer_add(struct buffer *buffer, unsigned cpu, uint64_t time_ns, const char *line,
		size_t len);
void buffer_clear(struct buffer *buffer, int cpu);
bool buffer_has(const struct buffer *buffer, int cpu);
/* The oldest one goes to @out, with a line in front if others before it were dropped. False: there is none. */
bool buffer_take(struct buffer *buffer, int cpu, struct text *out);
/* What is in them changes places; @snapshot may have what @buffer may. */
void buffer_swap(struct buffer *buffer, struct buffer *snapshot);
/* All of it, as the file trace shows it. */
void buffer_show(const struct buffer *buffer, int cpu, struct text *out);
/* per_cpu/cpuN/stats. */
void buffer_stats(const struct buffer *buffer, int cpu, uint64_t now_ns, struct text *out);

/* KiB of a CPU, or of each, rounded to pages as the kernel does. -EINVAL, -ENOMEM: more than the machine has. */
int buffer_resize(struct buffer *buffer, int cpu, unsigned long kb);
/* 0: they are not the same for all. */
unsigned long buffer_kb(const struct buffer *buffer, int cpu);

#endif
