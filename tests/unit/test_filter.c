/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Filters as a whole: which hits pass, what programs look like, what is
 * refused. The expected hits were those of the kernel, see tests/corpus; the
 * large number of refusals is in the corpus itself and in tests/oracle.
 */

#include "engine/spec/filter.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/fetch/match.h"
#include "engine/spec/filter_parse.h"
#include "tests/tool/filter_fixture.h"

/* The hits of the corpus. */
static const struct fixture_hit hits[] = {
	{ 0, "apple", 0 },
	{ 1, "banana", UINT64_MAX },
	{ 2, "cherry pie", 1 },
	{ 10, "Apple", 0x80 },
	{ 255, "", 0xff },
	{ 0x7fffffff, "a*b", 2 },
	{ 0x80000000, "app\"le", 3 },
	{ 0xffffffff, "apple", 4 },
	{ 1ULL << 63, "banana", 5 },
	{ UINT64_MAX, NULL, 6 },
	{ 100, "alpha", 7 },
	{ 200, "gamma delta", 0x100 },
};

#define N_HITS (sizeof(hits) / sizeof(hits[0]))
#define ALL    0xfffU
#define HIT(i) (1U << (i))

static struct filter *parsed(const struct fixture *f, const char *text)
{
	struct filter *filter = NULL;
	struct ubp_err err;

	ubp_err_reset(&err);
	if (filter_parse(text, &f->probe, &filter, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return filter;
}

static struct event_record *new_record(void)
{
	struct event_record *record = malloc(sizeof(*record) + FIXTURE_DATA_MAX);

	assert_non_null(record);
	return record;
}

/* Bit i: hit i passes. @cpu is where all hits happen. */
static unsigned passing(enum fixture_kind kind, const char *text, uint32_t cpu)
{
	struct event_record *record = new_record();
	struct filter *filter;
	unsigned passed = 0;
	struct fixture f;

	fixture_init(&f, kind);
	filter = parsed(&f, text);
	for (size_t i = 0; i < N_HITS; i++) {
		fixture_record(&f, &hits[i], record);
		record->cpu = cpu;
		passed |= (unsigned)filter_match(filter, record) << i;
	}
	filter_free(filter);
	free(record);
	return passed;
}

struct pass_case {
	const char *filter;
	unsigned passed;
};

static void check_passing(const struct pass_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned passed = passing(FIXTURE_CORPUS, cases[i].filter, 0);

		if (passed != cases[i].passed)
			fail_msg("%s: passes %#x, not %#x", cases[i].filter, passed,
				 cases[i].passed);
	}
}

#define CHECK_PASSING(cases) check_passing(cases, sizeof(cases) / sizeof((cases)[0]))

static void compares_numbers_in_the_size_of_the_field(void **state)
{
	static const struct pass_case cases[] = {
		{ "u8 == 0x180", HIT(3) },
		{ "s8 == 255", HIT(1) | HIT(4) },
		{ "s8 == -129", 0 },
		{ "s8 < 0", HIT(1) | HIT(3) | HIT(4) },
		{ "x16 == 65536", HIT(0) },
		{ "n32 == 4294967296", HIT(0) | HIT(8) },
		{ "s32 >= -2147483648", ALL },
		{ "sn & -9223372036854775808", HIT(8) | HIT(9) },
		{ "sn < 0", HIT(8) | HIT(9) },
		{ "n < 0", 0 },
		{ "n > 0x7fffffffffffffff", HIT(8) | HIT(9) },
		{ "bf == 15", HIT(1) | HIT(4) },
		{ "arr == 0x6c707061", HIT(0) | HIT(7) },
		{ "arr3 == 7368801", 0 },
		{ "arr3 != 7368801", 0 },
		{ "arr3 < 7368801", 0 },
	};

	(void)state;
	CHECK_PASSING(cases);
}

static void matches_patterns(void **state)
{
	static const struct pass_case cases[] = {
		{ "s ~ \"!*\"", HIT(9) },
		{ "s ~ \"*\"", ALL & ~HIT(9) },
		{ "s ~ \"**\"", ALL },
		{ "s ~ \"?*\"", ALL & ~(HIT(4) | HIT(9)) },
		{ "s ~ \"!\"", ALL & ~(HIT(4) | HIT(9)) },
		{ "s ~ \"!!\"", ALL },
		{ "s ~ \"1*\"", 0 },
		{ "s ~ \"!1*\"", ALL },
		{ "s ~ \"[!a]*\"", HIT(1) | HIT(2) | HIT(3) | HIT(8) | HIT(11) },
		{ "s ~ \"[^a]*\"", HIT(0) | HIT(5) | HIT(6) | HIT(7) | HIT(10) },
		{ "s ~ \"[]a]*\"", HIT(0) | HIT(5) | HIT(6) | HIT(7) | HIT(10) },
		{ "s ~ \"[!a]\"", 0 },
		{ "s ~ \"*[a-b]\"", HIT(1) | HIT(5) | HIT(8) | HIT(10) | HIT(11) },
		{ "us ~ \"*a*p*\"", HIT(0) | HIT(6) | HIT(7) | HIT(10) },
		{ "s ~ \"*a?\"", 0 },
		{ "s ~ \"*na?a\"", HIT(1) | HIT(8) },
		{ "s ~ \"a\\\\*b\"", 0 },
		{ "s ~ \"a\\*b\"", HIT(5) },
		{ "s ~ \"[a-\"", 0 },
		{ "s ~ 'app\\\"le'", HIT(6) },
		{ "s ~ 'app\"le'", HIT(6) },
		{ "s ~ \"*a p*\"", 0 },
		{ "s ~ \"*y p*\"", HIT(2) },
		{ "sarr ~ \"gamma*\"", 0 },
		{ "sarr == \"\"", ALL },
		{ "cm ~ \"*gt\"", ALL },
		{ "comm ~ \"v??t*\"", ALL },
		{ "comm ~ \"*alt*\"", ALL },
		{ "comm ~ \"*gt\"", ALL }, /* the kernel's own does not: docs/differences.md */
		{ "comm ~ \"*gx\"", 0 },
	};

	(void)state;
	CHECK_PASSING(cases);
}

static void takes_a_failed_string_for_an_empty_one(void **state)
{
	static const struct pass_case cases[] = {
		{ "lit == \"\"", ALL },           { "lit != \"\"", 0 },
		{ "lit ~ \"**\"", ALL },          { "lit ~ \"*\"", 0 },
		{ "lit ~ \"!*\"", ALL },          { "lit ~ \"a*\"", 0 },
		{ "lit ~ \"[!a]\"", 0 },          { "lit != \"lit\"", ALL },
		{ "s == \"\"", HIT(4) | HIT(9) },
	};

	(void)state;
	CHECK_PASSING(cases);
}

static void knows_the_cpu(void **state)
{
	static const struct {
		const char *filter;
		bool on_cpu0, on_cpu1;
	} cases[] = {
		{ "CPU == 1", false, true },
		{ "cpu != 1", true, false },
		{ "common_cpu > 0", false, true },
		{ "CPU == 4294967296", true, false },
		{ "CPU < 0", false, false },
		{ "CPU & 1", false, true }, /* the kernel: never */
		{ "CPU == CPUS{0}", true, false },
		{ "CPU & CPUS{0}", true, false },
		{ "CPU != CPUS{0}", false, true },
		{ "CPU & CPUS{all}", true, true },
		{ "CPU & CPUS{,}", false, false },
		{ "CPU == CPUS{,}", false, false },
		{ "CPU != CPUS{,}", true, true },
	};

	(void)state;
	if (filter_machine_cpus() < 2)
		skip(); /* CPU 1 is then none, and "all" is one */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (passing(FIXTURE_CORPUS, cases[i].filter, 0) !=
			    (cases[i].on_cpu0 ? ALL : 0) ||
		    passing(FIXTURE_CORPUS, cases[i].filter, 1) != (cases[i].on_cpu1 ? ALL : 0))
			fail_msg("%s", cases[i].filter);
	}
}

static void takes_numbers_for_cpus(void **state)
{
	static const struct pass_case cases[] = {
		{ "n == CPUS{0}", HIT(0) },
		{ "n & CPUS{1}", HIT(1) },
		{ "n != CPUS{1}", ALL & ~HIT(1) },
		{ "n & CPUS{ }", 0 },
		{ "s8 != CPUS{0-0}", ALL & ~(HIT(0) | HIT(11)) },
		{ "arr3 != CPUS{0}", 0 },
		{ "arr3 != CPUS{,}", 0 },
		{ "n != CPUS{,} && n < 2", HIT(0) | HIT(1) },
		{ "n != CPUS{,} && n > 9000", 0 },
	};

	(void)state;
	if (filter_machine_cpus() < 2)
		skip();
	CHECK_PASSING(cases);
}

static void knows_the_fields_of_every_event(void **state)
{
	static const struct pass_case cases[] = {
		{ "common_pid == 4243", ALL },
		{ "__probe_ip == 0x401136", ALL },
		{ "common_type == 0 && common_flags == 0 && common_preempt_count == 0", ALL },
		{ "stacktrace == 0 || STACKTRACE != 0", 0 },
		{ "n == 0", HIT(0) },
	};

	(void)state;
	CHECK_PASSING(cases);
	assert_int_equal(passing(FIXTURE_RETURN, "__probe_func == 0x401100", 0), ALL);
	assert_int_equal(passing(FIXTURE_RETURN, "__probe_ret_ip == 0x401136", 0), ALL);
	assert_int_equal(passing(FIXTURE_SHADOW, "COMM == 128", 0), HIT(3));
	assert_int_equal(passing(FIXTURE_SHADOW, "cpu == 255", 0), HIT(1) | HIT(4));
}

static void survives_records_that_lack_the_field(void **state)
{
	struct event_record *record = new_record();
	struct filter *filter;
	struct fixture f;
	uint32_t word;

	(void)state;
	fixture_init(&f, FIXTURE_RETURN);
	fixture_record(&f, &hits[0], record);
	filter = parsed(&f, "s == \"apple\" && n == 0");
	assert_true(filter_match(filter, record));
	record->data_len--; /* the string's NUL is gone */
	assert_false(filter_match(filter, record));
	record->data_len++;
	word = 6U << 16 | 0xfff0;
	memcpy(record->data + 8, &word, sizeof(word));
	assert_false(filter_match(filter, record));
	record->data_len = 9; /* in the middle of the string's word */
	assert_false(filter_match(filter, record));
	record->data_len = 0;
	assert_false(filter_match(filter, record));
	filter_free(filter);
	assert_true(filter_match(NULL, record));
	free(record);
}

/* --- programs -------------------------------------------------------------- */

static void makes_a_flat_program(void **state)
{
	struct fixture f;
	struct filter *filter;

	(void)state;
	fixture_init(&f, FIXTURE_CORPUS);
	filter = parsed(&f, "n == 1 && !(s ~ \"a*\" || cpu < 2)");
	assert_int_equal(filter->n_preds, 3);
	assert_int_equal(filter->preds[0].test, FILTER_EQ);
	assert_int_equal(filter->preds[0].on_true, 1);
	assert_int_equal(filter->preds[0].on_false, FILTER_DROP);
	assert_int_equal(filter->preds[1].test, FILTER_PREFIX);
	assert_int_equal(filter->preds[1].on_true, FILTER_DROP);
	assert_int_equal(filter->preds[1].on_false, 2);
	assert_int_equal(filter->preds[2].test, FILTER_LT);
	assert_int_equal(filter->preds[2].source, FILTER_FROM_CPU);
	assert_int_equal(filter->preds[2].on_true, FILTER_DROP);
	assert_int_equal(filter->preds[2].on_false, FILTER_PASS);
	filter_free(filter);
}

/* Text of a random expression over n, and its value for one n: no parser involved. */
struct expression {
	char text[3500];
	size_t len;
	uint64_t seed;
	uint64_t n;
};

static unsigned dice(struct expression *e, unsigned sides)
{
	e->seed ^= e->seed << 13;
	e->seed ^= e->seed >> 7;
	e->seed ^= e->seed << 17;
	return (unsigned)(e->seed >> 33) % sides;
}

static void add(struct expression *e, const char *text)
{
	e->len += (size_t)snprintf(e->text + e->len, sizeof(e->text) - e->len, "%s", text);
}

static bool random_or(struct expression *e, unsigned depth);

static bool random_pred(struct expression *e)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=", "&" };
	unsigned op = dice(e, 7), value = dice(e, 16);
	char text[32];

	snprintf(text, sizeof(text), "n %s %u", ops[op], value);
	add(e, text);
	switch (op) {
	case 0:
		return e->n == value;
	case 1:
		return e->n != value;
	case 2:
		return e->n < value;
	case 3:
		return e->n <= value;
	case 4:
		return e->n > value;
	case 5:
		return e->n >= value;
	default:
		return e->n & value;
	}
}

static bool random_term(struct expression *e, unsigned depth)
{
	bool negated = false, value;

	while (dice(e, 3) == 0) {
		add(e, "!");
		negated = !negated;
	}
	if (!depth || dice(e, 2)) {
		value = random_pred(e);
	} else {
		add(e, "(");
		value = random_or(e, depth - 1);
		add(e, ")");
	}
	return value != negated;
}

static bool random_and(struct expression *e, unsigned depth)
{
	bool value = random_term(e, depth);

	while (dice(e, 3) == 0) {
		add(e, " && ");
		value = random_term(e, depth) && value;
	}
	return value;
}

static bool random_or(struct expression *e, unsigned depth)
{
	bool value = random_and(e, depth);

	while (dice(e, 3) == 0) {
		add(e, " || ");
		value = random_and(e, depth) || value;
	}
	return value;
}

static void check_forward(const struct filter *filter)
{
	for (uint32_t i = 0; i < filter->n_preds; i++) {
		uint16_t exits[] = { filter->preds[i].on_true, filter->preds[i].on_false };

		for (size_t k = 0; k < 2; k++)
			assert_true(exits[k] == FILTER_PASS || exits[k] == FILTER_DROP ||
				    (exits[k] > i && exits[k] < filter->n_preds));
	}
}

static void evaluates_what_was_written(void **state)
{
	static const char *const tails[] = { "", "", " &&", " || ", "|| !", "&& !!" };
	struct event_record *record = new_record();
	unsigned n_true = 0, n_false = 0;
	struct fixture f;

	(void)state;
	fixture_init(&f, FIXTURE_RETURN);
	for (uint64_t i = 1; i <= 20000; i++) {
		struct expression e = { .seed = i * 0x9e3779b97f4a7c15ULL, .n = i % 16 };
		struct fixture_hit hit = { e.n, NULL, 0 };
		bool value = random_or(&e, 4);
		struct filter *filter;

		if (e.len >= sizeof(e.text) - 8)
			continue; /* cut: not what was evaluated */
		add(&e, tails[i % 6]);
		filter = parsed(&f, e.text);
		check_forward(filter);
		fixture_record(&f, &hit, record);
		if (filter_match(filter, record) != value)
			fail_msg("n = %u: %s is not %d", (unsigned)e.n, e.text, !value);
		filter_free(filter);
		n_true += value;
		n_false += !value;
	}
	assert_true(n_true > 1000 && n_false > 1000);
	free(record);
}

/* --- refusals ---------------------------------------------------------------- */

static void check_error(const char *text, int code, const char *message, int caret)
{
	struct filter *filter = NULL;
	struct ubp_err err;
	struct fixture f;

	fixture_init(&f, FIXTURE_CORPUS);
	ubp_err_reset(&err);
	assert_int_equal(filter_parse(text, &f.probe, &filter, &err), -code);
	assert_null(filter);
	if (message)
		assert_string_equal(err.text, message);
	assert_int_equal(err.has_caret, caret >= 0);
	if (caret >= 0)
		assert_int_equal(err.caret, caret);
}

static void reports_what_the_kernel_reports(void **state)
{
	(void)state;
	check_error("  n = 1  ", EINVAL, "Invalid operator", 5);
	check_error("n == 1) ", EPERM, "Too few '('", 6);
	check_error("((n == 1) && (n == 2)", ENOENT, "Too many '('", 0);
	check_error("(n == 1) && (n == 2", ENOENT, "Too many '('", 12);
	check_error("(n == 1 && (n == 2) ", ENOENT, "Too many '('", 0);
	check_error("n == 1 && s == 'a\"(", ESRCH, "Missing matching quote", 15);
	check_error("n == CPUS{0", EINVAL, "Missing '}'", 12);
	check_error("n == CPUS{100000}", EINVAL, "Invalid cpulist", 17);
	check_error("n.function == do_exit", EINVAL, "Function not found", 22);
	check_error("n.function == 0x1g", EINVAL, "Invalid value (did you forget quotes)?", 19);
	check_error("u8.function == 1", EINVAL, "Illegal operation for field type", 16);
	check_error("common_stacktrace == 1", EINVAL, "Field not found", 18);
	check_error("", EINVAL, "Error", 0);
}

static void shows_the_text_without_trailing_blanks(void **state)
{
	struct filter *filter = NULL;
	struct ubp_err err;
	struct fixture f;

	(void)state;
	fixture_init(&f, FIXTURE_CORPUS);
	ubp_err_reset(&err);
	assert_int_equal(filter_parse("  x == 1 \xa0\n", &f.probe, &filter, &err), -EINVAL);
	assert_string_equal(err.command, "  x == 1");
}

static void zero_is_no_filter(void **state)
{
	static const char *const texts[] = { "0", " 0", "0\n", "\t0 " };
	struct fixture f;

	(void)state;
	fixture_init(&f, FIXTURE_CORPUS);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_null(parsed(&f, texts[i]));
	check_error("00", EINVAL, "Field not found", 3);
	filter_free(NULL);
}

/* The longest text there can be, in the shapes that need the most room. */
static void holds_the_largest_filters(void **state)
{
	char text[4097];
	struct filter *filter;
	struct fixture f;
	size_t len;

	(void)state;
	fixture_init(&f, FIXTURE_CORPUS);
	for (len = 0; len + 8 <= 4095; len += 5)
		memcpy(text + len, "c&1||", 5);
	memcpy(text + len, "c&1", 4);
	filter = parsed(&f, text);
	assert_int_equal(filter->n_preds, len / 5 + 1);
	check_forward(filter);
	filter_free(filter);

	memset(text, '(', 2040);
	memcpy(text + 2040, "n == 1", 6);
	memset(text + 2046, ')', 2040);
	text[4086] = '\0';
	filter = parsed(&f, text);
	assert_int_equal(filter->n_preds, 1);
	filter_free(filter);

	for (len = 0; len + 30 < 4095; len += 15)
		memcpy(text + len, "c & CPUS{,} ||   ", 15);
	memcpy(text + len, "c & 1", 6);
	filter = parsed(&f, text);
	check_forward(filter);
	filter_free(filter);

	memset(text, ' ', 4095);
	memcpy(text, "n == 1", 6);
	text[4095] = '\0';
	filter_free(parsed(&f, text));
	text[4095] = ' ';
	text[4096] = '\0';
	check_error(text, EINVAL, NULL, -1);
}

/* --- two as one ------------------------------------------------------------------- */

static void two_pass_what_both_pass(void **state)
{
	static const char *const texts[] = {
		"0",
		"u8 == 1",
		"s8 < 0 || u8 == 200",
		"!(u8 & 1) && s8 >= 0",
		"s ~ \"a*\"",
		"s ~ \"*e\" && !(s == \"apple\")",
		"s ~ \"?[a-p]*\" || u8 == 0",
		"CPU & CPUS{0-0}",
	};
	const size_t n = sizeof(texts) / sizeof(texts[0]);
	struct event_record *record = new_record();
	struct filter *both;
	struct fixture f;

	(void)state;
	fixture_init(&f, FIXTURE_CORPUS);
	for (size_t i = 0; i < n * n; i++) {
		struct filter *a = parsed(&f, texts[i / n]), *b = parsed(&f, texts[i % n]);

		assert_int_equal(filter_both(a, b, &both), 0);
		assert_int_equal(both == NULL, !a && !b);
		for (size_t k = 0; k < N_HITS * 2; k++) {
			fixture_record(&f, &hits[k / 2], record);
			record->cpu = k % 2 ? 0 : 7;
			if (filter_match(both, record) !=
			    (filter_match(a, record) && filter_match(b, record)))
				fail_msg("%s and %s: hit %zu", texts[i / n], texts[i % n],
					 k / 2);
		}
		filter_free(a);
		filter_free(b);
		filter_free(both);
	}
	free(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares_numbers_in_the_size_of_the_field),
		cmocka_unit_test(matches_patterns),
		cmocka_unit_test(takes_a_failed_string_for_an_empty_one),
		cmocka_unit_test(knows_the_cpu),
		cmocka_unit_test(takes_numbers_for_cpus),
		cmocka_unit_test(knows_the_fields_of_every_event),
		cmocka_unit_test(survives_records_that_lack_the_field),
		cmocka_unit_test(makes_a_flat_program),
		cmocka_unit_test(evaluates_what_was_written),
		cmocka_unit_test(reports_what_the_kernel_reports),
		cmocka_unit_test(shows_the_text_without_trailing_blanks),
		cmocka_unit_test(zero_is_no_filter),
		cmocka_unit_test(holds_the_largest_filters),
		cmocka_unit_test(two_pass_what_both_pass),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
