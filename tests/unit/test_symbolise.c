/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names for addresses: of this program, which is what it looks at. */

#include <dlfcn.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/os/maps.h"
#include "engine/stack/maps_set.h"
#include "engine/stack/perf_map.h"
#include "engine/stack/symbolise.h"
#include "tests/unit/record_make.h"
#include "tests/unit/temp.h"

static struct stack_maps_set *set;
static struct symboliser *symboliser;
static struct event_record *record;
static struct sink_frame frames[SINK_FRAMES_MAX];

static void start(bool is_cfi)
{
	struct symboliser_options options = { .is_cfi = is_cfi };
	struct ubp_err err;
	struct maps maps;

	ubp_err_reset(&err);
	set = stack_maps_set_new();
	options.maps = set;
	assert_non_null(set);
	assert_int_equal(symboliser_new(&options, &symboliser, &err), 0);
	record = record_make();
	record->pid = getpid();
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	record->maps = stack_maps_set_add(set, getpid(), &maps);
	assert_int_equal(record->maps, 1);
}

static void stop(void)
{
	symboliser_free(symboliser);
	stack_maps_set_free(set);
	free(record);
}

/* Entry @i of a stack with these. */
static const struct sink_frame *name(size_t i, const uint64_t *stack, size_t n)
{
	record_put_stack(record, stack, n);
	assert_true(symboliser_resolve(symboliser, record, i, frames) >= 1);
	assert_int_equal(frames[0].vaddr, stack[i]);
	return &frames[0];
}

static const struct sink_frame *name_one(uint64_t vaddr)
{
	return name(0, &vaddr, 1);
}

__attribute__((noinline)) static int twice(int x)
{
	return 2 * x;
}

/* --- files ------------------------------------------------------------------------- */

static void names_functions(void **state)
{
	uint64_t at = (uint64_t)(uintptr_t)twice, stack[2] = { at + 1, at };
	const struct sink_frame *frame;
	char exe[4096] = "";

	(void)state;
	start(false);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	frame = name(0, stack, 2);
	assert_string_equal(frame->function, "twice");
	assert_int_equal(frame->offset, 1);
	assert_string_equal(frame->file, exe);
	assert_false(frame->is_inlined);
	/* The end of a call is its caller's, though another function starts there. */
	frame = name(1, stack, 2);
	assert_true(!frame->function || strcmp(frame->function, "twice") != 0);
	/* And once more, from what is kept. */
	assert_string_equal(name(0, stack, 2)->function, "twice");
	stop();
}

static void names_a_library_s(void **state)
{
	const struct sink_frame *frame;

	(void)state;
	start(false);
	frame = name_one((uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version") + 1);
	assert_string_equal(frame->function, "gnu_get_libc_version");
	assert_int_equal(frame->offset, 1);
	assert_non_null(strstr(frame->file, "libc"));
	stop();
}

static void names_the_vdso_s(void **state)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	static const char *const names[][2] = { { "__vdso_clock_gettime", "LINUX_2.6" },
						{ "__kernel_clock_gettime", "LINUX_2.6.39" } };
	void *at = NULL;
	const struct sink_frame *frame;

	(void)state;
	for (size_t i = 0; vdso && !at && i < 2; i++)
		at = dlvsym(vdso, names[i][0], names[i][1]);
	if (!at)
		skip();
	start(false);
	frame = name_one((uint64_t)(uintptr_t)at + 1);
	assert_non_null(frame->function);
	assert_non_null(strstr(frame->function, "clock_gettime"));
	assert_string_equal(frame->file, "[vdso]");
	stop();
}

/* What is in no file tells where it is. */
static void tells_of_other_memory(void **state)
{
	void *anon =
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct sink_frame *frame;

	(void)state;
	start(false);
	frame = name_one((uint64_t)(uintptr_t)anon + 8);
	assert_null(frame->function);
	assert_string_equal(frame->file, "//anon");
	assert_int_equal(frame->file_vaddr, 0);
	munmap(anon, 4096);
	frame = name_one(0x1234);
	assert_null(frame->function);
	assert_null(frame->file);
	stop();
}

/* Who is mapped later, without a word, is looked for. */
static void finds_what_is_new(void **state)
{
	const struct sink_frame *frame;
	void *anon;

	(void)state;
	start(false);
	anon = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	frame = name_one((uint64_t)(uintptr_t)anon + 8);
	assert_string_equal(frame->file, "//anon");
	munmap(anon, 4096);
	record->maps = 0;
	assert_string_equal(name_one((uint64_t)(uintptr_t)twice)->function, "twice");
	stop();
}

/* --- processes that have ended -------------------------------------------------------- */

static void names_after_the_end(void **state)
{
	char path[TEMP_LEN], command[8192], *text, *elsewhere;
	struct ubp_err err;
	struct maps maps;
	char line[4200];
	FILE *file;

	(void)state;
	temp_file(path);
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int)getpid(), path);
	assert_int_equal(system(command), 0);
	start(false);
	/* A process that had the copy where we have ourselves, and is gone. */
	ubp_err_reset(&err);
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	text = calloc(1, 1 << 20);
	assert_non_null(text);
	file = fopen(path, "r");
	assert_non_null(file);
	for (size_t i = 0; i < maps.n; i++) {
		const struct mapping *m = &maps.v[i];
		uint64_t dev, ino;

		if (!m->exec || !strstr(m->path, "test_symbolise"))
			continue;
		assert_int_equal(maps_identity(fileno(file), &dev, &ino), 0);
		snprintf(line, sizeof(line), "%lx-%lx r-xp %08lx %02lx:%02lx %lu %s\n",
			 (unsigned long)m->start, (unsigned long)m->end,
			 (unsigned long)m->foffset, (unsigned long)(dev >> 8 & 0xfff),
			 (unsigned long)(dev & 0xff), (unsigned long)ino, path);
		strcat(text, line);
	}
	maps_free(&maps);
	elsewhere = strdup(text);
	assert_int_equal(maps_parse(text, &maps), 0);
	assert_true(maps.n > 0);
	maps.is_our_root = true;
	record->maps = stack_maps_set_add(set, 0x7ffffff0, &maps);
	record->pid = 0x7ffffff0;
	fclose(file);
	assert_string_equal(name_one((uint64_t)(uintptr_t)twice)->function, "twice");
	assert_string_equal(frames[0].file, path);
	stop();
	/* In a root of its own that name was another's: it is not looked up in ours. */
	start(false);
	assert_int_equal(maps_parse(elsewhere, &maps), 0);
	record->maps = stack_maps_set_add(set, 0x7ffffff0, &maps);
	record->pid = 0x7ffffff0;
	assert_null(name_one((uint64_t)(uintptr_t)twice)->function);
	assert_string_equal(frames[0].file, path);
	stop();
	/* Another file of that name is not believed. */
	unlink(path);
}

static void a_replaced_file_is_not_believed(void **state)
{
	struct maps maps;
	char *text;

	(void)state;
	start(false);
	text = strdup("400000-500000 r-xp 00000000 00:01 12345 /bin/sh\n");
	assert_int_equal(maps_parse(text, &maps), 0);
	record->maps = stack_maps_set_add(set, 0x7ffffff0, &maps);
	record->pid = 0x7ffffff0;
	assert_null(name_one(0x401234)->function);
	assert_string_equal(frames[0].file, "/bin/sh");
	assert_int_equal(frames[0].file_vaddr, 0x1234);
	stop();
}

/* --- signals ---------------------------------------------------------------------------- */

static uint64_t restorer;

static void on_signal(int sig)
{
	(void)sig;
	restorer = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* It is returned to at its first byte; what it came to is no call. */
static void knows_signal_frames(void **state)
{
	uint64_t stack[3];

	(void)state;
	assert_true(signal(SIGUSR1, on_signal) != SIG_ERR);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
	stack[0] = (uint64_t)(uintptr_t)on_signal;
	stack[1] = restorer;
	stack[2] = (uint64_t)(uintptr_t)twice;
	start(true);
	assert_string_equal(name(2, stack, 3)->function, "twice");
	stop();
	start(false);
	assert_true(!name(2, stack, 3)->function || strcmp(frames[0].function, "twice") != 0);
	stop();
}

/* --- code that a program made itself ----------------------------------------------------- */

static void reads_perf_maps(void **state)
{
	uint64_t at = 0x7e0000001000, start_of;
	struct perf_map *map;
	const char *found;
	char path[64];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%" PRIx64 " 100 LazyCompile:~run /a b.js:12\n", at);
	fprintf(file, "nonsense\n-1 5 minus\n%" PRIx64 " 0 empty\n", at + 0x400);
	fprintf(file, "%" PRIx64 " 40 Interpreter\n", at + 0x200);
	fprintf(file, "%" PRIx64 " 20 newer\n", at + 0x210);
	fprintf(file, "%" PRIx64 " 10 cut", at + 0x300);
	fclose(file);
	map = perf_map_new(getpid(), true, &(struct perf_map_warn){ NULL, NULL });
	found = perf_map_at(map, at + 0xff, &start_of);
	assert_string_equal(found, "LazyCompile:~run /a b.js:12");
	assert_int_equal(start_of, at);
	assert_null(perf_map_at(map, at + 0x100, &start_of));
	assert_null(perf_map_at(map, at - 1, &start_of));
	assert_null(perf_map_at(map, at + 0x400, &start_of));
	assert_null(perf_map_at(map, at + 0x300, &start_of));
	assert_string_equal(perf_map_at(map, at + 0x20f, &start_of), "Interpreter");
	assert_string_equal(perf_map_at(map, at + 0x210, &start_of), "newer");
	assert_string_equal(perf_map_at(map, at + 0x230, &start_of), "Interpreter");
	perf_map_free(map);
	start(false);
	assert_string_equal(name_one(at + 5)->function, "LazyCompile:~run /a b.js:12");
	assert_int_equal(frames[0].offset, 5);
	stop();
	unlink(path);
	/* Somebody else's is not believed. */
	if (geteuid() == 0) {
		file = fopen(path, "w");
		fprintf(file, "%" PRIx64 " 100 theirs\n", at);
		fclose(file);
		assert_int_equal(chown(path, 12345, 12345), 0);
		map = perf_map_new(getpid(), true, &(struct perf_map_warn){ NULL, NULL });
		assert_null(perf_map_at(map, at, &start_of));
		perf_map_free(map);
		unlink(path);
	}
}

/* --- the set -------------------------------------------------------------------------------- */

static void keeps_what_is_new(void **state)
{
	struct ubp_err err;
	struct maps maps;
	void *anon;
	pid_t pid;

	(void)state;
	start(false);
	ubp_err_reset(&err);
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	assert_int_equal(stack_maps_set_add(set, getpid(), &maps), 1);
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	assert_int_equal(stack_maps_set_add(set, 77, &maps), 2);
	anon = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	assert_int_equal(stack_maps_set_add(set, getpid(), &maps), 3);
	munmap(anon, 4096);
	assert_non_null(stack_maps_set_get(set, 2, &pid));
	assert_int_equal(pid, 77);
	assert_null(stack_maps_set_get(set, 0, &pid));
	assert_null(stack_maps_set_get(set, 4, &pid));
	stop();
}

static uint32_t add_text(pid_t pid, const char *text)
{
	struct maps maps;

	assert_int_equal(maps_parse(strdup(text), &maps), 0);
	return stack_maps_set_add(set, pid, &maps);
}

/* Of processes that have ended nothing stays, but for what others have alike. */
static void forgets_who_has_ended(void **state)
{
	static const char one[] = "400000-500000 r-xp 00000000 00:01 12345 /bin/one\n";
	static const char two[] = "400000-500000 r-xp 00000000 00:01 12346 /bin/two\n";
	uint32_t first, second, other;
	pid_t pid;

	(void)state;
	start(false);
	first = add_text(77, one);
	second = add_text(77, two);
	other = add_text(78, two);
	stack_maps_set_gone(set, second);
	stack_maps_set_gone(set, second);
	assert_int_equal(stack_maps_set_n_gone(set), 2);
	stack_maps_set_sweep(set, 1);
	assert_non_null(stack_maps_set_get(set, first, &pid));
	symboliser_forget(symboliser);
	stack_maps_set_sweep(set, UINT64_MAX);
	assert_int_equal(stack_maps_set_n_gone(set), 0);
	assert_null(stack_maps_set_get(set, first, &pid));
	assert_null(stack_maps_set_get(set, second, &pid));
	assert_string_equal(stack_maps_set_get(set, other, &pid)->v[0].path, "/bin/two");
	/* The number of the process is another's now. */
	first = add_text(77, two);
	assert_int_equal(first, other + 1);
	stack_maps_set_gone(set, first);
	second = add_text(77, two);
	assert_int_equal(second, first + 1);
	stack_maps_set_sweep(set, UINT64_MAX);
	assert_null(stack_maps_set_get(set, first, &pid));
	assert_int_equal(add_text(77, two), second);
	assert_non_null(stack_maps_set_get(set, 1, &pid));
	assert_string_equal(name_one((uint64_t)(uintptr_t)twice)->function, "twice");
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_functions),
		cmocka_unit_test(names_a_library_s),
		cmocka_unit_test(names_the_vdso_s),
		cmocka_unit_test(tells_of_other_memory),
		cmocka_unit_test(finds_what_is_new),
		cmocka_unit_test(names_after_the_end),
		cmocka_unit_test(a_replaced_file_is_not_believed),
		cmocka_unit_test(knows_signal_frames),
		cmocka_unit_test(reads_perf_maps),
		cmocka_unit_test(keeps_what_is_new),
		cmocka_unit_test(forgets_who_has_ended),
	};

	assert_true(twice(2) == 4);
	return cmocka_run_group_tests_name("symbolise", tests, NULL, NULL);
}
