/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/choice.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/event/record.h"
#include "engine/fetch/match.h"
#include "engine/spec/filter.h"
#include "engine/spec/spec.h"

/* The rules for one probe's events: one without a filter lets all pass. */
struct choice_probe {
	bool passes;
	struct filter **filters;
	size_t n;
};

static bool is_called(const struct spec_probe *probe, const char *event)
{
	char name[2 * SPEC_NAME_MAX + 2];

	if (!event || fnmatch(event, probe->event, 0) == 0)
		return true;
	(void)snprintf(name, sizeof(name), "%s:%s", probe->group, probe->event);
	return fnmatch(event, name, 0) == 0;
}

/* Is a rule for any event there is, and can its filter be understood for one? */
static int check_rule(const struct sink_probes *probes, const char *event, const char *filter,
		      struct ubp_err *err)
{
	const struct spec_probe *probe;
	bool is_there = false;
	unsigned at = 0;
	int rc = 0;

	while ((probe = probes->next(probes->ctx, &at))) {
		struct filter *parsed = NULL;

		if (!is_called(probe, event))
			continue;
		is_there = true;
		if (!filter)
			return 0;
		ubp_err_reset(err);
		rc = filter_parse(filter, probe, &parsed, err);
		filter_free(parsed);
		if (rc == 0)
			return 0;
	}
	return is_there ? rc
			: ubp_fail(err, ENOENT, "no event is called '%s'", event ? event : "*");
}

static char *copy_of(const char *text, bool *is_short)
{
	char *copy = text ? strdup(text) : NULL;

	*is_short |= text && !copy;
	return copy;
}

int choice_add(struct choice *c, const struct sink_probes *probes, const char *event,
	       const char *filter, struct ubp_err *err)
{
	int rc = check_rule(probes, event, filter, err);
	struct choice_rule rule;
	bool is_short = false;

	if (rc < 0)
		return rc;
	rule.event = copy_of(event, &is_short);
	rule.filter = copy_of(filter, &is_short);
	if (is_short || VEC_FIT(c->rules, c->n_rules + 1) < 0) {
		free(rule.event);
		free(rule.filter);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	c->rules[c->n_rules++] = rule;
	return 0;
}

static void free_probe(struct choice_probe *p)
{
	for (size_t i = 0; i < p->n; i++)
		filter_free(p->filters[i]);
	free(p->filters);
	free(p);
}

static void add_rule(struct choice_probe *p, const struct choice_rule *rule,
		     const struct spec_probe *probe)
{
	struct filter *parsed = NULL;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (!is_called(probe, rule->event))
		return;
	if (!rule->filter) {
		p->passes = true;
		return;
	}
	if (filter_parse(rule->filter, probe, &parsed, &ignored) < 0)
		return;
	/* The filter "0" is none. */
	if (!parsed)
		p->passes = true;
	else if (VEC_FIT(p->filters, p->n + 1) < 0)
		filter_free(parsed);
	else
		p->filters[p->n++] = parsed;
}

/* NULL: memory is short. */
static const struct choice_probe *rules_of(struct choice *c, const struct spec_probe *probe)
{
	struct choice_probe *p = map_get(&c->by_probe, (uintptr_t)probe);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	for (size_t i = 0; i < c->n_rules; i++)
		add_rule(p, &c->rules[i], probe);
	if (map_put(&c->by_probe, (uintptr_t)probe, p) == 0)
		return p;
	free_probe(p);
	return NULL;
}

bool choice_may_want(struct choice *c, const struct spec_probe *probe)
{
	const struct choice_probe *p = c->n_rules ? rules_of(c, probe) : NULL;

	return !p || p->passes || p->n;
}

static bool has_pid(const struct choice *c, int32_t pid)
{
	for (size_t i = 0; i < c->n_pids; i++)
		if (c->pids[i] == pid)
			return true;
	return c->n_pids == 0;
}

static uint64_t time_of(const struct choice *c, const struct ubp_recording_time *time)
{
	return time->is_relative ? c->first_ns + time->ns : time->ns;
}

static bool passes(struct choice *c, const struct spec_probe *probe,
		   const struct event_record *record)
{
	const struct choice_probe *p;

	if (!has_pid(c, record->pid))
		return false;
	if (!c->n_rules)
		return true;
	p = rules_of(c, probe);
	if (!p || p->passes)
		return p;
	for (size_t i = 0; i < p->n; i++)
		if (filter_match(p->filters[i], record))
			return true;
	return false;
}

enum choice_answer choice_asks(struct choice *c, const struct spec_probe *probe,
			       const struct event_record *record)
{
	if (!c->has_first && record->time) {
		c->has_first = true;
		c->first_ns = record->time;
	}
	if (c->to.is_set && record->time > time_of(c, &c->to))
		return CHOICE_LATE;
	if (c->from.is_set && record->time < time_of(c, &c->from))
		return CHOICE_NO;
	return !probe || passes(c, probe, record) ? CHOICE_YES : CHOICE_NO;
}

void choice_free(struct choice *c)
{
	size_t pos = 0;
	void *value;

	for (size_t i = 0; i < c->n_rules; i++) {
		free(c->rules[i].event);
		free(c->rules[i].filter);
	}
	while (map_next(&c->by_probe, &pos, NULL, &value))
		free_probe(value);
	map_free(&c->by_probe);
	free(c->rules);
	free(c->pids);
}
