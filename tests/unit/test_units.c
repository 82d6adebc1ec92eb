/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Numbers with a unit, and sizes. */

#include "engine/base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void reads_units(void **state)
{
	static const struct {
		const char *text;
		bool is_signed, ok;
		uint64_t value;
	} cases[] = {
		{ "50ms", false, true, 50000000 },
		{ "0s", false, true, 0 },
		{ "7ns", false, true, 7 },
		{ "3us", false, true, 3000 },
		{ "2s", false, true, 2000000000 },
		{ "2min", false, true, 120000000000 },
		{ "1h", false, true, 3600000000000 },
		{ "4KiB", false, true, 4096 },
		{ "3MiB", false, true, 3 << 20 },
		{ "1GiB", false, true, 1 << 30 },
		{ "1TiB", false, true, 1ULL << 40 },
		{ "4kB", false, true, 4000 },
		{ "4MB", false, true, 4000000 },
		{ "4GB", false, true, 4000000000 },
		{ "4TB", false, true, 4000000000000 },
		{ "12B", false, true, 12 },
		{ "1.5ms", false, true, 1500000 },
		{ "1.5KiB", false, true, 1536 },
		{ "0.000001s", false, true, 1000 },
		{ "0.5ns", false, false, 0 },
		{ "0.0001us", false, false, 0 },
		{ "1.5B", false, false, 0 },
		{ "1.1KiB", false, false, 0 },
		{ "1.001us", false, true, 1001 },
		{ "0.0000001s", false, false, 0 },
		{ "-5us", true, true, (uint64_t)-5000 },
		{ "-1.5us", true, true, (uint64_t)-1500 },
		{ "-5us", false, false, 0 },
		{ "18446744073709551615ns", false, true, UINT64_MAX },
		{ "18446744073709551615us", false, false, 0 },
		{ "16777216TiB", false, false, 0 },
		{ "9223372036s", true, true, 9223372036000000000 },
		{ "9223372037s", true, false, 0 },
		{ "-8388608TiB", true, true, 1ULL << 63 },
		{ "50", false, false, 0 },
		{ "ms", false, false, 0 },
		{ "-ms", true, false, 0 },
		{ "50Ms", false, false, 0 },
		{ "50KIB", false, false, 0 },
		{ "50k", false, false, 0 },
		{ "010ms", false, false, 0 },
		{ "0x10ms", false, false, 0 },
		{ "0x1B", false, false, 0 },
		{ "1.ms", false, false, 0 },
		{ ".5ms", false, false, 0 },
		{ "1.5.5ms", false, false, 0 },
		{ "1a5ms", false, false, 0 },
		{ "", false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t value = 0;
		bool ok = units_number(cases[i].text, strlen(cases[i].text), cases[i].is_signed,
				       &value);

		if (ok != cases[i].ok || (ok && value != cases[i].value))
			fail_msg("%s: %d, %llu", cases[i].text, ok, (unsigned long long)value);
	}
}

static void reads_sizes(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t size;
	} cases[] = {
		{ "4194304", true, 4194304 },
		{ "4K", true, 4096 },
		{ "4KiB", true, 4096 },
		{ "4kB", true, 4000 },
		{ "1.5M", true, 3 << 19 },
		{ "2G", true, 2ULL << 30 },
		{ "1T", true, 1ULL << 40 },
		{ "12B", true, 12 },
		{ "16777215T", true, 16777215ULL << 40 },
		{ "16777216T", false, 0 },
		{ "18446744073709551616", false, 0 },
		{ "1.5", true, 1 },
		{ "1x", false, 0 },
		{ "1s", false, 0 },
		{ "1ms", false, 0 },
		{ "1h", false, 0 },
		{ "K", false, 0 },
		{ "KiB", false, 0 },
		{ "-1K", false, 0 },
		{ "1KK", false, 0 },
		{ "0x10", false, 0 },
		{ "", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t size = 0;
		bool ok = units_size(cases[i].text, strlen(cases[i].text), &size);

		if (ok != cases[i].ok || (ok && size != cases[i].size))
			fail_msg("%s: %d, %llu", cases[i].text, ok, (unsigned long long)size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_units),
		cmocka_unit_test(reads_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
