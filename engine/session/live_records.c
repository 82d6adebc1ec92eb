/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes that change while a session runs (live.h), as who takes records sees them. */

#include "engine/base/mailbox.h"
#include "engine/define/definitions.h"
#include "engine/event/record.h"
#include "engine/session/counting.h"
#include "engine/session/live.h"
#include "engine/session/mail.h"
#include "engine/session/numbers.h"
#include "engine/session/state.h"
#include "engine/space/uprobe.h"

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

const struct spec_probe *live_spec(const struct ubp_session *s, unsigned number)
{
	const struct session_number *entry = numbers_at(s, number);

	return entry ? entry->spec : NULL;
}

/* Once it was seen that nobody has it, all its records are in queue or rings; at the next look they are delivered. */
static bool is_to_free(const struct ubp_session *s, struct session_number *entry,
		       unsigned number)
{
	bool was_alone = entry->was_alone;

	if (entry->ticket || number < definitions_n(s->defined) ||
	    uprobe_is_shared(entry->uprobe))
		return false;
	entry->was_alone = true;
	return was_alone;
}

void live_tidy(struct ubp_session *s)
{
	struct session_numbers *numbers = &s->numbers;

	/* Who makes a change just now looks at what was defined. */
	if (pthread_mutex_trylock(&s->out.calls.change) == 0) {
		pthread_mutex_lock(&numbers->lock);
		for (size_t i = numbers->n_leaving; i-- > 0;)
			if (is_to_free(s, numbers_at(s, numbers->leaving[i]),
				       numbers->leaving[i])) {
				counting_forget(s, numbers->leaving[i]);
				numbers_free_entry(s, numbers->leaving[i]);
				numbers_unlist(s, i);
			}
		pthread_mutex_unlock(&numbers->lock);
		pthread_mutex_unlock(&s->out.calls.change);
	}
	if (live_is_waiting(s) && !mailbox_has(s->mail, MAILBOX_KIND(MAIL_NUDGE)))
		mail_post(s, MAIL_NUDGE, 0);
}

bool live_is_waiting(const struct ubp_session *s)
{
	return __atomic_load_n(&s->numbers.n_leaving, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&s->numbers.n_asked, __ATOMIC_RELAXED);
}
