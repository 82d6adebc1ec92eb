/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the corpus of values cannot show: how many batches a program takes, how
 * far reads reach, what is ours where the kernel's answer is an accident, and
 * what is refused.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/base/probe_kind.h"
#include "engine/fetch/fetch.h"
#include "engine/sink/text.h"
#include "tests/unit/fake_memory.h"
#include "tests/unit/probe_make.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

/*
 * The memory of all vectors. A hole lies between PAGES and FAR, and one page is
 * missing inside of HOLED.
 *
 *   PAGES        two pages: DATA at its start, END behind its end
 *   HOLED        a page, a hole of a page, a page
 */
#define PAGES UINT64_C(0x10000)
#define MID   (PAGES + 0x1000)
#define END   (PAGES + 0x2000)
#define HOLED UINT64_C(0x20000)
#define LONGS UINT64_C(0x30000)
#define PTRS  UINT64_C(0x40000)
#define STACK UINT64_C(0x50000)

struct fixture {
	struct fake_memory memory;
	struct fetch_scratch *scratch;
	struct event_record *record;
	struct sink_buf text;
	struct probe_make make;
	const struct ubp_arch *arch;
};

struct vector {
	const char *what, *args;
	uint64_t di, si;
	const char *want; /* NULL: -E2BIG */
	unsigned n_batches, n_spans;
};

static const struct vector vectors[] = {
	{ "no args", "", 0, 0, "", 0, 0 },
	{ "registers need no memory", "%di %si:u8 $stack \\-1:s8 $comm", 1, 0x1ff,
	  " arg1=0x1 arg2=255 arg3=0x50008 arg4=-1 arg5=\"task\"", 0, 0 },
	{ "an int and a string are one batch", "n=%si:s32 s=+0(%di):string", PAGES, 7,
	  " n=7 s=\"hello\"", 1, 1 },
	{ "all outermost reads are one batch",
	  "+0(%di):string $stack1 +8(%di):u16 @0x10008:x8[2] +0x10(%si):string", PAGES, PAGES,
	  " arg1=\"hello\" arg2=0x5001 arg3=513 arg4={0x1,0x2} arg5=\"second\"", 1, 5 },
	{ "each level of dereferences is a batch", "x=+8(+0(%di))", MID, 0, " x=0x1234", 2, 2 },
	{ "levels of different args share batches",
	  "x=+8(+0(%di)) s=+0(%si):string y=+0(+0(+0(%di))) z=+0(+24(%di)):string", MID, PAGES,
	  " x=0x1234 s=\"hello\" y=0x11020 z=\"hello\"", 3, 8 },
	{ "a dereference of a stack word", "+0($stack2):string", 0, 0, " arg1=\"hello\"", 2,
	  2 },
	{ "an unreadable stack word is 0", "$stack9999 x=+8($stack9999):u8", 0, 0,
	  " arg1=0x0 x=0", 2, 3 },
	{ "N of $stackN is cut to 32 bits", "$stack4294967297", 0, 0, " arg1=0x5001", 1, 1 },
	{ "an array of strings is two batches", "+24(%di):string[2]", MID, 0,
	  " arg1={\"hello\",\"second\"}", 2, 3 },
	{ "a bit-field of a cut register", "%di:b8@28/32 %di:b12@4/16", 0xf87654321, 0,
	  " arg1=8 arg2=1074", 0, 0 },
	{ "bit-fields in an array", "+8(%di):b4@4/8[4] +8(%di):b9@0/16[2]", PAGES, 0,
	  " arg1={0,0,0,0} arg2={1,3}", 1, 2 },

	{ "a string that ends with its page is one batch", "+0(%di):string", MID - 6, 0,
	  " arg1=\"-end!\"", 1, 1 },
	{ "an empty string", "+0(%di):string", MID + 0xfa, 0, " arg1=\"\"", 1, 1 },
	{ "an unterminated string at the end is a fault", "+0(%di):string", END - 4, 0,
	  " arg1=(fault)", 2, 2 },
	{ "an unmapped string", "+0(%di):string", END, 0, " arg1=(fault)", 1, 1 },
	{ "strings of many chunks", "+0(%di):string", LONGS, 0, NULL, 3, 3 },

	{ "bytes before the fault are kept", "x=+0(%di):x64 y=+0(%di):x8[8] z=+4(%di):u8",
	  END - 3, 0, " x=0x555555 y={0x55,0x55,0x55,0x0,0x0,0x0,0x0,0x0} z=0", 1, 3 },
	{ "elements behind a hole are read", "+0(%di):x32[6]", HOLED + 0x2000 - 10, 0,
	  " arg1={0x0,0x0,0x0,0x77777777,0x77777777,0x77777777}", 2, 2 },
	{ "an element that begins in the hole is 0", "+0(%di):x64[3]", HOLED + 0x2000 - 12, 0,
	  " arg1={0x0,0x0,0x7777777777777777}", 2, 2 },
	{ "an element that ends in the hole keeps its head", "+0(%di):x32[3]",
	  HOLED + 0x1000 - 6, 0, " arg1={0x66666666,0x6666,0x0}", 1, 1 },
	{ "a scalar is not resumed", "+0(%di):x64", HOLED + 0x2000 - 4, 0, " arg1=0x0", 1, 1 },
	{ "half a pointer is none", "x=+0(+0(%di)) y=+0(+0(%di)):s16[2]", END - 4, 0,
	  " x=0x0 y={0,0}", 1, 2 },
	{ "half a stack word is 0", "$stack511", 0, 0, " arg1=0x0", 1, 1 },
	{ "reads do not wrap around", "+0(%di):x8[4] +0(%di):string +0(+0(%di))",
	  UINT64_MAX - 1, 0, " arg1={0x0,0x0,0x0,0x0} arg2=(fault) arg3=0x0", 1, 3 },
	{ "offsets are 32 bits", "+0xffffffff(%di):u8 +0x100000008(%di):u8", PAGES + 9, 0,
	  " arg1=1 arg2=101", 1, 2 },

	{ "an inner fault gives 0", "x=+8(+0(%di)) y=+0(+0(%di)):b4@4/8 z=%si:u8", END, 9,
	  " x=0x0 y=0 z=9", 1, 2 },
	{ "a failed string has its place",
	  "a=+0(%si):string b=+0(%di):string c=+16(%si):string", END, PAGES,
	  " a=\"hello\" b=(fault) c=\"second\"", 1, 3 },
	{ "a failed inner read shows the next string", "a=+0(+0(%di)):string b=+0(%si):string",
	  END, PAGES, " a=\"hello\" b=\"hello\"", 1, 2 },
	{ "... and none when it is the last", "b=+0(%si):string a=+0(+0(%di)):string", END,
	  PAGES, " b=\"hello\" a=(fault)", 1, 2 },
	{ "a missing array of pointers is all faults", "a=+0(%di):string[3] b=+0(%si):string",
	  END, PAGES, " a={(fault),(fault),(fault)} b=\"hello\"", 1, 2 },
	{ "pointers up to the fault count", "a=+0(%di):string[3] b=+0(%si):string", END - 16,
	  PAGES, " a={(fault),(fault),(fault)} b=\"hello\"", 2, 4 },
	{ "a cut array of pointers keeps what it has", "a=+0(%di):string[3] b=+0(%si):string",
	  PTRS + 0x1000 - 16, PAGES, " a={\"hello\",\"second\",(fault)} b=\"hello\"", 2, 4 },
	{ "immediates as addresses",
	  "\\0x10000:string \\0x10000:string[2] \\\"text\" \\-70:string", 0, 0,
	  " arg1=\"hello\" arg2={(fault),(fault)} arg3=(fault) arg4=(fault)", 1, 2 },

	{ "a string over 4096 bytes is a fault", "+0(%di):string", LONGS + 0x2000, 0,
	  " arg1=(fault)", 3, 3 },
	{ "... but takes the room of others", "+0(%di):string b=+0(%si):string", LONGS + 0x2000,
	  PAGES, " arg1=\"LLLLL\" b=(fault)", 3, 4 },
	{ "a string that runs into a fault takes it too", "+0(%di):string b=+0(%si):string",
	  END - 6, PAGES, " arg1=\"UUUUU\" b=(fault)", 2, 3 },
	{ "... unless it has too few bytes", "+0(%di):string b=+0(%si):string", END - 5, PAGES,
	  " arg1=(fault) b=\"hello\"", 2, 3 },
};

static void fill(struct fixture *f)
{
	struct fake_memory *m = &f->memory;

	memset(fake_memory_map(m, PAGES, 0x2000), 'U', 0x2000);
	fake_memory_put_text(m, PAGES, "hello");
	fake_memory_put(m, PAGES + 8, "\x01\x02\x03\x04", 4);
	fake_memory_put_text(m, PAGES + 16, "second");
	fake_memory_put_text(m, MID - 6, "-end!");
	/* MID: -> MID + 0x20; MID + 0x20: -> itself, 0x1234; MID + 24: two strings */
	fake_memory_put_u64(m, MID, MID + 0x30);
	fake_memory_put_u64(m, MID + 24, PAGES);
	fake_memory_put_u64(m, MID + 32, PAGES + 16);
	fake_memory_put_u64(m, MID + 0x30, MID + 0x50);
	fake_memory_put_u64(m, MID + 0x38, 0x1234);
	fake_memory_put_u64(m, MID + 0x50, MID + 0x20);
	fake_memory_put_text(m, MID + 0xfa, "");
	memset(fake_memory_map(m, HOLED, 0x1000), 0x66, 0x1000);
	memset(fake_memory_map(m, HOLED + 0x2000, 0x1000), 0x77, 0x1000);
	fake_memory_map(m, PTRS, 0x1000);
	fake_memory_put_u64(m, PTRS + 0xff0, PAGES);
	fake_memory_put_u64(m, PTRS + 0xff8, PAGES + 16);
	memset(fake_memory_map(m, LONGS, 0x4000), 'L', 0x4000);
	*(char *)fake_memory_at(m, LONGS + 4055 + 1) = '\0';
	for (uint64_t i = 0; i < 0x100; i++) {
		if (i == 0)
			fake_memory_map(m, STACK, 0x1004);
		fake_memory_put_u64(m, STACK + 8 * i, 0x5000 + i - 1);
	}
	fake_memory_put_u64(m, STACK + 0x18, PAGES);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->scratch = fetch_scratch_new();
	f->record = calloc(1, sizeof(*f->record) + EVENT_DATA_MAX);
	fill(f);
	f->arch = ubp_arch_by_name("x86_64");
	*state = f;
	return f->scratch && f->record ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	fake_memory_free(&f->memory);
	sink_buf_free(&f->text);
	fetch_scratch_free(f->scratch);
	free(f->record);
	free(f);
	return 0;
}

static struct fetch_program *compile(struct fixture *f, const char *args)
{
	struct fetch_program *program;
	struct ubp_err err;

	probe_make(&f->make, false, args);
	assert_int_equal(0, fetch_compile(&f->make.probe, &program, &err));
	return program;
}

static int run(struct fixture *f, const struct fetch_program *program, uint64_t di, uint64_t si,
	       size_t head)
{
	const struct fetch_memory memory = { fake_memory_read, &f->memory };
	struct ubp_regs regs = { 0 };
	const struct fetch_input in = {
		.arch = f->arch,
		.regs = &regs,
		.memory = &memory,
		.hit_vaddr = MID + 0x123,
		.comm = "task",
	};
	int len;

	regs.r[REG_DI] = di;
	regs.r[REG_SI] = si;
	regs.r[f->arch->reg.sp] = STACK + 8;
	memset(f->record->data, 0xdd, EVENT_DATA_MAX); /* what an earlier record left */
	f->memory.n_batches = f->memory.n_spans = 0;
	f->memory.highest = 0;
	len = fetch_run(program, &in, f->scratch, head, f->record->data);
	f->text.len = 0;
	if (len >= 0) {
		f->record->data_len = (uint32_t)len;
		sink_text_args(&f->text, &f->make.probe, f->record,
			       &(struct sink_text_options){ 0 });
	}
	sink_buf_add(&f->text, "", 1);
	return len;
}

static void check_each(struct fixture *f, const struct vector *v, size_t n)
{
	for (size_t i = 0; i < n; i++, v++) {
		struct fetch_program *program = compile(f, v->args);
		int len = run(f, program, v->di, v->si, probe_kind_head(PROBE_ENTRY));
		const char *got = len >= 0 ? f->text.data : NULL;

		if (!v->want != !got || (got && strcmp(v->want, got) != 0))
			fail_msg("%s: '%s' gives '%s', not '%s'", v->what, v->args,
				 got ? got : "-E2BIG", v->want ? v->want : "-E2BIG");
		if (f->memory.n_batches != v->n_batches || f->memory.n_spans != v->n_spans)
			fail_msg("%s: '%s': %u batches with %u spans, not %u with %u", v->what,
				 v->args, f->memory.n_batches, f->memory.n_spans, v->n_batches,
				 v->n_spans);
		free(program);
	}
}

static void check_vectors(void **state)
{
	check_each(*state, vectors, N_ELEMS(vectors));
}

/* What is kept of a value that ends where nothing can be read is one byte at most. */
static void torn_values(void **state)
{
	static const struct vector torn[] = {
		{ "one byte is left of a value", "x=+0(%di):x64 y=+1(%di):x32 z=+2(%di):x16",
		  END - 3, 0, " x=0x55 y=0x55 z=0x55", 1, 3 },
		{ "bytes are whole", "+0(%di):x8[4]", END - 3, 0, " arg1={0x55,0x55,0x55,0x0}",
		  1, 1 },
		{ "a value in front of it is whole", "+0(%di):x32[2]", END - 6, 0,
		  " arg1={0x55555555,0x55}", 1, 1 },
	};
	struct fixture *f = *state;

	f->arch = ubp_arch_by_name("arm64");
	check_each(f, torn, N_ELEMS(torn));
}

/* The guess at a string must not touch the next page, even if that one is there. */
static void guess_stays_in_page(void **state)
{
	struct fixture *f = *state;
	struct fetch_program *program = compile(f, "+0(%di):string");

	run(f, program, MID - 6, 0, probe_kind_head(PROBE_ENTRY));
	assert_string_equal(" arg1=\"-end!\"", f->text.data);
	assert_int_equal(MID - 1, f->memory.highest);
	/* ... and is read on there only without a NUL. */
	fake_memory_put(&f->memory, MID - 1, "?", 1);
	fake_memory_put_text(&f->memory, MID, "over");
	run(f, program, MID - 6, 0, probe_kind_head(PROBE_ENTRY));
	assert_string_equal(" arg1=\"-end!?over\"", f->text.data);
	assert_int_equal(2, f->memory.n_batches);
	free(program);
}

/* @+OFF counts from the file's start as mapped around the probe; also for returns. */
static void file_offsets(void **state)
{
	struct fixture *f = *state;
	struct fetch_program *program;
	struct ubp_err err;

	probe_make(&f->make, false, "s=@+0x10:string n=@+-0xff8:u8 p=+8(@+0x1000)");
	f->make.probe.offset = 0x1123; /* so that offset 0 is at PAGES */
	assert_int_equal(0, fetch_compile(&f->make.probe, &program, &err));
	run(f, program, 0, 0, probe_kind_head(PROBE_ENTRY));
	assert_string_equal(" s=\"second\" n=0 p=0x1234", f->text.data);
	assert_int_equal(2, f->memory.n_batches);
	free(program);
}

/* A record with its head must not exceed 4072 bytes. */
static void record_limit(void **state)
{
	struct fixture *f = *state;
	struct fetch_program *program = compile(f, "+0(%di):string");

	/* The string at LONGS + 5 is 4051 bytes and a NUL. */
	assert_int_equal(4056, run(f, program, LONGS + 5, 0, probe_kind_head(PROBE_ENTRY)));
	assert_int_equal(4051 + 8, strlen(f->text.data));
	assert_int_equal(-E2BIG, run(f, program, LONGS + 4, 0, probe_kind_head(PROBE_ENTRY)));
	assert_int_equal(-E2BIG, run(f, program, LONGS + 5, 0, probe_kind_head(PROBE_RETURN)));
	assert_int_equal(4048, run(f, program, LONGS + 13, 0, probe_kind_head(PROBE_RETURN)));
	free(program);
}

/* 128 args, 768 strings: the most there is. */
static void largest_programs(void **state)
{
	struct fixture *f = *state;
	char args[4096] = "";
	struct fetch_program *program;

	for (int i = 0; i < 12; i++)
		strcat(args, " +0x3000(%di):string[64]");
	program = compile(f, args);
	assert_int_equal(FETCH_STRINGS_MAX, program->has_strings);
	/* All pointers are "LLLLLLLL": nothing there. */
	assert_int_equal(FETCH_FIXED_MAX, run(f, program, LONGS, 0, probe_kind_head(PROBE_ENTRY)));
	assert_int_equal(2, f->memory.n_batches);
	assert_int_equal(12 + 768, f->memory.n_spans);
	free(program);
	args[0] = '\0';
	for (int i = 0; i < 128; i++)
		strcat(args, " +0(+0(%di)):x8");
	program = compile(f, args);
	assert_int_equal(128, run(f, program, MID, 0, probe_kind_head(PROBE_ENTRY)));
	assert_int_equal(2, f->memory.n_batches);
	free(program);
}

static void refused(void **state)
{
	struct fixture *f = *state;
	struct fetch_program *program = NULL;
	struct ubp_err err;

	probe_make(&f->make, false, "a=%di s=%si:string");
	assert_int_equal(-EINVAL, fetch_compile(&f->make.probe, &program, &err));
	assert_string_equal("fetch arg 's' can't be compiled", err.text);
	probe_make(&f->make, false, "a=%di:u8[4]");
	assert_int_equal(-EINVAL, fetch_compile(&f->make.probe, &program, &err));
	probe_make(&f->make, false, "a=%di b=%si");
	f->make.args[1].at = 4;
	assert_int_equal(-EINVAL, fetch_compile(&f->make.probe, &program, &err));
	probe_make(&f->make, false, "a=%di");
	f->make.args[0].reg = UBP_REGS_MAX;
	assert_int_equal(-EINVAL, fetch_compile(&f->make.probe, &program, &err));
	probe_make(&f->make, false,
		   "+0(%di):u64[64] +0(%di):u64[64] +0(%di):u64[64] +0(%di):u64[64] "
		   "+0(%di):u64[64] +0(%di):u64[64] %di:u8");
	assert_int_equal(-EINVAL, fetch_compile(&f->make.probe, &program, &err));
	assert_null(program);
}

/* One source, the inner dereferences, one store. */
static void program_shape(void **state)
{
	struct fixture *f = *state;
	struct fetch_program *program =
		compile(f, "+8(-4(%si)):u16 $comm @0x10:string[2] $stack3");
	static const struct {
		uint8_t code;
		int64_t imm;
	} want[] = {
		{ FETCH_REG, 0 },	   { FETCH_DEREF, -4 },	    { FETCH_STORE_MEM, 8 },
		{ FETCH_COMM, 0 },	   { FETCH_STORE_COMM, 0 }, { FETCH_IMM, 0x10 },
		{ FETCH_STORE_STRING, 0 }, { FETCH_STACK, 3 },	    { FETCH_STORE_VALUE, 0 },
	};

	assert_int_equal(N_ELEMS(want), program->n_ops);
	for (size_t i = 0; i < N_ELEMS(want); i++) {
		assert_int_equal(want[i].code, program->ops[i].code);
		assert_int_equal(want[i].imm, program->ops[i].imm);
	}
	assert_int_equal(REG_SI, program->ops[0].reg);
	assert_int_equal(1, program->needs_comm);
	assert_int_equal(3, program->has_strings);
	assert_int_equal(1, program->ops[6].reg); /* behind the string of $comm */
	assert_int_equal(6, program->ops[6].at);
	assert_int_equal(2 + 4 + 8 + 8, program->fixed_size);
	free(program);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(check_vectors), TEST(torn_values),   TEST(guess_stays_in_page),
		TEST(file_offsets),  TEST(record_limit),  TEST(largest_programs),
		TEST(refused),       TEST(program_shape),
	};

	return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
