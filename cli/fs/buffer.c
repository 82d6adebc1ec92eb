/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "cli/fs/text.h"

/* The kernel's: of a page, behind its head; at least so many; and at first. */
#define PAGE_DATA     4080
#define PAGES_MIN     2
#define PAGES_DEFAULT 354

struct buffer_entry {
	struct buffer_entry *next;
	uint64_t time_ns;
	unsigned cpu;
	size_t len;
	char line[];
};

int buffer_init(struct buffer *buffer, int n_cpus)
{
	*buffer = (struct buffer){ .n_cpus = n_cpus };
	buffer->cpus = calloc((size_t)n_cpus, sizeof(*buffer->cpus));
	for (int i = 0; buffer->cpus && i < n_cpus; i++)
		buffer->cpus[i].pages = PAGES_DEFAULT;
	return buffer->cpus ? 0 : -ENOMEM;
}

void buffer_free(struct buffer *buffer)
{
	if (buffer->cpus)
		buffer_clear(buffer, BUFFER_ALL_CPUS);
	free(buffer->cpus);
	*buffer = (struct buffer){ 0 };
}

/* --- entries ---------------------------------------------------------------- */

static bool is_of(const struct buffer_entry *e, int cpu)
{
	return cpu == BUFFER_ALL_CPUS || e->cpu == (unsigned)cpu;
}

static size_t limit(const struct buffer *buffer)
{
	size_t pages = 0;

	for (int i = 0; i < buffer->n_cpus; i++)
		pages += buffer->cpus[i].pages;
	return pages * PAGE_DATA;
}

/* The entry that *@link points to. */
static void unlink_entry(struct buffer *buffer, struct buffer_entry **link,
			 struct buffer_entry *before)
{
	struct buffer_entry *e = *link;
	struct buffer_cpu *cpu = &buffer->cpus[e->cpu];

	*link = e->next;
	if (buffer->last == e)
		buffer->last = before;
	cpu->entries--;
	cpu->bytes -= e->len;
	buffer->bytes -= e->len;
	free(e);
}

static void drop_oldest(struct buffer *buffer)
{
	struct buffer_cpu *cpu = &buffer->cpus[buffer->first->cpu];

	cpu->overrun++;
	cpu->untold++;
	unlink_entry(buffer, &buffer->first, NULL);
}

void buffer_add(struct buffer *buffer, unsigned cpu, uint64_t time_ns, const char *line,
		size_t len)
{
	unsigned of = cpu < (unsigned)buffer->n_cpus ? cpu : 0;
	struct buffer_entry *e = NULL;

	if (!buffer->keep_old)
		while (buffer->first && buffer->bytes + len > limit(buffer))
			drop_oldest(buffer);
	if (buffer->bytes + len <= limit(buffer))
		e = malloc(sizeof(*e) + len);
	if (!e) {
		buffer->cpus[of].dropped++;
		return;
	}
	*e = (struct buffer_entry){ .time_ns = time_ns, .cpu = of, .len = len };
	memcpy(e->line, line, len);
	*(buffer->last ? &buffer->last->next : &buffer->first) = e;
	buffer->last = e;
	buffer->bytes += len;
	buffer->cpus[of].bytes += len;
	buffer->cpus[of].entries++;
}

void buffer_clear(struct buffer *buffer, int cpu)
{
	struct buffer_entry **link = &buffer->first, *before = NULL;

	while (*link) {
		if (is_of(*link, cpu)) {
			unlink_entry(buffer, link, before);
		} else {
			before = *link;
			link = &before->next;
		}
	}
	for (int i = 0; i < buffer->n_cpus; i++)
		if (cpu == BUFFER_ALL_CPUS || cpu == i)
			buffer->cpus[i] = (struct buffer_cpu){ .pages = buffer->cpus[i].pages };
}

bool buffer_has(const struct buffer *buffer, int cpu)
{
	if (cpu == BUFFER_ALL_CPUS)
		return buffer->first;
	return buffer->cpus[cpu].entries;
}

bool buffer_take(struct buffer *buffer, int cpu, struct text *out)
{
	struct buffer_entry **link = &buffer->first, *before = NULL;
	struct buffer_cpu *of;

	while (*link && !is_of(*link, cpu)) {
		before = *link;
		link = &before->next;
	}
	if (!*link)
		return false;
	of = &buffer->cpus[(*link)->cpu];
	if (of->untold)
		text_printf(out, "CPU:%u [LOST %" PRIu64 " EVENTS]\n", (*link)->cpu,
			    of->untold);
	of->untold = 0;
	of->read++;
	text_add(out, (*link)->line, (*link)->len);
	unlink_entry(buffer, link, before);
	return true;
}

static void trim(struct buffer *buffer)
{
	while (buffer->first && buffer->bytes > limit(buffer))
		drop_oldest(buffer);
}

void buffer_swap(struct buffer *buffer, struct buffer *snapshot)
{
	struct buffer old = *buffer;

	*buffer = *snapshot;
	*snapshot = old;
	snapshot->keep_old = buffer->keep_old;
	buffer->keep_old = old.keep_old;
	for (int i = 0; i < buffer->n_cpus; i++)
		buffer->cpus[i].pages = old.cpus[i].pages;
	trim(buffer);
}

/* --- what is shown ---------------------------------------------------------- */

/* Of all CPUs together, in files of one CPU, too: as in the kernel. */
static void show_head(const struct buffer *buffer, struct text *out)
{
	uint64_t n = 0, written = 0;

	for (int i = 0; i < buffer->n_cpus; i++) {
		n += buffer->cpus[i].entries;
		written += buffer->cpus[i].entries + buffer->cpus[i].overrun;
	}
	text_printf(out,
		    "# tracer: nop\n"
		    "#\n"
		    "# entries-in-buffer/entries-written: %" PRIu64 "/%" PRIu64 "   #P:%d\n"
		    "#\n"
		    "#                                _-----=> irqs-off/BH-disabled\n"
		    "#                               / _----=> need-resched\n"
		    "#                              | / _---=> hardirq/softirq\n"
		    "#                              || / _--=> preempt-depth\n"
		    "#                              ||| / _-=> migrate-disable\n"
		    "#                              |||| /     delay\n"
		    "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
		    "#              | |         |   |||||     |         |\n",
		    n, written, buffer->n_cpus);
}

void buffer_show(const struct buffer *buffer, int cpu, struct text *out)
{
	show_head(buffer, out);
	for (const struct buffer_entry *e = buffer->first; e; e = e->next)
		if (is_of(e, cpu))
			text_add(out, e->line, e->len);
}

static void put_time(struct text *out, const char *what, uint64_t ns)
{
	uint64_t us = ns / 1000;

	text_printf(out, "%s: %5" PRIu64 ".%06" PRIu64 "\n", what, us / 1000000, us % 1000000);
}

void buffer_stats(const struct buffer *buffer, int cpu, uint64_t now_ns, struct text *out)
{
	const struct buffer_cpu *of = &buffer->cpus[cpu];
	const struct buffer_entry *e = buffer->first;

	while (e && !is_of(e, cpu))
		e = e->next;
	text_printf(out,
		    "entries: %" PRIu64 "\noverrun: %" PRIu64
		    "\ncommit overrun: 0\nbytes: %" PRIu64 "\n",
		    of->entries, of->overrun, of->bytes);
	put_time(out, "oldest event ts", e ? e->time_ns : 0);
	put_time(out, "now ts", now_ns);
	text_printf(out, "dropped events: %" PRIu64 "\nread events: %" PRIu64 "\n", of->dropped,
		    of->read);
}

/* --- its size --------------------------------------------------------------- */

int buffer_resize(struct buffer *buffer, int cpu, unsigned long kb)
{
	unsigned long pages =
		kb / PAGE_DATA * 1024 + (kb % PAGE_DATA * 1024 + PAGE_DATA - 1) / PAGE_DATA;
	struct sysinfo info;

	if (!kb)
		return -EINVAL;
	if (sysinfo(&info) < 0)
		return -errno;
	if (kb > (uint64_t)info.totalram * info.mem_unit / 1024 / (unsigned)buffer->n_cpus)
		return -ENOMEM;
	for (int i = 0; i < buffer->n_cpus; i++)
		if (cpu == BUFFER_ALL_CPUS || cpu == i)
			buffer->cpus[i].pages = pages < PAGES_MIN ? PAGES_MIN : pages;
	trim(buffer);
	return 0;
}

unsigned long buffer_kb(const struct buffer *buffer, int cpu)
{
	unsigned long pages = buffer->cpus[cpu == BUFFER_ALL_CPUS ? 0 : cpu].pages;

	for (int i = 0; cpu == BUFFER_ALL_CPUS && i < buffer->n_cpus; i++)
		if (buffer->cpus[i].pages != pages)
			return 0;
	return pages * PAGE_DATA / 1024;
}
