/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The public meter: engine/picture/meter.h for events of a session. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/picture/meter.h"
#include "engine/session/event.h"
#include "engine/session/sink.h"
#include "engine/ubp_meter.h"

struct ubp_meter {
	struct meter *meter;
	uint64_t n_lost;
};

_Static_assert(UBP_METER_OCTAVES == METER_OCTAVES, "rows differ");

int ubp_meter_new(struct ubp_session *session, struct ubp_meter **ret_meter,
		  struct ubp_err *err)
{
	struct sink_probes probes = session_probes(session);
	struct ubp_meter *m = calloc(1, sizeof(*m));
	const struct spec_probe *probe;
	unsigned at = 0;

	if (m)
		m->meter = meter_new();
	if (!m || !m->meter) {
		free(m);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	while ((probe = probes.next(probes.ctx, &at)) != NULL)
		if (meter_add_probe(m->meter, probe) < 0) {
			ubp_meter_free(m);
			return ubp_fail(err, ENOMEM, "out of memory");
		}
	*ret_meter = m;
	return 0;
}

void ubp_meter_free(struct ubp_meter *m)
{
	if (!m)
		return;
	meter_free(m->meter);
	free(m);
}

void ubp_meter_event(struct ubp_meter *m, const struct ubp_event *event)
{
	if (event->record->kind == EVENT_PROCESS)
		return;
	if (event->record->kind == EVENT_LOST)
		m->n_lost += event->record->n_lost;
	if (meter_add(m->meter, event->spec, event->record, event->weight) < 0)
		m->n_lost++;
}

size_t ubp_meter_n(const struct ubp_meter *m)
{
	return meter_n(m->meter);
}

void ubp_meter_row(const struct ubp_meter *m, size_t i, struct ubp_meter_row *ret_row)
{
	struct meter_row row;

	meter_row(m->meter, i, &row);
	*ret_row = (struct ubp_meter_row){ row.name,   row.hits,   row.calls, row.max_ns,
					   row.p50_ns, row.p99_ns, { 0 } };
	memcpy(ret_row->octaves, row.octaves, sizeof(row.octaves));
}

uint64_t ubp_meter_lost(const struct ubp_meter *m)
{
	return m->n_lost;
}
