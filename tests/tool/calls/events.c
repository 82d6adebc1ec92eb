/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of ubp_event.h, on the event of the callback or on a copy that stayed. */

#include "engine/ubp_recording.h"
#include "engine/ubp_trigger.h"
#include "tests/tool/calls/calls.h"

static struct ubp_event *copies[4];

void events_forget(void)
{
	for (size_t i = 0; i < ARRAY_N(copies); i++) {
		ubp_event_free(copies[i]);
		copies[i] = NULL;
	}
}

/* NULL: there is none. */
static const struct ubp_event *an_event_of_now(void)
{
	return here.event && any(4) ? here.event : ONE_OF(copies);
}

CALL(ubp_event_copy)
{
	const struct ubp_event *e = an_event_of_now();
	struct ubp_event **place = &ONE_OF(copies);

	if (!e || *place)
		return;
	*place = ubp_event_copy(e);
	if (!*place)
		fail("no copy", 0);
	if (ubp_event_probe(*place) != ubp_event_probe(e) ||
	    ubp_event_time_ns(*place) != ubp_event_time_ns(e))
		fail("the copy is another event", ubp_event_probe(*place));
}

CALL(ubp_event_free)
{
	struct ubp_event **place = &ONE_OF(copies);

	ubp_event_free(*place);
	*place = NULL;
}

/* What takes an event alone. */
#define NUMBER_OF(name)                                                                        \
	CALL(name)                                                                             \
	{                                                                                      \
		const struct ubp_event *e = an_event_of_now();                                 \
                                                                                               \
		if (e)                                                                         \
			(void)name(e);                                                         \
	}
NUMBER_OF(ubp_event_cookie)
NUMBER_OF(ubp_event_cpu)
NUMBER_OF(ubp_event_ip)
NUMBER_OF(ubp_event_lost)
NUMBER_OF(ubp_event_n_args)
NUMBER_OF(ubp_event_pid)
NUMBER_OF(ubp_event_probe)
NUMBER_OF(ubp_event_process)
NUMBER_OF(ubp_event_tid)
NUMBER_OF(ubp_event_time_ns)
NUMBER_OF(ubp_event_weight)
NUMBER_OF(ubp_trigger_event_is_stack)

#define TEXT_OF(name)                                                                          \
	CALL(name)                                                                             \
	{                                                                                      \
		const struct ubp_event *e = an_event_of_now();                                 \
                                                                                               \
		if (e)                                                                         \
			look_at_text(name(e));                                                 \
	}
TEXT_OF(ubp_event_comm)
TEXT_OF(ubp_event_host)
TEXT_OF(ubp_event_name)
TEXT_OF(ubp_trigger_event_trace)

CALL(ubp_event_arg)
{
	const struct ubp_event *e = an_event_of_now();
	struct ubp_value v;

	if (e &&
	    ubp_event_arg(e, any(2) ? any(4) : (size_t)a_word(), any(4) ? 0 : (size_t)a_word(),
			  &v) &&
	    v.type == UBP_STRING)
		look_at(v.as.s, v.len);
}

CALL(ubp_event_arg_name)
{
	const struct ubp_event *e = an_event_of_now();

	if (e)
		look_at_text(ubp_event_arg_name(e, any(2) ? any(4) : (size_t)a_word()));
}

CALL(ubp_event_arg_text)
{
	const struct ubp_event *e = an_event_of_now();

	if (e)
		look_at_text(ubp_event_arg_text(e, any(2) ? any(4) : (size_t)a_word()));
}

CALL(ubp_event_line)
{
	const struct ubp_event *e = an_event_of_now();
	const char *line;
	size_t len;

	if (!e)
		return;
	line = ubp_event_line(e, &len);
	look_at(line, len);
	if (len && line[len - 1] != '\n')
		fail("a line without an end", (int64_t)len);
}

CALL(ubp_event_stack)
{
	const struct ubp_event *e = an_event_of_now();
	size_t most = any(5);
	uint64_t addresses[4];

	if (e)
		(void)ubp_event_stack(e, most ? addresses : NULL, most);
}

CALL(ubp_event_frames)
{
	const struct ubp_event *e = an_event_of_now();
	struct ubp_frame frames[4];
	size_t n, most = any(ARRAY_N(frames) + 1);

	if (!e)
		return;
	n = ubp_event_frames(e, seldom(4) ? (size_t)a_word() : any(4), most ? frames : NULL,
			     most);
	for (size_t i = 0; i < n && i < most; i++) {
		look_at_text(frames[i].function);
		look_at_text(frames[i].file);
	}
}
