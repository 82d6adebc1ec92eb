/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Part of the public interface: one event, during the call of the function that ubp_dispatch() hands it to. */

#ifndef UBP_EVENT_H
#define UBP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ubp.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Made by a trigger: ubp_trigger.h. */
#define UBP_EVENT_SYNTHETIC (-2)

/* What has become of a process: ubp_event_process(). */
#define UBP_EVENT_PROCESS (-3)

/* Number of the probe (ubp_live.h), -1 for a gap: ubp_event_lost() records were lost, UBP_EVENT_SYNTHETIC, or UBP_EVENT_PROCESS. */
int ubp_event_probe(const struct ubp_event *event);

/*
 * Behind ubp_tell_processes(), events that no probe has made, among the others in the order of time. They have a process, a time, and,
 * but for the last kind, its name; no arguments and no stack. Sinks, meters and recordings pass over them.
 */
enum ubp_process_event {
	UBP_PROCESS_NONE,     /* it is another kind of event */
	UBP_PROCESS_BEGINS,   /* it is traced from now on: it was there before, or is new */
	UBP_PROCESS_EXECUTES, /* it is traced, and has executed a program */
	UBP_PROCESS_ENDS, /* it has ended, or is traced no more (ubp_remove_pid()): nothing of it comes behind this. Not told at the session's end. */
};

enum ubp_process_event ubp_event_process(const struct ubp_event *event);

/* What becomes of processes is to be told, too: before ubp_start(). */
void ubp_tell_processes(struct ubp_session *session);
/* What ubp_probe_set_cookie(), or ubp_probe_options, gave its probe; NULL: nothing. */
void *ubp_event_cookie(const struct ubp_event *event);
uint64_t ubp_event_lost(const struct ubp_event *event);
/* What its event is called; NULL for a gap. */
const char *ubp_event_name(const struct ubp_event *event);
/* When and where: nanoseconds of .clock; ids as the caller's pid namespace has them; the thread's
 * name, raw: the thread chose its bytes; the address of the instruction, or where a return goes back to. */
uint64_t ubp_event_time_ns(const struct ubp_event *event);
pid_t ubp_event_pid(const struct ubp_event *event);
pid_t ubp_event_tid(const struct ubp_event *event);
unsigned ubp_event_cpu(const struct ubp_event *event);
const char *ubp_event_comm(const struct ubp_event *event);
uint64_t ubp_event_ip(const struct ubp_event *event);
/* Of ubp_options.sample: so many hits the event stands for; or of ARG:SIZE, so much of ARG: its value, or SIZE if that is more. 0: all hits are
 * told of. */
uint64_t ubp_event_weight(const struct ubp_event *event);

/*
 * The event as a line, newline included, as the kernel's tracer prints it. Returns its bytes (owned by
 * the session, valid until the next call) and sets *ret_len. Other forms, and whole traces: ubp_sink.h.
 *
 * Strings and names are escaped: the target chose them, and they must neither begin a line nor drive the terminal
 * that the line may go to. Control bytes (C1 of UTF-8, what turns the direction of writing, bytes that are not
 * UTF-8, too) become \ooo, three octal digits for each byte. With ubp_options.strict they are raw, as the kernel
 * prints them: then strings may hold any byte, and who shows them to people has to care for that.
 */
const char *ubp_event_line(const struct ubp_event *event, size_t *ret_len);

/* How many arguments it has. */
size_t ubp_event_n_args(const struct ubp_event *event);
/* Name and value of argument @i as printed, the value escaped as above; NULL when there is none such. */
const char *ubp_event_arg_name(const struct ubp_event *event, size_t i);
const char *ubp_event_arg_text(const struct ubp_event *event, size_t i);

enum ubp_type {
	UBP_UNSIGNED, /* .as.u */
	UBP_SIGNED,   /* .as.i */
	UBP_FLOAT,    /* .as.f */
	UBP_CHAR,     /* .as.u: one byte */
	UBP_STRING,   /* .as.s */
	UBP_FAULT, /* a string, or behind ubp_tell_faults() a number, whose memory could not be read */
};

struct ubp_value {
	enum ubp_type type;
	bool is_hex;   /* it is printed in hexadecimal digits */
	unsigned size; /* bytes of the argument's type, 1, 2, 4 or 8; of strings 0 */
	size_t n;      /* elements of an array; 0: it is none */
	union {
		uint64_t u;
		int64_t i;
		double f;
		const char *s; /* .len bytes, raw, without an end; part of the event */
	} as;
	size_t len; /* of .as.s */
};

/*
 * The value of argument @i, of an array its element @element (from 0; of what is no array 0). False: there is none such. Numbers whose memory
 * could not be read are 0, as in the kernel's records; bytes of a number that could be read are kept. Behind ubp_tell_faults() their .type is
 * UBP_FAULT, .as is the same. A $stackN beyond the stack is 0 all the same.
 */
bool ubp_event_arg(const struct ubp_event *event, size_t i, size_t element,
		   struct ubp_value *ret_value);

/*
 * Numbers whose memory could not be read are to be told from those that are 0: before the first definition is added, and in no session by itself. A record takes a byte more for each
 * argument that memory is read for, an array 4, and may be too long a little earlier. Texts stay as the kernel's: 0.
 */
void ubp_tell_faults(struct ubp_session *session);

/* Return addresses of its stack, innermost first: up to @most of them to @ret_addr. Returns how many it has. */
size_t ubp_event_stack(const struct ubp_event *event, uint64_t *ret_addr, size_t most);

/* What is known of an address of a stack. Strings are not escaped. */
struct ubp_frame {
	uint64_t addr;
	const char *function; /* demangled; NULL: not known */
	uint64_t
		offset; /* of .addr, from the function's first instruction; not of .is_inlined */
	const char *file;    /* that is mapped there, "[vdso]" or "//anon"; NULL: none */
	uint64_t file_vaddr; /* the address in that file, as its symbols have it */
	const char *source; /* with ubp_options.stack_lines: the source file; NULL: not known */
	unsigned line;
	bool is_inlined; /* the function is part of the one that the next frame is of */
};

/*
 * The names of return address @i of its stack: up to @most frames to @ret_frames, one, or with ubp_options.stack_lines as many as there are functions that were
 * inlined there, the innermost first. Returns how many there are; 0: the stack has no such entry, or ubp_options.stack_raw is set. Of a call names and
 * lines are those of the call itself, the offset is that of where it returns to. Files are read for that, once each: the process may have ended. Strings are good
 * until the next call of this function, or of another one that gives names for stacks.
 */
size_t ubp_event_frames(const struct ubp_event *event, size_t i, struct ubp_frame *ret_frames,
			size_t most);

/*
 * A copy that stays when the callback returns; NULL: memory is short. All that can be asked of an event can be asked of it,
 * by the thread that dispatches, until the session (or recording) is freed. Free it with ubp_event_free() before that.
 */
struct ubp_event *ubp_event_copy(const struct ubp_event *event);
/* NULL is fine. */
void ubp_event_free(struct ubp_event *copy);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
