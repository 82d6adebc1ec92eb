/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/limits.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "engine/base/aside.h"
#include "engine/base/cancel.h"
#include "engine/base/proc.h"
#include "engine/dwarf/line_rows.h"
#include "engine/elf/object.h"
#include "engine/elf/sections.h"

/* What a call may take without that being remembered: there may be thousands, of a sound file. */
#define FREE_NS 20000000

/* What all walks over DIEs of a file may take: a second for so many bytes, and some. */
#define LIMIT_NS    UINT64_C(5000000000)
#define LIMIT_BYTES (16u << 20)

/* Between looks at the time of the processor, which take a system call. */
#define LOOK_NS 20000000

/* One call of libdw's cannot be broken off: it is left to its thread (engine/base/aside.h) when it takes so much longer. */
#define ONE_CALL_NS UINT64_C(2000000000)

uint64_t dw_cpu_limit_ns(const struct dwarf *d)
{
	return LIMIT_NS + d->info_len / LIMIT_BYTES * 1000000000;
}

/* The file that this thread is in, since when, and when the clock was looked at. */
static _Thread_local struct {
	struct dwarf *d;
	unsigned depth;
	uint64_t begin_ns, looked_ns;
	bool is_cancelled;
} now_in;

void dw_enter(struct dwarf *d)
{
	uint64_t limit_ns = dw_cpu_limit_ns(d);

	if (now_in.depth++)
		return;
	now_in.d = d;
	now_in.begin_ns = proc_cpu_ns();
	now_in.looked_ns = 0;
	now_in.is_cancelled = false;
	aside_limit(object_path(d->object),
		    now_in.begin_ns + (limit_ns > d->late_ns ? limit_ns - d->late_ns : 0) +
			    ONE_CALL_NS,
		    limit_ns);
}

void dw_leave(struct dwarf *d)
{
	uint64_t took;

	if (--now_in.depth)
		return;
	aside_limit(NULL, 0, 0);
	took = proc_cpu_ns() - now_in.begin_ns;
	d->late_ns += took > FREE_NS ? took - FREE_NS : 0;
	now_in.d = NULL;
}

int dwarf_fail_late(const char *path, uint64_t limit_ns, struct ubp_err *err)
{
	return ubp_fail(err, EFBIG,
			"the debug information of %s takes too long to read: more than %u "
			"seconds, as no sound file of its size does",
			path, (unsigned)(limit_ns / 1000000000));
}

static int fail_late(const struct dwarf *d, struct ubp_err *err)
{
	const char *path = object_path(d->object);

	ubp_err_reset(err);
	if (now_in.is_cancelled)
		return ubp_fail(err, EINTR, "ended while the debug information of %s was read",
				path);
	if (d->has_long_lines)
		return ubp_fail(err, EFBIG,
				"the debug information of %s has a line table of more than "
				"%u rows for one unit: it is not read",
				path, LINE_ROWS_MAX);
	return dwarf_fail_late(path, dw_cpu_limit_ns(d), err);
}

int dw_leave_with(struct dwarf *d, int rc, struct ubp_err *err)
{
	if (dw_is_late())
		rc = fail_late(d, err);
	dw_leave(d);
	return rc;
}

bool dw_is_late(void)
{
	struct timespec ts = { 0 };
	struct dwarf *d = now_in.d;
	uint64_t now_ns;

	if (!d || d->is_late || now_in.is_cancelled)
		return d != NULL;
	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	if (now_ns - now_in.looked_ns < LOOK_NS)
		return false;
	now_in.looked_ns = now_ns;
	now_in.is_cancelled = cancel_is_asked();
	d->is_late = d->late_ns + (proc_cpu_ns() - now_in.begin_ns) > dw_cpu_limit_ns(d);
	return d->is_late || now_in.is_cancelled;
}

/* --- line tables ---------------------------------------------------------------------- */

static Elf_Data *find_lines(Dwarf *dw)
{
	Elf *elf = dwarf_getelf(dw);
	GElf_Shdr header;
	Elf_Scn *section = elf ? section_named(elf, NULL, ".debug_line", &header) : NULL;

	return section ? elf_getdata(section, NULL) : NULL;
}

bool dw_can_read_lines(Dwarf_Die *unit)
{
	struct dwarf *d = now_in.d;
	Dwarf *dw = dwarf_cu_getdwarf(unit->cu);
	Dwarf_Attribute a;
	Dwarf_Word at;

	if (!d || dw != d->dw || !dwarf_attr(unit, DW_AT_stmt_list, &a) ||
	    dwarf_formudata(&a, &at) != 0)
		return !dw_is_late();
	if (!d->has_lines)
		d->lines = find_lines(dw);
	d->has_lines = true;
	if (d->lines && d->lines->d_buf && at < d->lines->d_size &&
	    line_rows_are_many((const uint8_t *)d->lines->d_buf + at, d->lines->d_size - at))
		d->is_late = d->has_long_lines = true;
	return !dw_is_late();
}

int dw_get_lines(Dwarf_Die *unit, Dwarf_Lines **ret_lines, size_t *ret_n)
{
	return dw_can_read_lines(unit) ? dwarf_getsrclines(unit, ret_lines, ret_n) : -1;
}

int dw_get_files(Dwarf_Die *unit, Dwarf_Files **ret_files, size_t *ret_n)
{
	return dw_can_read_lines(unit) ? dwarf_getsrcfiles(unit, ret_files, ret_n) : -1;
}
