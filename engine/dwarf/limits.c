/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a call into this folder may take. Loops over DIEs and rows may be inside each other, and a file
 * may have millions of both: all of them ask dw_is_late(), and end early when it says so. Then
 * nothing that was found is good, the call fails, and the file is left alone from then on.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/base/aside.h"
#include "engine/base/cancel.h"
#include "engine/dwarf/limits.h"
#include "engine/dwarf/line_rows.h"
#include "engine/object/object.h"

/* What a call may take without that being remembered: there may be thousands, of a sound file. */
#define FREE_NS 20000000

/* Between looks at the time of the processor, which take a system call. */
#define LOOK_NS 20000000

/* One call of libdw's cannot be broken off: it is left to its thread (engine/base/aside.h) when it takes so much longer. */
#define ONE_CALL_NS UINT64_C(2000000000)

/* The file that this thread is in, since when, and when the clock was looked at. */
static _Thread_local struct {
	struct dwarf *d;
	unsigned depth;
	uint64_t begin_ns, looked_ns;
	bool is_cancelled;
} now_in;

static void enter(struct dwarf *d)
{
	uint64_t limit_ns = dw_cpu_limit_ns(d);

	if (now_in.depth++)
		return;
	now_in.d = d;
	now_in.begin_ns = dw_cpu_ns();
	now_in.looked_ns = 0;
	now_in.is_cancelled = false;
	aside_limit(object_path(d->object),
		    now_in.begin_ns + (limit_ns > d->late_ns ? limit_ns - d->late_ns : 0) +
			    ONE_CALL_NS,
		    limit_ns);
}

static void leave(struct dwarf *d)
{
	uint64_t took;

	if (--now_in.depth)
		return;
	aside_limit(NULL, 0, 0);
	took = dw_cpu_ns() - now_in.begin_ns;
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

/* @rc of the call, or that there was not enough time for it. */
static int leave_with(struct dwarf *d, int rc, struct ubp_err *err)
{
	if (dw_is_late())
		rc = fail_late(d, err);
	leave(d);
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
	d->is_late = d->late_ns + (dw_cpu_ns() - now_in.begin_ns) > dw_cpu_limit_ns(d);
	return d->is_late || now_in.is_cancelled;
}

/* --- line tables ---------------------------------------------------------------------- */

static Elf_Data *find_lines(Dwarf *dw)
{
	Elf *elf = dwarf_getelf(dw);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (name && strncmp(name, ".debug_line", sizeof(".debug_line")) == 0)
			return elf_getdata(section, NULL);
	}
	return NULL;
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

/* --- the calls of dwarf.h ------------------------------------------------------------- */

int dwarf_function_places(struct dwarf *d, const char *name, bool after_prologue,
			  struct dwarf_places *ret_places, struct ubp_err *err)
{
	int rc;

	enter(d);
	rc = leave_with(d, dw_function_places(d, name, after_prologue, ret_places, err), err);
	if (rc < 0)
		dwarf_places_free(ret_places);
	return rc;
}

bool dwarf_place_at(struct dwarf *d, uint64_t elf_vaddr, struct dwarf_place *ret_place)
{
	bool is_known;

	enter(d);
	is_known = dw_place_at(d, elf_vaddr, ret_place) && !dw_is_late();
	leave(d);
	return is_known;
}

bool dwarf_skip_prologue(struct dwarf *d, struct dwarf_place *place)
{
	struct dwarf_place moved = *place;
	bool has_moved;

	enter(d);
	has_moved = dw_skip_prologue(d, &moved) && !dw_is_late();
	leave(d);
	if (has_moved)
		*place = moved;
	return has_moved;
}

int dwarf_function_line(struct dwarf *d, const char *function, unsigned line,
			struct dwarf_places *ret_places, struct ubp_err *err)
{
	int rc;

	enter(d);
	rc = leave_with(d, dw_function_line(d, function, line, ret_places, err), err);
	if (rc < 0)
		dwarf_places_free(ret_places);
	return rc;
}

int dwarf_file_line(struct dwarf *d, const char *file, unsigned line,
		    struct dwarf_places *ret_places, struct ubp_err *err)
{
	int rc;

	enter(d);
	rc = leave_with(d, dw_file_line(d, file, line, ret_places, err), err);
	if (rc < 0)
		dwarf_places_free(ret_places);
	return rc;
}

int dwarf_lines_of(struct dwarf *d, const char *function, struct dwarf_lines *ret_lines,
		   struct ubp_err *err)
{
	int rc;

	enter(d);
	rc = leave_with(d, dw_lines_of(d, function, ret_lines, err), err);
	if (rc < 0)
		dwarf_lines_free(ret_lines);
	return rc;
}

size_t dwarf_frames_at(struct dwarf *d, uint64_t elf_vaddr, struct dwarf_frame *frames,
		       size_t max)
{
	size_t n;

	enter(d);
	n = dw_frames_at(d, elf_vaddr, frames, max);
	if (dw_is_late())
		n = 0;
	leave(d);
	return n;
}

int dwarf_value(struct dwarf *d, const struct dwarf_place *place, const char *text, size_t len,
		const char *type, struct dwarf_value *ret_value, size_t *ret_at,
		struct ubp_err *err)
{
	enter(d);
	return leave_with(d, dw_value(d, place, text, len, type, ret_value, ret_at, err), err);
}

int dwarf_pointer(struct dwarf *d, const struct dwarf_place *place, const char *text,
		  size_t len, struct dwarf_value *ret_value, int64_t *ret_addend,
		  size_t *ret_at, struct ubp_err *err)
{
	enter(d);
	return leave_with(
		d, dw_pointer(d, place, text, len, ret_value, ret_addend, ret_at, err), err);
}

int dwarf_each_part(struct dwarf *d, const struct dwarf_place *place, const char *text,
		    size_t len, int (*each)(void *ctx, const char *step, const char *name),
		    void *ctx, struct ubp_err *err)
{
	enter(d);
	return leave_with(d, dw_each_part(d, place, text, len, each, ctx, err), err);
}

int dwarf_each_variable(struct dwarf *d, const struct dwarf_place *place,
			int (*each)(void *ctx, const struct dwarf_variable *variable),
			void *ctx, struct ubp_err *err)
{
	enter(d);
	return leave_with(d, dw_each_variable(d, place, each, ctx, err), err);
}
