/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Calls of ubp_handler.h, in a handler. What the program has is left as it is, or written once more, so that it still computes the same; all else must
 * be refused.
 */

#include "tests/tool/calls/calls.h"

#define H here.hit

CALL(ubp_hit_addr)
{
	if (!ubp_hit_addr(H))
		fail("no address", 0);
}

CALL(ubp_hit_arg)
{
	uint64_t value;

	is_code(ubp_hit_arg(H, seldom(3) ? (unsigned)a_word() : any(9), &value));
}

CALL(ubp_hit_is_return)
{
	(void)ubp_hit_is_return(H);
}

CALL(ubp_hit_pid)
{
	if (ubp_hit_pid(H) != target.pid)
		fail("another process", ubp_hit_pid(H));
}

CALL(ubp_hit_probe)
{
	(void)ubp_hit_probe(H);
}

/* Somewhere: on the stack, or nowhere. */
static uint64_t an_address(void)
{
	uint64_t at;

	return any(3) && ubp_hit_reg(H, "sp", &at) == 0 ? at + any(64) : a_word();
}

CALL(ubp_hit_read)
{
	char bytes[64];
	size_t size = any(sizeof(bytes) + 1);

	if (ubp_hit_read(H, an_address(), bytes, size) > size)
		fail("more was read", (int64_t)size);
}

CALL(ubp_hit_read_string)
{
	char bytes[16];
	ssize_t n = ubp_hit_read_string(H, an_address(), bytes, any(sizeof(bytes) + 1));

	is_code(n);
	if (n >= (ssize_t)sizeof(bytes))
		fail("more was read", n);
}

static const char *a_register(void)
{
	static const char *const names[] = { "di", "sp",   "ax", "ip", "flags",
					     "cs", "xmm0", "x0", "pc" };

	return A_TEXT(names);
}

CALL(ubp_hit_reg)
{
	uint64_t value;

	is_code(ubp_hit_reg(H, a_register(), &value));
}

CALL(ubp_hit_reg_name)
{
	look_at_text(ubp_hit_reg_name(H, seldom(4) ? a_number() : any(30)));
}

CALL(ubp_hit_result)
{
	uint64_t value;
	int rc = ubp_hit_result(H, &value);

	is_code(rc);
	if ((rc == 0) != ubp_hit_is_return(H))
		fail("a result where nothing returns, or none where it does", rc);
}

/* What was changed by a probe that may not is no change. */
static void is_changed(int rc)
{
	if (!here.may_change)
		is_refused(rc);
	else
		(void)is_well(rc);
}

CALL(ubp_hit_set_reg)
{
	static const char *const never[] = { "ip", "cs", "xmm0", "no_such", "", NULL };
	const char *name = ubp_hit_reg_name(H, any(17));
	uint64_t value;

	if (any(2))
		is_refused(ubp_hit_set_reg(H, ONE_OF(never), a_word(), &here.err));
	else if (name && ubp_hit_reg(H, name, &value) == 0)
		is_changed(ubp_hit_set_reg(H, name, value, &here.err));
}

CALL(ubp_hit_set_arg)
{
	unsigned n = any(12);
	uint64_t value;

	if (any(2) || ubp_hit_arg(H, n, &value) < 0)
		is_refused(ubp_hit_set_arg(H, 1000000 + any(1000), a_word(), &here.err));
	else
		is_changed(ubp_hit_set_arg(H, n, value, &here.err));
}

CALL(ubp_hit_set_result)
{
	uint64_t value;

	if (ubp_hit_result(H, &value) < 0)
		is_refused(ubp_hit_set_result(H, a_word(), &here.err));
	else
		is_changed(ubp_hit_set_result(H, value, &here.err));
}

CALL(ubp_hit_skip)
{
	/* The program would notice. */
	if (!here.may_change || ubp_hit_is_return(H))
		is_refused(ubp_hit_skip(H, a_word(), &here.err));
}

CALL(ubp_hit_stack)
{
	uint64_t addresses[8];
	size_t most = any(ARRAY_N(addresses) + 1);

	if (ubp_hit_stack(H, addresses, most) > most)
		fail("more was told", (int64_t)most);
}

CALL(ubp_hit_tid)
{
	if (ubp_hit_tid(H) <= 0)
		fail("no thread", ubp_hit_tid(H));
}

CALL(ubp_hit_time_ns)
{
	if (!ubp_hit_time_ns(H))
		fail("no time", 0);
}

CALL(ubp_hit_write)
{
	char bytes[8] = { 0 };

	if (any(2))
		is_refused(ubp_hit_write(H, any(2) ? 16 : UINT64_MAX - any(8), bytes,
					 1 + any(8), &here.err));
	else
		is_changed(ubp_hit_write(H, an_address(), bytes, 0, &here.err));
}
