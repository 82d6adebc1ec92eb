/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The lines of the uprobe_events listing. */

#include <inttypes.h>

#include "engine/spec/out.h"
#include "engine/spec/probe.h"
#include "engine/spec/table.h"

static void add_place(struct spec_out *out, const struct spec_probe *probe)
{
	if (probe->is_resolved)
		spec_out_add(out, "%s:0x%016" PRIx64, probe->path, probe->offset);
	else if (probe->symbol_off != 0)
		spec_out_add(out, "%s:%s+0x%" PRIx64, probe->path, probe->symbol,
			     probe->symbol_off);
	else
		spec_out_add(out, "%s:%s", probe->path, probe->symbol);
	if (probe->ref != 0)
		spec_out_add(out, "(0x%" PRIx64 ")", probe->ref);
}

int spec_probe_place_text(const struct spec_probe *probe, char *buf, size_t size)
{
	struct spec_out out = { .buf = buf, .size = size };

	add_place(&out, probe);
	return (int)out.len;
}

int spec_probe_listing(const struct spec_probe *probe, char *buf, size_t size)
{
	struct spec_out out = { .buf = buf, .size = size };

	spec_out_add(&out, "%c:%s/%s ", probe_kind_letter(probe->kind), probe->group,
		     probe->event);
	add_place(&out, probe);
	for (size_t i = 0; i < probe->n_args; i++)
		spec_out_add(&out, " %s=%s", probe->args[i].name, probe->args[i].text);
	return (int)out.len;
}
