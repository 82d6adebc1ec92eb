/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/define/definitions.h"
#include "engine/event/record.h"
#include "engine/fetch/fetch.h"
#include "engine/plant/change.h"
#include "engine/session/counting.h"
#include "engine/session/inside.h"
#include "engine/session/mail.h"
#include "engine/session/session_definitions.h"
#include "engine/space/uprobe.h"
#include "engine/spec/filter.h"
#include "engine/tally/sample.h"

static struct session_number *entry_of(const struct ubp_session *s, unsigned number)
{
	return number < s->numbers.n ? &s->numbers.v[number] : NULL;
}

/* It takes over the caller's reference. */
static int append(struct ubp_session *s, struct session_number entry)
{
	struct session_numbers *n = &s->numbers;

	if (VEC_ROOM(n->v, &n->cap, n->n) < 0)
		return -ENOMEM;
	entry.uprobe->number = entry.uprobe->life.since = (unsigned)n->n;
	n->v[n->n++] = entry;
	return 0;
}

int live_begin(struct ubp_session *s)
{
	for (size_t i = s->numbers.n; i < definitions_n(s->defined); i++) {
		struct uprobe *probe = definitions_uprobe(s->defined, i);

		if (append(s, (struct session_number){
				      .uprobe = probe,
				      .spec = definitions_spec(s->defined, i) }) < 0)
			return -ENOMEM;
		(void)uprobe_get(probe);
	}
	return 0;
}

/* Those that @made made go with the last of its probes. */
static void free_maker(struct ubp_session *s, struct definitions *made)
{
	for (size_t i = 0; i < s->numbers.n; i++)
		if (s->numbers.v[i].made_by == made)
			return;
	definitions_free(made);
}

static void free_entry(struct ubp_session *s, struct session_number *entry)
{
	struct definitions *made = entry->made_by;

	uprobe_put(entry->uprobe);
	*entry = (struct session_number){ .state = NUMBER_GONE };
	if (made)
		free_maker(s, made);
}

void live_free(struct ubp_session *s)
{
	for (size_t i = 0; i < s->numbers.n; i++)
		free_entry(s, &s->numbers.v[i]);
	free(s->numbers.v);
	s->numbers = (struct session_numbers){ 0 };
}

/* --- changes ---------------------------------------------------------------------------- */

static int check_running(const struct ubp_session *s, struct ubp_err *err)
{
	ubp_err_reset(err);
	return s->tracing.is_there ? 0 : ubp_fail(err, EINVAL, "the session does not run");
}

/* The change is the mailbox's, or freed. */
static int send(struct ubp_session *s, struct plant_change *change, uint64_t *ret_ticket,
		struct ubp_err *err)
{
	const struct mailbox_message message = { .kind = MAIL_CHANGE, .object = change };
	int rc = mailbox_ask(s->mail, &message, ret_ticket);

	s->numbers.n_asked += rc == 0;
	if (rc == 0)
		return 0;
	plant_change_free(change);
	return ubp_fail(err, -rc,
			rc == -EAGAIN ? "too many changes are on their way"
				      : "tracing has ended");
}

static void begin_leaving(struct ubp_session *s, unsigned number, uint64_t ticket,
			  bool is_removed)
{
	struct session_number *entry = entry_of(s, number);

	entry->state = is_removed ? NUMBER_REMOVED : NUMBER_REPLACED;
	entry->until = UINT64_MAX;
	entry->ticket = ticket;
	s->numbers.n_leaving++;
}

static int find_live(const struct ubp_session *s, unsigned number, struct ubp_err *err)
{
	const struct session_number *entry = entry_of(s, number);

	if (entry && entry->state == NUMBER_LIVE)
		return 0;
	return ubp_fail(err, ENOENT, "there is no probe with number %u", number);
}

/* The last @n entries again. */
static void forget_last(struct ubp_session *s, size_t n)
{
	for (; n; n--) {
		free_entry(s, &s->numbers.v[--s->numbers.n]);
		counting_forget(s, (unsigned)s->numbers.n);
	}
}

/* All probes of @made, which is theirs from then on, if there is one. */
static int take_over(struct ubp_session *s, struct definitions *made,
		     struct plant_change *change)
{
	for (size_t i = 0; i < definitions_n(made); i++) {
		struct uprobe *probe = definitions_uprobe(made, i);

		if (append(s, (struct session_number){ .uprobe = probe,
						       .spec = definitions_spec(made, i),
						       .made_by = made }) < 0) {
			forget_last(s, i);
			return -ENOMEM;
		}
		/* The reference is the entry's now: so it can be told when nobody else has one. */
		change->added[i] = uprobe_get(definitions_take_uprobe(made, i));
		change->replaced[i] = PLANT_CHANGE_NEW;
		change->n_added++;
	}
	return 0;
}

/* Definitions of their own, with files of their own: nothing of theirs is the session's. */
static int define(const struct ubp_session *s, const char *definition, const char *filter,
		  struct definitions **ret_made, struct ubp_err *err)
{
	struct definitions *made;
	int rc = session_definitions_new(s, &made, err);

	if (rc < 0)
		return rc;
	rc = definitions_add_here(made, definition, filter, err);
	if (rc == 0 && definitions_settle(made) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	if (rc < 0)
		definitions_free(made);
	else
		*ret_made = made;
	return rc;
}

int live_add(struct ubp_session *s, const char *definition, const char *filter,
	     unsigned *ret_number, uint64_t *ret_ticket, struct ubp_err *err)
{
	struct plant_change *change;
	struct definitions *made = NULL;
	size_t n;
	int rc = check_running(s, err);

	if (rc == 0)
		rc = define(s, definition, filter, &made, err);
	if (rc < 0)
		return rc;
	n = definitions_n(made);
	*ret_number = (unsigned)s->numbers.n;
	change = plant_change_new(n, 0);
	if (!change || take_over(s, made, change) < 0) {
		/* With the entries its maker is gone. */
		if (!change)
			definitions_free(made);
		plant_change_free(change);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	rc = send(s, change, ret_ticket, err);
	if (rc < 0)
		forget_last(s, n);
	return rc;
}

int live_remove(struct ubp_session *s, unsigned number, uint64_t *ret_ticket,
		struct ubp_err *err)
{
	struct plant_change *change;
	int rc = check_running(s, err);

	if (rc == 0)
		rc = find_live(s, number, err);
	if (rc < 0)
		return rc;
	change = plant_change_new(0, 1);
	if (!change)
		return ubp_fail(err, ENOMEM, "out of memory");
	change->retired[change->n_retired++] = number;
	rc = send(s, change, ret_ticket, err);
	if (rc == 0)
		begin_leaving(s, number, *ret_ticket, true);
	return rc;
}

/* A probe that has nothing but what is asked of it, yet. */
static int make_filtered(const struct ubp_session *s, const struct spec_probe *spec,
			 const char *filter, struct uprobe **ret_probe, struct ubp_err *err)
{
	struct uprobe *probe = uprobe_new();
	int rc;

	if (!probe) {
		ubp_fail(err, ENOMEM, "out of memory");
		return -ENOMEM;
	}
	rc = fetch_compile(spec, &probe->program, err);
	if (rc == 0 && filter)
		rc = filter_parse(filter, spec, &probe->filter, err);
	if (rc == 0)
		rc = sample_text_bind(s->out.sample, spec, &probe->at_hit.sample, err);
	if (rc < 0) {
		uprobe_put(probe);
		return rc;
	}
	probe->at_hit.asks_name = detour_stops(probe->program, probe->filter);
	*ret_probe = probe;
	return 0;
}

void live_switch_probe(struct ubp_session *s, struct uprobe *probe, bool on)
{
	uprobe_switch(probe, on);
	if (s->out.rings)
		ring_set_switch(s->out.rings, probe->number, on);
}

int live_filter(struct ubp_session *s, unsigned number, const char *filter,
		unsigned *ret_number, uint64_t *ret_ticket, struct ubp_err *err)
{
	struct session_number entry;
	struct plant_change *change;
	int rc = check_running(s, err);

	if (rc == 0)
		rc = find_live(s, number, err);
	if (rc < 0)
		return rc;
	entry = (struct session_number){ .spec = s->numbers.v[number].spec,
					 .made_by = s->numbers.v[number].made_by };
	rc = make_filtered(s, entry.spec, filter, &entry.uprobe, err);
	if (rc < 0)
		return rc;
	/* What counts asks for these; the rest comes with its place (uprobe_take_place()). */
	entry.uprobe->arch = s->numbers.v[number].uprobe->arch;
	entry.uprobe->kind = s->numbers.v[number].uprobe->kind;
	*ret_number = (unsigned)s->numbers.n;
	rc = counting_take_place(s, entry.uprobe, *ret_number, number);
	change = rc == 0 ? plant_change_new(1, 1) : NULL;
	if (!change || append(s, entry) < 0) {
		counting_forget(s, *ret_number);
		uprobe_put(entry.uprobe);
		plant_change_free(change);
		return rc == -E2BIG ? ubp_fail(err, E2BIG, "the filter has too many parts")
				    : ubp_fail(err, ENOMEM, "out of memory");
	}
	live_switch_probe(s, entry.uprobe, uprobe_is_on(s->numbers.v[number].uprobe));
	change->added[change->n_added] = uprobe_get(entry.uprobe);
	change->replaced[change->n_added++] = number;
	change->retired[change->n_retired++] = number;
	rc = send(s, change, ret_ticket, err);
	if (rc == 0)
		begin_leaving(s, number, *ret_ticket, false);
	else
		forget_last(s, 1);
	return rc;
}

int live_switch(struct ubp_session *s, unsigned number, bool on, struct ubp_err *err)
{
	int rc;

	ubp_err_reset(err);
	rc = find_live(s, number, err);
	if (rc < 0)
		return rc;
	live_switch_probe(s, s->numbers.v[number].uprobe, on);
	return 0;
}

/* What was to be retired by a change that has failed stays. */
static void settle(struct ubp_session *s, uint64_t ticket, const struct mailbox_answer *answer)
{
	bool is_done = answer->code >= 0 || answer->code == -ETIMEDOUT;

	for (size_t i = 0; i < s->numbers.n; i++) {
		struct session_number *entry = &s->numbers.v[i];

		if (entry->ticket != ticket)
			continue;
		entry->ticket = 0;
		entry->until = answer->value;
		if (!is_done)
			entry->state = NUMBER_LIVE;
		/* One that was defined before the start has a reference from there, too. */
		if (!is_done || i < definitions_n(s->defined))
			s->numbers.n_leaving--;
	}
}

bool live_look(struct ubp_session *s, uint64_t ticket, struct mailbox_answer *ret_answer)
{
	if (!mailbox_look(s->mail, ticket, ret_answer))
		return false;
	s->numbers.n_asked--;
	settle(s, ticket, ret_answer);
	return true;
}

/* --- records ------------------------------------------------------------------------------ */

bool live_tells(const struct ubp_session *s, const struct event_record *record)
{
	const struct session_number *entry;

	if (record->kind != EVENT_HIT)
		return true;
	entry = entry_of(s, record->probe);
	if (!entry || !entry->uprobe)
		return false;
	return entry->state != NUMBER_REMOVED || record->time <= entry->until;
}

struct uprobe *live_probe(const struct ubp_session *s, unsigned number)
{
	const struct session_number *entry = entry_of(s, number);

	return entry ? entry->uprobe : NULL;
}

const struct spec_probe *live_spec(const struct ubp_session *s, unsigned number)
{
	const struct session_number *entry = entry_of(s, number);

	return entry ? entry->spec : NULL;
}

/* Once it was seen that nobody has it, all its records are in queue or rings; at the next look they are delivered. */
void live_tidy(struct ubp_session *s)
{
	for (size_t i = 0; i < s->numbers.n && s->numbers.n_leaving; i++) {
		struct session_number *entry = &s->numbers.v[i];

		if (entry->state == NUMBER_LIVE || entry->state == NUMBER_GONE || entry->ticket)
			continue;
		if (i < definitions_n(s->defined) || uprobe_is_shared(entry->uprobe))
			continue;
		if (!entry->was_alone) {
			entry->was_alone = true;
			continue;
		}
		free_entry(s, entry);
		s->numbers.n_leaving--;
	}
	if (live_is_waiting(s) && !mailbox_has(s->mail, MAILBOX_KIND(MAIL_NUDGE)))
		mail_post(s, MAIL_NUDGE, 0);
}

bool live_is_waiting(const struct ubp_session *s)
{
	return s->numbers.n_leaving || s->numbers.n_asked;
}
