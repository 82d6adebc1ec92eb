/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/host.h"
#include "engine/event/ring_record.h"
#include "engine/base/err.h"
#include "engine/fetch/match.h"
#include "engine/fetch/scratch.h"
#include "engine/spec/filter.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/run_next.h"

#define START (3ull * LAB_CAPACITY + 64) /* position of the first record */

struct lab lab;

/* --- making it ------------------------------------------------------------------- */

static void *map(uint64_t vaddr, size_t len)
{
	int where = vaddr ? MAP_FIXED_NOREPLACE : lab.machine->map_flags;
	void *at = mmap((void *)(uintptr_t)vaddr, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | where, -1, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static size_t region_len(void)
{
	return RING_CONTROL_LEN + RING_RINGS_AT + LAB_CAPACITY + RING_SLACK;
}

static void make_rings(void)
{
	uint8_t *base;

	lab.control = map(0, region_len());
	base = (uint8_t *)lab.control + RING_CONTROL_LEN;
	lab.head = (struct ring_head *)base;
	lab.table = (struct ring_thread *)(base + RING_TABLE_AT);
	lab.ring = base + RING_RINGS_AT;
	lab.key = ring_key(lab.machine->thread_pointer());
}

void lab_begin(const struct lab_machine *machine, const uint8_t *code, size_t len,
	       uint64_t *gate)
{
	const char *has = getenv("UBP_LAB_HAS");
	struct ubp_err err;

	memset(&lab, 0, sizeof(lab));
	lab.machine = machine;
	lab.arch = ubp_arch_by_name(machine->arch);
	lab.gate = gate;
	map(machine->mem, LAB_MEM_SIZE);
	map(machine->mem + LAB_HIGH_AT, LAB_END_AT - LAB_HIGH_AT);
	make_rings();
	lab.hijacks = map(0, LAB_HIJACKS_LEN + sizeof(LAB_NESTED_TEXT));
	lab.nested_text = (char *)&lab.hijacks[LAB_HIJACKS];
	strcpy(lab.nested_text, LAB_NESTED_TEXT);
	lab.scratch = fetch_scratch_new();
	lab.record = malloc(sizeof(*lab.record) + EVENT_DATA_MAX);
	assert_true(lab.scratch && lab.record);
	machine->write(machine->site, code, len);
	ubp_err_reset(&err);
	assert_int_equal(lab.arch->jump.find(code, len, 0, machine->site, &lab.window, &err),
			 0);
	lab.plan = (struct detour_plan){
		.site = machine->site,
		.vaddr = machine->block,
		.window = &lab.window,
		.probes = lab.probes,
		.has = has ? (unsigned)strtoul(has, NULL, 0) : ubp_host_code_has(),
	};
	lab_reset();
}

static void forget_detour(void)
{
	free(lab.detour.code);
	free(lab.detour.loads);
	free(lab.detour.places);
	free(lab.detour.exits);
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
	munmap((void *)(uintptr_t)lab.machine->mem, LAB_MEM_SIZE);
	munmap((void *)(uintptr_t)(lab.machine->mem + LAB_HIGH_AT), LAB_END_AT - LAB_HIGH_AT);
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
		.ring = (uintptr_t)lab.ring,
		.mask = LAB_CAPACITY - 1,
		.tid = LAB_TID,
		.cpu_vaddr = lab.cpu_vaddr,
	};
	memset(lab.ring, 0xee, LAB_CAPACITY + RING_SLACK);
	lab.control->owner = LAB_TID;
	*lab.gate = (uintptr_t)lab.head;
	lab_forget_ranges();
	lab_range(lab.machine->mem, LAB_MEM_SIZE);
	lab_range(lab.machine->mem + LAB_HIGH_AT, LAB_END_AT - LAB_HIGH_AT);
	for (size_t i = 0; i < sizeof(lab.machine->own) / sizeof(lab.machine->own[0]); i++)
		lab_range(lab.machine->own[i].start,
			  lab.machine->own[i].end - lab.machine->own[i].start);
}

/* --- memory -------------------------------------------------------------------------- */

static uint64_t some_address(uint64_t *rng)
{
	uint64_t v = run_next(rng), mem = lab.machine->mem, top = 0;

	switch (v % 16) {
	case 0:
		return v >> 8; /* anything */
	case 1:
		return mem + LAB_END_AT - 1 - (v >> 8) % 24;
	case 2:
		return mem + LAB_MEM_SIZE - (v >> 8) % 24;
	case 3:
		return mem + LAB_HIGH_AT - 8 + (v >> 8) % 24;
	case 4: /* with a tag: whether that is there only the tracer knows */
		if (lab.machine->has_tags)
			top = v << 56;
		/* fall through */
	default:
		return top | (mem + (v & 16 ? 0 : LAB_HIGH_AT) + (v >> 8) % 0x1f00);
	}
}

/* Words: pointers, and pieces of text that mostly ends somewhere. */
static void fill(uint64_t start, uint64_t end, uint64_t *rng)
{
	unsigned word = lab.machine->word;

	for (uint64_t at = start; at < end; at += word) {
		uint64_t v = run_next(rng), choice = v % 8;

		if (choice < 3) {
			v = some_address(rng);
		} else if (choice < 7) {
			v = (v & 0x1f1f1f1f1f1f1f1f) | 0x6060606060606060;
			if (choice < 5)
				v &= ~(0xffull << (v >> 3 & (8 * word - 8)));
		}
		memcpy((void *)(uintptr_t)at, &v, word);
	}
}

void lab_fill(uint64_t seed)
{
	uint64_t rng = seed ^ 0x1abf111, mem = lab.machine->mem;

	fill(mem, mem + LAB_MEM_SIZE, &rng);
	fill(mem + LAB_HIGH_AT, mem + LAB_END_AT, &rng);
}

/* --- building ---------------------------------------------------------------------------- */

int lab_build(size_t n, struct ubp_err *err)
{
	int rc;

	forget_detour();
	lab.plan.n_probes = n;
	lab.plan.gate = (uintptr_t)lab.gate;
	rc = lab.arch->detour.build(&lab.plan, &lab.detour, err);
	if (rc < 0)
		return rc;
	assert_true(lab.machine->block + lab.detour.len <= lab.machine->return_code);
	assert_int_equal(lab.detour.entry_at % UBP_SLOT_SIZE, 0);
	lab.machine->write(lab.machine->block, lab.detour.code, lab.detour.len);
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

void lab_set_probe(unsigned i, bool is_return, const char *args, const char *filter)
{
	struct probe_make make;
	struct ubp_err err;

	free(lab.programs[i]);
	filter_free(lab.filters[i]);
	lab.filters[i] = NULL;
	ubp_err_reset(&err);
	probe_make(&make, is_return, args);
	assert_int_equal(fetch_compile(&make.probe, &lab.programs[i], &err), 0);
	if (filter)
		assert_int_equal(filter_parse(filter, &make.probe, &lab.filters[i], &err), 0);
	lab.probes[i] = (struct detour_probe){ .number = 100 + i,
					       .kind = is_return ? PROBE_RETURN : PROBE_ENTRY,
					       .program = lab.programs[i],
					       .filter = lab.filters[i],
					       .cell = 50 * i };
}

void lab_build_set(unsigned n)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	if (lab_build(n, &err) < 0)
		fail_msg("%s", err.text);
}

void lab_jump_over_site(void)
{
	uint8_t jump[16];
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_int_equal(lab.arch->jump.build(&lab.window, lab.machine->site,
					      lab.machine->block + lab.detour.entry_at, jump,
					      &err),
			 0);
	lab.machine->write(lab.machine->site, jump, lab.window.jump_len);
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
		struct iovec to = { s->buf, s->len }, from = { (void *)(uintptr_t)at, s->len };
		ssize_t got;

		s->got = 0;
		/* Whatever there is, not what is known. */
		if (lab.plan.reads) {
			got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
			s->got = got > 0 ? (uint32_t)got : 0;
			*faults |= s->got < s->len;
			continue;
		}
		for (size_t k = 0; k < lab.n_ranges; k++) {
			const struct lab_range *range = &lab.ranges[k];
			uint64_t left = range->end - at;

			if (at < range->start || at >= range->end)
				continue;
			s->got = left < s->len ? (uint32_t)left : s->len;
			memcpy(s->buf, (void *)(uintptr_t)at, s->got);
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
	struct fetch_input in = { .arch = lab.arch,
				  .regs = &user,
				  .memory = &memory,
				  .hit_vaddr = lab.machine->site,
				  .duration_ns = lab.duration_ns,
				  .vectors = &lab.vectors,
				  .comm = "lab rat" };
	int len;

	lab.machine->to_user(regs, &user);
	user.r[lab.machine->pc] = probe->kind == PROBE_RETURN ? lab.real : lab.machine->site;
	len = fetch_run(probe->program, &in, lab.scratch, probe_kind_head(probe->kind),
			r->data);
	lab.passes = false;
	if (len < 0)
		return LAB_FAULT;
	*r = (struct event_record){ .kind = EVENT_HIT,
				    .tid = LAB_TID,
				    .cpu = lab.machine->cpu(),
				    .ip = user.r[lab.machine->pc],
				    .func = probe->kind == PROBE_RETURN ? lab.machine->site : 0,
				    .data_len = (uint32_t)len };
	strcpy(r->comm, in.comm);
	lab.passes = filter_match(probe->filter, r);
	if (detour_stops(probe->program, probe->filter))
		return LAB_FAULT;
	if (faults || has_endless(probe->program))
		return LAB_FAULT;
	return lab.passes ? LAB_RECORD : LAB_DROPPED;
}

void lab_assert_record(const char *what, const struct ring_record *record)
{
	const struct event_record *want = lab.record;

	if (!record)
		fail_msg("%s: no record", what);
	assert_int_equal(record->vaddr, lab.machine->site);
	assert_int_equal(record->ret, want->func ? want->ip : 0);
	assert_int_equal(record->cpu, want->cpu);
	if ((record->data_len & ~RING_STACK) != want->data_len)
		fail_msg("%s: %u bytes of data, should be %u", what, record->data_len,
			 want->data_len);
	assert_true(record->size >= sizeof(*record) + want->data_len);
	for (uint32_t i = 0; i < want->data_len; i++)
		if (ring_record_data(record)[i] != want->data[i])
			fail_msg("%s: data + %u is %02x, should be %02x", what, i,
				 ring_record_data(record)[i], want->data[i]);
}

uint64_t lab_expect_record(uint64_t at, unsigned i, const struct run_regs *regs)
{
	const struct ring_record *record = lab_record_at(at);

	assert_int_equal(lab_interpret(&lab.probes[i], regs), LAB_RECORD);
	lab_assert_record("record", record);
	assert_int_equal(record->probe, lab.probes[i].number);
	return at + record->size;
}

void lab_expect_nothing(uint64_t at)
{
	assert_int_equal(lab.thread->head, at);
}

void lab_count_calls(uint64_t at, unsigned *ret_outer, unsigned *ret_nested)
{
	*ret_outer = *ret_nested = 0;
	while (at < lab.thread->head) {
		const struct ring_record *record = lab_record_at(at);
		int64_t a;

		assert_non_null(record);
		at += record->size;
		if (record->probe == RING_VOID)
			continue;
		memcpy(&a, ring_record_data(record), sizeof(a));
		assert_true(a == LAB_OUTER || a == LAB_NESTED);
		*(a == LAB_OUTER ? ret_outer : ret_nested) += 1;
		if (lab.programs[0]->has_strings)
			assert_string_equal((const char *)ring_record_data(record) +
						    lab.programs[0]->fixed_size,
					    a == LAB_OUTER ? LAB_OUTER_TEXT : LAB_NESTED_TEXT);
	}
	lab_expect_nothing(at);
}

/* --- a function ------------------------------------------------------------------------ */

void lab_start_returns(void)
{
	const struct lab_machine *m = lab.machine;
	uint8_t code[UBP_RETURN_CODE_MAX];
	struct ubp_err err;
	size_t len = 0;

	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	lab.plan.hijacks = (uintptr_t)lab.hijacks;
	lab.plan.hijacks_mask = LAB_HIJACKS - 1;
	lab.plan.return_vaddr = m->return_code;
	lab.plan.trampoline = m->trampoline;
	lab.real = m->home;
	ubp_err_reset(&err);
	assert_int_equal(lab.arch->detour.build_return_code(lab.plan.hijacks, LAB_HIJACKS - 1,
							    m->trampoline, code, sizeof(code),
							    &len, &err),
			 0);
	m->write(m->return_code, code, len);
}

struct guard_hijack *lab_hijack_of(uint64_t word)
{
	for (size_t i = 0; i < LAB_HIJACKS; i++)
		if (lab.hijacks[i].word == word)
			return &lab.hijacks[i];
	return NULL;
}

bool lab_is_ours(uint64_t key, uint64_t word)
{
	const struct guard_hijack *entry = lab_hijack_of(key);

	return word == lab.machine->return_code || (entry && word == guard_called(entry));
}

void lab_assert_over(uint64_t word)
{
	assert_non_null(lab_hijack_of(word));
	assert_int_equal(lab_hijack_of(word)->real, 0);
}

void lab_function_build(unsigned n)
{
	lab_build_set(n);
	lab_jump_over_site();
}
