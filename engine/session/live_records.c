/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes that change while a session runs (live.h), as who takes records sees them. */

#include "engine/base/mailbox.h"
#include "engine/define/definitions.h"
#include "engine/event/clock.h"
#include "engine/event/record.h"
#include "engine/session/counting.h"
#include "engine/session/live.h"
#include "engine/session/mail.h"
#include "engine/session/numbers.h"
#include "engine/session/state.h"
#include "engine/space/uprobe.h"

/* Times of records are not exact. */
#define SURE_NS 10000000

/* It stops threads to look whether they are out of what is left behind. */
#define NUDGE_NS 2000000

bool live_tells(struct ubp_session *s, const struct event_record *record)
{
	const struct session_number *entry;

	if (record->kind != EVENT_HIT)
		return true;
	entry = numbers_at(s, record->probe);
	if (entry && entry->uprobe &&
	    (__atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) != NUMBER_REMOVED ||
	     record->time <= __atomic_load_n(&entry->until, __ATOMIC_SEQ_CST)))
		return true;
	__atomic_add_fetch(&s->out.n_untold, 1, __ATOMIC_RELAXED);
	return false;
}

struct uprobe *live_probe(const struct ubp_session *s, unsigned number)
{
	const struct session_number *entry = numbers_at(s, number);

	return entry ? entry->uprobe : NULL;
}

size_t live_n_specs(const struct ubp_session *s)
{
	return s->tracing.was_there ? numbers_n(s) : definitions_n(s->defined);
}

const struct spec_probe *live_spec(const struct ubp_session *s, unsigned number)
{
	const struct session_number *entry = numbers_at(s, number);

	if (!s->tracing.was_there)
		return number < definitions_n(s->defined) ? definitions_spec(s->defined, number)
							  : NULL;
	return entry ? entry->spec : NULL;
}

/* Once it was seen that nobody has it, all its records are in queue or rings. */
static bool is_to_free(const struct ubp_session *s, struct session_number *entry,
		       unsigned number, uint64_t until)
{
	if (entry->ticket || number < definitions_n(s->defined) ||
	    uprobe_is_shared(entry->uprobe))
		return false;
	if (!entry->alone_ns)
		entry->alone_ns = event_clock_now(s->clock);
	return until > entry->alone_ns && until - entry->alone_ns > SURE_NS;
}

void live_tidy(struct ubp_session *s, uint64_t until)
{
	struct session_numbers *numbers = &s->numbers;

	/* Who makes a change just now looks at what was defined. */
	if (!__atomic_load_n(&numbers->n_leaving, __ATOMIC_RELAXED) ||
	    pthread_mutex_trylock(&s->out.calls.change) != 0)
		return;
	pthread_mutex_lock(&numbers->lock);
	for (size_t i = numbers->n_leaving; i-- > 0;) {
		unsigned number = numbers->leaving[i];

		if (!is_to_free(s, numbers_at(s, number), number, until))
			continue;
		counting_forget(s, number);
		numbers_free_entry(s, number);
		numbers_unlist(s, i);
	}
	pthread_mutex_unlock(&numbers->lock);
	pthread_mutex_unlock(&s->out.calls.change);
}

void live_nudge(struct ubp_session *s)
{
	uint64_t *last = &s->numbers.nudged_ns, now = event_clock_now(CLOCK_KIND_MONO);

	if (!live_is_waiting(s) || now - __atomic_load_n(last, __ATOMIC_RELAXED) < NUDGE_NS ||
	    mailbox_has(s->mail, MAILBOX_KIND(MAIL_NUDGE)))
		return;
	__atomic_store_n(last, now, __ATOMIC_RELAXED);
	mail_post(s, MAIL_NUDGE, 0);
}

bool live_is_waiting(const struct ubp_session *s)
{
	return __atomic_load_n(&s->numbers.n_leaving, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&s->numbers.n_asked, __ATOMIC_RELAXED);
}
