/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names of C++ and Rust, and what only looks like one. */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/symbols/demangle.h"

static void test_names(void **state)
{
	static const struct {
		const char *name, *full, *brief;
	} names[] = {
		{ "_ZN2ns1fEi", "ns::f(int)", "ns::f" },
		{ "_ZNK2ns5Class6methodEPKcj",
		  "ns::Class::method(char const*, unsigned int) const", "ns::Class::method" },
		{ "_Z3maxIiET_S0_S0_", "int max<int>(int, int)", "max<int>" },
		{ "_ZN2ns3VecplERKS0_", "ns::Vec::operator+(ns::Vec const&)",
		  "ns::Vec::operator+" },
		{ "_ZN2ns1fEi.part.0", "ns::f(int) [clone .part.0]", "ns::f [clone .part.0]" },
		{ "_ZTV3Foo", "vtable for Foo", "vtable for Foo" },
		{ "_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()",
		  "(anonymous namespace)::f" },
		/* Rust, legacy and v0. */
		{ "_ZN5crate3mod4func17h0123456789abcdefE", "crate::mod::func",
		  "crate::mod::func" },
		{ "_RNvNtCs1234_7mycrate3mod4func", "mycrate::mod::func",
		  "mycrate::mod::func" },
		{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>",
		  "std::mem::align_of::<f64>" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *full = demangle(names[i].name), *brief = demangle_short(names[i].name);

		assert_non_null(full);
		assert_non_null(brief);
		assert_string_equal(full, names[i].full);
		assert_string_equal(brief, names[i].brief);
		free(full);
		free(brief);
	}
}

static void test_others(void **state)
{
	static const char *const names[] = {
		"",       "_",   "main", "read.part.0",   "_Z", "_R", "Z",
		"_start", "_ZN", "_Zf",  "_ZN2ns1fEi\x01"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_null(demangle(names[i]));
		assert_null(demangle_short(names[i]));
	}
}

/* A name of @n bytes of @fill between @head and @tail. */
static char *long_name(const char *head, const char *fill, size_t n, const char *tail)
{
	char *name = calloc(1, strlen(head) + n * strlen(fill) + strlen(tail) + 1), *at = name;

	assert_non_null(name);
	at = stpcpy(at, head);
	for (size_t i = 0; i < n; i++)
		at = stpcpy(at, fill);
	stpcpy(at, tail);
	return name;
}

static void take(char *name)
{
	free(demangle(name));
	free(demangle_short(name));
	free(name);
}

/* Whoever made the file may want us to run out of stack, of memory, or of time. */
static void *take_hostile(void *arg)
{
	static const size_t lengths[] = { 100, 500, 1000, 4000, 1000000 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t n = lengths[i];

		take(long_name("_Z1f", "P", n, "i"));
		take(long_name("_Z1f", "N", n, ""));
		take(long_name("_Z1fI", "I", n, ""));
		take(long_name("_Z1fDpDp", "FvvE", n, ""));
		take(long_name("_RNv", "N", n, "C1a1b"));
		take(long_name("_RMC1a", "R", n, "e"));
		take(long_name("_RINvC1a1f", "T", n, "E"));
		take(long_name("_Z", "L_Z", n, "1fv"));
	}
	return arg;
}

/* Each type is a pair of the one before: 2^40 names. */
static char *doubling_cpp(void)
{
	char *name = calloc(1, 4096), *at = name;

	assert_non_null(name);
	at = stpcpy(at, "_Z1f1AIiiE");
	for (unsigned i = 0; i < 35; i++)
		at += sprintf(at, i ? "S_IS%c_S%c_E" : "S_IS0_S0_E",
			      i < 9 ? '0' + i : 'A' + i - 9, i < 9 ? '0' + i : 'A' + i - 9);
	return name;
}

/* Pairs of back references: each prints the one before it twice. */
static char *doubling_rust(void)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *name = calloc(1, 4096), *at = name;
	size_t last;

	assert_non_null(name);
	at = stpcpy(at, "_RINvC1a1f");
	last = (size_t)(at - name) - 2;
	at = stpcpy(at, "TeeE");
	for (unsigned i = 0; i < 40; i++) {
		size_t here = (size_t)(at - name) - 2, n = last - 1;
		char ref[4] = { 'B', digits[n / 62], digits[n % 62], '\0' };

		if (n < 62)
			memmove(ref + 1, ref + 2, 2);
		at += sprintf(at, "T%s_%s_E", ref, ref);
		last = here;
	}
	stpcpy(at, "E");
	return name;
}

static void test_hostile(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	/* As small as a thread's stack may well be. */
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, 1 << 20), 0);
	assert_int_equal(pthread_create(&thread, &attr, take_hostile, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
	take(doubling_cpp());
	take(doubling_rust());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
