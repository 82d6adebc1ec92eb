/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifdef __aarch64__

#include "tests/unit/arm64_lab.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "arch/arm64/arm64.h"
#include "arch/arm64/gen.h"
#include "engine/base/err.h"
#include "engine/fetch/match.h"
#include "engine/fetch/scratch.h"
#include "engine/spec/filter.h"
#include "tests/unit/probe_make.h"

#define START (3ull * LAB_CAPACITY + 64) /* position of the first record */

struct lab lab;

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("arm64");
}

/* --- making it ------------------------------------------------------------------- */

static void *map(uint64_t vaddr, size_t len)
{
	void *at = mmap((void *)vaddr, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | (vaddr ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static size_t region_len(void)
{
	return RING_CONTROL_LEN + RING_RINGS_AT + LAB_CAPACITY + RING_SLACK;
}

void lab_make(void)
{
	struct ubp_err err;
	uint8_t *base;
	uint64_t tp;

	memset(&lab, 0, sizeof(lab));
	probe_make_for(arch());
	map(LAB_MEM, LAB_MEM_SIZE);
	map(LAB_HIGH, LAB_END - LAB_HIGH);
	lab.control = map(0, region_len());
	base = (uint8_t *)lab.control + RING_CONTROL_LEN;
	lab.head = (struct ring_head *)base;
	lab.table = (struct ring_thread *)(base + RING_TABLE_AT);
	lab.comms = (char(*)[16])(base + RING_COMM_AT);
	lab.ring = base + RING_RINGS_AT;
	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
	lab.key = ring_key(tp);
	lab.gate = (uint64_t *)LAB_GATE;
	lab.cpu = 5;
	lab.scratch = fetch_scratch_new();
	lab.record = malloc(sizeof(*lab.record) + EVENT_DATA_MAX);
	assert_true(lab.scratch && lab.record);
	ubp_err_reset(&err);
	run_write_word(LAB_SITE, ARM64_NOP);
	assert_int_equal(arch()->find_window((const uint8_t *)LAB_SITE, ARM64_INSN, 0, LAB_SITE,
					     &lab.window, &err),
			 0);
	lab.plan = (struct detour_plan){
		.site = LAB_SITE,
		.vaddr = LAB_BLOCK,
		.window = &lab.window,
		.probes = lab.probes,
	};
	lab_reset();
}

static void forget_detour(void)
{
	free(lab.detour.code);
	free(lab.detour.loads);
	memset(&lab.detour, 0, sizeof(lab.detour));
}

void lab_free(void)
{
	forget_detour();
	for (unsigned i = 0; i < UBP_DETOUR_PROBES; i++) {
		free(lab.programs[i]);
		filter_free(lab.filters[i]);
	}
	fetch_scratch_free(lab.scratch);
	free(lab.record);
	munmap(lab.control, region_len());
	munmap((void *)LAB_MEM, LAB_MEM_SIZE);
	munmap((void *)LAB_HIGH, LAB_END - LAB_HIGH);
}

int lab_set_up(void **state)
{
	(void)state;
	assert_int_equal(run_begin(NULL, 0), 0);
	lab_make();
	return 0;
}

int lab_tear_down(void **state)
{
	(void)state;
	lab_free();
	return 0;
}

void lab_forget_ranges(void)
{
	lab.n_ranges = 0;
	lab.head->n_ranges = 0;
	memset(lab.head->cells, 0, sizeof(lab.head->cells));
}

void lab_range(uint64_t start, uint64_t len)
{
	assert_true(lab.n_ranges < RING_RANGES);
	lab.ranges[lab.n_ranges] = (struct lab_range){ start, start + len };
	lab.head->ranges[lab.n_ranges] =
		RING_RANGE(start >> RING_PAGE_SHIFT, len >> RING_PAGE_SHIFT);
	lab.head->n_ranges = ++lab.n_ranges;
}

void lab_reset(void)
{
	uint64_t at = ring_hash(lab.key);

	memset(lab.head->dropped, 0, sizeof(lab.head->dropped));
	memset(lab.table, 0, RING_THREADS * sizeof(lab.table[0]));
	/* Not found at once: first those of others, one of whom is gone. */
	lab.table[at % RING_THREADS].key = lab.key + 8;
	lab.table[(at + 1) % RING_THREADS].key = RING_KEY_GONE;
	at = (at + 2) % RING_THREADS;
	lab.thread = &lab.table[at];
	*lab.thread = (struct ring_thread){
		.key = lab.key,
		.head = START,
		.limit = START + LAB_CAPACITY - RING_SLACK,
		.ring = (uint64_t)lab.ring,
		.mask = LAB_CAPACITY - 1,
		.tid = LAB_TID,
		.cpu_vaddr = (uint64_t)&lab.cpu,
	};
	memset(lab.comms, 0, 16ul * RING_THREADS);
	strcpy(lab.comms[at], "lab rat");
	memset(lab.ring, 0xee, LAB_CAPACITY + RING_SLACK);
	lab.control->owner = LAB_TID;
	*lab.gate = (uint64_t)lab.head;
	lab_forget_ranges();
	lab_range(LAB_MEM, LAB_MEM_SIZE);
	lab_range(LAB_HIGH, LAB_END - LAB_HIGH);
	lab_range(RUN_DATA, RUN_DATA_SIZE);
	lab_range(RUN_STACK, RUN_STACK_SIZE);
}

/* --- memory -------------------------------------------------------------------------- */

static uint64_t some_address(uint64_t *rng)
{
	uint64_t v = run_next(rng);

	switch (v % 16) {
	case 0:
		return v >> 8; /* anything */
	case 1:
		return LAB_END - 1 - (v >> 8) % 24;
	case 2:
		return LAB_MEM + LAB_MEM_SIZE - (v >> 8) % 24;
	case 3:
		return LAB_HIGH - 8 + (v >> 8) % 24;
	case 4: /* with a tag: whether that is there only the tracer knows */
		return (v << 56) | (LAB_MEM + (v >> 8) % 0x1f00);
	default:
		return (v & 16 ? LAB_MEM : LAB_HIGH) + (v >> 8) % 0x1f00;
	}
}

/* Words: pointers, and pieces of text that mostly ends somewhere. */
static void fill(uint64_t start, uint64_t end, uint64_t *rng)
{
	for (uint64_t at = start; at < end; at += 8) {
		uint64_t v = run_next(rng), choice = v % 8;

		if (choice < 3) {
			v = some_address(rng);
		} else if (choice < 7) {
			v = (v & 0x1f1f1f1f1f1f1f1f) | 0x6060606060606060;
			if (choice < 5)
				v &= ~(0xffull << (v >> 3 & 0x38));
		}
		memcpy((void *)at, &v, 8);
	}
}

void lab_fill(uint64_t seed)
{
	uint64_t rng = seed ^ 0x1abf111;

	fill(LAB_MEM, LAB_MEM + LAB_MEM_SIZE, &rng);
	fill(LAB_HIGH, LAB_END, &rng);
}

/* --- running ---------------------------------------------------------------------------- */

int lab_build(size_t n, struct ubp_err *err)
{
	int rc;

	forget_detour();
	lab.plan.n_probes = n;
	lab.plan.gate = (uint64_t)lab.gate;
	rc = arch()->build_detour(&lab.plan, &lab.detour, err);
	if (rc < 0)
		return rc;
	assert_true(lab.detour.len <= LAB_BLOCK_SIZE);
	assert_int_equal(lab.detour.entry_at % UBP_SLOT_SIZE, 0);
	run_write(LAB_BLOCK, lab.detour.code, lab.detour.len);
	return 0;
}

int lab_build_one(const struct fetch_program *program, const struct filter *filter,
		  struct ubp_err *err)
{
	lab.probes[0] = (struct detour_probe){
		.number = 7,
		.program = program,
		.filter = filter,
		.cell = RING_CELLS - 2, /* wraps around */
	};
	return lab_build(1, err);
}

void lab_run_from(const struct run_regs *regs, struct run_end *ret_end)
{
	assert_int_equal(run_take_signals(), 0);
	run_code(regs, ret_end);
}

void lab_run(const struct run_regs *regs, struct run_end *ret_end)
{
	struct run_regs start = *regs;

	start.pc = LAB_BLOCK + lab.detour.entry_at;
	lab_run_from(&start, ret_end);
}

int lab_trap(const struct run_end *end)
{
	uint64_t pc = end->regs.pc;

	if (end->signo != SIGTRAP)
		fail_msg("signal %d at 0x%llx", end->signo, (unsigned long long)pc);
	for (size_t i = 0; i < lab.plan.n_probes; i++) {
		if (lab.detour.trap_at[i] && pc == LAB_BLOCK + lab.detour.trap_at[i])
			return (int)i;
		if (lab.detour.ret_trap_at[i] && pc == LAB_BLOCK + lab.detour.ret_trap_at[i])
			return LAB_ON_RETURN + (int)i;
	}
	if (pc - LAB_BLOCK < LAB_BLOCK_SIZE && pc != LAB_TRAMPOLINE)
		fail_msg("a breakpoint at + 0x%llx", (unsigned long long)(pc - LAB_BLOCK));
	return -1;
}

bool lab_faulted(const struct run_end *end)
{
	return end->signo == SIGSEGV;
}

void lab_assert_kept(const char *what, const struct run_regs *before, const uint8_t *stack,
		     const struct run_end *end)
{
	uint64_t below = before->sp - BELOW_STACK - RUN_STACK;

	for (size_t i = 0; i < 31; i++)
		if (end->regs.x[i] != before->x[i])
			fail_msg("%s: x%zu is 0x%llx, was 0x%llx", what, i,
				 (unsigned long long)end->regs.x[i],
				 (unsigned long long)before->x[i]);
	assert_int_equal(end->regs.sp, before->sp);
	if (end->regs.pstate != before->pstate)
		fail_msg("%s: flags are 0x%llx, were 0x%llx", what,
			 (unsigned long long)end->regs.pstate,
			 (unsigned long long)before->pstate);
	assert_memory_equal(end->regs.v, before->v, sizeof(before->v));
	assert_int_equal(end->regs.fpsr, before->fpsr);
	if (!stack)
		return;
	assert_true(below >= FRAME_LEN && below < RUN_STACK_SIZE);
	/* Nothing above what programs may use, nothing further below than the frame. */
	assert_memory_equal(end->stack + below, stack + below, RUN_STACK_SIZE - below);
	assert_memory_equal(end->stack, stack, below - FRAME_LEN);
}

const struct ring_record *lab_record_at(uint64_t at)
{
	const struct ring_record *record = (const void *)(lab.ring + (at & (LAB_CAPACITY - 1)));

	if (at >= lab.thread->head || record->commit != ring_commit(at))
		return NULL;
	assert_int_equal(record->size % 8, 0);
	assert_true(record->size >= sizeof(*record) && record->size <= RING_RECORD_MAX);
	assert_true(at + record->size <= lab.thread->head);
	return record;
}

/* --- the interpreter ---------------------------------------------------------------------- */

static void read_real(void *ctx, struct fetch_span *spans, size_t n)
{
	bool *faults = ctx;

	for (size_t i = 0; i < n; i++) {
		struct fetch_span *s = &spans[i];
		uint64_t at = s->vaddr;

		s->got = 0;
		for (size_t k = 0; k < lab.n_ranges; k++) {
			const struct lab_range *range = &lab.ranges[k];
			uint64_t left = range->end - at;

			if (at < range->start || at >= range->end)
				continue;
			s->got = left < s->len ? (uint32_t)left : s->len;
			memcpy(s->buf, (void *)at, s->got);
		}
		*faults |= s->got < s->len;
	}
}

/* A string without an end makes accidents of others: they are the interpreter's. */
static bool has_endless(const struct fetch_program *program)
{
	for (uint32_t i = 0; i < program->has_strings; i++)
		if (lab.scratch->texts[i].len >= FETCH_STRING_MAX &&
		    lab.scratch->texts[i].state != TEXT_ENDED)
			return true;
	return false;
}

enum lab_outcome lab_interpret(const struct detour_probe *probe, const struct run_regs *regs)
{
	bool faults = false;
	struct fetch_memory memory = { read_real, &faults };
	struct event_record *r = lab.record;
	struct ubp_regs user = { { 0 } };
	struct fetch_input in = { .arch = arch(),
				  .regs = &user,
				  .memory = &memory,
				  .hit_vaddr = LAB_SITE,
				  .duration_ns = lab.duration_ns,
				  .vectors = &lab.vectors,
				  .comm = lab.comms[lab.thread - lab.table] };
	int len;

	memcpy(user.r, regs->x, sizeof(regs->x));
	user.r[ARM64_SP] = regs->sp;
	user.r[ARM64_PC] = probe->is_return ? lab.real : LAB_SITE;
	user.r[ARM64_TP] = lab.key - 1;
	for (size_t i = 0; i < UBP_VECTORS; i++)
		memcpy(&lab.vectors.v[i], &regs->v[i], sizeof(lab.vectors.v[i]));
	len = fetch_run(probe->program, &in, lab.scratch,
			probe->is_return ? EVENT_HEAD_RETURN : EVENT_HEAD_ENTRY, r->data);
	lab.passes = false;
	if (len < 0)
		return LAB_FAULT;
	*r = (struct event_record){ .kind = EVENT_HIT,
				    .tid = LAB_TID,
				    .cpu = lab.cpu,
				    .ip = user.r[ARM64_PC],
				    .func = probe->is_return ? LAB_SITE : 0,
				    .data_len = (uint32_t)len };
	memcpy(r->comm, in.comm, 16);
	lab.passes = filter_match(probe->filter, r);
	if (faults || has_endless(probe->program))
		return LAB_FAULT;
	return lab.passes ? LAB_RECORD : LAB_DROPPED;
}

void lab_assert_record(const char *what, const struct ring_record *record)
{
	const struct event_record *want = lab.record;

	if (!record)
		fail_msg("%s: no record", what);
	assert_int_equal(record->vaddr, LAB_SITE);
	assert_int_equal(record->ret, want->func ? want->ip : 0);
	assert_int_equal(record->cpu, want->cpu);
	if ((record->data_len & ~RING_STACK) != want->data_len)
		fail_msg("%s: %u bytes of data, should be %u", what, record->data_len,
			 want->data_len);
	assert_true(record->size >= sizeof(*record) + want->data_len);
	for (uint32_t i = 0; i < want->data_len; i++)
		if (record->data[i] != want->data[i])
			fail_msg("%s: data + %u is %02x, should be %02x", what, i,
				 record->data[i], want->data[i]);
}

#else
extern int not_arm64_lab;
int not_arm64_lab;
#endif
