/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names for stacks: what the tracing thread notes for them, and who gives them. */

#include <errno.h>

#include "engine/base/err.h"
#include "engine/define/definitions.h"
#include "engine/plant/rings.h"
#include "engine/session/inside.h"
#include "engine/session/tell.h"
#include "engine/stack/maps_now.h"
#include "engine/stack/maps_set.h"
#include "engine/stack/symbolise.h"
#include "engine/stack/unwind.h"
#include "engine/trace/process.h"

/* Processes that have ended: how many, and how long, their mappings are kept for records to come. */
#define GONE_MAX 1024
#define KEEP_NS  30000000000ULL
#define TIDY_NS  10000000000ULL

/* Probed files are those that stacks lead through most. */
static const struct object *known(void *ctx, uint64_t dev, uint64_t ino)
{
	const struct ubp_session *s = ctx;

	return definitions_file_of(s->defined, dev, ino);
}

bool stacks_unwinds(const struct ubp_session *s)
{
	return s->opt.stack == UBP_STACK_CFI || s->opt.stack == UBP_STACK_UNWIND;
}

static void warn_of_file(void *ctx, const char *text)
{
	session_warn(ctx, "%s", text);
}

int stacks_init(struct ubp_session *s, struct ubp_err *err)
{
	struct symboliser_options options = {
		.debug = { .dirs = s->opt.debug.dirs, .symbols = s->opt.debug.symbols },
		.known = known,
		.ctx = s,
		.until = &s->until,
		.warn = { s->opt.warn, s->opt.warn_ctx },
		.lines = s->opt.stack_lines,
		.is_cfi = stacks_unwinds(s),
	};
	struct perf_map_warn warn = { warn_of_file, s };
	int rc;

	s->until.fd = -1;
	if (s->opt.stack == UBP_STACK_NONE)
		return 0;
	s->stacks.maps = options.maps = stack_maps_set_new();
	if (!s->stacks.maps)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (stacks_unwinds(s)) {
		rc = stack_unwinder_new(s->stacks.maps, s->opt.stack == UBP_STACK_UNWIND, &warn,
					&s->stacks.unwinder, err);
		if (rc < 0)
			return rc;
	}
	if (s->opt.stack_raw)
		return 0;
	rc = symboliser_new(&options, &s->stacks.symboliser, err);
	s->stacks.resolver = (struct sink_resolver){ symboliser_resolve, s->stacks.symboliser };
	return rc;
}

void stacks_free(struct ubp_session *s)
{
	symboliser_free(s->stacks.symboliser);
	stack_unwinder_free(s->stacks.unwinder);
	stack_maps_set_free(s->stacks.maps);
}

const struct sink_resolver *stacks_resolver(const struct ubp_session *s)
{
	return s->stacks.symboliser ? &s->stacks.resolver : NULL;
}

unsigned stacks_frames(const struct ubp_session *s)
{
	unsigned frames = s->opt.frames;

	return !frames || frames > EVENT_STACK_MAX ? EVENT_STACK_MAX : frames;
}

void stacks_tidy(struct ubp_session *s)
{
	uint64_t now;

	if (!s->stacks.maps || stack_maps_set_n_gone(s->stacks.maps) < GONE_MAX)
		return;
	now = event_clock_now(CLOCK_KIND_MONO);
	if (now - s->stacks.tidied_ns < TIDY_NS)
		return;
	s->stacks.tidied_ns = now;
	if (s->stacks.symboliser)
		symboliser_forget(s->stacks.symboliser);
	stack_maps_set_sweep(s->stacks.maps, now - KEEP_NS);
}

void stacks_space_gone(struct ubp_session *s, const struct space *space)
{
	if (s->stacks.unwinder)
		stack_unwinder_forget(s->stacks.unwinder, space);
	if (s->stacks.maps)
		stack_maps_gone(s->stacks.maps, space);
}

void stacks_mapped(void *ctx, struct tracee *t)
{
	struct ubp_session *s = ctx;
	struct space *space = t->process->space;

	if (!space->plant || !s->stacks.maps)
		return;
	stack_maps_changed(space);
	if (s->opt.stack == UBP_STACK_FP && rings_are_made(space->plant))
		rings_set_maps(space->plant, stack_maps_now(s->stacks.maps, t));
}
