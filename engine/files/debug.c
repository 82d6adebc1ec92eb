/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/debug.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/cancel.h"
#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/elf/cfi.h"
#include "engine/elf/elf_size.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"
#include "engine/files/debug_file.h"
#include "engine/files/debug_sources.h"

/* Of the processor, for all sources of one file. A large sound one takes some hundredths of a second for each. */
#define SOURCES_NS 10000000000ULL

int object_check_symbols(struct object *object, struct ubp_err *err)
{
	struct object_debug *debug = debug_of(object);

	if (!debug)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (!debug->options.symbols || debug_given(object))
		return 0;
	return ubp_fail(err, ESTALE, "no symbols for %s: %s", object->path,
			debug->given_misfit);
}

static bool has_dwarf(Elf *elf)
{
	GElf_Shdr header;

	return section_with_bytes(elf, ".debug_info", &header) ||
	       section_with_bytes(elf, ".zdebug_info", &header);
}

/* Which file has the DWARF? NULL: none. *ret_path is its path. */
static Elf *find_dwarf(struct object *object, const char **ret_path, int64_t *ret_bias)
{
	const struct debug_file *file;

	*ret_path = object->path;
	*ret_bias = 0;
	if (has_dwarf(object->elf))
		return object->elf;
	file = debug_given(object);
	if (!file || !has_dwarf(file->elf))
		file = debug_separate(object);
	if (!file || !has_dwarf(file->elf))
		return NULL;
	*ret_path = file->path;
	*ret_bias = file->bias;
	return file->elf;
}

/* What dwz has put elsewhere. */
static int open_alt(struct object *object, Elf *elf, const char *path, struct ubp_err *err)
{
	struct object_debug *debug = debug_of(object);
	const struct debug_file *file;

	if (!debug_section(elf, ".gnu_debugaltlink"))
		return 0;
	file = debug_alt(object, elf, path);
	if (file && elf_check_debug(file->elf, file->path, err) < 0)
		return -EFBIG;
	if (file)
		debug->alt_dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (!debug->alt_dwarf)
		return ubp_fail(
			err, ENODATA,
			"%s refers to a file that dwz made and that %s (.gnu_debugaltlink)",
			path, file ? "is corrupt" : "is missing");
	dwarf_setalt(debug->dwarf, debug->alt_dwarf);
	return 0;
}

static int open_dwarf(struct object *object, struct ubp_err *err)
{
	struct object_debug *debug = debug_of(object);
	const char *path;
	char sought[384];
	Elf *elf = find_dwarf(object, &path, &debug->dwarf_bias);
	int rc;

	if (!elf) {
		debug_say_sought(object, sought, sizeof(sought));
		return ubp_fail(err, ENODATA, "%s has no debug information, and %s",
				object->path, sought);
	}
	rc = elf_check_debug(elf, path, err);
	if (rc < 0)
		return rc;
	debug->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!debug->dwarf)
		return ubp_fail(err, ENOEXEC, "%s: corrupt debug information: %s", path,
				dwarf_errmsg(-1));
	rc = open_alt(object, elf, path, err);
	if (rc < 0) {
		dwarf_end(debug->dwarf);
		debug->dwarf = NULL;
	}
	return rc;
}

int object_dwarf(struct object *object, Dwarf **ret_dwarf, int64_t *ret_bias,
		 struct ubp_err *err)
{
	struct object_debug *debug = debug_of(object);
	int rc = 0;

	if (!debug)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (!debug->dwarf)
		rc = open_dwarf(object, err);
	if (rc < 0)
		return rc;
	*ret_dwarf = debug->dwarf;
	*ret_bias = debug->dwarf_bias;
	return 0;
}

static bool is_late(struct object_debug *debug, uint64_t begin_ns)
{
	debug->sources_late |= debug->sources_ns + (proc_cpu_ns() - begin_ns) > SOURCES_NS;
	return debug->sources_late || cancel_is_asked();
}

/* Not all compilers write an index of addresses. */
static bool find_unit(struct object_debug *debug, uint64_t addr, Dwarf_Die *ret_unit)
{
	uint64_t begin_ns = proc_cpu_ns();
	Dwarf_CU *cu = NULL;
	bool found = dwarf_addrdie(debug->dwarf, addr, ret_unit);

	while (!found && !is_late(debug, begin_ns) &&
	       dwarf_get_units(debug->dwarf, cu, &cu, NULL, NULL, ret_unit, NULL) == 0)
		found = dwarf_haspc(ret_unit, addr) == 1;
	debug->sources_ns += proc_cpu_ns() - begin_ns;
	return found;
}

const char *object_source_at(struct object *object, uint64_t elf_vaddr)
{
	const char *name = NULL, *slash;
	struct ubp_err ignored;
	Dwarf_Die unit;
	int64_t bias = 0;
	Dwarf *dwarf = NULL;

	ubp_err_reset(&ignored);
	if (object_dwarf(object, &dwarf, &bias, &ignored) == 0 &&
	    find_unit(debug_of(object), elf_vaddr - (uint64_t)bias, &unit))
		name = dwarf_diename(&unit);
	slash = name ? strrchr(name, '/') : NULL;
	return slash ? slash + 1 : name;
}

int object_check_sources(struct object *object, struct ubp_err *err)
{
	const struct object_debug *debug = debug_of(object);

	if (!debug || !debug->sources_late)
		return 0;
	return ubp_fail(
		err, EFBIG,
		"the sources of the functions of %s take too long to find: more than %u "
		"seconds, as in no sound file",
		object->path, (unsigned)(SOURCES_NS / 1000000000));
}

Dwarf_CFI *object_eh_cfi(struct object *object, bool *ret_left_out)
{
	struct object_debug *debug = debug_of(object);

	if (debug && !debug->has_cfi)
		debug->cfi = cfi_open(object->elf, NULL, &debug->cfi_left_out);
	if (debug)
		debug->has_cfi = true;
	*ret_left_out |= debug && debug->cfi_left_out;
	return debug ? debug->cfi : NULL;
}

Dwarf_CFI *object_debug_cfi(struct object *object, Dwarf *dwarf, bool *ret_left_out)
{
	struct object_debug *debug = debug_of(object);

	/* It is the DWARF's, and the object has one DWARF. */
	if (debug && !debug->has_frames)
		debug->frames = cfi_open(dwarf_getelf(dwarf), dwarf, &debug->frames_left_out);
	if (debug)
		debug->has_frames = true;
	*ret_left_out |= debug && debug->frames_left_out;
	return debug ? debug->frames : NULL;
}
