/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Recordings: what was written is read back, whole files and damaged ones. */

#include "engine/recording/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/event/ring_record.h"
#include "engine/recording/block.h"
#include "engine/recording/frame_json.h"
#include "engine/recording/probe_json.h"
#include "engine/recording/sample_json.h"
#include "engine/recording/writer.h"
#include "engine/spec/table.h"
#include "tests/unit/spec_fixture.h"

#define N_OF(v)   (sizeof(v) / sizeof((v)[0]))
#define N_LOOKS   4
#define N_RECORDS 10 /* of each thread and look */
#define N_THREADS 3

static const char definition[] =
	"p:grp/ev /bin/ls:0x1000 a=%di:s32 s=+0(%si):string b=+0(%dx):x64[3]";

static char path[64];

static int make_path(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/ubp-recording-XXXXXX");
	fd = mkstemp(path);
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static int drop_path(void **state)
{
	char old[sizeof(path) + 4];

	(void)state;
	(void)snprintf(old, sizeof(old), "%s.old", path);
	(void)unlink(old);
	return unlink(path);
}

/* --- a recording ------------------------------------------------------------------------- */

static struct spec_table *make_table(void)
{
	struct spec_env env = fixture_env(true);
	struct spec_table *table = spec_table_new(&env);
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_non_null(table);
	if (spec_table_write(table, definition, strlen(definition), &err) < 0)
		fail_msg("%s", err.text);
	return table;
}

struct made {
	struct ring_record head;
	uint8_t data[64];
};

/* Number @i of thread @thread: its values say which it is. */
static void make_record(struct made *made, uint64_t position, unsigned thread, unsigned i)
{
	const char text[] = "text";
	uint32_t word = (uint32_t)sizeof(text) << 16 | 32;

	memset(made, 0, sizeof(*made));
	made->head = (struct ring_record){
		.size = sizeof(*made),
		.commit = ring_commit(position),
		.time = 1000 + 10 * i + thread,
		.probe = i % 7 == 6 ? RING_VOID : 0,
		.cpu = (uint16_t)thread,
		.data_len = 32 + sizeof(text),
		.vaddr = 0x401000,
	};
	memcpy(made->data, &i, 4);
	memcpy(made->data + 4, &word, 4);
	memcpy(made->data + 32, text, sizeof(text));
}

static void add_ring(struct recording *recording, unsigned thread, unsigned from)
{
	for (unsigned i = from; i < from + N_RECORDS; i++) {
		struct made made;
		struct ring_taken taken = {
			.pid = 100,
			.tid = (pid_t)(100 + thread),
			.comm = "thread\0\0\0\0\0\0\0\0\0",
			.maps = 1,
			.size = sizeof(made),
			.counts = { { 0, 1 } },
			.n_counts = 1,
			.position = i * sizeof(made),
			.bytes = &made,
			.source = definition + thread,
		};

		make_record(&made, taken.position, thread, i);
		assert_true(recording_take(recording, &taken));
	}
}

static void add_stop(struct recording *recording, uint64_t time, bool is_gap)
{
	static const uint64_t stack[] = { 0x1234, 0x5678 };
	size_t size = sizeof(struct event_record) + 32 + sizeof(stack);
	struct event_record *stop = calloc(1, size);

	assert_non_null(stop);
	stop->size = (uint32_t)size;
	stop->kind = is_gap ? EVENT_LOST : EVENT_HIT;
	stop->n_stack = 2;
	stop->pid = stop->tid = 99;
	stop->time = time;
	stop->maps = 7;
	stop->n_lost = is_gap ? 5 : 0;
	stop->data_len = 32;
	memcpy(stop->data + 32, stack, sizeof(stack));
	assert_true(recording_add_stop(recording, stop));
	free(stop);
}

static void write_recording(int level)
{
	struct recording_options options = { .path = path, .level = level };
	struct spec_table *table = make_table();
	struct sink_frame frame = { .vaddr = 0x1234, .function = "f\"\xff", .offset = 4 };
	struct recording *recording;
	struct ubp_err err;

	ubp_err_reset(&err);
	if (recording_new(&options, &recording, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(recording_add_json(recording, RECORDING_INFO,
					    json_pack("{s:s}", "host", "here"), &err),
			 0);
	assert_int_equal(recording_add_json(
				 recording, RECORDING_PROBES,
				 json_pack("[o]", probe_to_json(0, spec_table_probe(table, 0))),
				 &err),
			 0);
	for (unsigned look = 0; look < N_LOOKS; look++) {
		unsigned from = look * N_RECORDS;
		struct ring_time_sample readings[2] = {
			{ 1000 + 10 * from, 1000000 + 100 * from },
			{ 1000 + 10 * (from + N_RECORDS), 1000000 + 100 * (from + N_RECORDS) },
		};

		recording_look_begin(recording, readings, 10);
		for (unsigned thread = 0; thread < N_THREADS; thread++)
			add_ring(recording, thread, from);
		add_stop(recording, readings[0].ns + 55, false);
		add_stop(recording, readings[1].ns - 5, look == 2);
		assert_int_equal(recording_look_end(recording, readings[1].ns, &err), 0);
	}
	assert_int_equal(
		recording_add_json(recording, RECORDING_NAMES,
				   json_pack("[o]", frames_to_json(7, 0x1234, true, &frame, 1)),
				   &err),
		0);
	assert_int_equal(recording_add_json(recording, RECORDING_END, json_pack("{}"), &err),
			 0);
	assert_int_equal(recording_close(recording, &err), 0);
	spec_table_free(table);
}

/* --- reading ------------------------------------------------------------------------------ */

struct got {
	unsigned rings, stops, gaps;
	struct recording_damage damage;
	bool is_late; /* its caller says: times are not those that records were given */
};

/* Read all of it: whatever the file is, times go forwards, and values are those of a thread's record. */
static bool read_recording(struct got *got)
{
	unsigned next[N_THREADS] = { 0 };
	struct recording_reader *reader;
	struct event_record *e;
	uint64_t time = 0;
	struct ubp_err err;
	bool is_late = got->is_late;
	int rc;

	*got = (struct got){ 0 };
	ubp_err_reset(&err);
	if (recording_open(path, 0, &reader, &err) < 0)
		return false;
	while ((rc = recording_next(reader, &e, &err)) > 0) {
		assert_true(e->time >= time);
		time = e->time;
		if (e->kind == EVENT_LOST) {
			assert_int_equal(e->n_lost, 5);
			got->gaps++;
		} else if (e->tid == 99) {
			assert_int_equal(e->n_stack, 2);
			got->stops++;
		} else {
			unsigned thread = (unsigned)e->tid - 100, i;

			memcpy(&i, e->data, 4);
			assert_true(thread < N_THREADS && i >= next[thread]);
			if (!is_late)
				assert_int_equal(e->time, 1000000 + 100 * i + 10 * thread);
			assert_string_equal(e->comm, "thread");
			assert_string_equal(e->data + 32, "text");
			assert_int_equal(e->ip, 0x401000);
			next[thread] = i + 1;
			got->rings++;
		}
	}
	assert_int_equal(rc, 0);
	recording_damage(reader, &got->damage);
	recording_reader_free(reader);
	return true;
}

/* Records whose number is 6 mod 7 are void. */
static unsigned n_rings(unsigned n_looks)
{
	unsigned n = n_looks * N_RECORDS;

	return N_THREADS * (n - (n / 7));
}

static void check_whole(const struct got *got)
{
	assert_int_equal(got->rings, n_rings(N_LOOKS));
	assert_int_equal(got->stops, 2 * N_LOOKS - 1);
	assert_int_equal(got->gaps, 1);
	assert_int_equal(got->damage.bytes | got->damage.blocks | got->damage.records, 0);
	assert_false(got->damage.is_cut);
}

static void reads_what_was_written(void **state)
{
	struct got got = { 0 };

	(void)state;
	for (int level = 0; level < 4; level++) {
		write_recording(level);
		assert_true(read_recording(&got));
		check_whole(&got);
	}
}

static void keeps_probes_and_names(void **state)
{
	struct spec_table *table = make_table();
	const struct spec_probe *is, *was = spec_table_probe(table, 0);
	struct sink_frame frames[SINK_FRAMES_MAX];
	struct recording_reader *reader;
	struct ubp_err err;

	(void)state;
	write_recording(0);
	ubp_err_reset(&err);
	assert_int_equal(recording_open(path, 0, &reader, &err), 0);
	is = recording_probe(reader, 0);
	assert_non_null(is);
	assert_null(recording_probe(reader, 1));
	assert_string_equal(is->group, "grp");
	assert_string_equal(is->event, "ev");
	assert_string_equal(is->path, was->path);
	assert_int_equal(is->offset, 0x1000);
	assert_int_equal(is->fixed_size, was->fixed_size);
	assert_int_equal(is->n_args, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(is->args[i].name, was->args[i].name);
		assert_int_equal(is->args[i].at, was->args[i].at);
		assert_int_equal(is->args[i].type.format, was->args[i].type.format);
		assert_int_equal(is->args[i].type.size, was->args[i].type.size);
		assert_int_equal(is->args[i].type.count, was->args[i].type.count);
	}
	assert_null(recording_name(reader, 7, 0x1234, false));
	assert_int_equal(
		frames_of_json(recording_name(reader, 7, 0x1234, true), 0x1234, frames), 1);
	assert_string_equal(frames[0].function, "f\"\\377");
	assert_int_equal(frames[0].offset, 4);
	assert_string_equal(json_string_value(json_object_get(recording_info(reader), "host")),
			    "here");
	recording_reader_free(reader);
	spec_table_free(table);
}

/* Names are printed as they are: what a terminal, or a reader of JSON, would take for something else is in none. */
static void takes_no_odd_names(void **state)
{
	static const char *const names[] = { "",    "a b", "a\r",     "\x1b[31m",
					     "a\"", "\\",  "\xc2\x9b" };
	struct spec_table *table = make_table();
	static const char *const keys[] = { "group", "event", "name" };
	struct spec_probe *probe;
	struct ubp_err err;
	unsigned number;

	(void)state;
	ubp_err_reset(&err);
	for (size_t i = 0; i < N_OF(names) * N_OF(keys); i++) {
		json_t *json = probe_to_json(0, spec_table_probe(table, 0));
		const char *key = keys[i % N_OF(keys)];
		json_t *of = strcmp(key, "name") == 0
				     ? json_array_get(json_object_get(json, "args"), 0)
				     : json;

		assert_int_equal(probe_of_json(json, &number, &probe, &err), 0);
		probe_of_json_free(probe);
		assert_int_equal(
			json_object_set_new(of, key, json_string(names[i / N_OF(keys)])), 0);
		assert_int_equal(probe_of_json(json, &number, &probe, &err), -EINVAL);
		json_decref(json);
	}
	spec_table_free(table);
}

static void takes_no_odd_samples(void **state)
{
	static const struct sample_plan plan = { 500,
						 true,
						 { .at = 24, .size = 8, .is_signed = true } };
	static const struct {
		const char *key;
		json_int_t value;
	} odd[] = { { "every", 0 }, { "every", 1LL << 31 }, { "at", -1 },
		    { "at", 25 },   { "size", 3 },          { "size", 16 } };
	struct sample_plan got;
	json_t *json = sample_to_json(&plan);

	(void)state;
	assert_true(sample_of_json(json, 32, &got));
	assert_int_equal(got.every, 500);
	assert_true(got.has_field && got.field.at == 24 && got.field.is_signed);
	assert_false(sample_of_json(json, 31, &got));
	for (size_t i = 0; i < N_OF(odd); i++) {
		json_t *other = json_copy(json);

		assert_int_equal(
			json_object_set_new(other, odd[i].key, json_integer(odd[i].value)), 0);
		assert_false(sample_of_json(other, 32, &got));
		json_decref(other);
	}
	json_decref(json);
}

/* --- damage --------------------------------------------------------------------------------- */

static uint8_t *load(size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *bytes;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*ret_len = (size_t)st.st_size;
	bytes = malloc(*ret_len);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *ret_len, f), *ret_len);
	(void)fclose(f);
	return bytes;
}

/* Over what is there: some file systems write to their disk at once what a file has that was emptied first. */
static void store(const uint8_t *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, 0), len);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(close(fd), 0);
}

/* Of a file that ends after @len bytes: so many looks are there whole. */
static unsigned whole_looks(const uint8_t *bytes, size_t len, bool *ret_has_end)
{
	size_t at = sizeof(struct recording_head);
	unsigned n = 0;

	*ret_has_end = false;
	while (at + sizeof(struct recording_block) <= len) {
		struct recording_block block;

		memcpy(&block, bytes + at, sizeof(block));
		at += sizeof(block) + block.stored;
		if (at > len)
			break;
		n += block.kind == RECORDING_LOOK;
		*ret_has_end |= block.kind == RECORDING_END;
		at += block_padding(block.stored);
	}
	return n;
}

/* Whatever byte it ends at: the blocks in front of that are read. */
static void is_read_up_to_where_it_ends(void **state)
{
	uint8_t *bytes;
	size_t len;

	(void)state;
	write_recording(1);
	bytes = load(&len);
	for (size_t cut = 0; cut < len; cut++) {
		bool has_end;
		unsigned n = whole_looks(bytes, cut, &has_end);
		struct got got = { 0 };

		store(bytes, cut);
		if (!read_recording(&got)) {
			assert_true(cut < sizeof(struct recording_head));
			continue;
		}
		assert_int_equal(got.rings, n_rings(n));
		assert_int_equal(got.damage.is_cut, !has_end);
	}
	free(bytes);
}

/* Is it in the head of a block? There each bit counts for itself. */
static bool is_in_head(const uint8_t *bytes, size_t len, size_t at)
{
	size_t begin = sizeof(struct recording_head);

	while (begin + sizeof(struct recording_block) <= len) {
		struct recording_block block;

		memcpy(&block, bytes + begin, sizeof(block));
		if (at < begin + sizeof(block))
			return at >= begin;
		begin += sizeof(block) + block.stored + block_padding(block.stored);
	}
	return false;
}

static void check_flipped(const uint8_t *bytes, size_t len)
{
	struct got got = { 0 };

	store(bytes, len);
	assert_true(read_recording(&got));
	if (got.rings == n_rings(N_LOOKS) && !got.damage.bytes && !got.damage.is_cut)
		return; /* what fills up to 8 bytes */
	assert_true(got.damage.bytes || got.damage.is_cut);
	assert_true(got.rings == n_rings(N_LOOKS) || got.rings == 0 ||
		    got.rings >= n_rings(N_LOOKS - 1) - N_THREADS);
}

/* A bit that is another one costs its block, and is told. */
static void a_changed_bit_costs_a_block(void **state)
{
	uint8_t *bytes;
	size_t len;

	(void)state;
	write_recording(0);
	bytes = load(&len);
	for (size_t at = sizeof(struct recording_head); at < len; at++) {
		bool is_head = is_in_head(bytes, len, at);

		for (unsigned bit = is_head ? 0 : at % 8; bit < (is_head ? 8 : at % 8 + 1);
		     bit++) {
			bytes[at] ^= (uint8_t)(1 << bit);
			check_flipped(bytes, len);
			bytes[at] ^= (uint8_t)(1 << bit);
		}
	}
	free(bytes);
}

/* Blocks whose checks are right, and whose bytes say anything. */
static void believes_no_block(void **state)
{
	size_t len, at;
	uint8_t *bytes;

	(void)state;
	srandom(42);
	write_recording(0);
	bytes = load(&len);
	for (unsigned round = 0; round < 4000; round++) {
		struct recording_block block;
		struct recording_reader *reader;
		struct event_record *e;
		uint8_t *copy = malloc(len);
		struct ubp_err err;

		assert_non_null(copy);
		memcpy(copy, bytes, len);
		for (at = sizeof(struct recording_head); at < len;
		     at += sizeof(block) + block.stored + block_padding(block.stored)) {
			memcpy(&block, copy + at, sizeof(block));
			for (unsigned n = (unsigned)random() % 4; n; n--) {
				size_t in = (size_t)random() % block.stored;
				uint8_t *byte = copy + at + sizeof(block) + in;

				*byte = random() % 2 ? (uint8_t)random()
						     : (uint8_t)(*byte ^ 1 << random() % 8);
			}
			block.check = block_check(&block, copy + at + sizeof(block));
			memcpy(copy + at, &block, sizeof(block));
		}
		store(copy, len);
		free(copy);
		ubp_err_reset(&err);
		if (recording_open(path, 0, &reader, &err) < 0)
			continue;
		while (recording_next(reader, &e, &err) > 0) {
			assert_true(e->data_len <= EVENT_DATA_MAX);
			assert_true(e->kind == EVENT_LOST || recording_probe(reader, e->probe));
			assert_true(e->size <= EVENT_RECORD_ROOM);
		}
		recording_reader_free(reader);
	}
	free(bytes);
}

/* One look says that all is known up to then, and the next one has what is older. */
static void has_time_go_forwards(void **state)
{
	struct recording_options options = { .path = path };
	struct ring_time_sample readings[2] = { { 1, 1 }, { 2, 2 } };
	struct recording *recording;
	struct spec_table *table = make_table();
	struct ubp_err err;
	struct got got = { 0 };

	(void)state;
	ubp_err_reset(&err);
	assert_int_equal(recording_new(&options, &recording, &err), 0);
	assert_int_equal(recording_add_json(
				 recording, RECORDING_PROBES,
				 json_pack("[o]", probe_to_json(0, spec_table_probe(table, 0))),
				 &err),
			 0);
	for (unsigned look = 0; look < 2; look++) {
		recording_look_begin(recording, readings, 1);
		if (look == 1)
			add_ring(recording, 0, 0);
		add_stop(recording, look ? 7000000 : 5000000, false);
		assert_int_equal(recording_look_end(recording, 6000000, &err), 0);
	}
	assert_int_equal(recording_close(recording, &err), 0);
	spec_table_free(table);
	got.is_late = true;
	assert_true(read_recording(&got));
	assert_int_equal(got.stops, 2);
	assert_int_equal(got.rings, N_RECORDS - 1);
}

/* --- the file ----------------------------------------------------------------------------------- */

static void spares_other_files(void **state)
{
	struct recording_options options = { .path = path };
	char old[sizeof(path) + 4];
	struct recording *recording;
	struct stat st;
	struct ubp_err err;

	(void)state;
	store((const uint8_t *)"hello\n", 6);
	ubp_err_reset(&err);
	assert_int_equal(recording_new(&options, &recording, &err), -EEXIST);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 6);
	store((const uint8_t *)"", 0);
	write_recording(0);
	write_recording(0);
	(void)snprintf(old, sizeof(old), "%s.old", path);
	assert_int_equal(stat(old, &st), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_what_was_written, make_path, drop_path),
		cmocka_unit_test_setup_teardown(keeps_probes_and_names, make_path, drop_path),
		cmocka_unit_test(takes_no_odd_names),
		cmocka_unit_test(takes_no_odd_samples),
		cmocka_unit_test_setup_teardown(is_read_up_to_where_it_ends, make_path,
						drop_path),
		cmocka_unit_test_setup_teardown(a_changed_bit_costs_a_block, make_path,
						drop_path),
		cmocka_unit_test_setup_teardown(believes_no_block, make_path, drop_path),
		cmocka_unit_test_setup_teardown(has_time_go_forwards, make_path, drop_path),
		cmocka_unit_test_setup_teardown(spares_other_files, make_path, drop_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
