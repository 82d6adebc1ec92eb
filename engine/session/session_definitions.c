/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/session_definitions.h"

#include <errno.h>
#include <string.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/define/definitions.h"
#include "engine/session/apart.h"
#include "engine/session/inside.h"
#include "engine/session/letting_go.h"
#include "engine/session/maker.h"
#include "engine/session/numbers.h"
#include "engine/spec/probe.h"

int session_definitions_new(const struct ubp_session *s, struct definitions **ret_defs,
			    struct ubp_err *err)
{
	const struct ubp_options *o = &s->opt;
	const struct definitions_options opt = {
		.arch = ubp_host_arch(),
		.traces = ubp_host_traces,
		.strict = o->strict,
		.tells_faults = s->defined && definitions_tells_faults(s->defined),
		.force = o->force,
		.files_only = o->files_only,
		.beside_kernel = o->beside_kernel,
		.steps = o->mode == UBP_MODE_STEP,
		.has_stack = o->stack != UBP_STACK_NONE,
		.no_jumps = s->no_jumps,
		.debug = { o->debug.dirs, o->debug.symbols },
		.exclude = o->exclude,
		.sample = s->out.sample,
		.pids = s->pids,
		.n_pids = o->n_pids,
		.tid = o->tid,
		.view = s->newcomer.whom.view,
		.warn = o->warn,
		.tell = o->tell,
		.warn_ctx = o->warn_ctx,
		.until = o->until,
	};

	return definitions_new(&opt, ret_defs, err);
}

void ubp_tell_faults(struct ubp_session *s)
{
	if (s->tracing.apart)
		apart_tell_faults(s);
	else
		definitions_tell_faults(s->defined);
}

int session_definitions_init(struct ubp_session *s, struct ubp_err *err)
{
	return session_definitions_new(s, &s->defined, err);
}

/* --- adding ------------------------------------------------------------------------ */

static int check_new(const struct ubp_session *s, struct ubp_err *err)
{
	ubp_err_reset(err);
	return session_check_new(s, err);
}

int ubp_add(struct ubp_session *s, const char *definition, const char *filter,
	    struct ubp_err *err)
{
	int rc = ubp_need(definition, "definition", err);

	if (rc == 0 && !s->tracing.apart)
		rc = check_new(s, err);
	if (rc == 0 && s->tracing.apart)
		return apart_add(s, UBP_FORM_DEFINITION, definition, 0, filter, err);
	return rc < 0 ? rc : definitions_add(s->defined, definition, filter, err);
}

int ubp_add_events(struct ubp_session *s, const char *text, size_t len, const char *filter,
		   struct ubp_err *err)
{
	int rc = ubp_need(text, "definition", err);

	if (rc == 0 && !s->tracing.apart)
		rc = check_new(s, err);
	if (rc == 0 && s->tracing.apart)
		return apart_add(s, UBP_FORM_EVENTS, text, len, filter, err);
	return rc < 0 ? rc : definitions_add_events(s->defined, text, len, filter, err);
}

int ubp_add_usdt(struct ubp_session *s, const char *definition, const char *filter,
		 struct ubp_err *err)
{
	int rc = ubp_need(definition, "definition", err);

	if (rc == 0 && !s->tracing.apart)
		rc = check_new(s, err);
	if (rc == 0 && s->tracing.apart)
		return apart_add(s, UBP_FORM_USDT, definition, 0, filter, err);
	return rc < 0 ? rc : definitions_add_usdt(s->defined, definition, filter, err);
}

/* --- what was added ---------------------------------------------------------------- */

size_t ubp_n_probes(const struct ubp_session *s)
{
	if (s->tracing.apart)
		return apart_number(s, APART_N_PROBES, 0);
	return s->tracing.was_there ? numbers_n(s) : definitions_n(s->defined);
}

/* What made probe @i, of which that is number *ret_at. Under the lock. NULL: there is no such probe. */
static struct definitions *maker_of(const struct ubp_session *s, size_t i, size_t *ret_at)
{
	const struct session_number *entry;

	*ret_at = i;
	if (i < definitions_n(s->defined))
		return s->defined;
	entry = numbers_latest(s, i);
	if (!entry)
		return NULL;
	*ret_at = entry->at;
	return entry->made_by->defs;
}

static const char *ask(const struct ubp_session *session, size_t i,
		       const char *(*ask_for)(struct definitions *defs, size_t at))
{
	struct ubp_session *s = (struct ubp_session *)session;
	struct definitions *defs;
	const char *text;
	size_t at;

	pthread_mutex_lock(&s->numbers.lock);
	defs = maker_of(s, i, &at);
	text = defs ? ask_for(defs, at) : NULL;
	pthread_mutex_unlock(&s->numbers.lock);
	return text;
}

const char *ubp_probe_listing(struct ubp_session *s, size_t i)
{
	return s->tracing.apart ? apart_text(s, APART_LISTING, i)
				: ask(s, i, definitions_listing);
}

const char *ubp_probe_format(struct ubp_session *s, size_t i)
{
	return s->tracing.apart ? apart_text(s, APART_FORMAT, i)
				: ask(s, i, definitions_format);
}

const char *ubp_probe_explain(struct ubp_session *s, size_t i)
{
	if (s->tracing.apart)
		return apart_text(s, APART_EXPLAIN, i);
	/* Of those that are there it can be told how they are. */
	return i < definitions_n(s->defined) ? definitions_explain(s->defined, i) : NULL;
}

/* Why it will be traced for probe @i; why it may be: *perhaps. */
static const char *why_breaks(struct ubp_session *s, size_t i, const char **perhaps)
{
	bool depends;
	const char *why = definitions_break(s->defined, i, &depends);

	if (!depends)
		return why;
	*perhaps = why;
	return NULL;
}

const char *ubp_explain_tracing(struct ubp_session *s, const char **ret_perhaps)
{
	const char *why;

	if (s->tracing.apart)
		return apart_explain_tracing(s, ret_perhaps);
	why = letting_go_why_none(s);
	*ret_perhaps = NULL;
	if (!why && s->opt.stack == UBP_STACK_FP && !s->opt.force)
		why = "stacks are read, whose memory may be gone by then (--force)";
	for (size_t i = 0; !why && i < definitions_n(s->defined); i++) {
		why = definitions_stop(s->defined, i);
		/* Its detour tells by a stop what passes the rest of the filter. */
		if (!why && definitions_uprobe(s->defined, i)->at_hit.asks_name)
			why = "a probe asks for the thread's name";
		if (!why && !s->opt.force)
			why = why_breaks(s, i, ret_perhaps);
	}
	return why;
}

const char *ubp_probe_definition(struct ubp_session *s, size_t i, const char **ret_why)
{
	struct definitions *defs;
	const char *text;
	size_t at;

	if (s->tracing.apart)
		return apart_definition(s, i, ret_why);
	*ret_why = NULL;
	pthread_mutex_lock(&s->numbers.lock);
	defs = maker_of(s, i, &at);
	text = defs ? definitions_for_kernel(defs, at, ret_why) : NULL;
	pthread_mutex_unlock(&s->numbers.lock);
	return text;
}

static const char *group_of(struct definitions *defs, size_t at)
{
	return definitions_spec(defs, at)->group;
}

const char *ubp_probe_group(const struct ubp_session *s, size_t i)
{
	return s->tracing.apart ? apart_text(s, APART_GROUP, i) : ask(s, i, group_of);
}

static const char *event_of(struct definitions *defs, size_t at)
{
	return definitions_spec(defs, at)->event;
}

const char *ubp_probe_event(const struct ubp_session *s, size_t i)
{
	return s->tracing.apart ? apart_text(s, APART_EVENT, i) : ask(s, i, event_of);
}

static const char *path_of(struct definitions *defs, size_t at)
{
	return definitions_spec(defs, at)->path;
}

const char *ubp_probe_path(const struct ubp_session *s, size_t i)
{
	return s->tracing.apart ? apart_text(s, APART_PATH, i) : ask(s, i, path_of);
}

/* Not NULL: it is one. */
static const char *is_return(struct definitions *defs, size_t at)
{
	return definitions_spec(defs, at)->kind == PROBE_RETURN ? "" : NULL;
}

bool ubp_probe_is_return(const struct ubp_session *s, size_t i)
{
	return s->tracing.apart ? apart_number(s, APART_IS_RETURN, i)
				: ask(s, i, is_return) != NULL;
}

int ubp_probe_arg_index(const struct ubp_session *session, size_t i, const char *name)
{
	struct ubp_session *s = (struct ubp_session *)session;
	const struct spec_probe *spec;
	struct definitions *defs;
	int found = -ENOENT;
	size_t at;

	if (s->tracing.apart)
		return apart_arg_index(s, i, name);
	if (!name)
		return -EINVAL;
	pthread_mutex_lock(&s->numbers.lock);
	defs = maker_of(s, i, &at);
	spec = defs && at < definitions_n(defs) ? definitions_spec(defs, at) : NULL;
	for (size_t arg = 0; spec && found < 0 && arg < spec->n_args; arg++)
		if (strcmp(spec->args[arg].name, name) == 0)
			found = (int)arg;
	pthread_mutex_unlock(&s->numbers.lock);
	return found;
}
