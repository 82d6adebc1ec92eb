/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/x86/known.h"

#include <string.h>

#include "arch/x86/split.h"

#define KNOWN_N 32768 /* of them, 3.5 MiB; when all are taken it begins anew */
#define INDEX_N (2 * KNOWN_N)
#define KINDS_N 1024

/*
 * Bytes decide what an instruction is, and how long, but for direct branches, whose text tells where they lead: of these the
 * place counts, too.
 */
struct known {
	uint64_t place; /* its address + 1; 0: wherever it stands */
	uint8_t bytes[X86_INSN_LONGEST];
	uint8_t bits;
	struct x86_decoded insn;
};

/*
 * All of one kind have an immediate of one length: prefixes, opcode and modrm byte tell. That is a hint, for what is looked
 * up by it is compared.
 */
struct kind {
	uint8_t bytes[X86_INSN_LONGEST + 1]; /* then the modrm byte, if any */
	uint8_t bits, imm_len;               /* .bits 0: none */
};

/* In the order of their coming, so that few pages are touched. */
static struct known known[KNOWN_N];
static size_t n_known;
static uint32_t by_hash[INDEX_N]; /* number + 1; 0: none */
static struct kind kinds[KINDS_N];

static uint64_t mix(uint64_t hash, const uint8_t *bytes, size_t len)
{
	uint64_t words[2] = { 0 };

	memcpy(words, bytes, len);
	hash = (hash ^ words[0]) * 0x9e3779b97f4a7c15;
	hash = (hash ^ hash >> 29 ^ words[1]) * 0xbf58476d1ce4e5b9;
	return hash ^ hash >> 32;
}

static struct kind kind_of(unsigned bits, const uint8_t *code, const struct x86_parts *p)
{
	struct kind kind = { .bits = (uint8_t)bits };

	memcpy(kind.bytes, code, p->opcode_at + 1u);
	if (p->has_modrm)
		kind.bytes[p->opcode_at + 1] = p->modrm;
	return kind;
}

static struct kind *kind_at(const struct kind *kind)
{
	return &kinds[mix(kind->bits, kind->bytes, sizeof(kind->bytes)) % KINDS_N];
}

static bool is_same_kind(const struct kind *a, const struct kind *b)
{
	return a->bits == b->bits && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/* Bytes of the instruction, if it is of a kind that was seen; or 0. */
static size_t len_of(unsigned bits, const uint8_t *code, size_t len, struct x86_parts *p)
{
	struct kind kind, *seen;
	size_t total;

	if (!x86_split(bits, code, len, p) || p->opcode_at + 1u >= X86_INSN_LONGEST)
		return 0;
	kind = kind_of(bits, code, p);
	seen = kind_at(&kind);
	if (!is_same_kind(seen, &kind))
		return 0;
	total = (size_t)p->end + seen->imm_len;
	return total <= len && total <= X86_INSN_LONGEST ? total : 0;
}

/* Do displacement and immediate tell nothing but where, and how much? Of vector instructions they may tell what is done. */
static bool is_plain(const struct x86_parts *p)
{
	return p->map == MAP_ONE || (p->map == MAP_0F && (p->opcode & 0xf0) == 0x80);
}

uint8_t known_len(unsigned bits, const uint8_t *code, size_t len, struct x86_parts *ret_parts)
{
	size_t n = len_of(bits, code, len, ret_parts);

	return n && is_plain(ret_parts) ? (uint8_t)n : 0;
}

static uint32_t *index_of(unsigned bits, const uint8_t *bytes, size_t len, uint64_t place)
{
	uint64_t at = mix(bits ^ place << 8, bytes, len);

	for (;; at++) {
		uint32_t *number = &by_hash[at % INDEX_N];
		const struct known *k;

		if (!*number)
			return number;
		k = &known[*number - 1];
		if (k->bits == bits && k->insn.len == len && k->place == place &&
		    memcmp(k->bytes, bytes, len) == 0)
			return number;
	}
}

bool known_find(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr,
		struct x86_decoded *ret_insn)
{
	struct x86_parts p;
	size_t n = len_of(bits, code, len, &p);
	uint32_t number;

	if (!n)
		return false;
	number = *index_of(bits, code, n, 0);
	if (!number)
		number = *index_of(bits, code, n, vaddr + 1);
	if (!number)
		return false;
	*ret_insn = known[number - 1].insn;
	return true;
}

/* Does its text tell where it leads? Its displacement is an immediate to x86_split(). */
static bool is_direct(const struct x86_parts *p)
{
	if (p->map == MAP_0F)
		return (p->opcode & 0xf0) == 0x80;
	if (p->map != MAP_ONE)
		return false;
	switch (p->opcode) {
	case 0xe8:
	case 0xe9:
	case 0xeb:
		return true;
	case 0xc7: /* xbegin */
		return p->modrm == 0xf8;
	default:
		return (p->opcode & 0xf0) == 0x70 || (p->opcode & 0xfc) == 0xe0;
	}
}

static void forget_all(void)
{
	memset(by_hash, 0, sizeof(by_hash));
	n_known = 0;
}

void known_add(unsigned bits, const uint8_t *code, uint64_t vaddr,
	       const struct x86_decoded *insn)
{
	struct known *k;
	struct x86_parts p;
	struct kind kind;
	uint32_t *number;
	uint64_t place;

	if (!x86_split(bits, code, insn->len, &p) || p.opcode_at + 1u >= X86_INSN_LONGEST ||
	    p.end > insn->len)
		return;
	place = is_direct(&p) ? vaddr + 1 : 0;
	if (n_known == KNOWN_N)
		forget_all();
	kind = kind_of(bits, code, &p);
	kind.imm_len = (uint8_t)(insn->len - p.end);
	*kind_at(&kind) = kind;
	number = index_of(bits, code, insn->len, place);
	if (*number)
		return;
	k = &known[n_known++];
	*k = (struct known){ .place = place, .bits = (uint8_t)bits, .insn = *insn };
	memcpy(k->bytes, code, insn->len);
	*number = (uint32_t)n_known;
}
