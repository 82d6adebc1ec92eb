/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/elf_size.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/err.h"

#define DEBUG_MAX (UINT64_C(4) << 30)
/* Symbols, their names, relocations: some hundred MiB of the largest programs. */
#define TABLES_MAX (UINT64_C(2) << 30)
#define MIB        (UINT64_C(1) << 20)

static int fail_small(const char *path, const char *what, uint64_t len, struct ubp_err *err)
{
	return ubp_fail(err, ENOEXEC, "%s: %s of %llu MiB: nothing of it is read", path, what,
			(unsigned long long)(len / MIB));
}

/* What does not lie in the file libelf refuses by itself. */
static uint64_t len_in(uint64_t offset, uint64_t len, uint64_t size)
{
	return offset <= size && len <= size - offset ? len : 0;
}

static int check_segments(Elf *elf, uint64_t size, const char *path, struct ubp_err *err)
{
	uint64_t len = 0;
	GElf_Phdr phdr;
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_NOTE)
			len += len_in(phdr.p_offset, phdr.p_filesz, size);
	return len > ELF_SMALL_MAX ? fail_small(path, "notes", len, err) : 0;
}

static const char *name_of(Elf *elf, size_t names, const GElf_Shdr *header)
{
	const char *name = elf_strptr(elf, names, header->sh_name);

	return name ? name : "";
}

/* .gnu_debuglink, .gnu_debugaltlink */
static bool is_link(const char *name)
{
	return strncmp(name, ".gnu_debug", 10) == 0 && strcmp(name, ".gnu_debugdata") != 0;
}

/* What may be read whole, of each kind as many as there are; but for those that are too long for object_section_data(). */
static bool is_table(uint32_t type)
{
	switch (type) {
	case SHT_SYMTAB:
	case SHT_DYNSYM:
	case SHT_STRTAB:
	case SHT_DYNAMIC:
	case SHT_REL:
	case SHT_RELA:
		return true;
	default:
		return false;
	}
}

/* @max, or a quarter of this machine's memory. */
static uint64_t memory_or(uint64_t max)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t quarter = pages > 0 && size > 0 ? (uint64_t)pages / 4 * (uint64_t)size : max;

	return quarter < max ? quarter : max;
}

/* Sections may lie over each other, so how long the file is says nothing. */
static int check_sections(Elf *elf, uint64_t size, size_t names, const char *path,
			  struct ubp_err *err)
{
	uint64_t small = 0, tables = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		uint64_t len;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		len = len_in(header.sh_offset, header.sh_size, size);
		if (header.sh_type == SHT_NOTE || is_link(name_of(elf, names, &header)))
			small += len;
		else if (is_table(header.sh_type) && len <= SECTION_LEN_MAX)
			tables += len;
	}
	if (small > ELF_SMALL_MAX)
		return fail_small(path, "notes and links", small, err);
	return tables > memory_or(TABLES_MAX) ? fail_small(path, "tables", tables, err) : 0;
}

int elf_check_small(Elf *elf, uint64_t size, const char *path, struct ubp_err *err)
{
	Elf_Scn *section;
	GElf_Shdr header;
	size_t names;
	int rc = check_segments(elf, size, path, err);

	if (rc < 0 || elf_getshdrstrndx(elf, &names) < 0)
		return rc;
	section = elf_getscn(elf, names);
	if (section && gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS &&
	    len_in(header.sh_offset, header.sh_size, size) > ELF_SMALL_MAX)
		return fail_small(path, "names of sections", header.sh_size, err);
	return check_sections(elf, size, names, path, err);
}

/* --- debug information ------------------------------------------------------------------ */

static uint64_t big_endian(const uint8_t *bytes)
{
	uint64_t number = 0;

	for (int i = 0; i < 8; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* The start of a section alone: gelf_getchdr() would have all of it. NULL: it does not lie in the file. */
static const void *first_bytes(Elf *elf, const GElf_Shdr *header, size_t len, Elf_Type type)
{
	Elf_Data *data =
		header->sh_size < len
			? NULL
			: elf_getdata_rawchunk(elf, (int64_t)header->sh_offset, len, type);

	return data ? data->d_buf : NULL;
}

/* How long a section is when it is unpacked; 0: it is not packed. */
static uint64_t unpacked_len(Elf *elf, const GElf_Shdr *header, const char *name)
{
	const uint8_t *old;
	const Elf32_Chdr *of_32;
	const Elf64_Chdr *of_64;

	if (!(header->sh_flags & SHF_COMPRESSED)) {
		if (strncmp(name, ".zdebug", 7) != 0)
			return 0;
		/* "ZLIB", and the length. */
		old = first_bytes(elf, header, 12, ELF_T_BYTE);
		return old && memcmp(old, "ZLIB", 4) == 0 ? big_endian(old + 4) : 0;
	}
	if (gelf_getclass(elf) == ELFCLASS32) {
		of_32 = first_bytes(elf, header, sizeof(*of_32), ELF_T_CHDR);
		return of_32 ? of_32->ch_size : 0;
	}
	of_64 = first_bytes(elf, header, sizeof(*of_64), ELF_T_CHDR);
	return of_64 ? of_64->ch_size : 0;
}

static bool is_debug(const char *name)
{
	return strncmp(name, ".debug_", 7) == 0 || strncmp(name, ".zdebug_", 8) == 0;
}

int elf_check_debug(Elf *elf, const char *path, struct ubp_err *err)
{
	return elf_check_debug_max(elf, memory_or(DEBUG_MAX), path, err);
}

int elf_check_debug_max(Elf *elf, uint64_t max, const char *path, struct ubp_err *err)
{
	uint64_t len = 0, unpacked;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = name_of(elf, names, &header);
		if (!is_debug(name) && !(header.sh_flags & SHF_COMPRESSED))
			continue;
		unpacked = unpacked_len(elf, &header, name);
		if (header.sh_size > max || unpacked > max ||
		    (len += header.sh_size + unpacked) > max)
			return ubp_fail(err, EFBIG,
					"%s: its debug information takes more than %llu MiB of "
					"memory, and is not read",
					path, (unsigned long long)(max / MIB));
		if (unpacked > UNPACKED_MIN && unpacked / UNPACKED_FACTOR > header.sh_size)
			return ubp_fail(err, EFBIG,
					"%s: %s says that %llu bytes of it become %llu: the "
					"debug information is not read",
					path, name, (unsigned long long)header.sh_size,
					(unsigned long long)unpacked);
	}
	return 0;
}
