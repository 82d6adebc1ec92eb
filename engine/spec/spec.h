/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A parsed definition. Text comes in, these structures come out; nothing here
 * knows ELF files or processes. The grammar is the kernel's uprobe_events
 * (docs/grammar is its man page); what ubp adds is marked "extended".
 */

#ifndef UBP_SPEC_SPEC_H
#define UBP_SPEC_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/probe_kind.h"
#include "engine/base/value_names.h"

#define SPEC_NAME_MAX     63 /* group and event, bytes */
#define SPEC_ARG_NAME_MAX 32
#define SPEC_ARG_TEXT_MAX 63
#define SPEC_ARGS_MAX     128
#define SPEC_DEREF_MAX    14
#define SPEC_ARRAY_MAX    64
#define SPEC_DUMP_MAX     1024 /* bytes of hex[N] */
#define SPEC_FIXED_MAX    3072 /* bytes of all args */
#define SPEC_ENTRY_MAX    8    /* values of the entry that a return probe keeps */
#define SPEC_LINE_MAX     4096

enum spec_source {
	SPEC_REG,        /* %REG: .reg */
	SPEC_STACK,      /* $stackN: .value is N (32 bits are used) */
	SPEC_RETVAL,     /* $retval: .reg is the register that holds it */
	SPEC_COMM,       /* $comm */
	SPEC_IMM,        /* \NUM: .value; and @ADDR, which has a dereference of 0 */
	SPEC_IMM_STRING, /* \"TEXT" */
	SPEC_FOFF,       /* @+OFF: .value is OFF, with a dereference of 0 */
	SPEC_DURATION,   /* extended: $duration, of a return probe */
};

enum spec_format {
	SPEC_UNSIGNED, /* %u */
	SPEC_SIGNED,   /* %d */
	SPEC_HEX,      /* 0x%x */
	SPEC_CHAR,     /* '%c' */
	SPEC_STRING,   /* string, ustring: "%s" */
	SPEC_FLOAT,    /* extended: f32, f64 */
};

/*
 * Extended: %BASE+%INDEX*SCALE+DISP, each part optional, as a value or in a dereference;
 * and registers that the kernel does not know: xmm0..xmm15 (their low 64 bits),
 * fs_base, gs_base. What is not there: SPEC_NO_REG.
 */
#define SPEC_NO_REG     UINT16_MAX
#define SPEC_REG_VECTOR 0x100 /* + N: vector register N; else index into struct ubp_regs */

struct spec_type {
	enum spec_format format;
	bool is_ustring;   /* spelled ustring: same values, another type in conflicts */
	bool is_default;   /* no type was given */
	uint8_t size;      /* element bytes: 1 2 4 8, strings 4 */
	uint8_t bit_width; /* 0: not a bit-field; size is then the container's */
	uint8_t bit_offset;
	bool is_dump;   /* extended: hex[N], bytes as a string of digits */
	bool is_x87;    /* extended: f80, ten bytes of memory that are stored as an f64 */
	uint16_t count; /* array elements, 0: scalar */
};

struct spec_arg {
	char name[SPEC_ARG_NAME_MAX + 1];
	char text[SPEC_ARG_TEXT_MAX + 1]; /* EXPR[:TYPE] as written */
	enum spec_source source;
	uint16_t reg; /* index into struct ubp_regs, or SPEC_REG_VECTOR + N */
	/* Extended, strings with a length: number, from 1, of the arg that tells it; or so many bytes. 0, 0: they end with a NUL. */
	uint16_t len_arg, len_max;
	uint64_t value;
	/* Extended, of SPEC_REG; .is_sum: there are any. */
	bool is_sum;
	uint16_t index_reg;
	uint8_t index_shift; /* 0..3 */
	int64_t addend;
	uint8_t n_derefs;
	/* Extended, entry(EXPR): the source, and so many of the dereferences, are of the function's entry; the others of its return. */
	bool at_entry;
	bool by_number; /* extended: it was written as argN, where C functions have theirs */
	uint8_t n_entry_derefs, entry_number; /* which of those that are kept */
	int32_t deref[SPEC_DEREF_MAX];        /* innermost (first carried out) first */
	struct spec_type type;
	uint32_t at; /* offset of the value in the record's data, packed */
	/* Offset of what tells whether its memory could be read, behind all values; 0: that is not told. A byte, 1: it could. Of an array: such bytes of
	 * its first and its last element; 16 bits of the address of the first one, but for what the outermost dereference adds. */
	uint32_t read_at;
	const struct value_names *names; /* extended: printed instead of numbers; or NULL.
					  * Whoever set it keeps it as long as the table */
};

/* One probe: a line that was accepted. */
struct spec_probe {
	enum probe_kind kind;
	bool auto_event; /* the event's name was made up, not written */
	bool is_made;    /* a synthetic event: triggers make its hits, which have no address */
	char group[SPEC_NAME_MAX + 1];
	char event[SPEC_NAME_MAX + 1];
	char *path;      /* as written, or what the look-up callback put in its place */
	char *symbol;    /* extended: SYMBOL[@VERSION] instead of a number, else NULL */
	bool is_pattern; /* extended: .symbol stands for several functions; see spec_env.match */
	bool is_name; /* with is_pattern: it is a name of C++ or Rust, which several functions
			  * may have, or NAME@*; or a pattern of such */
	size_t symbol_col;   /* where the symbol stands in .command */
	uint64_t symbol_off; /* what is added to the symbol */
	bool is_resolved;    /* .offset is a file offset; false only with a symbol */
	uint64_t offset;     /* file offset; before it is resolved: symbol_off */
	/* Extended: .offset is so many bytes behind the function's entry, where what is named has its values; each call comes by there once. */
	uint32_t past_entry;
	uint64_t ref;        /* REF_CTR offset, 0: none */
	uint64_t dev, ino;   /* of the file, from the look-up callback */
	size_t n_args;
	struct spec_arg *args; /* NULL: there are none */
	size_t fixed_size;     /* bytes of the data's fixed area */
	unsigned line;         /* of the write it came with, from 1; 0: the short form */
	char *command;         /* the words joined by one blank, for messages */
	uint64_t serial;       /* tells it from every other of its table, deleted ones too */
	bool takes_units;      /* extended: numbers in its filter may have units */
};

#endif
