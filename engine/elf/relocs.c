/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/relocs.h"

#include <stddef.h>

#include "engine/elf/image.h"
#include "engine/elf/object_priv.h"

/* Older <elf.h> have none of these. */
#define TAG_RELRSZ  35
#define TAG_RELR    36
#define TAG_RELRENT 37

/* Relocations in forms of their own: of Android, and of signed pointers (DT_AARCH64_AUTH_RELR). */
#define TAG_ANDROID_LOW    0x6000000f
#define TAG_ANDROID_HIGH   0x60000012
#define TAG_ANDROID_RELR   0x6fffe000
#define TAG_ANDROID_RELR_3 0x6fffe003
#define TAG_OF_MACHINE     0x70000010
#define TAG_OF_MACHINE_END 0x7ffffff0

#define WORD     8
#define RELA_LEN 24 /* r_offset, r_info, r_addend */
#define SYM_LEN  24
#define SYM_AT   8 /* st_value */

struct table {
	uint64_t vaddr, len;
};

struct relocs {
	const struct object *object;
	const struct image *image;
	struct table rela, plt, relr;
	uint64_t symbols; /* elf_vaddr of the table; 0: none */
	uint64_t init, fini;
	bool is_unknown; /* there is what is not read here */
	void (*each)(void *ctx, uint64_t elf_vaddr);
	void *ctx;
};

static bool word_at(const struct relocs *r, uint64_t vaddr, uint64_t *ret_word)
{
	size_t len;
	const uint8_t *bytes = image_at(r->image, vaddr, &len);

	if (!bytes || len < WORD)
		return false;
	*ret_word = object_number(r->object, bytes, WORD);
	return true;
}

/* --- the dynamic section ------------------------------------------------------------ */

static bool is_of_other_form(uint64_t tag)
{
	return (tag >= TAG_ANDROID_LOW && tag <= TAG_ANDROID_HIGH) ||
	       (tag >= TAG_ANDROID_RELR && tag <= TAG_ANDROID_RELR_3) ||
	       (tag >= TAG_OF_MACHINE && tag < TAG_OF_MACHINE_END);
}

static void see_entry(struct relocs *r, uint64_t tag, uint64_t value)
{
	switch (tag) {
	case DT_RELA:
		r->rela.vaddr = value;
		break;
	case DT_RELASZ:
		r->rela.len = value;
		break;
	case DT_JMPREL:
		r->plt.vaddr = value;
		break;
	case DT_PLTRELSZ:
		r->plt.len = value;
		break;
	case TAG_RELR:
		r->relr.vaddr = value;
		break;
	case TAG_RELRSZ:
		r->relr.len = value;
		break;
	case DT_SYMTAB:
		r->symbols = value;
		break;
	case DT_INIT:
		r->init = value;
		break;
	case DT_FINI:
		r->fini = value;
		break;
	case DT_REL:
		r->is_unknown = true;
		break;
	case DT_RELAENT: /* NOLINT(bugprone-branch-clone): two lengths that are the same by chance */
		r->is_unknown |= value != RELA_LEN;
		break;
	case DT_SYMENT:
		r->is_unknown |= value != SYM_LEN;
		break;
	case TAG_RELRENT:
		r->is_unknown |= value != WORD;
		break;
	case DT_PLTREL:
		r->is_unknown |= value != DT_RELA;
		break;
	default:
		r->is_unknown |= is_of_other_form(tag);
	}
}

/* False: there is none, or it has no end. */
static bool read_dynamic(struct relocs *r)
{
	GElf_Phdr phdr;
	size_t n;

	if (elf_getphdrnum(r->object->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(r->object->elf, (int)i, &phdr) || phdr.p_type != PT_DYNAMIC)
			continue;
		for (uint64_t at = 0; at < phdr.p_filesz; at += 2 * WORD) {
			uint64_t tag, value;

			if (!word_at(r, phdr.p_vaddr + at, &tag) ||
			    !word_at(r, phdr.p_vaddr + at + WORD, &value))
				return false;
			if (tag == DT_NULL)
				return true;
			see_entry(r, tag, value);
		}
	}
	return false;
}

/* --- tables ----------------------------------------------------------------------- */

/* All of the table; NULL: it is not in one segment. */
static const uint8_t *table_bytes(const struct relocs *r, const struct table *table)
{
	size_t len;
	const uint8_t *bytes = image_at(r->image, table->vaddr, &len);

	return bytes && table->len <= len ? bytes : NULL;
}

static bool see_rela_table(const struct relocs *r, const struct table *table)
{
	const uint8_t *bytes = table_bytes(r, table);

	if (table->len == 0)
		return true;
	if (!bytes || table->len % RELA_LEN)
		return false;
	for (uint64_t at = 0; at < table->len; at += RELA_LEN) {
		uint64_t info = object_number(r->object, bytes + at + WORD, WORD);
		uint64_t addend = object_number(r->object, bytes + at + 2 * WORD, WORD);
		uint64_t symbol = GELF_R_SYM(info), value;

		r->each(r->ctx, addend);
		if (symbol == 0)
			continue;
		if (!word_at(r, r->symbols + symbol * SYM_LEN + SYM_AT, &value))
			return false;
		r->each(r->ctx, value + addend);
	}
	return true;
}

static bool see_relr_word(const struct relocs *r, uint64_t where)
{
	uint64_t target;

	if (!word_at(r, where, &target))
		return false;
	r->each(r->ctx, target);
	return true;
}

/* An address, then words of 63 bits: which of the words behind it are relocated, too. */
static bool see_relr_table(const struct relocs *r)
{
	const uint8_t *bytes = table_bytes(r, &r->relr);
	uint64_t where = 0;

	if (r->relr.len == 0)
		return true;
	if (!bytes || r->relr.len % WORD)
		return false;
	for (uint64_t at = 0; at < r->relr.len; at += WORD) {
		uint64_t entry = object_number(r->object, bytes + at, WORD);

		if (!(entry & 1)) {
			if (!see_relr_word(r, entry))
				return false;
			where = entry + WORD;
			continue;
		}
		for (unsigned bit = 1; bit < 64; bit++)
			if (entry >> bit & 1 && !see_relr_word(r, where + (bit - 1) * WORD))
				return false;
		where += UINT64_C(63) * WORD;
	}
	return true;
}

bool relocs_each_target(const struct object *object, const struct image *image,
			void (*each)(void *ctx, uint64_t elf_vaddr), void *ctx)
{
	struct relocs r = { .object = object, .image = image, .each = each, .ctx = ctx };

	if (!object_is_64bit(object) || !object_is_pie(object) || !read_dynamic(&r) ||
	    r.is_unknown || (r.rela.len == 0 && r.relr.len == 0))
		return false;
	each(ctx, r.init);
	each(ctx, r.fini);
	return see_rela_table(&r, &r.rela) && see_rela_table(&r, &r.plt) && see_relr_table(&r);
}
