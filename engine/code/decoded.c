/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/decoded.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/elf/eh_frame.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"

#define FUNCTION_MAX (16u << 20) /* bytes; none is as large */

/* A function, or what of it has an FDE of its own. */
struct run {
	uint64_t start, end;
	uint64_t at; /* decoded up to here */
	bool is_broken;
	uint8_t *code;
	uint64_t *starts; /* a bit for each byte: an instruction starts there */
	uint64_t used;    /* when */
};

/* A site and the neighbour before it. */
#define RUNS 2

struct decoded {
	struct run runs[RUNS];
	uint64_t now;
};

static void run_clear(struct run *r)
{
	free(r->code);
	free(r->starts);
	memset(r, 0, sizeof(*r));
}

static void decoded_free(void *decoded_ptr)
{
	struct decoded *decoded = decoded_ptr;

	for (size_t i = 0; i < RUNS; i++)
		run_clear(&decoded->runs[i]);
	free(decoded);
}

static const struct annex_kind decoded_kind = { .free = decoded_free };

static int run_fill(struct object *object, uint64_t elf_vaddr, struct run *r)
{
	uint64_t foffset, start, end, len;

	if (object_vaddr_to_foffset(object, elf_vaddr, &foffset) < 0 ||
	    object_extent(object, foffset, &r->start, &r->end) < 0)
		return -ENOENT;
	/* The nearer the better: data within a function leads astray. */
	if (fde_at(object, elf_vaddr, &start, &end) == 0 && start > r->start)
		r->start = start;
	len = r->end - r->start;
	if (r->start > elf_vaddr || r->end <= elf_vaddr || len > FUNCTION_MAX ||
	    object_vaddr_to_foffset(object, r->start, &foffset) < 0)
		return -ENOENT;
	r->at = r->start;
	r->code = malloc(len);
	r->starts = calloc(len / 64 + 1, sizeof(*r->starts));
	if (!r->code || !r->starts)
		return -ENOMEM;
	return object_read(object, foffset, r->code, len) == (ssize_t)len ? 0 : -EIO;
}

/* The run that holds @elf_vaddr, else the one to fill for it. */
static struct run *choose(struct decoded *d, uint64_t elf_vaddr)
{
	struct run *oldest = &d->runs[0];

	for (size_t i = 0; i < RUNS; i++) {
		struct run *r = &d->runs[i];

		if (r->code && elf_vaddr >= r->start && elf_vaddr < r->end)
			return r;
		if (r->used < oldest->used)
			oldest = r;
	}
	run_clear(oldest);
	return oldest;
}

/* Go on decoding until behind @elf_vaddr. */
static int decode_to(const struct object *object, struct run *r, uint64_t elf_vaddr)
{
	while (r->at <= elf_vaddr && !r->is_broken) {
		uint64_t done = r->at - r->start;
		int n = object->arch->insn.len(r->code + done, r->end - r->at, r->at);

		r->is_broken = n <= 0;
		if (n <= 0)
			break;
		r->starts[done / 64] |= UINT64_C(1) << (done % 64);
		r->at += (uint64_t)n;
	}
	return r->at > elf_vaddr ? 0 : -EILSEQ;
}

static bool starts_at(const struct run *r, uint64_t at)
{
	return r->starts[at / 64] >> (at % 64) & 1;
}

int decoded_at(struct object *object, uint64_t elf_vaddr, struct decoded_insn *ret_insn)
{
	struct decoded *decoded;
	uint64_t start, end;
	struct run *r;
	int rc = 0;

	if (!object->arch)
		return -ENOTSUP;
	decoded = annex_make(&object->annexes, &decoded_kind, sizeof(*decoded));
	if (!decoded)
		return -ENOMEM;
	r = choose(decoded, elf_vaddr);
	if (!r->code)
		rc = run_fill(object, elf_vaddr, r);
	if (rc < 0) {
		run_clear(r);
		return rc;
	}
	r->used = ++decoded->now;
	rc = decode_to(object, r, elf_vaddr);
	if (rc < 0)
		return rc;
	start = elf_vaddr - r->start;
	while (start > 0 && !starts_at(r, start))
		start--;
	end = start + 1;
	while (end < r->at - r->start && !starts_at(r, end))
		end++;
	ret_insn->start = r->start + start;
	ret_insn->len = (uint8_t)(end - start);
	ret_insn->code = r->code + start;
	return 0;
}
