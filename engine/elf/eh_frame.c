/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/eh_frame.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/search.h"
#include "engine/elf/elf_size.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"
#include "engine/elf/segments.h"

/* LSB core, "Exception Frames": the one form of the table that linkers write. */
#define HEADER_LEN    12
#define COUNT_FORM    DW_EH_PE_udata4
#define TABLE_FORM    (DW_EH_PE_datarel | DW_EH_PE_sdata4)
#define ENTRY_LEN     8
#define FDE_LEN_MIN   12
#define CIE_BYTES_MAX 64

struct fde {
	uint64_t start;
	uint64_t at; /* elf_vaddr of the FDE */
};

struct fde_table {
	size_t n;
	size_t near;       /* search_above_near() */
	uint64_t range_of; /* .at of the one whose range was asked for last; 0: none */
	uint64_t range;
	uint64_t cie_at;     /* the CIE that was read last; 0: none */
	uint8_t cie_pointer; /* its form of pointers */
	struct fde fdes[];
};

/* At least @min bytes, up to @len where the file has them. */
static bool read_at(const struct object *object, uint64_t elf_vaddr, uint8_t *bytes, size_t min,
		    size_t len)
{
	uint64_t foffset;

	return object_vaddr_to_foffset(object, elf_vaddr, &foffset) == 0 &&
	       object_read(object, foffset, bytes, len) >= (ssize_t)min;
}

/* Bytes of a pointer in encoding @form, or 0 where that is not fixed. */
static size_t pointer_len(const struct object *object, uint8_t form)
{
	switch (form & 0xf) {
	case DW_EH_PE_absptr:
		return object->ehdr.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	default:
		return 0;
	}
}

static size_t skip_leb128(const uint8_t *bytes, size_t at)
{
	while (at < CIE_BYTES_MAX && bytes[at] & 0x80)
		at++;
	return at + 1;
}

struct cie_forms cie_read(const struct object *object, uint64_t cie_vaddr)
{
	const struct cie_forms unknown = { DW_EH_PE_omit, DW_EH_PE_omit };
	uint8_t cie[CIE_BYTES_MAX + 16] = { 0 }; /* room to look ahead */
	struct cie_forms forms = { DW_EH_PE_absptr, DW_EH_PE_omit };
	uint8_t version;
	const char *augmentation;
	size_t at;

	/* length 4, id 4, version 1, augmentation, two leb128, return register */
	if (!read_at(object, cie_vaddr, cie, 16, CIE_BYTES_MAX) ||
	    object_number(object, cie + 4, 4))
		return unknown;
	version = cie[8];
	augmentation = (const char *)cie + 9;
	at = 9 + strlen(augmentation) + 1;
	if (at >= CIE_BYTES_MAX || augmentation[0] != 'z')
		return augmentation[0] == '\0' ? forms : unknown;
	at = skip_leb128(cie, skip_leb128(cie, at));
	at = version == 1 ? at + 1 : skip_leb128(cie, at);
	at = skip_leb128(cie, at); /* length of what follows */
	for (const char *c = augmentation + 1; *c && at < CIE_BYTES_MAX; c++) {
		if (*c == 'R')
			forms.pointer = cie[at++];
		else if (*c == 'L')
			forms.lsda = cie[at++];
		else if (*c == 'P')
			at += 1 + pointer_len(object, cie[at]);
		else if (*c != 'S' && *c != 'B')
			return unknown;
	}
	return forms;
}

/* How many bytes an FDE covers, or 0 where that can't be read. */
static uint64_t fde_range(const struct object *object, struct fde_table *table,
			  uint64_t fde_vaddr)
{
	uint8_t fde[8 + 16] = { 0 };
	uint64_t cie_at;
	size_t len;

	/* length 4, distance back to the CIE 4, first location, range */
	if (!read_at(object, fde_vaddr, fde, 16, sizeof(fde)) ||
	    object_number(object, fde, 4) == UINT32_MAX)
		return 0;
	/* Most have the same. */
	cie_at = fde_vaddr + 4 - object_number(object, fde + 4, 4);
	if (cie_at != table->cie_at) {
		table->cie_pointer = cie_read(object, cie_at).pointer;
		table->cie_at = cie_at;
	}
	len = pointer_len(object, table->cie_pointer);
	return len ? object_number(object, fde + 8 + len, len) : 0;
}

static bool find_header(const struct object *object, GElf_Phdr *ret_phdr)
{
	size_t n;

	if (elf_getphdrnum(object->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(object->elf, (int)i, ret_phdr) &&
		    ret_phdr->p_type == PT_GNU_EH_FRAME)
			return true;
	return false;
}

/* Entries are offsets from the header: pairs of a first instruction and an FDE. */
static size_t decode_entries(const struct object *object, uint64_t header_vaddr,
			     const uint8_t *raw, size_t n, struct fde *fdes)
{
	for (size_t i = 0; i < n; i++) {
		const uint8_t *entry = raw + i * ENTRY_LEN;
		int32_t start = (int32_t)object_number(object, entry, 4);
		int32_t at = (int32_t)object_number(object, entry + 4, 4);

		fdes[i].start = header_vaddr + (uint64_t)(int64_t)start;
		fdes[i].at = header_vaddr + (uint64_t)(int64_t)at;
		if (i > 0 && fdes[i].start < fdes[i - 1].start)
			return 0; /* the search needs the promised order */
	}
	return n;
}

/* By the table of .eh_frame_hdr. NULL: there is none that makes sense. */
static struct fde_table *read_header(const struct object *object)
{
	uint8_t head[HEADER_LEN], *raw;
	struct fde_table *table;
	GElf_Phdr phdr;
	size_t n;

	/* Only a short pointer to .eh_frame stands before the count. */
	if (!find_header(object, &phdr) || phdr.p_filesz < HEADER_LEN ||
	    phdr.p_filesz > object->size || phdr.p_filesz > SECTION_LEN_MAX ||
	    object_read(object, phdr.p_offset, head, HEADER_LEN) != HEADER_LEN ||
	    head[0] != 1 || pointer_len(object, head[1]) != 4 || head[2] != COUNT_FORM ||
	    head[3] != TABLE_FORM)
		return NULL;
	n = object_number(object, head + 8, 4);
	if (n == 0 || n > (phdr.p_filesz - HEADER_LEN) / ENTRY_LEN)
		return NULL;
	table = calloc(1, sizeof(*table) + n * sizeof(table->fdes[0]));
	raw = malloc(n * ENTRY_LEN);
	if (table && raw &&
	    object_read(object, phdr.p_offset + HEADER_LEN, raw, n * ENTRY_LEN) ==
		    (ssize_t)(n * ENTRY_LEN))
		table->n = decode_entries(object, phdr.p_vaddr, raw, n, table->fdes);
	free(raw);
	if (table && table->n == 0) {
		free(table);
		table = NULL;
	}
	return table;
}

static Elf_Data *find_section(const struct object *object, uint64_t *ret_vaddr)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	do {
		section = section_named(object->elf, section, ".eh_frame", &header);
	} while (section && (!(header.sh_flags & SHF_ALLOC) || header.sh_type == SHT_NOBITS));
	if (!section)
		return NULL;
	*ret_vaddr = header.sh_addr;
	return object_section_data(section, true);
}

/* The first location of the FDE at @fde, which stands at @fde_vaddr. */
static bool first_location(const struct object *object, const uint8_t *fde, size_t len,
			   uint64_t fde_vaddr, uint8_t form, uint64_t *ret_start)
{
	size_t n = pointer_len(object, form);
	uint64_t number;

	if (n == 0 || 8 + n > len)
		return false;
	number = object_number(object, fde + 8, n);
	if (n == 4 && (form & 0xf) == DW_EH_PE_sdata4)
		number = (uint64_t)(int64_t)(int32_t)number;
	if ((form & 0x70) == DW_EH_PE_pcrel)
		number += fde_vaddr + 8;
	else if ((form & 0x70) != DW_EH_PE_absptr)
		return false;
	*ret_start = number;
	return true;
}

static int compare_fdes(const void *pa, const void *pb)
{
	const struct fde *a = pa, *b = pb;

	return (a->start > b->start) - (a->start < b->start);
}

/* Static programs may come without .eh_frame_hdr: all of .eh_frame is read then. */
static struct fde_table *read_section(const struct object *object)
{
	uint64_t vaddr, cie_vaddr = 0;
	Elf_Data *data = find_section(object, &vaddr);
	uint8_t form = DW_EH_PE_omit;
	struct fde_table *table;
	size_t at = 0;

	if (!data || !data->d_buf)
		return NULL;
	table = calloc(1, sizeof(*table) + data->d_size / FDE_LEN_MIN * sizeof(struct fde));
	while (table && data->d_size - at >= FDE_LEN_MIN) {
		const uint8_t *entry = (const uint8_t *)data->d_buf + at;
		size_t len = object_number(object, entry, 4);
		uint64_t id = object_number(object, entry + 4, 4);

		if (len == 0 || len > data->d_size - at - 4)
			break;
		if (id != 0 && len + 4 >= FDE_LEN_MIN) {
			if (cie_vaddr != vaddr + at + 4 - id) {
				cie_vaddr = vaddr + at + 4 - id;
				form = cie_read(object, cie_vaddr).pointer;
			}
			table->fdes[table->n].at = vaddr + at;
			table->n += first_location(object, entry, len + 4, vaddr + at, form,
						   &table->fdes[table->n].start);
		}
		at += 4 + len;
	}
	if (table)
		qsort(table->fdes, table->n, sizeof(table->fdes[0]), compare_fdes);
	return table;
}

bool eh_frame_has_personality(const struct object *object)
{
	uint64_t vaddr;
	Elf_Data *data = find_section(object, &vaddr);
	size_t at = 0;

	if (!data || !data->d_buf)
		return false;
	/* length 4, id 4 (0: a CIE), version 1, augmentation with its NUL */
	while (data->d_size - at > 9) {
		const uint8_t *entry = (const uint8_t *)data->d_buf + at;
		size_t len = object_number(object, entry, 4);

		if (len == 0 || len > data->d_size - at - 4)
			break;
		if (object_number(object, entry + 4, 4) == 0 && len > 5 &&
		    memchr(entry + 9, 'P', strnlen((const char *)entry + 9, len - 5)))
			return true;
		at += 4 + len;
	}
	return false;
}

static const struct annex_kind table_kind = { .free = free };

/* Read on first use. */
static struct fde_table *table_of(struct object *object)
{
	struct fde_table *table = annex_get(&object->annexes, &table_kind);

	if (table)
		return table;
	table = read_header(object);
	if (!table)
		table = read_section(object);
	if (!table)
		table = calloc(1, sizeof(*table)); /* none: not read again */
	if (table && annex_put(&object->annexes, &table_kind, table) < 0) {
		free(table);
		table = NULL;
	}
	return table;
}

void fde_each(struct object *object,
	      void (*each)(void *ctx, uint64_t start, uint64_t fde_vaddr), void *ctx)
{
	const struct fde_table *table = table_of(object);

	for (size_t i = 0; table && i < table->n; i++)
		each(ctx, table->fdes[i].start, table->fdes[i].at);
}

int fde_at(struct object *object, uint64_t elf_vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	struct fde_table *table = table_of(object);
	const struct fde *fde;
	size_t n =
		table ? search_above_near(table->fdes, table->n, start, elf_vaddr, &table->near)
		      : 0;

	if (n == 0)
		return -ENOENT;
	fde = &table->fdes[n - 1];
	if (fde->at != table->range_of) {
		table->range = fde_range(object, table, fde->at);
		table->range_of = fde->at;
	}
	if (elf_vaddr - fde->start >= table->range)
		return -ENOENT;
	*ret_start = fde->start;
	*ret_end = fde->start + table->range;
	return 0;
}
