/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a host and its engine say to each other. The host asks, one request at a time on each of up to three sockets, and the engine answers each. A request is an enum apart_op and what it takes;
 * an answer is a number, 0 or more or a negative errno, the error (struct ubp_err), what is to be told to the user, and what was asked for.
 *
 * On the third socket the engine begins: a thread has hit a probe whose handler is the host's (struct apart_hit, its registers), and stands still. The host asks what its handler
 * wants to know or have done, and says APART_VERDICT in the end, which is not answered. Then it is the engine's turn again.
 *
 * Beside that they share some memory, which is the host's: what it may look at without asking, and the events of the last APART_PULL.
 */

#ifndef UBP_APART_PROTOCOL_H
#define UBP_APART_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

/* Both are of one build: host and engine tell each other this, and structures are sent as they are. To be raised with each change of this file. */
#define APART_VERSION 4

enum apart_op {
	APART_OPEN = 1, /* version, options; with descriptors: the shared memory, over, bell */
	APART_FREE,     /* the engine stops, answers and ends */
	APART_ADD,      /* form, text, filter; with the folder that paths are relative to */
	APART_COMMAND,  /* words, environment, signal mask; with 0, 1, 2 and the folder */
	APART_START,    /* with the folder */
	APART_STOP,
	APART_PULL, /* new events to the shared memory; definitions of their probes, numbers of those that are gone */
	APART_TEXT, /* enum apart_text, index -> text */
	APART_NUMBER,          /* enum apart_number, index -> number */
	APART_ARG_INDEX,       /* index, name */
	APART_FOR_KERNEL,      /* index -> text, why there is none */
	APART_EXPLAIN_TRACING, /* -> why, perhaps */
	APART_ENABLE,          /* index, on */
	APART_TELL_PROCESSES,
	APART_TELL_FAULTS,
	APART_SAMPLE_NEXT, /* on */
	APART_ONLY_USER,   /* user */
	APART_ONLY_CGROUP, /* text */
	APART_FILES_AS,    /* pid */
	APART_LATENCY,     /* ns */
	APART_PROBES_ADD, /* form, filter, disabled, cookie, handler (APART_SET_HANDLER), may it change, texts -> first, how many; with the folder */
	APART_PROBES_REMOVE,  /* numbers */
	APART_SET_FILTER,     /* number, filter */
	APART_ADD_PID,        /* pid */
	APART_REMOVE_PID,     /* pid */
	APART_STATS,          /* -> struct ubp_stats, its texts */
	APART_PROBE_STATS,    /* index -> struct ubp_probe_stats, its texts */
	APART_PROBES,         /* -> definitions of all probes that the host does not know */
	APART_NAMES,          /* a record, which of its stack's entries -> names */
	APART_COMMAND_STATUS, /* -> has it ended, status */
	APART_TRIGGER,        /* enum apart_trigger, event, text, number */
	APART_TRIGGER_TEXT,   /* enum apart_trigger_text, event -> text */
	APART_TRIGGER_ROWS,   /* event -> what its histograms have */
	APART_TRIGGER_ERRORS, /* -> all that was wrong with the last text */
	APART_TALLY,          /* text */
	APART_TALLY_EVENTS,
	APART_TALLY_TAKE, /* -> hits, dropped, rows; -ENODATA: nothing counts */
	APART_HEAP,       /* index, does it free, text */
	APART_HEAP_TAKE, /* of how many stacks the host has the text -> is memory short, rows */
	APART_RECORD,    /* options; with the folder */
	APART_RECORD_NEXT,
	APART_RECORD_END,
	APART_CHANGES, /* with a socket: on that apart_is_change() is asked for from now on, and nothing else */
	APART_SET_HANDLER,   /* number, the host's number of a handler or 0, may it change */
	APART_HANDLER_STATS, /* number -> struct ubp_handler_stats */
	APART_HITS, /* with a socket: hits of probes with handlers are told there, and apart_is_for_handlers() may be asked for meanwhile */
	/* There alone, each with the registers behind it, if the handler has changed some. */
	APART_HIT_VECTOR, /* which -> value */
	APART_HIT_READ,   /* address, size -> bytes */
	APART_HIT_WRITE,  /* address, bytes */
	APART_HIT_SKIP,   /* result -> registers */
	APART_HIT_STACK,  /* how many -> addresses */
	APART_VERDICT, /* enum ubp_verdict, was anything changed, how many calls were refused */
	APART_OP_N,
};

/* Of the thread that was hit. */
static inline bool apart_is_of_hit(enum apart_op op)
{
	return op >= APART_HIT_VECTOR && op <= APART_VERDICT;
}

/* What a handler may ask of its session, whoever is in a call of that (ubp_live.h). */
static inline bool apart_is_for_handlers(enum apart_op op)
{
	switch (op) {
	case APART_TEXT:
	case APART_NUMBER:
	case APART_ARG_INDEX:
	case APART_FOR_KERNEL:
	case APART_EXPLAIN_TRACING:
	case APART_ENABLE:
	case APART_LATENCY:
	case APART_PROBES_ADD:
	case APART_PROBES_REMOVE:
	case APART_SET_FILTER:
	case APART_ADD_PID:
	case APART_REMOVE_PID:
	case APART_STATS:
	case APART_PROBE_STATS:
	case APART_HANDLER_STATS:
	case APART_SET_HANDLER:
	case APART_COMMAND_STATUS:
		return true;
	default:
		return apart_is_of_hit(op);
	}
}

/* May it wait for a file, or for threads of a target? */
static inline bool apart_is_change(enum apart_op op)
{
	return op == APART_ENABLE || op == APART_PROBES_ADD || op == APART_PROBES_REMOVE ||
	       op == APART_SET_FILTER || op == APART_ADD_PID || op == APART_REMOVE_PID;
}

enum apart_text {
	APART_LISTING,
	APART_GROUP,
	APART_EVENT,
	APART_PATH,
	APART_FORMAT,
	APART_EXPLAIN,
	APART_SAMPLE,
	APART_FILTER,
	APART_TRIGGER_EXPLAIN,
	APART_TALLY_EXPLAIN,
	APART_TEXT_N,
};

/* Functions of ubp_trigger.h that change something. */
enum apart_trigger {
	APART_TRIGGER_WRITE,
	APART_TRIGGER_RECORD,
	APART_TRIGGER_FILTER,
	APART_TRIGGER_CLEAR,
	APART_TRIGGER_SETTLE,
	APART_TRIGGER_SET_TRACING,
	APART_TRIGGER_SNAPSHOT_AFTER,
	APART_TRIGGER_ON_SNAPSHOT,
	APART_SYNTHETIC_ADD,
	APART_SYNTHETIC_CLEAR,
	APART_TRIGGER_PROBE, /* its number, group */
	APART_TRIGGER_TRACE, /* text: its name, number: the host's number of it, if it is new */
	APART_TRIGGER_TRACE_END, /* the same */
};

/* Those that tell something. */
enum apart_trigger_text {
	APART_TRIGGER_LIST,
	APART_TRIGGER_HIST,
	APART_TRIGGER_HIST_JSON,
	APART_TRIGGER_STATE,
	APART_SYNTHETIC_FORMAT,
	APART_SYNTHETIC_LIST,
};

enum apart_number {
	APART_N_PROBES,
	APART_IS_RETURN,
	APART_IS_ENABLED,
	APART_NEXT,
	APART_STATE,
	APART_LEFT_OUT,
	APART_UNTOLD,
	APART_IS_DONE,
	APART_NUMBER_N,
};

/* The part of the shared memory that is looked at without asking. */
struct apart_state {
	/* The engine's, atomic. */
	uint32_t is_done, has_failed, command_pid;
	uint32_t
		is_rung; /* the bell was rung, and no APART_PULL has come since: what is above may be old */
	uint32_t is_tracing;                 /* ubp_trigger_is_tracing() */
	uint32_t record_is_full;             /* ubp_record_is_full() */
	uint64_t record_count, record_bytes; /* ubp_record_count() */
	/* The host's, atomic: what takes long is to be given up, of so many requests. */
	uint32_t n_over;
};

/* Where events are in it. */
#define APART_EVENTS_AT    4096
#define APART_EVENTS_BYTES (1u << 20)
#define APART_SHARED_BYTES (APART_EVENTS_AT + APART_EVENTS_BYTES)

/* One event: this, and a struct event_record. Each begins at a multiple of 8. */
struct apart_event {
	uint64_t weight; /* ubp_event_weight() */
	union {
		uint64_t cookie; /* that the probe came with */
		uint64_t
			trace; /* .made: the host's number of the trace that it is of; 0: of none that has a name */
	};
	int32_t id; /* ubp_event_probe() */
	uint32_t
		made : 31; /* a trigger made it: the number of its definition among such, + 1; 0: a hit */
	uint32_t is_stack : 1; /* ubp_trigger_event_is_stack() */
};

/* A hit whose handler is to run; behind it, the registers of its thread. */
struct apart_hit {
	uint64_t handler; /* the host's number of it */
	uint64_t cookie;  /* that the probe came with */
	uint64_t id, addr, now_ns;
	int32_t pid, tid;
	uint16_t e_machine;
	uint8_t elf_class;
	uint8_t is_return;                   /* 0 or 1, as those that follow */
	uint8_t may_change, is_entry, is_go; /* struct uprobe_handler */
	uint8_t has_change;                  /* something is to be changed, if it may */
};

/* So much of memory, and so many addresses of a stack, go with one answer. */
#define APART_READ_MAX  (1u << 20)
#define APART_STACK_MAX (1u << 17)

/* .made of what is no event: a snapshot is taken there, or so many as .weight says. */
#define APART_SNAPSHOT 0x7fffffffu
/* So many traces of triggers a session has, at most: each may have a snapshot behind each event. */
#define APART_TRACES_MAX 1024

#endif
