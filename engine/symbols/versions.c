/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/symbols/versions.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"

/* .gnu.version: 15 bits of index and a bit that hides (LSB, "Symbol Versioning"). */
#define VERSION_HIDDEN    0x8000u
#define VERSION_INDEX     0x7fffu
#define VERSION_FIRST_OWN 2u /* 0 is local, 1 the file itself */

struct version {
	const char *name;
	const char *library;
};

struct versions {
	Elf_Data *of_symbol; /* Half per symbol, owned by the Elf */
	struct version by_index[VERSION_INDEX + 1];
};

/* A section of version records, with its strings. */
struct records {
	Elf_Data *data;
	struct string_table strings;
	size_t n_max; /* more records than that can't fit */
};

static int open_records(const struct object *object, uint32_t type, struct records *ret_records,
			bool *ret_found, struct ubp_err *err)
{
	GElf_Shdr header;
	Elf_Scn *section = object_section_of_type(object, type, &header);

	*ret_found = section != NULL;
	if (!section)
		return 0;
	ret_records->data = object_section_data(section, false);
	if (!ret_records->data)
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: symbol versions: %s",
				object->path, elf_errmsg(-1));
	ret_records->n_max = ret_records->data->d_size / sizeof(Elf64_Verdaux);
	return object_string_table(object, header.sh_link, &ret_records->strings, err);
}

/* Step to the next record of a chain. False: that was the last, or it leads out. */
static bool advance(const struct records *records, size_t *at, uint32_t next)
{
	/* libelf takes an int. Records only lead forward, so a chain ends. */
	if (next == 0 || records->data->d_size > INT32_MAX ||
	    next > records->data->d_size - *at || next % 4 != 0)
		return false;
	*at += next;
	return true;
}

static void set_version(struct versions *versions, uint32_t index, const char *name,
			const char *library)
{
	struct version *version = &versions->by_index[index & VERSION_INDEX];

	if ((index & VERSION_INDEX) >= VERSION_FIRST_OWN && !version->name)
		*version = (struct version){ .name = name, .library = library };
}

static int read_definitions(const struct object *object, struct versions *versions,
			    struct ubp_err *err)
{
	struct records records = { 0 };
	size_t at = 0, aux_at;
	GElf_Verdef def;
	GElf_Verdaux aux;
	bool found;
	int rc = open_records(object, SHT_GNU_verdef, &records, &found, err);

	if (rc < 0 || !found)
		return rc;
	do {
		if (!gelf_getverdef(records.data, (int)at, &def))
			break;
		aux_at = at;
		if (!advance(&records, &aux_at, def.vd_aux) ||
		    !gelf_getverdaux(records.data, (int)aux_at, &aux))
			break;
		set_version(versions, def.vd_ndx, string_at(&records.strings, aux.vda_name),
			    NULL);
	} while (advance(&records, &at, def.vd_next));
	return 0;
}

/* The versions asked of one library. Takes from *budget, for chains that overlap. */
static void read_needs_of(const struct records *records, struct versions *versions, size_t at,
			  const GElf_Verneed *need, size_t *budget)
{
	const char *library = string_at(&records->strings, need->vn_file);
	GElf_Vernaux aux;

	if (!advance(records, &at, need->vn_aux))
		return;
	do {
		if (*budget == 0 || !gelf_getvernaux(records->data, (int)at, &aux))
			return;
		--*budget;
		set_version(versions, aux.vna_other, string_at(&records->strings, aux.vna_name),
			    library);
	} while (advance(records, &at, aux.vna_next));
}

static int read_needs(const struct object *object, struct versions *versions,
		      struct ubp_err *err)
{
	struct records records = { 0 };
	GElf_Verneed need;
	size_t at = 0, budget;
	bool found;
	int rc = open_records(object, SHT_GNU_verneed, &records, &found, err);

	if (rc < 0 || !found)
		return rc;
	budget = records.n_max;
	do {
		if (!gelf_getverneed(records.data, (int)at, &need))
			break;
		read_needs_of(&records, versions, at, &need, &budget);
	} while (advance(&records, &at, need.vn_next));
	return 0;
}

int versions_read(const struct object *object, struct versions **ret_versions,
		  struct ubp_err *err)
{
	GElf_Shdr header;
	Elf_Scn *section = object_section_of_type(object, SHT_GNU_versym, &header);
	struct versions *versions;
	int rc;

	*ret_versions = NULL;
	if (!section)
		return 0;
	versions = calloc(1, sizeof(*versions));
	if (!versions)
		return ubp_fail(err, ENOMEM, "out of memory");
	versions->of_symbol = object_section_data(section, false);
	rc = versions->of_symbol
		     ? read_definitions(object, versions, err)
		     : ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: symbol versions: %s",
				object->path, elf_errmsg(-1));
	if (rc == 0)
		rc = read_needs(object, versions, err);
	if (rc < 0) {
		versions_free(versions);
		return rc;
	}
	*ret_versions = versions;
	return 0;
}

void versions_free(struct versions *versions)
{
	free(versions);
}

bool versions_of(const struct versions *versions, size_t i, const char **ret_name,
		 const char **ret_library)
{
	const struct version *version;
	GElf_Versym index;

	*ret_name = *ret_library = NULL;
	if (!versions || i > INT32_MAX || !gelf_getversym(versions->of_symbol, (int)i, &index))
		return true;
	version = &versions->by_index[index & VERSION_INDEX];
	*ret_name = version->name;
	*ret_library = version->library;
	return !(index & VERSION_HIDDEN);
}
