/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/arena.h"

#include <string.h>

#include "tests/unit/probe_make.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define PAGE	   0x1000u

static const struct {
	const char *bytes;
	size_t len;
} odd_texts[] = {
#define T(text)                                                                                \
	{                                                                                      \
		text, sizeof(text)                                                             \
	}
	T("say \"hi\""),
	T("back\\slash\\n"),
	T("new\nline"),
	T("\n"),
	T("tab\there"),
	T("cr\rx"),
	T("\x01\x02\x1b[31mred\x1b[0m"),
	T("del\x7f"),
	T("caf\xe9"),
	T("caf\xc3\xa9 \xe2\x82\xac"),
	T("\xff\xfe\x80"),
	T("%s %d %n %%"),
	T("{a,b}"),
	T("a=b c:d"),
	T("(fault)"),
	T("trailing space "),
	T("'single'"),
#undef T
};

static const size_t big_lens[] = { 15,	 63,   64,   100,  255,	 256,  1000, 2000, 3000,
				   3500, 4000, 4040, 4050, 4051, 4052, 4053, 4054, 4055,
				   4056, 4057, 4058, 4059, 4060, 4061, 4062, 4063, 4064,
				   4070, 4080, 4090, 4093, 4094, 4095, 4096, 5000 };

static const uint64_t one_values[] = {
	0,
	1,
	0x7f,
	0x80,
	0xff,
	0x100,
	0x7fff,
	0x8000,
	0xffff,
	0x10000,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x7fffffffffffffff,
	0x8000000000000000,
	0xffffffffffffffff,
	65,
	0x0a,
	0x27,
	0x22,
	0x5c,
	0x20,
	0x41414100,
	0xe9,
	0x123456789abcdef0,
};

static const uint64_t fault_values[] = {
	0,
	1,
	0xfff,
	0xdeadbeef000,
	ARENA_XONLY,
	ARENA_XONLY + 0xff8,
	ARENA_WONLY,
	ARENA_ROPG,
	0x0000800000000000,
	0x7fffffffffff,
	0x7ffffffff000,
	0x4141414141414141,
	0xffff800000000000,
	0xffffffff81000000,
	0xffffffffffffffff,
	0xfffffffffffffff8,
	0xffffffffff600000,
};

static const char *const comms[] = { "valtgt",		 "a b",	 "x",	   "123456789012345",
				     "1234567890123456", "q\"t", "tab\tx", "nl\nx",
				     "\xe9t\xff",	 "",	 "(c)",	   "a-b:c" };

static const uint64_t ret_values[] = {
	0,	    1,		(uint64_t)-1,	    (uint64_t)-22,
	0x80000000, 0xffffffff, 0x8000000000000000, ARENA_STRS,
	ARENA,	    0,		0xdeadbeef000
};

static uint64_t add_text(struct arena *a, const void *bytes, size_t len)
{
	uint64_t vaddr = a->next_string;

	fake_memory_put(&a->memory, vaddr, bytes, len);
	a->next_string = (vaddr + len + 15) & ~(uint64_t)15;
	return vaddr;
}

static void put(struct arena *a, uint64_t at, uint64_t value, size_t len)
{
	fake_memory_put(&a->memory, ARENA + at, &value, len);
}

static void fill_strings(struct arena *a)
{
	static const char *const fruits[] = { "apple", "banana", "cherry pie",
					      "Apple", "a*b",	 "app\"le" };
	size_t n = 0;

	a->next_string = ARENA_STRS;
	a->texts[n++] = add_text(a, "alpha", 6);
	add_text(a, "beta", 5);
	a->texts[n++] = add_text(a, "", 1);
	a->texts[n++] = add_text(a, "gamma delta", 12);
	for (size_t i = 0; i < N_ELEMS(odd_texts); i++)
		a->texts[n++] = add_text(a, odd_texts[i].bytes, odd_texts[i].len);
	for (size_t i = 0; i < N_ELEMS(big_lens); i++) {
		char text[5001] = { 0 };

		memset(text, 'a' + (int)(i % 26), big_lens[i]);
		a->big[i] = add_text(a, text, big_lens[i] + 1);
	}
	for (size_t i = 0; i < N_ELEMS(fruits); i++)
		a->flt[i] = add_text(a, fruits[i], strlen(fruits[i]) + 1);
}

static void fill_struct(struct arena *a)
{
	static const struct {
		uint16_t at, len;
		uint64_t value;
	} fields[] = {
		{ 0, 1, 0xfe },
		{ 1, 1, 0x80 },
		{ 2, 2, 0xbeef },
		{ 4, 4, 0xdeadbeef },
		{ 8, 8, 0x0123456789abcdef },
		{ 28, 4, 0x41424344 },
		{ 48, 8, ARENA_STRS },
		{ 56, 8, ARENA + 0x400 },
		{ 64, 2, (uint16_t)-12345 },
		{ 66, 2, 0x7fff },
		{ 68, 4, (uint32_t)-123456789 },
		{ 72, 8, 0x8000000000000000 },
		{ 80, 8, ~UINT64_C(0) },
		{ 88, 8, 0 },
		{ 96, 8, 0xdeadbeef000 },
		{ 104, 8, 0xffffffff81000000 },
		{ 112, 1, 0xa5 },
		{ 113, 1, 0x3c },
		{ 114, 2, 0x1234 },
		{ 116, 4, 0x89abcdef },
		{ 120, 8, 0xfedcba9876543210 },
	};
	const uint64_t names[] = {
		ARENA_STRS, ARENA_STRS + 0x10, ARENA_STRS + 0x20, ARENA_STRS + 0x30, 0,
		1,	    ARENA_STRS,	       ARENA_EDGE + PAGE
	};

	for (size_t i = 0; i < N_ELEMS(fields); i++)
		put(a, fields[i].at, fields[i].value, fields[i].len);
	fake_memory_put(&a->memory, ARENA + 16, "AZ\0\n'\"\\\x7f\x80\xff%\t", 12);
	fake_memory_put_text(&a->memory, ARENA + 32, "inline-name");
	for (unsigned i = 0; i < 8; i++)
		put(a, 128 + 4 * i, i % 2 ? -(i + 1) : i + 1, 4);
	for (unsigned i = 0; i < 8; i++)
		put(a, 160 + 8 * i, names[i], 8);
	for (unsigned i = 0; i < 64; i++)
		put(a, 256 + i, 4 * i + 1, 1);
	for (unsigned i = 0; i < 64; i++)
		put(a, 0x200 + 8 * i, 0xfffffffffffffff0 - i, 8);
	for (unsigned i = 0; i < 16; i++) {
		put(a, 0x400 + 0x10 * i, i == 15 ? 0 : ARENA + 0x400 + 0x10 * (i + 1), 8);
		put(a, 0x408 + 0x10 * i, 0x100 + i, 8);
	}
}

static void fill_stack(struct arena *a)
{
	for (uint64_t i = 0; i < 0x1000; i++)
		fake_memory_put_u64(&a->memory, ARENA_STACK + 0x8000 + 8 * i,
				    0x5000000000000000 + i);
	fake_memory_put_text(&a->memory, ARENA_STACK + 0x8100, "on the stack");
	fake_memory_put_u64(&a->memory, ARENA_STACK + 0x8018, ARENA_STACK + 0x8100);
	/* The return address, as the corpus's build had it. */
	fake_memory_put_u64(&a->memory, ARENA_STACK + 0x7ff8, 0x4016c6);
}

void arena_init(struct arena *a, const char *point)
{
	struct fake_memory *m = &a->memory;
	bool is_late = strcmp(point, "pt_lazy") == 0;

	memset(a, 0, sizeof(*a));
	fake_memory_map(m, ARENA, 0x100000);
	fake_memory_map(m, ARENA_EDGE, is_late ? PAGE : 2 * PAGE);
	fake_memory_map(m, ARENA_LAZY, 2 * PAGE);
	fake_memory_map(m, ARENA_WONLY, PAGE);
	fake_memory_map(m, ARENA_ROPG, PAGE);
	fake_memory_map(m, ARENA_STACK, 0x10000);
	fill_strings(a);
	fill_struct(a);
	fill_stack(a);
	fake_memory_put_text(m, ARENA_LAZY, "lazy string");
	fake_memory_put(m, ARENA_LAZY + PAGE, "\x78\x56\x34\x12", 4);
	fake_memory_put_text(m, ARENA_EDGE + PAGE - 6, "wxyzt");
	fake_memory_put_u64(m, ARENA_EDGE + 0x800, 0x1122334455667788);
	if (is_late) {
		fake_memory_put_u64(m, ARENA_EDGE + 0xff0, ARENA_STRS);
		fake_memory_put_u64(m, ARENA_EDGE + 0xff8, ARENA_STRS + 0x10);
	}
}

/* The page behind the edge gets unreadable. */
static void cut_edge(struct fake_memory *m)
{
	for (size_t i = 0; i < m->n_regions; i++)
		if (m->regions[i].vaddr == ARENA_EDGE)
			m->regions[i].len = PAGE;
}

static bool edge_hit(struct arena *a, size_t i, struct ubp_regs *regs)
{
	static const uint16_t at[] = { PAGE - 6, PAGE - 3, PAGE - 6, PAGE - 1, PAGE - 6,
				       PAGE - 4, PAGE,	   0x800,    PAGE - 6 };

	if (i == 2)
		fake_memory_put(&a->memory, ARENA_EDGE + PAGE - 6, "UUUUUU", 6);
	if (i == 4)
		cut_edge(&a->memory);
	if (i == 8)
		fake_memory_put_text(&a->memory, ARENA_EDGE + PAGE - 6, "wxyzt");
	if (i < N_ELEMS(at))
		regs->r[REG_DI] = ARENA_EDGE + at[i];
	return i < N_ELEMS(at);
}

static bool take_value(struct ubp_regs *regs, const uint64_t *values, size_t n, size_t i)
{
	if (i < n)
		regs->r[REG_DI] = values[i];
	return i < n;
}

static bool once(struct ubp_regs *regs, size_t i, uint64_t di, uint64_t si)
{
	regs->r[REG_DI] = di;
	regs->r[REG_SI] = si;
	return i == 0;
}

static void plain_regs(struct ubp_regs *regs)
{
	uint64_t *r = regs->r;

	memset(regs, 0, sizeof(*regs));
	r[REG_AX] = 0xa0a0a0a0a0a0a0a0;
	r[REG_BX] = 0xb0b0b0b0b0b0b0b0;
	r[REG_CX] = 0xc0c0c0c0c0c0c0c0;
	r[REG_DX] = 0xd0d0d0d0d0d0d0d0;
	r[REG_SI] = 0x5151515151515151;
	r[REG_DI] = 0xd1d1d1d1d1d1d1d1;
	r[REG_BP] = 0xbbbbbbbbbbbbbbbb;
	r[REG_R8] = 0x0808080808080808;
	r[REG_R9] = 0x0909090909090909;
	r[REG_R10] = 0x1010101010101010;
	r[REG_R11] = 0x1111111111111111;
	r[REG_R12] = 0x1212121212121212;
	r[REG_R13] = 0x1313131313131313;
	r[REG_R14] = 0x1414141414141414;
	r[REG_R15] = 0x1515151515151515;
	r[REG_FLAGS] = 0x202;
	r[REG_CS] = 0x33;
	r[REG_SS] = 0x2b;
	r[REG_ORIG_AX] = ~UINT64_C(0);
	r[REG_IP] = 0x4016e0;
	r[REG_SP] = ARENA_STACK + 0x7ff8;
}

static bool return_hit(struct arena *a, const char *point, size_t i, struct ubp_regs *regs)
{
	uint64_t *r = regs->r;

	r[REG_SP] += 8;
	r[REG_IP] = 0x4016c6;
	if (strcmp(point, "pt_ret") == 0) {
		bool is_hit = take_value(regs, ret_values, N_ELEMS(ret_values), i);

		r[REG_AX] = r[REG_DI];
		return is_hit;
	}
	r[REG_AX] = a->texts[2];
	return once(regs, i, 0x1111111111111111, ARENA);
}

bool arena_hit(struct arena *a, const char *point, size_t i, struct ubp_regs *regs,
	       const char **ret_comm)
{
	plain_regs(regs);
	*ret_comm = "valtgt";
	if (strncmp(point, "pt_ret", 6) == 0)
		return return_hit(a, point, i, regs);
	if (strcmp(point, "pt_regs") == 0)
		return i == 0;
	if (strcmp(point, "pt_one") == 0)
		return take_value(regs, one_values, N_ELEMS(one_values), i);
	if (strcmp(point, "pt_s") == 0)
		return once(regs, i, ARENA, ARENA + 0x400);
	if (strcmp(point, "pt_stale") == 0)
		return once(regs, i, 0, ARENA);
	if (strcmp(point, "pt_lazy") == 0)
		return once(regs, i, ARENA_LAZY, ARENA_LAZY + PAGE);
	if (strcmp(point, "pt_arr") == 0) {
		regs->r[REG_DX] = ARENA + 256;
		return once(regs, i, ARENA + 160, ARENA + 128);
	}
	if (strcmp(point, "pt_str") == 0)
		return take_value(regs, a->texts, N_ELEMS(a->texts), i);
	if (strcmp(point, "pt_edge") == 0)
		return edge_hit(a, i, regs);
	if (strcmp(point, "pt_big") == 0) {
		regs->r[REG_SI] = ARENA_STRS;
		return take_value(regs, a->big, N_ELEMS(a->big), i);
	}
	if (strcmp(point, "pt_fault") == 0) {
		regs->r[REG_SI] = ARENA;
		return take_value(regs, fault_values, N_ELEMS(fault_values), i);
	}
	if (strcmp(point, "pt_comm") == 0 && i < N_ELEMS(comms)) {
		regs->r[REG_DI] = i;
		*ret_comm = comms[i];
		return true;
	}
	return false;
}
