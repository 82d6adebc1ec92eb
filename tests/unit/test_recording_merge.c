/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Several recordings as one: rotated files, files that others were appended to, hosts with clocks of their own. */

#include "engine/recording/merge.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/spec/spec.h"
#include "tests/unit/recording_make.h"

#define N_FILES 60

static char folder[32];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/ubp-merge-XXXXXX");
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static int drop_folder(void **state)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	(void)state;
	while (dir && (entry = readdir(dir)))
		(void)unlink(entry->d_name);
	if (dir)
		closedir(dir);
	return chdir("/") || rmdir(folder);
}

/* --- recordings --------------------------------------------------------------------------- */

static struct recording_merge *open_all(const char *const *paths, size_t n,
					enum recording_align align, const int64_t *ns)
{
	struct recording_merge_options options = { align, ns };
	struct recording_merge *merge;
	struct ubp_err err;

	ubp_err_reset(&err);
	if (recording_merge_open(paths, n, &options, &merge, &err) < 0)
		fail_msg("%s", err.text);
	return merge;
}

static const struct event_record *next(struct recording_merge *merge)
{
	const struct event_record *record = NULL;
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_true(recording_merge_next(merge, &record, &err) >= 0);
	return record;
}

static void expect(struct recording_merge *merge, int number, int64_t time, const char *host)
{
	const struct event_record *record = next(merge);
	const char *is = recording_merge_host(merge);

	assert_non_null(record);
	assert_int_equal(record->pid, number);
	assert_int_equal(record->time, time);
	if (!host)
		assert_null(is);
	else
		assert_string_equal(is, host);
}

/* --- tests --------------------------------------------------------------------------------- */

static void reads_what_was_appended(void **state)
{
	struct recording_make_host host = { "a", "boot", 100 * SECOND, 900 * SECOND };
	struct recording_make_host later = { "a", "boot", 105 * SECOND, 905 * SECOND };
	const char *path = "f";
	struct recording_merge *merge;

	(void)state;
	recording_make_file(path, &host, false, 0, 3);
	recording_make_file(path, &later, true, 3, 2);
	merge = open_all(&path, 1, RECORDING_ALIGN_NOT, NULL);
	assert_int_equal(recording_merge_n_parts(merge), 2);
	for (int i = 0; i < 5; i++)
		expect(merge, i, (i < 3 ? 100 + i : 102 + i) * SECOND, NULL);
	assert_null(next(merge));
	recording_merge_free(merge);
}

static void puts_clocks_together(void **state)
{
	/* b begins half a second behind a; its clock says something else. */
	struct recording_make_host a = { "a", "one", 1000 * SECOND, 5000 * SECOND };
	struct recording_make_host b = { "b", "two", 7 * SECOND, 5000 * SECOND + SECOND / 2 };
	const char *paths[] = { "a", "b" };
	struct recording_merge_options options = { RECORDING_ALIGN_NOT, NULL };
	const int64_t by = 990 * SECOND;
	struct recording_merge *merge;
	struct ubp_err err;

	(void)state;
	recording_make_file("a", &a, false, 0, 3);
	recording_make_file("b", &b, false, 10, 3);
	ubp_err_reset(&err);
	assert_int_equal(recording_merge_open(paths, 2, &options, &merge, &err), -EINVAL);
	assert_non_null(strstr(err.text, "the clocks of a and b are not the same"));
	merge = open_all(paths, 2, RECORDING_ALIGN_REAL, NULL);
	for (int i = 0; i < 3; i++) {
		expect(merge, i, (1000 + i) * SECOND, "a");
		expect(merge, 10 + i, (1000 + i) * SECOND + SECOND / 2, "b");
	}
	assert_null(next(merge));
	recording_merge_free(merge);
	merge = open_all(paths, 2, RECORDING_ALIGN_BY, &by);
	for (int i = 0; i < 3; i++)
		expect(merge, 10 + i, (997 + i) * SECOND, "b");
	expect(merge, 0, 1000 * SECOND, "a");
	recording_merge_free(merge);
}

static size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Given in any order; no more are open than overlap. */
static void opens_files_when_they_are_due(void **state)
{
	const char *paths[N_FILES];
	char names[N_FILES][16];
	struct recording_merge *merge;
	size_t before, most = 0;

	(void)state;
	for (int i = 0; i < N_FILES; i++) {
		int turn = (i * 7) % N_FILES;
		struct recording_make_host host = { "a", NULL, (100 + 5 * turn) * SECOND,
						    (500 + 5 * turn) * SECOND };

		(void)snprintf(names[i], sizeof(names[i]), "f%d", i);
		paths[i] = names[i];
		recording_make_file(paths[i], &host, false, turn * 10, 4);
	}
	before = open_files();
	merge = open_all(paths, N_FILES, RECORDING_ALIGN_NOT, NULL);
	for (int i = 0; i < N_FILES; i++)
		for (int k = 0; k < 4; k++) {
			size_t n = open_files();

			expect(merge, i * 10 + k, (100 + 5 * i + k) * SECOND, NULL);
			most = n > most ? n : most;
		}
	assert_null(next(merge));
	assert_true(most <= before + 3);
	assert_int_equal(recording_merge_n_probes(merge), N_FILES);
	recording_merge_free(merge);
}

static void rotated(const char *path, unsigned keep, int n_files)
{
	struct recording_make_host host = { "a", "boot", 100 * SECOND, 500 * SECOND };
	struct recording_options options = { .path = path, .rotate = 2 << 20, .keep = keep };
	struct recording *recording;
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_int_equal(recording_new(&options, &recording, &err), 0);
	for (int i = 0; i < n_files; i++) {
		if (i)
			assert_int_equal(recording_next_file(recording, &err), 0);
		assert_int_equal(recording_add_json(recording, RECORDING_INFO,
						    recording_make_info(&host), &err),
				 0);
		recording_make_probe(recording, "p:grp/ev /bin/ls:0x1000");
		recording_make_hit(recording, host.clock_ns, i, 0);
		host.clock_ns += SECOND;
	}
	recording_make_end(recording);
}

static void tells_of_missing_files_and_copies(void **state)
{
	const char *paths[] = { "r", "r.4", "r.1", "r.4" };
	struct recording_damage damage;
	struct recording_merge *merge;
	uint64_t n_files, n_twice;

	(void)state;
	rotated("r", 0, 6);
	assert_int_equal(access("r.5", F_OK), 0);
	assert_int_equal(access("r.6", F_OK), -1);
	merge = open_all(paths, 3, RECORDING_ALIGN_NOT, NULL);
	expect(merge, 0, 100 * SECOND, NULL);
	expect(merge, 3, 103 * SECOND, NULL);
	expect(merge, 5, 105 * SECOND, NULL);
	assert_null(next(merge));
	recording_merge_damage(merge, &damage, &n_files, &n_twice);
	assert_int_equal(n_files, 3);
	assert_int_equal(n_twice, 0);
	assert_int_equal(damage.bytes | damage.blocks | damage.records, 0);
	/* The same probe in all of them. */
	assert_int_equal(recording_merge_n_probes(merge), 1);
	recording_merge_free(merge);
	merge = open_all(paths, 4, RECORDING_ALIGN_NOT, NULL);
	recording_merge_damage(merge, &damage, &n_files, &n_twice);
	assert_int_equal(n_files, 3);
	assert_int_equal(n_twice, 1);
	recording_merge_free(merge);
}

static void deletes_the_oldest(void **state)
{
	(void)state;
	rotated("r", 3, 6);
	assert_int_equal(access("r", F_OK) | access("r.5", F_OK) | access("r.4", F_OK), 0);
	assert_int_equal(access("r.3", F_OK), -1);
	assert_int_equal(access("r.1", F_OK), -1);
	rotated("one", 1, 3);
	assert_int_equal(access("one", F_OK), 0);
	assert_int_equal(access("one.1", F_OK), -1);
}

/* It says that it is of the same recording, and has another probe by the same number. */
static void has_no_probe_stand_for_another(void **state)
{
	struct recording_make_host host = { "a", "boot", 100 * SECOND, 500 * SECOND };
	struct recording *recording;
	const char *paths[] = { "a", "b" };
	const struct event_record *record;
	struct recording_merge *merge;
	struct recording_head head;
	FILE *f;

	(void)state;
	recording_make_file("a", &host, false, 0, 1);
	recording = recording_make_begin("b", &host, false);
	recording_make_probe(recording, "p:grp/ev /bin/ls:0x1000 a=%di:u64");
	recording_make_hit(recording, host.clock_ns + 1, 1, 8);
	recording_make_end(recording);
	f = fopen("a", "rb");
	assert_true(f && fread(&head, sizeof(head), 1, f) == 1);
	assert_int_equal(fclose(f), 0);
	f = fopen("b", "r+b");
	assert_true(f && fwrite(&head, sizeof(head), 1, f) == 1);
	assert_int_equal(fclose(f), 0);
	merge = open_all(paths, 2, RECORDING_ALIGN_NOT, NULL);
	assert_int_equal(recording_merge_n_probes(merge), 2);
	while ((record = next(merge)))
		assert_true(record->data_len >=
			    recording_merge_probe(merge, record->probe)->fixed_size);
	recording_merge_free(merge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_what_was_appended, make_folder,
						drop_folder),
		cmocka_unit_test_setup_teardown(puts_clocks_together, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(opens_files_when_they_are_due, make_folder,
						drop_folder),
		cmocka_unit_test_setup_teardown(tells_of_missing_files_and_copies, make_folder,
						drop_folder),
		cmocka_unit_test_setup_teardown(deletes_the_oldest, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(has_no_probe_stand_for_another, make_folder,
						drop_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
