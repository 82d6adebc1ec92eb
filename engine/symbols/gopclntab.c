/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/symbols/gopclntab.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/annex.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"

#define MAGIC_1_2  0xfffffffbu
#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define HEADER_WORDS 8 /* pointer-sized, behind the first 8 bytes; older ones have fewer */

struct table {
	const struct object *object;
	const uint8_t *bytes;
	uint64_t len, vaddr;
	size_t word;    /* bytes in a pointer */
	size_t pc_size; /* bytes in a column of the table of functions */
	uint64_t base;  /* what addresses count from; 0: none */
	uint64_t n;     /* functions */
	uint64_t at;    /* of the table of functions */
	uint64_t names; /* of the names */
	uint64_t pcs;   /* of values by addresses */
	size_t about; /* bytes of what is told of a function, without its lists; 0: not known */
};

static bool is_table_name(const char *name)
{
	/* Position-independent ones have it among the relocated data. */
	return name &&
	       (strcmp(name, ".gopclntab") == 0 || strcmp(name, ".data.rel.ro.gopclntab") == 0);
}

static bool find_section(const struct object *object, bool (*is_it)(const char *name),
			 GElf_Shdr *ret_header, Elf_Scn **ret_section)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(object->elf, &names) < 0)
		return false;
	while ((section = elf_nextscn(object->elf, section)))
		if (gelf_getshdr(section, ret_header) && ret_header->sh_type == SHT_PROGBITS &&
		    is_it(elf_strptr(object->elf, names, ret_header->sh_name))) {
			*ret_section = section;
			return true;
		}
	return false;
}

static bool is_text_name(const char *name)
{
	return name && strcmp(name, ".text") == 0;
}

/* A number of @size bytes at @at of the table. False: it lies outside. */
static bool number_at(const struct table *t, uint64_t at, size_t size, uint64_t *ret_number)
{
	if (at > t->len || t->len - at < size)
		return false;
	*ret_number = object_number(t->object, t->bytes + at, size);
	return true;
}

static bool word_at(const struct table *t, unsigned i, uint64_t *ret_number)
{
	return number_at(t, 8 + (uint64_t)i * t->word, t->word, ret_number);
}

/* The address that the loader will write to @elf_vaddr. */
static uint64_t relocated(const struct object *object, uint64_t elf_vaddr)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Rela rela;

	while ((section = elf_nextscn(object->elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getrela(data, i, &rela); i++)
			if (rela.r_offset == elf_vaddr)
				return (uint64_t)rela.r_addend;
	}
	return 0;
}

/* Since Go 1.18 addresses count from the start of the code. */
static bool read_base(struct table *t)
{
	GElf_Shdr header;
	Elf_Scn *section;

	if (!word_at(t, 2, &t->base))
		return false;
	if (!t->base)
		t->base = relocated(t->object, t->vaddr + 8 + 2 * t->word);
	if (!t->base && find_section(t->object, is_text_name, &header, &section))
		t->base = header.sh_addr;
	return t->base != 0;
}

static bool read_layout(struct table *t)
{
	uint64_t magic = 0;

	if (!number_at(t, 0, 4, &magic) || t->len < 8)
		return false;
	t->word = t->bytes[7];
	if ((t->word != 4 && t->word != 8) || !word_at(t, 0, &t->n))
		return false;
	t->pc_size = t->word;
	switch (magic) {
	case MAGIC_1_2:
		t->at = 8 + t->word;
		return true;
	case MAGIC_1_16:
		return word_at(t, 2, &t->names) && word_at(t, 6, &t->at);
	case MAGIC_1_18:
	case MAGIC_1_20:
		t->pc_size = 4;
		t->about = magic == MAGIC_1_18 ? 40 : 44;
		return word_at(t, 3, &t->names) && word_at(t, 6, &t->pcs) &&
		       word_at(t, 7, &t->at) && read_base(t);
	default:
		return false;
	}
}

static bool open_table(const struct object *object, struct table *t)
{
	GElf_Shdr header;
	Elf_Scn *section;
	Elf_Data *data;

	*t = (struct table){ .object = object };
	if (!find_section(object, is_table_name, &header, &section))
		return false;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf)
		return false;
	t->bytes = data->d_buf;
	t->len = data->d_size;
	t->vaddr = header.sh_addr;
	/* Pairs of an address and an offset, and one more address behind them. */
	return read_layout(t) && t->at <= t->len && t->n > 0 &&
	       t->n <= (t->len - t->at) / (2 * t->pc_size) &&
	       (t->len - t->at) - t->n * 2 * t->pc_size >= t->pc_size;
}

/* What was found out about the table: most files have none, and are asked a hundred thousand times. */
struct kept_table {
	struct table t;
	bool is_there;
};

static const struct annex_kind table_kind = { .free = free };

/* NULL: there is none. */
static const struct table *table_of(struct object *object, struct kept_table *scratch)
{
	struct kept_table *kept = annex_get(&object->annexes, &table_kind);

	if (!kept) {
		kept = calloc(1, sizeof(*kept));
		if (kept && annex_put(&object->annexes, &table_kind, kept) < 0) {
			free(kept);
			kept = NULL;
		}
		kept = kept ? kept : scratch;
		kept->is_there = open_table(object, &kept->t);
	}
	return kept->is_there ? &kept->t : NULL;
}

/* Function @i < n, or the end of the last: i == n. */
static uint64_t start_of(const struct table *t, uint64_t i)
{
	return t->base +
	       object_number(t->object, t->bytes + t->at + i * 2 * t->pc_size, t->pc_size);
}

static const char *name_of(const struct table *t, uint64_t i)
{
	uint64_t about = 0, name = 0;

	(void)number_at(t, t->at + (2 * i + 1) * t->pc_size, t->pc_size, &about);
	/* Offsets count from the table of functions, at first from all of it. */
	if (t->names && __builtin_add_overflow(about, t->at, &about))
		return NULL;
	/* Its address, then its name. */
	if (about > t->len || !number_at(t, about + t->pc_size, 4, &name) ||
	    __builtin_add_overflow(name, t->names, &name) || name >= t->len ||
	    !memchr(t->bytes + name, '\0', t->len - name))
		return NULL;
	return (const char *)t->bytes + name;
}

static int describe(const struct table *t, uint64_t i, struct go_function *ret_function)
{
	*ret_function = (struct go_function){
		.start = start_of(t, i),
		.end = start_of(t, i + 1),
		.name = name_of(t, i),
	};
	return ret_function->start < ret_function->end &&
			       object_segment_of(t->object, ret_function->start)
		       ? 0
		       : -ENOENT;
}

/* How many functions start at @elf_vaddr or before. */
static uint64_t count_to(const struct table *t, uint64_t elf_vaddr)
{
	uint64_t low = 0, high = t->n;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (start_of(t, mid) <= elf_vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int gopclntab_at(struct object *object, uint64_t elf_vaddr, struct go_function *ret_function)
{
	struct kept_table scratch;
	const struct table *t = table_of(object, &scratch);
	uint64_t n = t ? count_to(t, elf_vaddr) : 0;

	if (n == 0 || describe(t, n - 1, ret_function) < 0)
		return -ENOENT;
	return elf_vaddr < ret_function->end ? 0 : -ENOENT;
}

/* --- where goroutines may be parked ------------------------------------------------------- */

/* struct _func of the runtime's. */
#define ABOUT_FRAME   16 /* of .pcsp */
#define ABOUT_N_LISTS 28 /* of .npcdata */
#define ABOUT_FLAG    3  /* from the end back */
#define FLAG_TOP      1  /* funcFlag_TOPFRAME */
#define FLAG_ASM      4
#define LIST_UNSAFE   0 /* _PCDATA_UnsafePoint, _PCDATA_InlTreeIndex */
#define LIST_INLINED  2
#define POINT_UNSAFE  (-2) /* _PCDATA_UnsafePointUnsafe */

static bool varint_at(const struct table *t, uint64_t *at, uint32_t *ret_number)
{
	uint64_t byte = 0x80;

	*ret_number = 0;
	for (unsigned shift = 0; byte & 0x80; shift += 7) {
		if (shift > 28 || !number_at(t, (*at)++, 1, &byte))
			return false;
		*ret_number |= (uint32_t)(byte & 0x7f) << shift;
	}
	return true;
}

/* A list at @at: pairs of how the value changes, and for how many bytes it holds. Is it @want for all of [@from, @to)? */
static bool holds(const struct table *t, uint64_t at, uint64_t pc, int32_t want, uint64_t from,
		  uint64_t to)
{
	int32_t value = -1;
	uint32_t by = 0, len = 0;

	for (bool is_first = true; pc < to; is_first = false) {
		if (!varint_at(t, &at, &by) || (!by && !is_first) || !varint_at(t, &at, &len))
			return false;
		value += (int32_t)(by >> 1) ^ -(int32_t)(by & 1);
		pc += len;
		if (pc > from && value != want)
			return false;
	}
	return true;
}

/* By list @which of function @i, of which is told at @about. Without the list the value is -1. */
static bool is_told(const struct table *t, uint64_t i, uint64_t about, unsigned which,
		    int32_t want, uint64_t from, uint64_t to)
{
	uint64_t lists = 0, list = 0;

	if (!number_at(t, about + ABOUT_N_LISTS, 4, &lists) ||
	    (lists > which && !number_at(t, about + t->about + 4 * which, 4, &list)))
		return false;
	return list ? holds(t, t->pcs + list, start_of(t, i), want, from, to) : want == -1;
}

/* Its functions are left alone, but for what is inlined there from elsewhere. */
static bool is_of_runtime(const char *name)
{
	return name && (strncmp(name, "runtime.", 8) == 0 || strncmp(name, "reflect.", 8) == 0);
}

/* What is told of the function that holds @from, and @to is the end of at most. */
struct about {
	const struct table *t;
	uint64_t i, at; /* its number; in the table */
};

static bool find_about(struct object *object, uint64_t from, uint64_t to,
		       struct kept_table *scratch, struct about *ret_about)
{
	const struct table *t = table_of(object, scratch);
	uint64_t n = t && t->about ? count_to(t, from) : 0, at;

	if (n == 0 || !number_at(t, t->at + (2 * n - 1) * t->pc_size, t->pc_size, &at) ||
	    __builtin_add_overflow(at, t->at, &at) || at > t->len || to > start_of(t, n))
		return false;
	*ret_about = (struct about){ t, n - 1, at };
	return true;
}

static bool find_flags(const struct about *a, uint64_t *ret_flags)
{
	return number_at(a->t, a->at + a->t->about - ABOUT_FLAG, 1, ret_flags);
}

bool gopclntab_may_end_stacks(struct object *object, uint64_t elf_vaddr)
{
	struct kept_table scratch;
	struct about a;
	uint64_t flag = 0;

	return !find_about(object, elf_vaddr, elf_vaddr, &scratch, &a) ||
	       !find_flags(&a, &flag) || flag & FLAG_TOP;
}

bool gopclntab_never_parks(struct object *object, uint64_t from, uint64_t to)
{
	struct kept_table scratch;
	struct about a;
	uint64_t flag = 0;

	if (!find_about(object, from, to, &scratch, &a) || !find_flags(&a, &flag) ||
	    flag & FLAG_TOP)
		return false;
	return flag & FLAG_ASM ||
	       is_told(a.t, a.i, a.at, LIST_UNSAFE, POINT_UNSAFE, from, to) ||
	       (is_of_runtime(name_of(a.t, a.i)) &&
		is_told(a.t, a.i, a.at, LIST_INLINED, -1, from, to));
}

bool gopclntab_is_frameless(struct object *object, uint64_t from, uint64_t to)
{
	struct kept_table scratch;
	struct about a;
	uint64_t list = 0;

	return find_about(object, from, to, &scratch, &a) &&
	       number_at(a.t, a.at + ABOUT_FRAME, 4, &list) && list &&
	       holds(a.t, a.t->pcs + list, start_of(a.t, a.i), 0, from, to);
}

bool gopclntab_is_there(struct object *object)
{
	struct kept_table scratch;

	return table_of(object, &scratch) != NULL;
}

int gopclntab_find(struct object *object, const char *name, struct go_function *ret_function)
{
	struct kept_table scratch;
	const struct table *t = table_of(object, &scratch);

	if (!t)
		return -ENOENT;
	for (uint64_t i = 0; i < t->n; i++) {
		const char *its = name_of(t, i);

		if (its && strcmp(its, name) == 0)
			return describe(t, i, ret_function);
	}
	return -ENOENT;
}

int gopclntab_describe(const struct object *object, const struct go_function *function,
		       struct object_symbol *ret_symbol)
{
	*ret_symbol = (struct object_symbol){
		.name = function->name,
		.elf_vaddr = function->start,
		.size = function->end - function->start,
		.is_function = true,
	};
	return object_vaddr_to_foffset(object, function->start, &ret_symbol->foffset);
}
