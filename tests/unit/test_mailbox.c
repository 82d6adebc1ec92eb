/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SMALL, GRAVE, ASKED };

static int n_dropped, n_woken, n_answered;

static void drop(const struct mailbox_message *message)
{
	free(message->object);
	n_dropped++;
}

static void wake(void *ctx)
{
	(void)ctx;
	__atomic_fetch_add(&n_woken, 1, __ATOMIC_RELAXED);
}

static void answered(void *ctx)
{
	(void)ctx;
	__atomic_fetch_add(&n_answered, 1, __ATOMIC_RELAXED);
}

static struct mailbox *new_box(size_t room)
{
	const struct mailbox_options options = {
		.room = room,
		.spare = 2,
		.spared = MAILBOX_KIND(GRAVE) | MAILBOX_KIND(ASKED),
		.urgent = MAILBOX_KIND(GRAVE),
		.wake = wake,
		.answered = answered,
		.drop = drop,
	};
	struct mailbox *box = NULL;

	n_dropped = n_woken = n_answered = 0;
	assert_int_equal(mailbox_new(&options, &box), 0);
	return box;
}

static int post(struct mailbox *box, unsigned kind, int64_t value)
{
	return mailbox_post(box, &(struct mailbox_message){ .kind = kind, .value = value });
}

static void takes_the_oldest_of_a_kind(void **state)
{
	struct mailbox *box = new_box(4);
	struct mailbox_message m;

	(void)state;
	assert_int_equal(post(box, SMALL, 1), 0);
	assert_int_equal(post(box, ASKED, 2), 0);
	assert_int_equal(post(box, SMALL, 3), 0);
	assert_int_equal(n_woken, 3);
	assert_true(mailbox_has(box, MAILBOX_KIND(ASKED)));
	assert_true(mailbox_take(box, MAILBOX_KIND(ASKED), &m));
	assert_int_equal(m.value, 2);
	assert_true(!mailbox_has(box, MAILBOX_KIND(ASKED)));
	assert_true(mailbox_take(box, ~0U, &m));
	assert_int_equal(m.value, 1);
	assert_true(mailbox_take(box, ~0U, &m));
	assert_int_equal(m.value, 3);
	assert_true(!mailbox_take(box, ~0U, &m));
	mailbox_free(box);
}

static void has_room_for_what_must_not_be_lost(void **state)
{
	struct mailbox *box = new_box(2);
	uint64_t ticket;

	(void)state;
	assert_int_equal(post(box, SMALL, 1), 0);
	assert_int_equal(post(box, SMALL, 2), 0);
	assert_int_equal(post(box, SMALL, 3), -EAGAIN);
	assert_int_equal(*mailbox_urgent(box), 0);
	assert_int_equal(post(box, GRAVE, 4), 0);
	assert_int_equal(*mailbox_urgent(box), 1);
	assert_int_equal(mailbox_ask(box, &(struct mailbox_message){ .kind = ASKED }, &ticket),
			 0);
	assert_int_equal(mailbox_ask(box, &(struct mailbox_message){ .kind = ASKED }, &ticket),
			 -EAGAIN);
	mailbox_free(box);
}

static void answers_each_question_once(void **state)
{
	const struct mailbox_answer done = { .code = -EBUSY, .value = 7, .text = "no" };
	struct mailbox *box = new_box(64);
	struct mailbox_answer got;
	struct mailbox_message m;
	uint64_t ticket, other;

	(void)state;
	assert_int_equal(mailbox_ask(box, &(struct mailbox_message){ .kind = ASKED }, &ticket),
			 0);
	assert_int_equal(mailbox_ask(box, &(struct mailbox_message){ .kind = ASKED }, &other),
			 0);
	assert_true(ticket != other);
	assert_true(mailbox_take(box, ~0U, &m));
	assert_true(m.ticket == ticket);
	assert_true(!mailbox_look(box, ticket, &got));
	mailbox_answer(box, m.ticket, &done);
	assert_int_equal(n_answered, 1);
	assert_true(!mailbox_look(box, other, &got));
	assert_true(mailbox_look(box, ticket, &got));
	assert_int_equal(got.code, -EBUSY);
	assert_int_equal(got.value, 7);
	assert_string_equal(got.text, "no");
	assert_true(!mailbox_look(box, ticket, &got)); /* told once */
	for (int i = 1; i < MAILBOX_QUESTIONS; i++)
		assert_int_equal(
			mailbox_ask(box, &(struct mailbox_message){ .kind = ASKED }, &ticket),
			0);
	assert_int_equal(mailbox_ask(box, &(struct mailbox_message){ .kind = ASKED }, &ticket),
			 -EAGAIN);
	mailbox_free(box);
}

/* Whoever has asked hears of the end, and what was given away is freed. */
static void tells_the_end_to_who_has_asked(void **state)
{
	struct mailbox *box = new_box(8);
	struct mailbox_answer got;
	struct mailbox_message m;
	uint64_t ticket;

	(void)state;
	assert_int_equal(
		mailbox_ask(box,
			    &(struct mailbox_message){ .kind = ASKED, .object = malloc(1) },
			    &ticket),
		0);
	assert_int_equal(post(box, SMALL, 5), 0);
	mailbox_close(box, MAILBOX_KIND(SMALL));
	assert_int_equal(n_dropped, 1);
	assert_true(mailbox_look(box, ticket, &got));
	assert_int_equal(got.code, -ECANCELED);
	assert_int_equal(post(box, SMALL, 6), -EPIPE);
	assert_true(mailbox_take(box, ~0U, &m));
	assert_int_equal(m.value, 5);
	mailbox_free(box);
}

#define POSTERS 4
#define EACH    20000

static void *poster(void *arg)
{
	struct mailbox *box = arg;

	for (int64_t i = 0; i < EACH;)
		i += post(box, SMALL, i) == 0;
	return NULL;
}

/* Several post, one takes: each message comes once. */
static void hands_each_message_over_once(void **state)
{
	struct mailbox *box = new_box(64);
	pthread_t ids[POSTERS];
	struct mailbox_message m;
	int64_t sum = 0, n = 0;

	(void)state;
	for (int i = 0; i < POSTERS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, poster, box), 0);
	while (n < (int64_t)POSTERS * EACH)
		if (mailbox_take(box, MAILBOX_KIND(SMALL), &m)) {
			sum += m.value;
			n++;
		}
	for (int i = 0; i < POSTERS; i++)
		pthread_join(ids[i], NULL);
	assert_true(sum == (int64_t)POSTERS * EACH * (EACH - 1) / 2);
	assert_true(!mailbox_has(box, ~0U));
	mailbox_free(box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_the_oldest_of_a_kind),
		cmocka_unit_test(has_room_for_what_must_not_be_lost),
		cmocka_unit_test(answers_each_question_once),
		cmocka_unit_test(tells_the_end_to_who_has_asked),
		cmocka_unit_test(hands_each_message_over_once),
	};

	return cmocka_run_group_tests_name("mailbox", tests, NULL, NULL);
}
