/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A detour that is made of the last one is, byte for byte, what is made without that: of random places, with definitions that change now and then. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "arch/detour_parts.h"
#include "arch/emit.h"
#include "engine/base/err.h"
#include "engine/fetch/fetch.h"
#include "tests/unit/probe_make.h"

#define N 20000

/* What functions begin with: some leads, which are carried out before. */
static const char *const codes[] = {
	"\x55\x48\x89\xe5\x41\x54\x53\x90\x90\x90\x90\x90\x90\x90\x90\x90", /* push; mov; push */
	"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x41\x54\x53\x90\x90\x90\x90\x90", /* endbr64 */
	"\x48\x83\xec\x28\x48\x89\x7c\x24\x08\x90\x90\x90\x90\x90\x90\x90", /* sub; mov */
	"\x48\x8d\x05\x10\x20\x00\x00\xb8\x01\x00\x00\x00\x90\x90\x90\x90", /* lea(%rip) */
	"\x85\xff\x74\x40\xb8\x01\x00\x00\x00\x90\x90\x90\x90\x90\x90\x90", /* test; je */
	"\xe8\x11\x22\x00\x00\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", /* call */
	"\x31\xc0\x0f\xa2\x48\x0f\xaf\xc7\x48\x01\xf8\x90\x90\x90\x90\x90", /* xor; cpuid; imul */
};

static const char *const definitions[] = {
	"", "", "", "a=%di", "a=%di b=%si:u16", "a=%ip", "a=@+4", "a=%cx c=$comm", "a=+0(%di)",
};

static const struct ubp_arch *arch;

static uint64_t below(uint64_t n)
{
	return ((uint64_t)rand() << 31 ^ (uint64_t)rand()) % n;
}

struct place {
	struct detour_plan plan;
	struct detour_probe probe;
	struct lead lead;
	struct window window;
};

static struct fetch_program *programs[sizeof(definitions) / sizeof(definitions[0])];

static void compile_all(void)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct probe_make make;
		struct ubp_err err;

		probe_make(&make, false, definitions[i]);
		assert_int_equal(fetch_compile(&make.probe, &programs[i], &err), 0);
	}
}

/* All of a run have this alike. */
static struct detour_plan common_plan(void)
{
	return (struct detour_plan){
		.gate = 0x7f1200000000 + below(0x1000) * 64,
		.claim = below(2) ? 0x7f1200100000 : 0,
		.self_at = below(2) ? 720 : 0,
		.lossless = below(4) == 0,
		.has = (unsigned)below(8),
		.reads = below(2),
	};
}

static void choose(struct place *p, const struct detour_plan *common, size_t definition)
{
	const uint8_t *code = (const uint8_t *)codes[below(sizeof(codes) / sizeof(codes[0]))];
	uint64_t far = below(200) == 0 ? 0x80000000 : 0;
	struct ubp_err err;

	memset(p, 0, sizeof(*p));
	p->plan = *common;
	p->plan.site = 0x7f1210000000 + below(0x400000) + far;
	p->plan.vaddr = 0x7f1200200000 + below(0x10000) * UBP_SLOT_SIZE;
	if (below(2) && arch->lead.find(code, 16, &p->lead)) {
		code += p->lead.len;
		p->plan.lead = &p->lead;
	}
	/* The bytes behind a lead: as many as there are. */
	assert_int_equal(arch->jump.find(code, 9, 8, p->plan.site + p->lead.len, &p->window,
					 &err),
			 0);
	p->probe = (struct detour_probe){ .number = (uint32_t)below(1 << 20),
					  .kind = PROBE_ENTRY,
					  .program = programs[definition],
					  .cell = (uint32_t)below(64) };
	p->plan.window = &p->window;
	p->plan.code.bytes = code;
	p->plan.code.len = 9;
	p->plan.probes = &p->probe;
	p->plan.n_probes = 1;
}

static void assert_alike(const struct detour *a, const struct detour *b)
{
	struct detour head_a = *a, head_b = *b;

	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->code, b->code, a->len);
	assert_int_equal(a->n_loads, b->n_loads);
	if (a->n_loads)
		assert_memory_equal(a->loads, b->loads, a->n_loads * sizeof(a->loads[0]));
	head_a.code = head_b.code = NULL;
	head_a.loads = head_b.loads = NULL;
	assert_int_equal(head_a.copy.len, head_b.copy.len);
	assert_int_equal(head_a.entry_at, head_b.entry_at);
	assert_int_equal(head_a.return_at, head_b.return_at);
	assert_memory_equal(head_a.trap_at, head_b.trap_at, sizeof(head_a.trap_at));
	assert_int_equal(head_a.hijack_off, head_b.hijack_off);
	assert_int_equal(head_a.filters_done, head_b.filters_done);
}

static void test_alike(void **state)
{
	struct detour_like *like = detour_like_new();
	struct detour_plan common = common_plan();
	size_t definition = 0;

	(void)state;
	assert_non_null(like);
	for (int i = 0; i < N; i++) {
		struct detour with, without;
		struct ubp_err err, err_without;
		struct place p;
		int rc;

		if (below(20) == 0)
			common = common_plan();
		if (below(10) == 0)
			definition = below(sizeof(definitions) / sizeof(definitions[0]));
		choose(&p, &common, definition);
		ubp_err_reset(&err);
		ubp_err_reset(&err_without);
		rc = arch->detour.build(&p.plan, &without, &err_without);
		p.plan.like = like;
		assert_int_equal(arch->detour.build(&p.plan, &with, &err), rc);
		if (rc < 0)
			continue;
		assert_alike(&with, &without);
		free(with.code);
		free(with.loads);
		free(without.code);
		free(without.loads);
	}
	detour_like_free(like);
}

/* It is worth something only if most are made so: what is kept is the first one's code, whose number is put in anew. */
static void test_marks(void **state)
{
	struct emit e;

	(void)state;
	emit_init(&e, 64, 0x1000);
	emit_u32(&e, 0);
	emit_mark(&e, MARK_NUMBER);
	assert_int_equal(e.n_marks, 1);
	assert_int_equal(e.marks[0].at, 0);
	for (int i = 0; i < EMIT_MARKS; i++)
		emit_mark(&e, MARK_NUMBER);
	assert_true(e.n_marks > EMIT_MARKS);
	emit_free(&e);
	emit_init(&e, 64, 0x1000);
	emit_unlike(&e);
	emit_u32(&e, 0);
	emit_mark(&e, MARK_NUMBER);
	assert_true(e.n_marks > EMIT_MARKS);
	emit_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_marks),
	};

	arch = ubp_arch_by_name("x86_64");
	if (!arch)
		return 77;
	srand(7);
	compile_all();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
