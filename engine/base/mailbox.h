/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A bounded mailbox: any thread posts messages, one thread takes them, and answers those that ask for it. A message is
 * plain data: numbers, and perhaps one object that belongs to whoever has the message. Nobody waits: a poster is told
 * at once that there is no room, the taker that there is nothing, and who has asked looks for the answer when told
 * to (mailbox_options.wake, .answered).
 *
 * All functions may be called from any thread, but for mailbox_free().
 */

#ifndef UBP_BASE_MAILBOX_H
#define UBP_BASE_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mailbox;

/* Questions that are on their way, or answered and not looked at, at most. */
#define MAILBOX_QUESTIONS 16

/* Of a set of kinds. */
#define MAILBOX_KIND(k) (1U << (k))

struct mailbox_message {
	unsigned kind;   /* below 32 */
	uint64_t ticket; /* of a question; 0: no answer is wanted. The mailbox sets it */
	int64_t value;
	void *object; /* the receiver's from mailbox_take() on; NULL: none */
};

struct mailbox_answer {
	int code;       /* 0, -errno, or what else the kind of question has */
	uint64_t value; /* as the kind of question has it */
	char text[256]; /* of an error; "" */
};

struct mailbox_options {
	size_t room;     /* for messages */
	size_t spare;    /* for more of them, of these kinds: */
	unsigned spared; /* MAILBOX_KIND() */
	unsigned urgent; /* these set the word of mailbox_urgent() */
	/* A message has come: tells the taker. On the poster's thread. */
	void (*wake)(void *ctx);
	/* An answer has come: tells those who ask. On the taker's thread. */
	void (*answered)(void *ctx);
	/* Nobody will take it: frees its object. */
	void (*drop)(const struct mailbox_message *message);
	void *ctx; /* of .wake and .answered */
};

/* Returns 0 or -ENOMEM. */
int mailbox_new(const struct mailbox_options *options, struct mailbox **ret_box);
/* What is in it is dropped. NULL is fine. */
void mailbox_free(struct mailbox *box);

/*
 * Returns 0; -EAGAIN: there is no room; -EPIPE: it is closed. The object is the mailbox's if this returned 0,
 * else the caller's still.
 */
int mailbox_post(struct mailbox *box, const struct mailbox_message *message);
/*
 * Post a message that wants an answer: *ret_ticket is for mailbox_look(). Returns what mailbox_post() does; -EAGAIN also
 * when too many messages wait for an answer.
 */
int mailbox_ask(struct mailbox *box, const struct mailbox_message *message,
		uint64_t *ret_ticket);
/* True: it is answered. That is told once. */
bool mailbox_look(struct mailbox *box, uint64_t ticket, struct mailbox_answer *ret_answer);

/* The oldest message whose kind is among @kinds (MAILBOX_KIND()). False: there is none. */
bool mailbox_take(struct mailbox *box, unsigned kinds, struct mailbox_message *ret_message);
/*
 * A word that is 0 until something urgent was posted: for what takes long, to look at without a lock
 * (engine/base/cancel.h).
 */
const int *mailbox_urgent(const struct mailbox *box);
/* Is there one? */
bool mailbox_has(struct mailbox *box, unsigned kinds);
/* Of a message with a ticket; of others nothing is done. */
void mailbox_answer(struct mailbox *box, uint64_t ticket, const struct mailbox_answer *answer);

/*
 * Nobody takes messages any more, but for those in @kept: all others are dropped, and questions that are not
 * answered are, with -ECANCELED.
 */
void mailbox_close(struct mailbox *box, unsigned kept);

#endif
