/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the files of the filter parser share. Not for others. */

#ifndef UBP_SPEC_FILTER_PARSE_H
#define UBP_SPEC_FILTER_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/filter_program.h"
#include "engine/spec/chars.h"

struct spec_probe;
struct ubp_err;

/* A filter being parsed. */
struct filter_parser {
	const char *text; /* NUL-ended, without trailing blanks */
	size_t len;
	const struct spec_probe *probe;
	struct filter *filter; /* .preds and .bytes are large enough for any outcome */
	uint32_t n_bytes;      /* used in filter->bytes */
	struct ubp_err *err;
};

/* Record the kernel's @message with @caret in the filter's text. Returns -@code. */
int filter_fail(struct filter_parser *p, int code, const char *message, size_t caret);

/*
 * Parse one predicate (FIELD OP VALUE) that starts at byte *@at of the text.
 * On success *at is behind it, *ret_pred lacks only its successors, which have
 * to be exchanged if *ret_negated. Returns 0 or a negative errno.
 */
int filter_parse_pred(struct filter_parser *p, size_t *at, struct filter_pred *ret_pred,
		      bool *ret_negated);

/*
 * A number as the kernel reads it: all @len bytes, 0x, octal or decimal, with
 * a '-' only if @is_signed. Returns false when it is none, or out of range.
 */
bool filter_number(const char *text, size_t len, bool is_signed, uint64_t *ret_value);

/*
 * A decimal number with fraction and exponent: -0.25e3, as the @size (4 or 8) bytes of the
 * field have it, then as a double's bits. False: it is none, or too large.
 */
bool filter_float(const char *text, size_t len, unsigned size, uint64_t *ret_bits);

/* CPUs this machine can have: numbers in a CPU list are smaller. */
unsigned filter_machine_cpus(void);

/* Bytes of a CPU set. */
#define FILTER_SET_SIZE(n_cpus) (((n_cpus) + 7) / 8)

/*
 * Parse a CPU list ("0-3,8", "all", "N", "0-N:1/2") of @len bytes into the bits
 * of @set, FILTER_SET_SIZE(n_cpus) bytes. False when it is malformed or names a
 * CPU that is not below @n_cpus.
 */
bool filter_cpu_list(const char *text, size_t len, unsigned n_cpus, uint8_t *set);

/*
 * What kind of match the pattern of a '~' is (filter_test). Strips what only
 * says so: *text and *len then are what is to be compared. *ret_negated: it had
 * a leading '!'. @has_digits: one that begins with a digit is a pattern, too; to the kernel it is none.
 */
enum filter_test filter_pattern(const char **text, size_t *len, bool has_digits,
				bool *ret_negated);

#endif
