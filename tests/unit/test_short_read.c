/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What is known of a target's files is kept. Memory that is short while one is read must leave no answer that says less than
 * there is: each allocation fails once, then the same is asked again, and the answer is whole.
 */

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/file_cost.h"
#include "engine/os/maps.h"
#include "engine/plant/hooks.h"
#include "engine/plant/watched_windows.h"
#include "engine/plant/sigaction.h"
#include "engine/plant/watch.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "tests/unit/short_memory.h"

/* --- memory ------------------------------------------------------------------------------- */

static unsigned until_fail; /* allocations; 0: none fails */
static bool has_failed;

static bool allocation_fails(const void *caller, size_t len)
{
	(void)caller, (void)len;
	if (until_fail == 0 || --until_fail > 0)
		return false;
	has_failed = true;
	return true;
}

/* The numbers of allocations that fail: all of the first, then fewer, since there are thousands. */
static unsigned next_number(unsigned k)
{
	return k + 1 + k / 16;
}

/* --- what is found ------------------------------------------------------------------------ */

#define FOUND_MAX 4096

struct found {
	size_t n;
	struct {
		uint64_t vaddr;
		unsigned watches;
	} v[FOUND_MAX];
};

static int note(void *ctx, const struct mapping *m, uint64_t vaddr, unsigned watches)
{
	struct found *found = ctx;

	(void)m;
	assert_true(found->n < FOUND_MAX);
	found->v[found->n].vaddr = vaddr;
	found->v[found->n++].watches = watches;
	return 0;
}

static int note_call(void *ctx, const struct mapping *m, uint64_t vaddr, enum site_watch watch)
{
	return note(ctx, m, vaddr, watch);
}

typedef void ask_fn(struct plant *plant, const struct maps *maps, struct found *ret_found);

static void ask_hooks(struct plant *plant, const struct maps *maps, struct found *ret_found)
{
	struct file_cost cost = { 0 };

	memset(ret_found, 0, sizeof(*ret_found));
	(void)hooks_each(plant, &cost, getpid(), maps, true, note, ret_found);
}

static void ask_calls(struct plant *plant, const struct maps *maps, struct found *ret_found)
{
	struct file_cost cost = { 0 };

	memset(ret_found, 0, sizeof(*ret_found));
	(void)sigaction_each(plant, ubp_host_arch(), &cost, getpid(), maps, note_call,
			     ret_found);
}

static void forget(struct plant *plant)
{
	hooks_free(plant);
	sigaction_free(plant);
	watched_windows_free(plant);
	*plant = (struct plant){ 0 };
}

static void is_whole_the_second_time(ask_fn *ask)
{
	static struct found whole, found;
	struct plant plant = { 0 };
	struct ubp_err err;
	struct maps maps;
	unsigned n = 0;

	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	ask(&plant, &maps, &whole);
	forget(&plant);
	assert_true(whole.n > 1);
	has_failed = true;
	for (unsigned k = 1; has_failed; k = next_number(k), n++) {
		has_failed = false;
		until_fail = k;
		ask(&plant, &maps, &found);
		until_fail = 0;
		ask(&plant, &maps, &found);
		if (found.n != whole.n ||
		    memcmp(found.v, whole.v, whole.n * sizeof(whole.v[0])) != 0)
			fail_msg("allocation %u: %zu of %zu places are found", k, found.n,
				 whole.n);
		forget(&plant);
	}
	assert_true(n > 10);
	maps_free(&maps);
}

static void hooks_are_found(void **state)
{
	(void)state;
	is_whole_the_second_time(ask_hooks);
}

static void calls_are_found(void **state)
{
	(void)state;
	is_whole_the_second_time(ask_calls);
}

/* --- windows ------------------------------------------------------------------------------ */

/* A space with one site, where an unwinder begins. */
static void make_site(struct site *site, struct space *space)
{
	void *unwinder = dlsym(dlopen("libgcc_s.so.1", RTLD_NOW), "_Unwind_RaiseException");
	const struct mapping *m;
	struct ubp_err err;
	struct maps maps;

	if (!unwinder)
		skip();
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	m = maps_at(&maps, (uint64_t)(uintptr_t)unwinder);
	assert_non_null(m);
	*site = (struct site){ .vaddr = (uint64_t)(uintptr_t)unwinder,
			       .dev = m->dev,
			       .ino = m->ino,
			       .foffset = (uint64_t)(uintptr_t)unwinder - m->start + m->foffset,
			       .planted = true,
			       .watches = WATCH_UNWIND | WATCH_OWN_STACK };
	maps_free(&maps);
	assert_non_null(plant_space_get(space));
	watch_begin(space->plant, true);
	assert_int_equal(map_put(&space->plant->sites, site->vaddr, site), 0);
}

static void windows_are_found(void **state)
{
	struct plant plant = { 0 };
	struct space space = { .arch = ubp_host_arch() };
	struct site site;
	unsigned n = 0;

	(void)state;
	if (!ubp_host_arch()->detour.scans)
		skip();
	make_site(&site, &space);
	assert_true(watched_windows_look(&plant, &space, getpid()));
	assert_non_null(site.window);
	assert_null(site.window->why);
	has_failed = true;
	for (unsigned k = 1; has_failed; k = next_number(k), n++) {
		bool is_known;

		forget(&plant);
		site.window = NULL;
		has_failed = false;
		until_fail = k;
		is_known = watched_windows_look(&plant, &space, getpid());
		until_fail = 0;
		/* Else nobody would ask again. */
		assert_int_equal(is_known, site.window != NULL);
		assert_true(watched_windows_look(&plant, &space, getpid()));
		if (!site.window || site.window->why)
			fail_msg("allocation %u: %s", k,
				 site.window ? site.window->why : "nothing");
	}
	assert_true(n > 10);
	forget(&plant);
	map_free(&space.plant->sites);
	plant_space_free(&space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hooks_are_found),
		cmocka_unit_test(calls_are_found),
		cmocka_unit_test(windows_are_found),
	};

	/* What may hold an unwinder. */
	(void)dlopen("libgcc_s.so.1", RTLD_NOW);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
