/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifdef __x86_64__

#include "tests/unit/x86_lab.h"

#include <asm/prctl.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/x86/x86.h"
#include "engine/base/err.h"
#include "engine/fetch/match.h"
#include "engine/fetch/scratch.h"
#include "engine/spec/filter.h"

#define START (3ull * LAB_CAPACITY + 64) /* position of the first record */

struct lab lab;

#if RUN_BITS == 32
#include "arch/i386/gen.h"
#define RED_ZONE    0
#define MAP_FLAGS   MAP_32BIT
#define NAME        "i386"
#define CODE_SELECT 0x23
#else
#include "arch/x86/gen.h"
#define MAP_FLAGS   0
#define NAME        "x86_64"
#define CODE_SELECT 0x33
#endif

const struct ubp_arch *lab_arch(void)
{
	return ubp_arch_by_name(NAME);
}

/* --- making it ------------------------------------------------------------------- */

static void *map(uint64_t vaddr, size_t len)
{
	void *at = mmap((void *)vaddr, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | (vaddr ? MAP_FIXED_NOREPLACE : MAP_FLAGS),
			-1, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static uint64_t thread_pointer(void)
{
#if RUN_BITS == 32
	return RUN_TCB;
#else
	uint64_t base;

	assert_int_equal(syscall(SYS_arch_prctl, ARCH_GET_FS, &base), 0);
	return base;
#endif
}

static size_t region_len(void)
{
	return RING_CONTROL_LEN + RING_RINGS_AT + LAB_CAPACITY + RING_SLACK;
}

void lab_make(void)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	struct ubp_err err;
	uint8_t *base;

	memset(&lab, 0, sizeof(lab));
	map(LAB_MEM, LAB_MEM_SIZE);
	map(LAB_HIGH, LAB_END - LAB_HIGH);
	lab.control = map(0, region_len());
	base = (uint8_t *)lab.control + RING_CONTROL_LEN;
	lab.head = (struct ring_head *)base;
	lab.table = (struct ring_thread *)(base + RING_TABLE_AT);
	lab.comms = (char(*)[16])(base + RING_COMM_AT);
	lab.ring = base + RING_RINGS_AT;
	lab.hijacks = map(0, LAB_HIJACKS_LEN + sizeof(LAB_NESTED_TEXT));
	lab.nested_text = (char *)&lab.hijacks[LAB_HIJACKS];
	strcpy(lab.nested_text, LAB_NESTED_TEXT);
	lab.key = ring_key(thread_pointer());
	lab.gate = (uint64_t *)RUN_GATE;
	lab.scratch = fetch_scratch_new();
	lab.record = malloc(sizeof(*lab.record) + EVENT_DATA_MAX);
	assert_true(lab.scratch && lab.record);
	ubp_err_reset(&err);
	run_write(LAB_SITE, nop5, sizeof(nop5));
	run_plant_exit(RUN_CODE, 0);
	assert_int_equal(
		lab_arch()->find_window(nop5, sizeof(nop5), 0, LAB_SITE, &lab.window, &err), 0);
	lab.plan = (struct detour_plan){
		.site = LAB_SITE,
		.vaddr = RUN_BLOCK,
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
	munmap(lab.hijacks, LAB_HIJACKS_LEN + sizeof(LAB_NESTED_TEXT));
	munmap(lab.control, region_len());
	munmap((void *)LAB_MEM, LAB_MEM_SIZE);
	munmap((void *)LAB_HIGH, LAB_END - LAB_HIGH);
}

int lab_set_up(void **state)
{
	run_init(state);
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
	};
	memset(lab.comms, 0, 16ul * RING_THREADS);
	strcpy(lab.comms[at], "lab rat");
	memset(lab.ring, 0xee, LAB_CAPACITY + RING_SLACK);
	lab.control->owner = LAB_TID;
	*lab.gate = (uint64_t)lab.head;
	lab_forget_ranges();
	lab_range(LAB_MEM, LAB_MEM_SIZE);
	lab_range(LAB_HIGH, LAB_END - LAB_HIGH);
	lab_range(RUN_DATA & ~0xfffull, RUN_DATA_SIZE);
	lab_range(RUN_STACK & ~0xfffull, RUN_STACK_SIZE);
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
	default:
		return (v & 16 ? LAB_MEM : LAB_HIGH) + (v >> 8) % 0x1f00;
	}
}

/* Words: pointers, and pieces of text that mostly ends somewhere. */
static void fill(uint64_t start, uint64_t end, uint64_t *rng)
{
	for (uint64_t at = start; at < end; at += RUN_WORD) {
		uint64_t v = run_next(rng), choice = v % 8;

		if (choice < 3) {
			v = some_address(rng);
		} else if (choice < 7) {
			v = (v & 0x1f1f1f1f1f1f1f1f) | 0x6060606060606060;
			if (choice < 5)
				v &= ~(0xffull << (v >> 3 & (RUN_BITS - 8)));
		}
		memcpy((void *)at, &v, RUN_WORD);
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
	rc = lab_arch()->build_detour(&lab.plan, &lab.detour, err);
	if (rc < 0)
		return rc;
	assert_true(lab.detour.len <= RUN_BLOCK_SIZE);
	assert_int_equal(lab.detour.entry_at % UBP_SLOT_SIZE, 0);
	run_write(RUN_BLOCK, lab.detour.code, lab.detour.len);
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

void lab_run(const struct run_regs *regs, uint64_t seed, run_step_fn *step, void *arg,
	     struct run_end *ret_end)
{
	run_code(RUN_BLOCK + lab.detour.entry_at, regs, seed, step, arg, ret_end);
	/* As the tracer sees it. */
	for (size_t i = 0; i < lab.plan.n_probes && ret_end->signo == SIGTRAP; i++)
		if (lab.detour.ret_trap_at[i] &&
		    ret_end->pc == RUN_BLOCK + lab.detour.ret_trap_at[i] + 1)
			ret_end->regs.gpr[SP] += lab.detour.ret_below;
}

void lab_call_nested(void)
{
#if RUN_BITS == 32
	run_call(LAB_SITE, LAB_NESTED, (uint32_t)(uintptr_t)lab.nested_text);
#else
	((void (*)(long, const char *))LAB_SITE)(LAB_NESTED, lab.nested_text);
#endif
}

void lab_scribble_below(uint64_t sp)
{
	memset((void *)(sp - RED_ZONE - 600), 0xa5, 600);
}

int lab_trap(const struct run_end *end)
{
	if (end->signo != SIGTRAP)
		return -1;
	for (size_t i = 0; i < lab.plan.n_probes; i++) {
		if (end->pc == RUN_BLOCK + lab.detour.trap_at[i] + 1)
			return (int)i;
		if (end->pc == RUN_BLOCK + lab.detour.ret_trap_at[i] + 1)
			return LAB_ON_RETURN + (int)i;
	}
	fail_msg("a breakpoint at 0x%llx", (unsigned long long)end->pc);
	return -1;
}

bool lab_faulted(const struct run_end *end)
{
	return end->signo == SIGSEGV;
}

void lab_assert_kept(const char *what, const struct run_regs *before, const uint8_t *stack,
		     const struct run_end *end)
{
	uint64_t above = before->gpr[SP] - RED_ZONE - RUN_STACK;

	for (size_t i = 0; i < RUN_GPRS; i++)
		if (end->regs.gpr[i] != before->gpr[i])
			fail_msg("%s: register %zu is 0x%llx, was 0x%llx", what, i,
				 (unsigned long long)end->regs.gpr[i],
				 (unsigned long long)before->gpr[i]);
	if (end->regs.flags != (before->flags & 0xcd5))
		fail_msg("%s: flags are 0x%llx, were 0x%llx", what,
			 (unsigned long long)end->regs.flags,
			 (unsigned long long)before->flags);
	if (!stack)
		return;
	assert_true(above >= 128 && above < RUN_STACK_SIZE);
	/* Nothing above the red zone's end, nothing further below than the frame. */
	assert_memory_equal(end->stack + above, stack + above, RUN_STACK_SIZE - above);
	assert_memory_equal(end->stack, stack, above + RED_ZONE - FRAME_ALL);
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

		s->got = 0;
		for (size_t k = 0; k < lab.n_ranges; k++) {
			const struct lab_range *range = &lab.ranges[k];
			uint64_t left = range->end - s->vaddr;

			if (s->vaddr < range->start || s->vaddr >= range->end)
				continue;
			s->got = left < s->len ? (uint32_t)left : s->len;
			memcpy(s->buf, (void *)s->vaddr, s->got);
		}
		*faults |= s->got < s->len;
	}
}

static const uint8_t user_of[16] = { X86_AX,  X86_CX,  X86_DX,  X86_BX, X86_SP,  X86_BP,
				     X86_SI,  X86_DI,  X86_R8,  X86_R9, X86_R10, X86_R11,
				     X86_R12, X86_R13, X86_R14, X86_R15 };

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
	struct fetch_input in = { .arch = lab_arch(),
				  .regs = &user,
				  .memory = &memory,
				  .hit_vaddr = LAB_SITE,
				  .duration_ns = lab.duration_ns,
				  .vectors = &lab.vectors,
				  .comm = lab.comms[lab.thread - lab.table] };
	int len;

	for (size_t i = 0; i < RUN_GPRS; i++)
		user.r[user_of[i]] = regs->gpr[i];
	user.r[X86_IP] = probe->is_return ? lab.real : LAB_SITE;
	user.r[X86_CS] = CODE_SELECT;
	user.r[X86_SS] = 0x2b;
	user.r[X86_ORIG_AX] = UINT64_MAX;
#if RUN_BITS == 32
	user.r[X86_GS_BASE] = thread_pointer();
#else
	user.r[X86_FS_BASE] = thread_pointer();
	assert_int_equal(syscall(SYS_arch_prctl, ARCH_GET_GS, &user.r[X86_GS_BASE]), 0);
#endif
	len = fetch_run(probe->program, &in, lab.scratch,
			probe->is_return ? EVENT_HEAD_RETURN : EVENT_HEAD_ENTRY, r->data);
	lab.passes = false;
	if (len < 0)
		return LAB_FAULT;
	*r = (struct event_record){ .kind = EVENT_HIT,
				    .tid = LAB_TID,
				    .cpu = (uint32_t)sched_getcpu(),
				    .ip = user.r[X86_IP],
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
extern int not_x86_lab;
int not_x86_lab;
#endif
