/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/rows_wire.h"

#include "engine/apart/wire.h"
#include "engine/ubp_tally.h"

static void put_parts(struct wire *wire, const struct ubp_tally_part *parts, unsigned n)
{
	wire_put(wire, n);
	for (unsigned i = 0; i < n; i++) {
		wire_put(wire, parts[i].kind);
		wire_put(wire, parts[i].number);
		wire_put(wire, parts[i].width);
		wire_put(wire, parts[i].is_signed);
		wire_put_text(wire, parts[i].text);
		wire_put_text(wire, parts[i].name);
	}
}

static bool needs_text(enum ubp_tally_kind kind)
{
	return kind == UBP_TALLY_STRING;
}

static unsigned get_parts(struct wire *wire, struct ubp_tally_part *parts, unsigned most)
{
	uint64_t n = wire_get(wire);

	wire->failed |= n > most;
	for (unsigned i = 0; i < n && !wire->failed; i++) {
		parts[i].kind = (enum ubp_tally_kind)wire_get(wire);
		parts[i].number = wire_get(wire);
		parts[i].width = wire_get(wire);
		parts[i].is_signed = wire_get(wire);
		parts[i].text = wire_get_text(wire);
		parts[i].name = wire_get_text(wire);
		wire->failed |= !parts[i].name || (needs_text(parts[i].kind) && !parts[i].text);
	}
	return wire->failed ? 0 : (unsigned)n;
}

void rows_put(struct wire *wire, const struct ubp_tally_row *row)
{
	wire_put(wire, row->hits);
	put_parts(wire, row->keys, row->n_keys);
	put_parts(wire, row->values, row->n_values);
}

void rows_get(struct wire *wire, struct ubp_tally_row *ret_row)
{
	*ret_row = (struct ubp_tally_row){ .hits = wire_get(wire) };
	ret_row->n_keys = get_parts(wire, ret_row->keys, UBP_TALLY_KEYS);
	ret_row->n_values = get_parts(wire, ret_row->values, UBP_TALLY_VALUES);
}
