/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/landings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/jump_tables.h"
#include "engine/code/landing_set.h"
#include "engine/code/lsda.h"
#include "engine/elf/image.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/relocs.h"
#include "engine/symbols/operand_symbol.h"
#include "engine/symbols/symtab.h"

struct scan {
	struct object *object;
	struct landings *landings;
	const struct image *image;
	uint64_t got; /* what code counts addresses from (counts_from_got); 0: there is none */
	struct jump_tables tables; /* where code points to, outside and inside code */
	int rc;                    /* of adding to these and to the landings' addresses */
};

/*
 * Behind the start of a function, where most windows are. Of the branches to there it is kept which they
 * are, so that somebody may look at them: of all branches that would be too many.
 */
static bool is_near_name(const struct landings *landings, uint64_t target)
{
	return target > UBP_WINDOW_MAX && landings_first(landings, 1u << LANDING_NAME,
							 target - UBP_WINDOW_MAX, target) != 0;
}

static void see_ref(void *ctx, uint64_t at, uint64_t target, enum code_ref kind)
{
	struct scan *s = ctx;
	bool is_address = kind == REF_ADDRESS;
	bool is_code = landings_add(s->landings, is_address ? LANDING_ADDRESS : LANDING_BRANCH,
				    target);
	size_t ignored;

	if (is_code && s->rc == 0 && (is_address || is_near_name(s->landings, target)))
		s->rc = landings_mention(
			s->landings, is_address ? MENTION_ADDRESS : MENTION_BRANCH, target, at);
	if (is_address && image_at(s->image, target, &ignored) && s->rc == 0)
		s->rc = jump_tables_note(&s->tables, target, at);
}

/* Pointers: every word that could be one. */
static void mark_words(struct scan *s, const struct image_part *part, size_t size, size_t step,
		       enum landing_kind kind)
{
	uint64_t low, high;

	landings_bounds(s->landings, &low, &high);
	for (size_t at = 0; part->len - at >= size && at < part->len; at += step) {
		uint64_t word = 0;

		if (s->object->ehdr.e_ident[EI_DATA] == ELFDATA2LSB)
			memcpy(&word, part->bytes + at, size);
		else
			word = object_number(s->object, part->bytes + at, size);
		if (word >= low && word < high)
			landings_add(s->landings, kind, word);
	}
}

static void see_pointer(void *ctx, uint64_t target)
{
	struct scan *s = ctx;

	landings_add(s->landings, LANDING_POINTER, target);
}

/* Those of relocations are among the words: they stand in the tables of relocations, or in place. */
static void mark_pointers(struct scan *s)
{
	size_t size = object_is_64bit(s->object) ? 8 : 4;

	if (relocs_each_target(s->object, s->image, see_pointer, s))
		return;
	for (size_t i = 0; i < s->image->n; i++) {
		const struct image_part *part = &s->image->parts[i];

		/* Compilers align pointers to 8; whoever packs them, to 4. */
		mark_words(s, part, size, 4, LANDING_POINTER);
		/* Where the linker knows addresses, they may be short. */
		if (!object_is_pie(s->object) && size == 8 && !part->is_exec)
			mark_words(s, part, 4, 4, LANDING_SHORT_POINTER);
	}
}

/*
 * 32-bit x86 has no addresses that are relative to the pc. Code that must not know where it is
 * counts from the GOT, in tables and in itself; what was written by hand, from the start
 * of a table that nothing tells of. So each place may be one.
 */
#define RUN_LEAST 3
#define BUDGET_32 (UINT64_C(1) << 24)
#define NEAREST   8 /* no entry leads as near as that */

static void mark_got_words(struct scan *s, const struct image_part *part)
{
	for (size_t at = 0; part->len - at >= 4 && at < part->len; at += 4) {
		uint64_t word = object_number(s->object, part->bytes + at, 4);

		landings_add(s->landings, LANDING_TABLE, (uint32_t)(s->got + word));
	}
}

/* The target of the entry at @at, of a table that starts at @start; 0: it is none. */
static uint64_t entry_target(struct scan *s, const struct image_part *part, size_t start,
			     size_t at)
{
	int32_t entry = (int32_t)object_number(s->object, part->bytes + at, 4);
	uint64_t target = (uint32_t)(part->elf_vaddr + start + (uint64_t)(int64_t)entry);

	if (entry > -NEAREST && entry < NEAREST)
		return 0;
	return landings_has_code(s->landings, target) ? target : 0;
}

static void mark_own_tables(struct scan *s, const struct image_part *part, uint64_t *budget)
{
	for (size_t start = 0; start + 4 <= part->len && *budget; start += 4) {
		size_t end = start;

		while (end + 4 <= part->len && *budget &&
		       entry_target(s, part, start, end) != 0) {
			end += 4;
			--*budget;
		}
		for (size_t at = start; end - start >= 4 * RUN_LEAST && at < end; at += 4)
			landings_add(s->landings, LANDING_TABLE,
				     entry_target(s, part, start, at));
	}
}

static void mark_32(struct scan *s)
{
	uint64_t budget = BUDGET_32;

	for (size_t i = 0; i < s->image->n; i++) {
		if (s->got)
			mark_got_words(s, &s->image->parts[i]);
		mark_own_tables(s, &s->image->parts[i], &budget);
	}
	if (!budget)
		landings_add_all(s->landings);
}

/* --- constants in code ------------------------------------------------------------ */

/* Those that are counted from @base. */
static int part_constants(struct scan *s, const struct image_part *part, uint64_t base)
{
	struct landings *l = s->landings;
	uint64_t low, high;
	int rc = 0;

	landings_bounds(l, &low, &high);
	for (size_t at = 0; part->is_exec && part->len - at > 4 && rc == 0; at++) {
		uint64_t word = object_number(s->object, part->bytes + at, 4);

		if (base)
			word = (uint32_t)(base + word);
		if (word >= low && word < high)
			rc = landings_mention(l, MENTION_CONSTANT, word, part->elf_vaddr + at);
	}
	return rc;
}

/* What came of adding all of them: @rc. */
static int sort_mentions(const struct scan *s, enum mention_kind kind, int rc,
			 struct ubp_err *err)
{
	if (rc == -EFBIG)
		return ubp_fail(err, EFBIG, "%s: too many addresses in code", s->object->path);
	if (rc < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	landings_sort_mentions(s->landings, kind);
	return 0;
}

static int find_constants(struct scan *s, struct ubp_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->image->n && rc == 0; i++) {
		if (!object_is_pie(s->object))
			rc = part_constants(s, &s->image->parts[i], 0);
		if (s->got && rc == 0)
			rc = part_constants(s, &s->image->parts[i], s->got);
	}
	return sort_mentions(s, MENTION_CONSTANT, rc, err);
}

/* --- all of them ----------------------------------------------------------------- */

static int mark_symbols(struct object *object, struct landings *l, struct ubp_err *err)
{
	const struct symtab *symtab;
	int rc = symtab_get(object, &symtab, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < symtab->n_syms; i++)
		if (symtab->syms[i].kind != SYM_IMPORT)
			landings_add(l, LANDING_NAME, symtab->syms[i].elf_vaddr);
	landings_add(l, LANDING_NAME, object_entry(object));
	return 0;
}

static int scan(struct object *object, struct landings *l, struct image *image,
		struct ubp_err *err)
{
	struct scan s = { .object = object, .landings = l, .image = image };
	bool counts_from_got = object->arch->elf.counts_from_got;
	int rc;

	/* A program that is all at fixed addresses has none, if it has sections that would tell. */
	if (counts_from_got && object_got_vaddr(object, &s.got) < 0 &&
	    (object_is_pie(object) || object->n_sections == 0))
		landings_add_all(l);
	for (size_t i = 0; i < image->n; i++)
		if (image->parts[i].is_exec)
			object->arch->insn.scan_refs(image->parts[i].bytes, image->parts[i].len,
						     image->parts[i].elf_vaddr,
						     REF_BRANCH | REF_ADDRESS, see_ref, &s);
	rc = sort_mentions(&s, MENTION_ADDRESS, s.rc, err);
	if (rc == 0)
		rc = sort_mentions(&s, MENTION_BRANCH, 0, err);
	if (rc == 0)
		rc = jump_tables_mark(&s.tables, object, image, l, err);
	image_blank_relocs(object, image);
	if (rc == 0)
		rc = find_constants(&s, err);
	jump_tables_free(&s.tables);
	mark_pointers(&s);
	if (counts_from_got)
		mark_32(&s);
	return rc;
}

int landings_find(struct object *object, struct landings *l, struct ubp_err *err)
{
	struct image image = { 0 };
	int rc;

	if (!object->arch || !object->arch->insn.scan_refs)
		return ubp_fail(err, ENOTSUP, "no decoder for this instruction set");
	rc = image_read(object, &image, err);
	/* The file was checked for its size; so segments are not larger. */
	if (rc == 0 && landings_cover(l, object) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	if (rc == 0)
		rc = mark_symbols(object, l, err);
	if (rc == 0)
		lsda_mark(object, &image, l);
	if (rc == 0)
		rc = scan(object, l, &image, err);
	image_free(&image);
	return rc;
}
