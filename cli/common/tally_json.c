/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/tally_json.h"

#include <inttypes.h>
#include <string.h>

#include "cli/common/output.h"
#include "cli/common/tally_part.h"
#include "engine/base/escape.h"

/* A byte that is not UTF-8 becomes the four characters \xHH, as in events. */
static void json_text(struct output *out, const char *text, size_t len)
{
	uint32_t code;

	output_add(out, "\"", 1);
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)text[i];
		size_t n = utf8_sequence((const uint8_t *)text + i, len - i, &code);

		if (c == '"' || c == '\\')
			output_printf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			output_printf(out, "\\u%04x", c);
		else if (n)
			output_add(out, text + i, n);
		else
			output_printf(out, "\\\\x%02X", c);
		i += n ? n : 1;
	}
	output_add(out, "\"", 1);
}

/* As --json has stacks of events: the innermost one first. */
static void json_frames(struct output *out, const struct ubp_tally_part *part)
{
	struct tally_frames rest = tally_part_frames(part), frame;
	const char *before = "[";

	while (tally_next_frame(&rest, &frame)) {
		output_printf(out, "%s", before);
		json_text(out, frame.text, frame.len);
		before = ",";
	}
	output_printf(out, "%s]", *before == '[' ? "[" : "");
}

static void json_number(struct output *out, const struct ubp_tally_part *part)
{
	if (part->kind == UBP_TALLY_SIGNED)
		output_printf(out, "%" PRId64, (int64_t)part->number);
	else
		output_printf(out, "%" PRIu64, part->number);
}

static void json_part(struct output *out, const struct ubp_session *session,
		      const struct ubp_tally_part *part)
{
	const char *event =
		part->kind == UBP_TALLY_PROBE ? ubp_probe_event(session, part->number) : "";

	json_text(out, part->name, strlen(part->name));
	output_add(out, ":", 1);
	if (part->kind == UBP_TALLY_STRING)
		json_text(out, part->text, strlen(part->text));
	else if (part->kind == UBP_TALLY_STACK)
		json_frames(out, part);
	else if (part->kind == UBP_TALLY_PROBE)
		json_text(out, event, strlen(event));
	else if (tally_part_is_range(part))
		output_printf(out, "{\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}",
			      tally_part_first(part), tally_part_last(part));
	else
		json_number(out, part);
}

void tally_json_row(struct output *out, const struct ubp_session *session,
		    const struct ubp_tally_row *row)
{
	static const char *const names[] = { "sum", "min", "max" };

	output_printf(out, "{\"key\":{");
	for (unsigned i = 0; i < row->n_keys; i++) {
		output_printf(out, "%s", i ? "," : "");
		json_part(out, session, &row->keys[i]);
	}
	output_printf(out, "},\"hits\":%" PRIu64, row->hits);
	for (unsigned i = 0; i < row->n_values && i < UBP_TALLY_VALUES; i++) {
		output_printf(out, ",\"%s\":", names[i]);
		json_number(out, &row->values[i]);
	}
	output_printf(out, "}\n");
}
