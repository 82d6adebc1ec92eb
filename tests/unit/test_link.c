/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Messages over a socket (engine/apart/link.h): of any size, with descriptors; from somebody who says what makes no sense, or has ended. */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/apart/link.h"

static int ends[2], gone;
static struct wire message;

static int open_link(void **state)
{
	(void)state;
	message = (struct wire){ 0 };
	gone = eventfd(0, EFD_CLOEXEC);
	return gone < 0 ? -1 : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static int close_link(void **state)
{
	(void)state;
	wire_free(&message);
	close(ends[0]);
	close(ends[1]);
	return close(gone);
}

static void end_other(void)
{
	const uint64_t one = 1;

	assert_int_equal(write(gone, &one, sizeof(one)), sizeof(one));
}

/* --- sizes ------------------------------------------------------------------------------------ */

struct sender {
	size_t size;
	int rc;
};

/* Numbers, so many. */
static void *send_numbers(void *arg)
{
	struct sender *s = arg;
	struct wire out = { 0 };

	for (size_t i = 0; i < s->size; i++)
		wire_put(&out, i);
	s->rc = link_send(ends[0], gone, &out, NULL);
	wire_free(&out);
	return NULL;
}

/* Into the room that the one before has left, and into more than that; larger than what a socket takes at once. */
static void sizes(void **state)
{
	static const size_t each[] = { 1, 0, 3, 2, 1000, 7, 200000, 1, 300000 };

	(void)state;
	for (size_t k = 0; k < sizeof(each) / sizeof(*each); k++) {
		struct sender s = { .size = each[k], .rc = 1 };
		pthread_t id;

		assert_int_equal(pthread_create(&id, NULL, send_numbers, &s), 0);
		assert_int_equal(link_receive(ends[1], k % 2 ? gone : -1, &message, NULL), 0);
		assert_int_equal(pthread_join(id, NULL), 0);
		assert_int_equal(s.rc, 0);
		assert_int_equal(message.len, each[k] * sizeof(uint64_t));
		for (size_t i = 0; i < each[k]; i++)
			assert_int_equal(wire_get(&message), i);
		assert_false(message.failed);
		(void)wire_get(&message);
		assert_true(message.failed);
	}
}

static void descriptors(void **state)
{
	struct link_fds out = { .fd = { gone, ends[0] }, .n = 2 }, in = { .n = 0 };
	struct wire text = { 0 };
	uint64_t one = 1;

	(void)state;
	wire_put_text(&text, "with two");
	assert_int_equal(link_send(ends[0], -1, &text, &out), 0);
	assert_int_equal(link_receive(ends[1], -1, &message, &in), 0);
	assert_string_equal(wire_get_text(&message), "with two");
	assert_int_equal(in.n, 2);
	assert_int_equal(write(in.fd[0], &one, sizeof(one)), sizeof(one));
	assert_int_equal(read(gone, &one, sizeof(one)), sizeof(one));
	link_close_fds(&in);
	wire_free(&text);
}

/* --- the other end ---------------------------------------------------------------------------- */

static void write_all(const uint64_t *words, size_t n)
{
	assert_int_equal(write(ends[0], words, n * sizeof(*words)), n * sizeof(*words));
}

/* More than one message at once, and one that nobody would send. */
static void nonsense(void **state)
{
	const uint64_t two[] = { 8, 1, 8, 2 }, huge[] = { UINT64_MAX, 0 };
	struct sender s = { .size = 10 };

	(void)state;
	(void)send_numbers(&s);
	assert_int_equal(link_receive(ends[1], -1, &message, NULL), 0);
	write_all(two, 4);
	assert_int_equal(link_receive(ends[1], -1, &message, NULL), -EPROTO);
	assert_int_equal(message.len, 0);
	write_all(huge, 2);
	assert_int_equal(link_receive(ends[1], gone, &message, NULL), -EPROTO);
}

static void has_closed(void **state)
{
	const uint64_t half[] = { 16, 1 };
	struct sender s = { .size = 1 };

	(void)state;
	write_all(half, 2);
	(void)shutdown(ends[0], SHUT_RDWR);
	assert_int_equal(link_receive(ends[1], -1, &message, NULL), -EPIPE);
	(void)send_numbers(&s);
	assert_int_equal(s.rc, -EPIPE);
}

/* Somebody else has its end: nothing more comes, whatever was said by then, and nothing is taken. */
static void has_ended(void **state)
{
	const uint64_t half[] = { 16, 1 };
	struct sender s = { .size = 1000000 };

	(void)state;
	write_all(half, 2);
	end_other();
	assert_int_equal(link_receive(ends[1], gone, &message, NULL), -EPIPE);
	(void)send_numbers(&s);
	assert_int_equal(s.rc, -EPIPE);
}

/* What was said in full before counts. */
static void has_said_it(void **state)
{
	struct sender s = { .size = 3 };

	(void)state;
	(void)send_numbers(&s);
	end_other();
	assert_int_equal(link_receive(ends[1], gone, &message, NULL), 0);
	assert_int_equal(message.len, 3 * sizeof(uint64_t));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, open_link, close_link)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sizes),      TEST(descriptors), TEST(nonsense),
		TEST(has_closed), TEST(has_ended),   TEST(has_said_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
