/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Rows of what was counted, as JSON. */

#include <inttypes.h>
#include <string.h>

#include "engine/session/inside.h"
#include "engine/sink/json.h"
#include "engine/ubp_tally.h"

uint64_t ubp_tally_first(const struct ubp_tally_part *part)
{
	if (part->kind == UBP_TALLY_LOG2)
		return part->number ? (1ULL << ((part->number - 1) & 63)) + 1 : 0;
	return part->number * part->width;
}

uint64_t ubp_tally_last(const struct ubp_tally_part *part)
{
	uint64_t width = part->width;

	if (part->kind == UBP_TALLY_LOG2)
		width = part->number ? 1ULL << ((part->number - 1) & 63) : 2;
	return sink_range_last(ubp_tally_first(part), width, part->is_signed);
}

static void json_number(struct sink_buf *to, const struct ubp_tally_part *part)
{
	if (part->kind == UBP_TALLY_SIGNED)
		sink_buf_printf(to, "%" PRId64, (int64_t)part->number);
	else
		sink_buf_printf(to, "%" PRIu64, part->number);
}

static void json_part(struct sink_buf *to, const struct ubp_session *session,
		      const struct ubp_tally_part *part)
{
	const char *event =
		part->kind == UBP_TALLY_PROBE ? ubp_probe_event(session, part->number) : "";

	sink_json_quoted(to, part->name, strlen(part->name));
	sink_buf_add(to, ":", 1);
	if (part->kind == UBP_TALLY_STRING)
		sink_json_quoted(to, part->text, strlen(part->text));
	else if (part->kind == UBP_TALLY_STACK)
		sink_json_functions(to, part->text);
	else if (part->kind == UBP_TALLY_PROBE)
		sink_json_quoted(to, event, strlen(event));
	else if (part->kind == UBP_TALLY_LOG2 || part->kind == UBP_TALLY_BUCKETS)
		sink_json_range(to, ubp_tally_first(part), ubp_tally_last(part),
				part->is_signed);
	else
		json_number(to, part);
}

const char *ubp_tally_json(struct ubp_session *session, const struct ubp_tally_row *row,
			   size_t *ret_len)
{
	struct sink_buf *to = &session->out.texts.arg;

	static const char *const names[] = { "sum", "min", "max" };

	to->len = 0;
	sink_buf_printf(to, "{\"key\":{");
	for (unsigned i = 0; i < row->n_keys; i++) {
		sink_buf_printf(to, "%s", i ? "," : "");
		json_part(to, session, &row->keys[i]);
	}
	sink_buf_printf(to, "},\"hits\":%" PRIu64, row->hits);
	for (unsigned i = 0; i < row->n_values && i < UBP_TALLY_VALUES; i++) {
		sink_buf_printf(to, ",\"%s\":", names[i]);
		json_number(to, &row->values[i]);
	}
	sink_buf_printf(to, "}\n");
	*ret_len = to->failed ? 0 : to->len;
	return to->failed ? NULL : to->data;
}
