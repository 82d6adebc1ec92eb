/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: records. Their argument bytes are not trusted: one made of arbitrary data
 * is printed as text and as JSON. JSON must be JSON, a terminal gets no control
 * bytes.
 */

#include "tests/fuzz/fuzz.h"

#include <jansson.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/event/record.h"
#include "engine/sink/json.h"
#include "engine/sink/text.h"
#include "tests/fuzz/table.h"

#define STACK_MAX 8

static const char definitions[] =
	"p:g/numbers /x:0x10 a=%ax:u8 b=%ax:s16 c=%ax:x32 d=%ax:s64 e=%ax:char f=%ax:b4@2/8\n"
	"p:g/texts /x:0x10 s=+0(%di):string u=+0(%si):ustring c=$comm\n"
	"r:g/arrays /x:0x10 n=+0(%di):u32[3] t=+0(%di):string[4] c=+0(%di):char[5]\n"
	"p:g/empty /x:0x10\n"
	"p:g/mixed /x:0x10 a=%ax s=+0(%di):string b=+0(%di):s8[64] z=+0(%di):string[2]\n"
	"p:g/floats /x:0x10 a=%xmm0:f64 b=%xmm1:f32 c=+0(%di):f64[4] d=+0(%di):f32[3]\n"
	"p:g/named /x:0x10 a=%ax:u8 b=+0(%di):s16[3] c=%dx:x64\n";

static const struct value_name flags[] = { { 1, "A" }, { -2, "a\x1b\x7f\"\n" }, { 4, "" } };
static const struct value_names names = { .n = 3, .is_flags = true, .v = flags };

/* The last one's numbers have names. */
static void name_values(struct spec_table *table)
{
	for (size_t i = 0; i < 3; i++)
		spec_table_set_names(table, spec_table_count(table) - 1, i, &names);
}

static const struct spec_table *probes(void)
{
	static struct spec_table *table;
	struct ubp_err err;

	if (!table) {
		table = fuzz_table();
		ubp_err_reset(&err);
		CLAIM(spec_table_write(table, definitions, strlen(definitions), &err) == 0);
		name_values(table);
	}
	return table;
}

/* As long as it says, to the byte. */
static struct event_record *make_record(struct fuzz_input *in, size_t *ret_probe)
{
	struct event_record head = { .kind = EVENT_HIT }, *record;
	size_t stack, size;

	*ret_probe = fuzz_number(in, 1) % spec_table_count(probes());
	head.kind = (uint16_t)(fuzz_number(in, 1) & 1);
	head.n_stack = (uint16_t)(fuzz_number(in, 1) % (STACK_MAX + 1));
	head.cpu = (uint32_t)fuzz_number(in, 4);
	head.pid = (int32_t)fuzz_number(in, 4);
	head.tid = (int32_t)fuzz_number(in, 4);
	head.time = fuzz_number(in, 8);
	head.ip = fuzz_number(in, 8);
	head.func = fuzz_number(in, 8);
	head.n_lost = fuzz_number(in, 8);
	for (size_t i = 0; i < sizeof(head.comm) - 1; i++)
		head.comm[i] = (char)fuzz_number(in, 1);
	head.data_len = in->left < EVENT_DATA_MAX ? (uint32_t)in->left : EVENT_DATA_MAX;
	stack = (head.data_len + 7u) & ~7u;
	size = sizeof(head) + stack + 8u * head.n_stack;
	head.size = (uint32_t)size;
	record = calloc(1, size);
	CLAIM(record);
	*record = head;
	memcpy(record->data, in->at, head.data_len);
	return record;
}

static void check_json(const struct sink_buf *buf)
{
	json_error_t error;
	json_t *root = json_loadb(buf->data, buf->len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL,
				  &error);

	CLAIM(root);
	json_decref(root);
	CLAIM(memchr(buf->data, '\n', buf->len) == buf->data + buf->len - 1);
}

static void check_terminal(const struct sink_buf *buf)
{
	for (size_t i = 0; i < buf->len; i++)
		CLAIM((uint8_t)buf->data[i] >= ' ' || buf->data[i] == '\n');
	CLAIM(!memchr(buf->data, 0x7f, buf->len));
	CLAIM(buf->data[buf->len - 1] == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct sink_text_options raw = { .escape = false }, escaped = { .escape = true };
	const struct spec_probe *probe;
	struct event_record *record;
	struct sink_buf buf = { 0 };
	size_t i;

	record = make_record(&in, &i);
	probe = spec_table_probe(probes(), i);
	sink_text_line(&buf, probe, record, &raw);
	buf.len = 0;
	sink_text_line(&buf, probe, record, &escaped);
	check_terminal(&buf);
	buf.len = 0;
	sink_json_line(&buf, probe, record, NULL);
	check_json(&buf);
	sink_buf_free(&buf);
	free(record);
	return 0;
}
