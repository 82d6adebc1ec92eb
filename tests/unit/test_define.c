/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Definitions alone, with nobody who traces or plants: texts become probes, or are refused whole; what the options say;
 * files that are known; probes that outlive what made them. It is linked with the rooms up to define and no other (GNUmakefile).
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/define/definitions.h"
#include "engine/elf/object.h"
#include "engine/space/uprobe.h"
#include "engine/spec/probe.h"

#define SELF "/proc/self/exe"

/* What is probed. */
__attribute__((noinline, used)) static int defined_one(int n)
{
	return n * 3 + 1;
}

__attribute__((noinline, used)) static int defined_two(int n)
{
	return n * 5 + 2;
}

__attribute__((noinline, used)) static int defined_three(int n)
{
	return n * 7 + 3;
}

static struct definitions *make(const struct definitions_options *given)
{
	struct definitions_options opt = *given;
	struct definitions *defs = NULL;
	struct ubp_err err;

	opt.arch = ubp_host_arch();
	if (!opt.traces)
		opt.traces = ubp_host_traces;
	if (definitions_new(&opt, &defs, &err) < 0)
		fail_msg("%s", err.text);
	return defs;
}

static struct definitions *make_plain(void)
{
	return make(&(struct definitions_options){ .no_jumps = "nobody wants them" });
}

static void add(struct definitions *defs, const char *text)
{
	struct ubp_err err;

	if (definitions_add(defs, text, NULL, &err) < 0)
		fail_msg("%s: %s", text, err.text);
}

static void texts_become_probes(void **state)
{
	struct definitions *defs = make_plain();
	const struct spec_probe *spec;
	const struct uprobe *probe;
	const char *why, *line;

	(void)state;
	add(defs, "p:mine/first " SELF ":defined_one");
	add(defs, "r:" SELF ":defined_two");
	assert_int_equal(definitions_n(defs), 2);
	spec = definitions_spec(defs, 0);
	probe = definitions_uprobe(defs, 0);
	assert_string_equal(spec->group, "mine");
	assert_string_equal(spec->event, "first");
	assert_int_equal(probe->kind, PROBE_ENTRY);
	assert_int_equal(probe->number, 0);
	assert_int_equal(probe->foffset, spec->offset);
	assert_true(probe->code.len > 0);
	assert_ptr_equal(probe->arch, ubp_host_arch());
	assert_non_null(strstr(probe->what, ":defined_one"));
	assert_non_null(strstr(definitions_listing(defs, 0), "p:mine/first " SELF));
	line = definitions_for_kernel(defs, 0, &why);
	assert_non_null(line);
	assert_string_equal(line, definitions_listing(defs, 0));
	assert_non_null(strstr(definitions_explain(defs, 0), "nobody wants them"));
	assert_int_equal(definitions_uprobe(defs, 1)->kind, PROBE_RETURN);
	assert_int_equal(definitions_uprobe(defs, 1)->number, 1);
	definitions_free(defs);
}

static void all_of_a_text_or_nothing(void **state)
{
	static const char text[] = "p " SELF ":defined_one\np " SELF ":no_such_function\n";
	struct definitions *defs = make_plain();
	struct ubp_err err;

	(void)state;
	add(defs, "p:" SELF ":defined_two");
	assert_int_equal(definitions_add_events(defs, text, strlen(text), NULL, &err), -ENOENT);
	assert_int_equal(err.line, 2);
	assert_true(err.has_caret);
	assert_int_equal(definitions_n(defs), 1);
	assert_int_equal(definitions_add(defs, "p:" SELF ":defined_one", "nothing == 1", &err),
			 -EINVAL);
	assert_int_equal(definitions_n(defs), 1);
	/* It can go on. */
	assert_false(definitions_are_given_up(defs));
	add(defs, "p:" SELF ":defined_three");
	assert_int_equal(definitions_n(defs), 2);
	definitions_free(defs);
}

static bool traces_nothing(const struct ubp_arch *arch)
{
	(void)arch;
	return false;
}

static void options_decide(void **state)
{
	static const char *const exclude[] = { "*_two", NULL };
	struct definitions *defs = make(&(struct definitions_options){ .strict = true });
	struct ubp_err err;

	(void)state;
	assert_true(definitions_add(defs, "p " SELF ":defined_one", NULL, &err) < 0);
	definitions_free(defs);

	defs = make(&(struct definitions_options){ .traces = traces_nothing });
	assert_int_equal(definitions_add(defs, "p:" SELF ":defined_one", NULL, &err), -ENOTSUP);
	definitions_free(defs);

	defs = make(
		&(struct definitions_options){ .traces = traces_nothing, .files_only = true });
	add(defs, "p:" SELF ":defined_one");
	definitions_free(defs);

	defs = make(&(struct definitions_options){ .exclude = exclude });
	add(defs, "p:" SELF ":defined_t*");
	assert_int_equal(definitions_n(defs), 1);
	assert_string_equal(definitions_spec(defs, 0)->event, "defined_three");
	definitions_free(defs);
}

/* Two of one file, by two names of it. */
static void files_are_known_once(void **state)
{
	struct definitions *defs = make_plain();
	struct defined_file file;
	const struct definition_file *pos = NULL;
	const struct object *object;

	(void)state;
	assert_false(definitions_next_file(defs, &pos, &file));
	add(defs, "p:" SELF ":defined_one");
	add(defs, "p:/proc/thread-self/exe:defined_two");
	assert_true(definitions_next_file(defs, &pos, &file));
	assert_string_equal(file.path, SELF);
	object = definitions_object(defs, 1);
	assert_ptr_equal(file.object, object);
	assert_ptr_equal(definitions_object_of(definitions_uprobe(defs, 0)), object);
	assert_ptr_equal(definitions_file_of(defs, file.maps_dev, file.maps_ino), object);
	assert_null(definitions_file_of(defs, file.maps_dev, file.maps_ino + 1));
	assert_false(definitions_next_file(defs, &pos, &file));
	definitions_free(defs);
}

/* As those that are added while a session runs: they have references of their own. */
static void probes_outlive_definitions(void **state)
{
	struct definitions *defs = make_plain(), *others = make_plain();
	struct uprobe *probe, *taken;

	(void)state;
	add(defs, "p:" SELF ":defined_one");
	add(others, "p:" SELF ":defined_two");
	assert_int_equal(definitions_settle(defs), 0);
	probe = uprobe_get(definitions_uprobe(defs, 0));
	taken = definitions_take_uprobe(others, 0);
	assert_null(definitions_uprobe(others, 0));
	assert_true(uprobe_is_shared(probe));
	assert_false(uprobe_is_shared(taken));
	definitions_free(defs);
	definitions_free(others);
	assert_false(uprobe_is_shared(probe));
	assert_non_null(strstr(probe->what, ":defined_one"));
	assert_non_null(strstr(taken->what, ":defined_two"));
	uprobe_put(probe);
	uprobe_put(taken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_become_probes),
		cmocka_unit_test(all_of_a_text_or_nothing),
		cmocka_unit_test(options_decide),
		cmocka_unit_test(files_are_known_once),
		cmocka_unit_test(probes_outlive_definitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
