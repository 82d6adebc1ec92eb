/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/code/decoded.h"
#include "engine/code/refusals.h"
#include "engine/code/window.h"
#include "engine/elf/eh_frame.h"
#include "engine/elf/notes.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/symbols/symtab.h"

struct places {
	struct object *object;
	uint64_t *vaddrs;
	size_t n, room;
	int rc;
};

static void add_place(struct places *p, uint64_t elf_vaddr)
{
	const struct segment *segment = object_segment_of(p->object, elf_vaddr);

	if (!segment || !segment->is_exec)
		return;
	if (VEC_ROOM(p->vaddrs, &p->room, p->n) < 0)
		p->rc = -ENOMEM;
	else
		p->vaddrs[p->n++] = elf_vaddr;
}

static void add_fde(void *ctx, uint64_t start, uint64_t fde_vaddr)
{
	(void)fde_vaddr;
	add_place(ctx, start);
}

static int add_note(void *ctx, const struct object_note *note)
{
	add_place(ctx, note->elf_vaddr);
	return 0;
}

static int compare_vaddrs(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a > b) - (a < b);
}

/* In order, each once. */
static void sort_places(struct places *p)
{
	size_t kept = 0;

	if (p->n == 0)
		return;
	qsort(p->vaddrs, p->n, sizeof(*p->vaddrs), compare_vaddrs);
	for (size_t i = 0; i < p->n; i++)
		if (kept == 0 || p->vaddrs[kept - 1] != p->vaddrs[i])
			p->vaddrs[kept++] = p->vaddrs[i];
	p->n = kept;
}

static int find_entries(struct object *object, struct places *p, struct ubp_err *err)
{
	const struct symtab *symtab;
	int rc = symtab_get(object, &symtab, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < symtab->n_syms; i++)
		if (symtab->syms[i].kind == SYM_FUNCTION)
			add_place(p, symtab->syms[i].elf_vaddr);
	fde_each(object, add_fde, p);
	sort_places(p);
	return p->rc < 0 ? ubp_fail(err, ENOMEM, "out of memory") : 0;
}

static bool can_break(struct object *object, uint64_t foffset, uint64_t elf_vaddr)
{
	uint8_t code[UBP_INSN_MAX];
	ssize_t len = object_read(object, foffset, code, sizeof(code));
	struct displaced_insn insn;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	return len > 0 &&
	       object->arch->insn.analyze(code, (size_t)len, elf_vaddr, &insn, &ignored) == 0 &&
	       !object_refuse_at(object, foffset);
}

/* Where a jump is put: behind the first instruction, else at it. */
static int find_window(struct object *object, uint64_t foffset, struct window *window,
		       struct coverage_counts *counts, struct ubp_err *err)
{
	struct lead lead;
	int rc = object_window_behind(object, foffset, &lead, window, err);

	if (rc == 0) {
		counts->beside++;
		counts->beside_args += !lead.stores && !lead.sets_arg;
	}
	if (rc != -EOPNOTSUPP)
		return rc;
	ubp_err_reset(err);
	return object_window_first(object, foffset, window, err);
}

static int count(struct object *object, uint64_t elf_vaddr, struct coverage_counts *counts,
		 struct ubp_err *err)
{
	struct window window;
	uint64_t foffset;
	int rc;

	if (object_vaddr_to_foffset(object, elf_vaddr, &foffset) < 0)
		return 0;
	rc = find_window(object, foffset, &window, counts, err);
	if (rc < 0 && rc != -EOPNOTSUPP)
		return rc;
	counts->n++;
	if (rc == 0) {
		counts->one += window.n == 1;
		counts->hops += window.n_hops != 0;
		counts->puns += window.pun.n_fixed != 0;
		counts->several += window.n > 1;
		return 0;
	}
	ubp_err_reset(err);
	counts->why[window.why]++;
	if (can_break(object, foffset, elf_vaddr))
		counts->breakpoint++;
	else
		counts->refused++;
	return 0;
}

static int count_all(struct object *object, const struct places *p,
		     struct coverage_counts *counts, struct ubp_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < p->n && rc == 0; i++)
		rc = count(object, p->vaddrs[i], counts, err);
	return rc;
}

/* From each entry to the next, or to the end of what is known. */
static int count_insns(struct object *object, const struct places *entries,
		       struct coverage_counts *counts, struct ubp_err *err)
{
	for (size_t i = 0; i < entries->n; i++) {
		uint64_t at = entries->vaddrs[i];
		uint64_t end = i + 1 < entries->n ? entries->vaddrs[i + 1] : UINT64_MAX;
		struct decoded_insn insn;

		for (; at < end && decoded_at(object, at, &insn) == 0; at += insn.len) {
			int rc = count(object, at, counts, err);

			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

int object_coverage(struct object *object, bool insns, struct object_coverage *ret_coverage,
		    struct ubp_err *err)
{
	struct places entries = { .object = object }, notes = { .object = object };
	int rc;

	memset(ret_coverage, 0, sizeof(*ret_coverage));
	if (!object->arch)
		return ubp_fail(err, ENOTSUP, "%s: no support for %s", object->path,
				object->machine_name);
	rc = find_entries(object, &entries, err);
	if (rc == 0)
		rc = count_all(object, &entries, &ret_coverage->entries, err);
	if (rc == 0) {
		object_each_note(object, add_note, &notes);
		sort_places(&notes);
		rc = notes.rc < 0 ? ubp_fail(err, ENOMEM, "out of memory")
				  : count_all(object, &notes, &ret_coverage->notes, err);
	}
	if (rc == 0 && insns)
		rc = count_insns(object, &entries, &ret_coverage->insns, err);
	free(entries.vaddrs);
	free(notes.vaddrs);
	return rc;
}

const char *object_refusal_name(enum window_refusal why)
{
	static const char *const names[WINDOW_N] = {
		[WINDOW_OK] = "none",
		[WINDOW_SHORT] = "code ends too early",
		[WINDOW_INSN] = "instruction cannot be moved",
		[WINDOW_KERNEL] = "system call",
		[WINDOW_CALL] = "call would return into it",
		[WINDOW_SELF] = "refers to itself",
		[WINDOW_UNKNOWN] = "no known function or instruction",
		[WINDOW_LANDING] = "a symbol or an exception leads into it",
		[WINDOW_GO] = "Go",
		[WINDOW_FILL] = "no unused bytes for a short jump",
		[WINDOW_BRANCH] = "a branch leads into it",
		[WINDOW_ADDRESS] = "code makes an address in it",
		[WINDOW_TABLE] = "a jump table may lead into it",
		[WINDOW_POINTER] = "a pointer may lead into it",
		[WINDOW_OWN] = "makes addresses of its own code",
		[WINDOW_LEAD] = "first instruction cannot be taken back",
	};

	return why < WINDOW_N ? names[why] : "unknown";
}
