/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What stands in the file "metadata" of a CTF trace. */

#include "engine/sink/ctf.h"

#include <inttypes.h>
#include <string.h>

#include "engine/sink/value.h"
#include "engine/spec/spec.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "le"
#else
#define ORDER "be"
#endif

static const char head[] =
	"/* CTF 1.8 */\n"
	"\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } := address_t;\n"
	"\n"
	"trace {\n"
	"\tmajor = 1;\n"
	"\tminor = 8;\n"
	"\tbyte_order = " ORDER ";\n"
	"\tpacket.header := struct {\n"
	"\t\tuint32_t magic;\n"
	"\t};\n"
	"};\n"
	"\n"
	"env {\n"
	"\ttracer_name = \"ubp\";\n"
	"};\n"
	"\n"
	"clock {\n"
	"\tname = \"ubp\";\n"
	"\tfreq = 1000000000;\n"
	"};\n"
	"\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.ubp.value; } := "
	"time_t;\n"
	"\n"
	"stream {\n"
	"\tpacket.context := struct {\n"
	"\t\ttime_t timestamp_begin;\n"
	"\t\ttime_t timestamp_end;\n"
	"\t\tuint64_t content_size;\n"
	"\t\tuint64_t packet_size;\n"
	"\t\tuint64_t events_discarded;\n"
	"\t};\n"
	"\tevent.header := struct {\n"
	"\t\tuint32_t id;\n"
	"\t\ttime_t timestamp;\n"
	"\t};\n";

static const char context[] = "\tevent.context := struct {\n"
			      "\t\tint32_t _pid;\n"
			      "\t\tint32_t _tid;\n"
			      "\t\tuint32_t _cpu;\n"
			      "\t\tstring _task;\n";

static const char host[] = "\t\tstring _host;\n";

static const char place[] = "\t\taddress_t _ip;\n"
			    "\t\taddress_t _func;\n"
			    "\t\tuint8_t _n_stack;\n"
			    "\t\taddress_t _stack[_n_stack];\n"
			    "\t};\n"
			    "};\n";

void ctf_metadata_begin(struct sink_buf *to, bool has_host)
{
	sink_buf_add_text(to, head);
	sink_buf_add_text(to, context);
	if (has_host)
		sink_buf_add_text(to, host);
	sink_buf_add_text(to, place);
}

void ctf_metadata_none(struct sink_buf *to)
{
	sink_buf_add_text(to, head);
	sink_buf_add_text(to, "};\n");
}

bool ctf_is_text(const struct spec_arg *arg)
{
	return arg->type.format == SPEC_STRING || arg->names;
}

static void add_type(struct sink_buf *to, const struct spec_arg *arg)
{
	unsigned bits = 8U * arg->type.size;

	if (ctf_is_text(arg))
		sink_buf_add_text(to, "string");
	else if (arg->type.format == SPEC_FLOAT)
		sink_buf_printf(to,
				"floating_point { exp_dig = %u; mant_dig = %u; align = 8; }",
				bits == 64 ? 11U : 8U, bits == 64 ? 53U : 24U);
	else
		sink_buf_printf(to,
				"integer { size = %u; align = 8; signed = %s; base = %u;%s }",
				bits, arg->type.format == SPEC_SIGNED ? "true" : "false",
				arg->type.format == SPEC_HEX ? 16U : 10U,
				arg->type.format == SPEC_CHAR ? " encoding = UTF8;" : "");
}

/* A name of a field: readers take the first underline away, which keeps it from being a word of the language. */
static void add_name(struct sink_buf *to, const char *name)
{
	sink_buf_add(to, "_", 1);
	for (; *name; name++) {
		bool is_plain = (*name >= 'a' && *name <= 'z') ||
				(*name >= 'A' && *name <= 'Z') ||
				(*name >= '0' && *name <= '9');

		sink_buf_add(to, is_plain ? name : "_", 1);
	}
}

static void add_quoted(struct sink_buf *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			sink_buf_add(to, "\\", 1);
		sink_buf_add(to, text, 1);
	}
}

void ctf_metadata_event(struct sink_buf *to, uint32_t id, const struct spec_probe *probe,
			bool has_weight)
{
	sink_buf_add_text(to, "\nevent {\n\tname = \"");
	add_quoted(to, probe->group);
	sink_buf_add_text(to, ":");
	add_quoted(to, probe->event);
	sink_buf_printf(to, "\";\n\tid = %" PRIu32 ";\n", id);
	if (has_weight)
		sink_buf_add_text(to, "\tcontext := struct {\n\t\tuint64_t _weight;\n\t};\n");
	sink_buf_add_text(to, "\tfields := struct {\n");
	for (size_t i = 0; i < probe->n_args; i++) {
		const struct spec_arg *arg = &probe->args[i];

		sink_buf_add_text(to, "\t\t");
		add_type(to, arg);
		sink_buf_add(to, " ", 1);
		add_name(to, arg->name);
		if (arg->type.count)
			sink_buf_printf(to, "[%u]", (unsigned)arg->type.count);
		sink_buf_add_text(to, ";\n");
	}
	sink_buf_add_text(to, "\t};\n};\n");
}
