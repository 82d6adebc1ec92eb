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
#include "engine/session/maker.h"
#include "engine/session/numbers.h"
#include "engine/session/owner.h"
#include "engine/session/session_definitions.h"
#include "engine/session/tell.h"
#include "engine/space/uprobe.h"
#include "engine/spec/filter.h"
#include "engine/tally/sample.h"

static void lock(const struct ubp_session *s)
{
	pthread_mutex_lock(&((struct ubp_session *)s)->numbers.lock);
}

static void unlock(const struct ubp_session *s)
{
	pthread_mutex_unlock(&((struct ubp_session *)s)->numbers.lock);
}

static enum number_state state_of(const struct session_number *entry)
{
	return __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
}

static void set_state(struct session_number *entry, enum number_state state)
{
	/* Whoever hands out events looks at it behind saying which one (calls.h). */
	__atomic_store_n(&entry->state, state, __ATOMIC_SEQ_CST);
}

static void set_until(struct session_number *entry, uint64_t until)
{
	__atomic_store_n(&entry->until, until, __ATOMIC_SEQ_CST);
}

int live_begin(struct ubp_session *s)
{
	for (size_t i = numbers_n(s); i < definitions_n(s->defined); i++) {
		const struct session_number entry = { .uprobe =
							      definitions_uprobe(s->defined, i),
						      .spec = definitions_spec(s->defined, i),
						      .at = i };

		if (numbers_append(s, &entry, UINT32_MAX) < 0)
			return -ENOMEM;
		(void)uprobe_get(entry.uprobe);
	}
	return 0;
}

/* --- what is on its way ------------------------------------------------------------------- */

static struct session_asked *asked_of(struct ubp_session *s, uint64_t ticket)
{
	for (size_t i = 0; i < MAILBOX_QUESTIONS; i++)
		if (s->numbers.asked[i].ticket == ticket)
			return &s->numbers.asked[i];
	return NULL;
}

int live_check_running(const struct ubp_session *s, struct ubp_err *err)
{
	ubp_err_reset(err);
	return s->tracing.was_there ? 0 : ubp_fail(err, EINVAL, "the session does not run yet");
}

int live_send(struct ubp_session *s, const struct mailbox_message *message, unsigned first,
	      size_t n, uint64_t *ret_ticket, struct ubp_err *err)
{
	struct session_asked *asked;
	int rc = owner_check(s, err);

	if (rc < 0)
		return rc;
	lock(s);
	/* Whoever looks for the answer finds it here. */
	asked = asked_of(s, 0);
	rc = asked ? mailbox_ask(s->mail, message, ret_ticket) : -EAGAIN;
	if (rc == 0) {
		*asked = (struct session_asked){ .ticket = *ret_ticket,
						 .first = first,
						 .n = (unsigned)n };
		__atomic_add_fetch(&s->numbers.n_asked, 1, __ATOMIC_RELAXED);
	}
	unlock(s);
	if (rc == 0)
		return 0;
	return ubp_fail(err, rc == -EPIPE ? EINVAL : -rc,
			rc == -EAGAIN ? "too many changes are on their way"
				      : "the session does not run any more");
}

/* The change is the mailbox's, or freed. It brings @n numbers from @first on. */
static int send(struct ubp_session *s, struct plant_change *change, unsigned first, size_t n,
		uint64_t *ret_ticket, struct ubp_err *err)
{
	const struct mailbox_message message = { .kind = MAIL_CHANGE, .object = change };
	int rc = live_send(s, &message, first, n, ret_ticket, err);

	if (rc < 0)
		plant_change_free(change);
	return rc;
}

/* Under the lock. There is room: numbers_append() has made it. */
static void begin_leaving(struct ubp_session *s, struct session_number *entry, unsigned number,
			  uint64_t ticket, enum number_state state)
{
	set_until(entry, UINT64_MAX);
	set_state(entry, state);
	entry->ticket = ticket;
	entry->alone_ns = 0;
	s->numbers.leaving[s->numbers.n_leaving] = number;
	__atomic_store_n(&s->numbers.n_leaving, s->numbers.n_leaving + 1, __ATOMIC_RELAXED);
}

/* Under the lock. NULL, with a text: there is none. */
static struct session_number *find_live(const struct ubp_session *s, unsigned number,
					unsigned *ret_latest, struct ubp_err *err)
{
	struct session_number *entry = numbers_at(s, number), *first;

	first = entry ? numbers_at(s, entry->id) : NULL;
	entry = first ? numbers_at(s, first->latest) : NULL;
	if (entry && state_of(entry) == NUMBER_LIVE) {
		*ret_latest = first->latest;
		return entry;
	}
	ubp_fail(err, ENOENT, "there is no probe with number %u", number);
	return NULL;
}

/* --- coming ------------------------------------------------------------------------------ */

/* Under the lock: they have come in vain, from @first on; the next tidying frees them. */
static void drop_new(struct ubp_session *s, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		struct session_number *entry = numbers_at(s, i);

		if (entry->is_void)
			continue;
		entry->is_void = true;
		if (state_of(entry) == NUMBER_LIVE)
			begin_leaving(s, entry, i, 0, NUMBER_REMOVED);
		set_state(entry, NUMBER_REMOVED);
		set_until(entry, 0);
		if (entry->older != i)
			numbers_at(s, entry->id)->latest = entry->older;
	}
}

static void drop_new_locked(struct ubp_session *s, unsigned first, unsigned n)
{
	lock(s);
	drop_new(s, first, n);
	unlock(s);
}

/* Under the lock: all probes of @made, whose reference is used up. *ret_n of them have numbers, if this fails, too. */
static int take_over(struct ubp_session *s, struct session_maker *made,
		     const struct live_new *what, struct plant_change *change, unsigned *ret_n)
{
	size_t n = definitions_n(made->defs);
	int rc = 0;

	for (*ret_n = 0; rc == 0 && *ret_n < n; ++*ret_n) {
		size_t at = *ret_n;
		const struct session_number entry = { .uprobe = definitions_uprobe(made->defs,
										   at),
						      .spec = definitions_spec(made->defs, at),
						      .made_by = made,
						      .at = at,
						      .cookie = what->cookie,
						      .handler = what->handler };

		rc = numbers_append(s, &entry, UINT32_MAX);
		if (rc < 0)
			break;
		/* The reference is the entry's now: so it can be told when nobody else has one. */
		change->added[at] = uprobe_get(definitions_take_uprobe(made->defs, at));
		change->replaced[at] = PLANT_CHANGE_NEW;
		change->n_added++;
		(void)maker_get(made);
		if (what->is_off)
			live_switch_probe(s, entry.uprobe, false);
	}
	maker_put(made);
	return rc;
}

static int define_one(struct definitions *made, const struct live_new *what, const char *text,
		      struct ubp_err *err)
{
	switch (what->form) {
	case LIVE_EVENTS:
		return definitions_add_events(made, text, strlen(text), what->filter, err);
	case LIVE_USDT:
		return definitions_add_usdt(made, text, what->filter, err);
	default:
		return definitions_add(made, text, what->filter, err);
	}
}

static int define_all(const struct ubp_session *s, struct definitions *made,
		      const struct live_new *what, struct ubp_err *err)
{
	const struct spec_probe **others;
	size_t n_others;
	int rc = 0;

	lock(s);
	others = numbers_specs(s, &n_others);
	unlock(s);
	if (!others)
		return ubp_fail(err, ENOMEM, "out of memory");
	definitions_set_handler(made, &what->its);
	if (what->is_checked)
		definitions_set_others(made, others, n_others);
	for (size_t i = 0; rc == 0 && i < what->n_texts; i++)
		rc = define_one(made, what, what->texts[i], err);
	if (rc == 0 && definitions_n(made) == 0)
		rc = ubp_fail(err, EINVAL, "nothing is defined");
	if (rc == 0 && definitions_settle(made) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	if (!definitions_are_given_up(made)) {
		definitions_set_others(made, NULL, 0);
		free(others);
		return rc;
	}
	/* The thread that was left behind may look at them at any time. */
	lock(s);
	numbers_keep_all(s);
	unlock(s);
	return rc;
}

/* Definitions of their own, with files of their own: nothing of theirs is the session's. */
static int define(const struct ubp_session *s, const struct live_new *what,
		  struct session_maker **ret_made, struct ubp_err *err)
{
	struct session_maker *made = maker_new();
	int rc = made ? session_definitions_new(s, &made->defs, err)
		      : ubp_fail(err, ENOMEM, "out of memory");

	if (rc == 0)
		rc = define_all(s, made->defs, what, err);
	if (rc < 0) {
		maker_put(made);
		return rc;
	}
	definitions_end_adding(made->defs);
	*ret_made = made;
	return 0;
}

static int fail_numbers(int rc, struct ubp_err *err)
{
	return rc == -ENOSPC
		       ? ubp_fail(err, ENOSPC,
				  "the session has had %u probes and filters: it has to be "
				  "made anew for more",
				  NUMBERS_MAX)
		       : ubp_fail(err, ENOMEM, "out of memory");
}

int live_add(struct ubp_session *s, const struct live_new *what, unsigned *ret_first,
	     unsigned *ret_n, uint64_t *ret_ticket, struct ubp_err *err)
{
	struct plant_change *change;
	struct session_maker *made = NULL;
	int rc = live_check_running(s, err);

	if (rc == 0)
		rc = define(s, what, &made, err);
	if (rc < 0)
		return rc;
	change = plant_change_new(definitions_n(made->defs), 0);
	if (!change) {
		maker_put(made);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	lock(s);
	*ret_first = (unsigned)numbers_n(s);
	rc = take_over(s, made, what, change, ret_n);
	unlock(s);
	if (rc < 0) {
		plant_change_free(change);
		(void)fail_numbers(rc, err);
	} else {
		rc = send(s, change, *ret_first, *ret_n, ret_ticket, err);
	}
	if (rc < 0)
		drop_new_locked(s, *ret_first, *ret_n);
	return rc;
}

/* --- going ------------------------------------------------------------------------------- */

static bool is_taken_out(const struct uprobe *probe)
{
	return __atomic_load_n(&probe->stats.taken_out, __ATOMIC_RELAXED) != TAKEN_OUT_NOT;
}

/* Under the lock. The entries of @numbers, each once, are from @entries on. Returns how many, or a negative errno. */
static int find_all(struct ubp_session *s, const size_t *numbers, size_t n, unsigned *latest,
		    struct ubp_err *err)
{
	int n_found = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_twice = false;

		if (numbers[i] >= NUMBERS_MAX ||
		    !find_live(s, (unsigned)numbers[i], &latest[n_found], err))
			return ubp_fail(err, ENOENT, "there is no probe with number %zu",
					numbers[i]);
		for (int k = 0; k < n_found && !is_twice; k++)
			is_twice = latest[k] == latest[n_found];
		n_found += !is_twice;
	}
	return n_found;
}

/* Under the lock: which of them are in the targets. */
static void retire(const struct ubp_session *s, const unsigned *latest, int n,
		   struct plant_change *change)
{
	for (int i = 0; i < n; i++)
		if (!is_taken_out(numbers_at(s, latest[i])->uprobe))
			change->retired[change->n_retired++] = latest[i];
}

int live_remove(struct ubp_session *s, const size_t *numbers, size_t n, uint64_t *ret_ticket,
		struct ubp_err *err)
{
	unsigned *latest = calloc(n + 1, sizeof(*latest));
	struct plant_change *change = plant_change_new(0, n);
	int rc = live_check_running(s, err), n_found = 0;

	*ret_ticket = 0;
	if (rc == 0 && (!latest || !change))
		rc = ubp_fail(err, ENOMEM, "out of memory");
	lock(s);
	if (rc == 0)
		rc = n_found = find_all(s, numbers, n, latest, err);
	if (rc >= 0)
		retire(s, latest, n_found, change);
	unlock(s);
	if (rc >= 0 && change->n_retired)
		rc = send(s, change, 0, 0, ret_ticket, err);
	else
		plant_change_free(change);
	lock(s);
	for (int i = 0; rc >= 0 && i < n_found; i++) {
		struct session_number *entry = numbers_at(s, latest[i]);

		begin_leaving(s, entry, latest[i],
			      is_taken_out(entry->uprobe) ? 0 : *ret_ticket, NUMBER_REMOVED);
	}
	unlock(s);
	free(latest);
	return rc < 0 ? rc : 0;
}

/* --- another filter ------------------------------------------------------------------------ */

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
	rc = rc < 0 ? rc : fetch_compile_entry(spec, &probe->at_hit.entry, err);
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

/* Under the lock: a probe that will have the place of @number. */
static int append_filtered(struct ubp_session *s, unsigned number, struct uprobe *probe,
			   unsigned *ret_number)
{
	const struct session_number *old = numbers_at(s, number);
	const struct session_number entry = {
		.uprobe = probe, .spec = old->spec, .made_by = old->made_by, .at = old->at
	};
	int rc;

	/* What counts asks for these; the rest comes with its place (uprobe_take_place()). */
	probe->arch = old->uprobe->arch;
	probe->kind = old->uprobe->kind;
	*ret_number = (unsigned)numbers_n(s);
	rc = counting_take_place(s, probe, *ret_number, number);
	if (rc == 0)
		rc = numbers_append(s, &entry, number);
	if (rc < 0) {
		counting_forget(s, *ret_number);
		return rc;
	}
	(void)maker_get(old->made_by);
	live_switch_probe(s, probe, uprobe_is_on(old->uprobe));
	return 0;
}

static int fail_filtered(int rc, struct ubp_err *err)
{
	return rc == -E2BIG ? ubp_fail(err, E2BIG, "the filter has too many parts")
			    : fail_numbers(rc, err);
}

int live_filter(struct ubp_session *s, unsigned number, const char *filter,
		unsigned *ret_number, uint64_t *ret_ticket, struct ubp_err *err)
{
	struct plant_change *change = plant_change_new(1, 1);
	const struct session_number *old = NULL;
	struct uprobe *probe = NULL;
	unsigned latest = 0;
	int rc = live_check_running(s, err);

	if (rc == 0 && !change)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	lock(s);
	if (rc == 0)
		old = find_live(s, number, &latest, err);
	if (rc == 0)
		rc = old ? make_filtered(s, old->spec, filter, &probe, err) : -err->code;
	if (rc == 0) {
		rc = append_filtered(s, latest, probe, ret_number);
		if (rc < 0) {
			uprobe_put(probe);
			(void)fail_filtered(rc, err);
		}
	}
	unlock(s);
	if (rc < 0) {
		plant_change_free(change);
		return rc;
	}
	change->added[change->n_added] = uprobe_get(probe);
	change->replaced[change->n_added++] = latest;
	change->retired[change->n_retired++] = latest;
	rc = send(s, change, *ret_number, 1, ret_ticket, err);
	lock(s);
	if (rc == 0)
		begin_leaving(s, numbers_at(s, latest), latest, *ret_ticket, NUMBER_REPLACED);
	else
		drop_new(s, *ret_number, 1);
	unlock(s);
	return rc;
}

int live_switch(struct ubp_session *s, unsigned number, bool on, struct ubp_err *err)
{
	const struct session_number *entry;
	unsigned latest;

	ubp_err_reset(err);
	lock(s);
	entry = find_live(s, number, &latest, err);
	if (entry)
		live_switch_probe(s, entry->uprobe, on);
	unlock(s);
	return entry ? 0 : -err->code;
}

/* --- answers ------------------------------------------------------------------------------ */

/* Those that the change was to retire: where it has failed they stay. */
static void settle_retired(struct ubp_session *s, uint64_t ticket,
			   const struct mailbox_answer *answer, bool is_done)
{
	struct session_numbers *numbers = &s->numbers;

	for (size_t i = numbers->n_leaving; i-- > 0;) {
		unsigned number = numbers->leaving[i];
		struct session_number *entry = numbers_at(s, number);

		if (entry->ticket != ticket)
			continue;
		entry->ticket = 0;
		if (__atomic_load_n(&entry->until, __ATOMIC_RELAXED))
			set_until(entry, answer->value);
		if (!is_done && !entry->is_void)
			set_state(entry, NUMBER_LIVE);
		/* One that was defined before the start has a reference from there, too. */
		if (state_of(entry) == NUMBER_LIVE || number < definitions_n(s->defined))
			numbers_unlist(s, i);
	}
}

bool live_look(struct ubp_session *s, uint64_t ticket, struct mailbox_answer *ret_answer)
{
	struct session_asked *asked;
	bool is_done;

	if (!mailbox_look(s->mail, ticket, ret_answer))
		return false;
	is_done = ret_answer->code >= 0 || ret_answer->code == -ETIMEDOUT;
	lock(s);
	asked = asked_of(s, ticket);
	settle_retired(s, ticket, ret_answer, is_done);
	if (!is_done)
		drop_new(s, asked->first, asked->n);
	asked->ticket = 0;
	__atomic_sub_fetch(&s->numbers.n_asked, 1, __ATOMIC_RELAXED);
	unlock(s);
	return true;
}

void live_leave(struct ubp_session *s, uint64_t ticket)
{
	lock(s);
	asked_of(s, ticket)->is_left = true;
	unlock(s);
}

/* The ticket of the first change from @i on that nobody waits for; 0: there is none. */
static uint64_t next_left(struct ubp_session *s, size_t *i)
{
	uint64_t ticket = 0;

	lock(s);
	for (; !ticket && *i < MAILBOX_QUESTIONS; ++*i)
		if (s->numbers.asked[*i].is_left)
			ticket = s->numbers.asked[*i].ticket;
	unlock(s);
	return ticket;
}

void live_look_at_left(struct ubp_session *s)
{
	struct mailbox_answer answer;
	uint64_t ticket;
	size_t i = 0;

	while ((ticket = next_left(s, &i)))
		if (live_look(s, ticket, &answer) && answer.code < 0 &&
		    answer.code != -ECANCELED)
			session_warn(s, "a change of what is probed: %s", answer.text);
}

void live_silence(struct ubp_session *s, const size_t *numbers, size_t n)
{
	lock(s);
	for (size_t k = 0; k < s->numbers.n_leaving; k++) {
		struct session_number *entry = numbers_at(s, s->numbers.leaving[k]);

		for (size_t i = 0; i < n; i++)
			if (entry->id == numbers[i]) {
				set_until(entry, 0);
				set_state(entry, NUMBER_REMOVED);
			}
	}
	/* Those that were defined before the start are in no list once they are out. */
	for (size_t i = 0; i < n; i++)
		if (numbers[i] < definitions_n(s->defined))
			set_until(numbers_at(s, (unsigned)numbers[i]), 0);
	unlock(s);
}
