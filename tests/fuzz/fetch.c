/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: memory of a target. A fetch program runs over registers and memory that
 * the input makes up: page ends, faults, pointers that lead in circles, strings
 * without end; on wish the memory changes between one read and the next, as that of
 * a program with threads does. The record that results goes through the sinks.
 */

#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/event/record.h"
#include "engine/fetch/fetch.h"
#include "engine/sink/json.h"
#include "engine/sink/text.h"
#include "tests/fuzz/table.h"

/* Levels of dereferences, then pieces of strings and arrays: far from endless. */
#define BATCHES_MAX 64

struct shape {
	const uint8_t *bytes; /* what memory holds, over and over */
	size_t len;
	uint64_t mapped; /* which of 64 pages in a row are there */
	bool changes;    /* between reads */
	unsigned n_reads;
};

/* Where registers and pointers mostly lead. */
static uint64_t address(uint64_t choice)
{
	static const uint64_t bases[] = { 0, 0x7f0000000000, 0xfffffffffffff000,
					  0x7ffffffff000 };

	return bases[choice & 3] + (choice >> 2 & 0x3ffff);
}

static uint8_t byte_at(const struct shape *shape, uint64_t vaddr)
{
	uint8_t byte = shape->len ? shape->bytes[vaddr % shape->len] : (uint8_t)(vaddr | 1);

	return shape->changes ? (uint8_t)(byte ^ (uint8_t)(shape->n_reads * 0x55)) : byte;
}

static void read_shape(void *ctx, struct fetch_span *spans, size_t n)
{
	struct shape *shape = ctx;

	CLAIM(n > 0 && ++shape->n_reads <= BATCHES_MAX);
	for (size_t i = 0; i < n; i++) {
		struct fetch_span *span = &spans[i];
		uint8_t *buf = span->buf;

		CLAIM(span->len > 0 && span->vaddr + span->len - 1 >= span->vaddr);
		memset(buf, 0xee, span->len);
		for (span->got = 0; span->got < span->len; span->got++) {
			uint64_t vaddr = span->vaddr + span->got;

			if (vaddr < PAGE || !(shape->mapped >> (vaddr / PAGE % 64) & 1))
				break;
			buf[span->got] = byte_at(shape, vaddr);
		}
	}
}

static void print(const struct spec_probe *probe, const uint8_t *data, size_t len)
{
	struct event_record *record = calloc(1, sizeof(*record) + len);
	struct sink_text_options opt = { .escape = true };
	struct sink_buf buf = { 0 };

	CLAIM(record);
	record->kind = EVENT_HIT;
	record->data_len = (uint32_t)len;
	memcpy(record->data, data, len);
	sink_text_line(&buf, probe, record, &opt);
	sink_json_line(&buf, probe, record, NULL);
	CLAIM(buf.failed == 0);
	sink_buf_free(&buf);
	free(record);
}

static void run(const struct spec_probe *probe, const struct ubp_arch *arch,
		struct fuzz_input *in)
{
	static struct fetch_scratch *scratch;
	size_t head = probe_kind_head(probe->kind);
	struct fetch_program *program = NULL;
	struct ubp_regs regs = { { 0 } };
	struct ubp_vectors vectors = { { 0 } };
	struct shape shape = { 0 };
	uint8_t *data = malloc(EVENT_DATA_MAX);
	struct fetch_memory memory = { read_shape, &shape };
	struct fetch_input input = { .arch = arch,
				     .regs = &regs,
				     .memory = &memory,
				     .hit_vaddr = 0x401000,
				     .comm = "comm" };
	struct ubp_err err;
	int len;

	ubp_err_reset(&err);
	scratch = scratch ? scratch : fetch_scratch_new();
	CLAIM(data && scratch && fetch_compile(probe, &program, &err) == 0);
	shape.changes = fuzz_number(in, 1) & 1;
	shape.mapped = fuzz_number(in, 8);
	for (size_t i = 0; i < arch->reg.n; i++)
		regs.r[i] = address(fuzz_number(in, 3));
	for (size_t i = 0; i < UBP_VECTORS; i++)
		vectors.v[i] = regs.r[i] << 40 | regs.r[i + 1];
	/* Who does not ask for them gets none. */
	if (program->needs_vectors)
		input.vectors = &vectors;
	shape.bytes = in->at;
	shape.len = in->left;
	len = fetch_run(program, &input, scratch, head, data);
	CLAIM(len == -E2BIG || (len >= 0 && (size_t)len + head <= EVENT_RECORD_LIMIT));
	if (len >= 0)
		print(probe, data, (size_t)len);
	free(program);
	free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spec_table *table = fuzz_table();
	struct fuzz_input in = { data, size };
	char *text = fuzz_text(&in), *line = NULL;
	struct ubp_err err;
	int len;

	ubp_err_reset(&err);
	len = asprintf(&line, "%c:g/e /x:0x10 %s", strstr(text, "retval") ? 'r' : 'p', text);
	CLAIM(len > 0);
	if (spec_table_write(table, line, (size_t)len, &err) == 0 && spec_table_count(table))
		run(spec_table_probe(table, 0), ubp_arch_by_name("x86_64"), &in);
	free(line);
	free(text);
	spec_table_free(table);
	return 0;
}
