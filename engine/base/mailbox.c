/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct question {
	uint64_t ticket; /* 0: this place is free */
	bool is_answered;
	struct mailbox_answer answer;
};

struct mailbox {
	struct mailbox_options opt;
	pthread_mutex_t lock; /* of all that follows */
	struct mailbox_message *v;
	size_t n;
	struct question questions[MAILBOX_QUESTIONS];
	uint64_t n_tickets;
	bool is_closed;
	int urgent; /* atomic, without the lock */
};

int mailbox_new(const struct mailbox_options *options, struct mailbox **ret_box)
{
	struct mailbox *box = calloc(1, sizeof(*box));

	if (!box)
		return -ENOMEM;
	box->opt = *options;
	/* All of it at once: what comes then needs no memory. */
	box->v = calloc(options->room + options->spare, sizeof(*box->v));
	if (!box->v) {
		free(box);
		return -ENOMEM;
	}
	pthread_mutex_init(&box->lock, NULL);
	*ret_box = box;
	return 0;
}

static void drop(const struct mailbox *box, const struct mailbox_message *message)
{
	if (message->object && box->opt.drop)
		box->opt.drop(message);
}

void mailbox_free(struct mailbox *box)
{
	if (!box)
		return;
	for (size_t i = 0; i < box->n; i++)
		drop(box, &box->v[i]);
	pthread_mutex_destroy(&box->lock);
	free(box->v);
	free(box);
}

/* Under the lock. */
static int append(struct mailbox *box, const struct mailbox_message *message)
{
	bool is_spared = box->opt.spared & MAILBOX_KIND(message->kind);
	size_t room = box->opt.room + (is_spared ? box->opt.spare : 0);

	if (box->is_closed)
		return -EPIPE;
	if (box->n >= room)
		return -EAGAIN;
	box->v[box->n++] = *message;
	if (box->opt.urgent & MAILBOX_KIND(message->kind))
		__atomic_store_n(&box->urgent, 1, __ATOMIC_RELAXED);
	return 0;
}

int mailbox_post(struct mailbox *box, const struct mailbox_message *message)
{
	int rc;

	pthread_mutex_lock(&box->lock);
	rc = append(box, message);
	pthread_mutex_unlock(&box->lock);
	if (rc == 0 && box->opt.wake)
		box->opt.wake(box->opt.ctx);
	return rc;
}

/* A place for the answer; NULL: there is none with this ticket. */
static struct question *find(struct mailbox *box, uint64_t ticket)
{
	for (size_t i = 0; i < MAILBOX_QUESTIONS; i++)
		if (box->questions[i].ticket == ticket)
			return &box->questions[i];
	return NULL;
}

int mailbox_ask(struct mailbox *box, const struct mailbox_message *message,
		uint64_t *ret_ticket)
{
	struct mailbox_message with_ticket = *message;
	struct question *question;
	int rc = -EAGAIN;

	pthread_mutex_lock(&box->lock);
	question = find(box, 0);
	with_ticket.ticket = box->n_tickets + 1;
	if (question)
		rc = append(box, &with_ticket);
	if (rc == 0)
		*question = (struct question){ .ticket = ++box->n_tickets };
	*ret_ticket = rc == 0 ? with_ticket.ticket : 0;
	pthread_mutex_unlock(&box->lock);
	if (rc == 0 && box->opt.wake)
		box->opt.wake(box->opt.ctx);
	return rc;
}

bool mailbox_look(struct mailbox *box, uint64_t ticket, struct mailbox_answer *ret_answer)
{
	struct question *question;
	bool done;

	pthread_mutex_lock(&box->lock);
	question = ticket ? find(box, ticket) : NULL;
	done = question && question->is_answered;
	if (done) {
		*ret_answer = question->answer;
		*question = (struct question){ 0 };
	}
	pthread_mutex_unlock(&box->lock);
	return done;
}

/* Of the first whose kind is among @kinds; .n: there is none. */
static size_t first_of(const struct mailbox *box, unsigned kinds)
{
	size_t i = 0;

	while (i < box->n && !(kinds & MAILBOX_KIND(box->v[i].kind)))
		i++;
	return i;
}

bool mailbox_take(struct mailbox *box, unsigned kinds, struct mailbox_message *ret_message)
{
	size_t i;
	bool any;

	pthread_mutex_lock(&box->lock);
	i = first_of(box, kinds);
	any = i < box->n;
	if (any) {
		*ret_message = box->v[i];
		box->n--;
		memmove(box->v + i, box->v + i + 1, (box->n - i) * sizeof(*box->v));
	}
	pthread_mutex_unlock(&box->lock);
	return any;
}

const int *mailbox_urgent(const struct mailbox *box)
{
	return &box->urgent;
}

bool mailbox_has(struct mailbox *box, unsigned kinds)
{
	bool any;

	pthread_mutex_lock(&box->lock);
	any = first_of(box, kinds) < box->n;
	pthread_mutex_unlock(&box->lock);
	return any;
}

void mailbox_answer(struct mailbox *box, uint64_t ticket, const struct mailbox_answer *answer)
{
	struct question *question;

	if (!ticket)
		return;
	pthread_mutex_lock(&box->lock);
	question = find(box, ticket);
	if (question && !question->is_answered) {
		question->answer = *answer;
		question->is_answered = true;
	}
	pthread_mutex_unlock(&box->lock);
	if (question && box->opt.answered)
		box->opt.answered(box->opt.ctx);
}

void mailbox_close(struct mailbox *box, unsigned kept)
{
	const struct mailbox_answer none = { .code = -ECANCELED, .text = "tracing has ended" };
	size_t n = 0;

	pthread_mutex_lock(&box->lock);
	box->is_closed = true;
	for (size_t i = 0; i < box->n; i++)
		if (kept & MAILBOX_KIND(box->v[i].kind))
			box->v[n++] = box->v[i];
		else
			drop(box, &box->v[i]);
	box->n = n;
	for (size_t i = 0; i < MAILBOX_QUESTIONS; i++)
		if (box->questions[i].ticket && !box->questions[i].is_answered) {
			box->questions[i].answer = none;
			box->questions[i].is_answered = true;
		}
	pthread_mutex_unlock(&box->lock);
	if (box->opt.answered)
		box->opt.answered(box->opt.ctx);
}
