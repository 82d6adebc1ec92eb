/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * One predicate: FIELD[.ustring|.function] OP VALUE. The order of the checks
 * and the column each failure reports are the kernel's; columns count from the
 * byte behind the start of the predicate's text, hence the "+ 1" everywhere.
 */

#include <errno.h>
#include <string.h>

#include "engine/base/units.h"
#include "engine/spec/filter_parse.h"
#include "engine/spec/hint.h"
#include "engine/spec/spec.h"

/* The kernel's buffers: 23 characters of a number, 255 of a string. */
#define NUMBER_MAX 23
#define STRING_MAX 255

enum field_kind {
	FIELD_NUMBER,
	FIELD_STRING, /* the event's own: length and offset in a u32 */
	FIELD_COMM,
	FIELD_CPU,
	FIELD_TRACE, /* stacktrace: can be named, never has a value */
	FIELD_FLOAT, /* extended */
};

struct field {
	enum field_kind kind;
	enum filter_source source;
	unsigned size; /* bytes; arrays: all elements */
	bool is_signed;
	uint32_t at;
	const struct spec_arg *arg; /* NULL: of every event */
};

enum op { OP_GLOB, OP_NE, OP_EQ, OP_LE, OP_LT, OP_GE, OP_GT, OP_AND };

/* Longer ones stand before their prefixes. */
static const char *const op_texts[] = {
	[OP_GLOB] = "~", [OP_NE] = "!=", [OP_EQ] = "==", [OP_LE] = "<=",
	[OP_LT] = "<",   [OP_GE] = ">=", [OP_GT] = ">",  [OP_AND] = "&",
};

#define N_OPS (sizeof(op_texts) / sizeof(op_texts[0]))

/* A predicate being parsed. */
struct draft {
	struct filter_parser *p;
	size_t at; /* where parsing is */
	struct field field;
	enum op op;
	struct filter_pred *pred;
	bool negated;
};

static int draft_fail(const struct draft *d, const char *message)
{
	return filter_fail(d->p, EINVAL, message, d->at + 1);
}

/* --- field ---------------------------------------------------------------- */

/* Fields of every event; an event's own args hide those that come after it. */
static const struct {
	const char *name;
	bool of[PROBE_KINDS]; /* which kind of probe has it */
	struct field field;
} common_fields[] = {
	{ "CPU", { 1, 1 }, { FIELD_CPU, FILTER_FROM_CPU, 4, true, 0, NULL } },
	{ "cpu", { 1, 1 }, { FIELD_CPU, FILTER_FROM_CPU, 4, true, 0, NULL } },
	{ "common_cpu", { 1, 1 }, { FIELD_CPU, FILTER_FROM_CPU, 4, true, 0, NULL } },
	{ "COMM", { 1, 1 }, { FIELD_COMM, FILTER_FROM_COMM, 0, false, 0, NULL } },
	{ "comm", { 1, 1 }, { FIELD_COMM, FILTER_FROM_COMM, 0, false, 0, NULL } },
	{ "stacktrace", { 1, 1 }, { FIELD_TRACE, FILTER_FROM_NOWHERE, 0, false, 0, NULL } },
	{ "STACKTRACE", { 1, 1 }, { FIELD_TRACE, FILTER_FROM_NOWHERE, 0, false, 0, NULL } },
	{ "common_type", { 1, 1 }, { FIELD_NUMBER, FILTER_FROM_NOWHERE, 2, false, 0, NULL } },
	{ "common_flags", { 1, 1 }, { FIELD_NUMBER, FILTER_FROM_NOWHERE, 1, false, 0, NULL } },
	{ "common_preempt_count",
	  { 1, 1 },
	  { FIELD_NUMBER, FILTER_FROM_NOWHERE, 1, false, 0, NULL } },
	{ "common_pid", { 1, 1 }, { FIELD_NUMBER, FILTER_FROM_TID, 4, true, 0, NULL } },
	{ "__probe_ip", { 1, 0 }, { FIELD_NUMBER, FILTER_FROM_IP, 8, false, 0, NULL } },
	{ "__probe_func", { 0, 1 }, { FIELD_NUMBER, FILTER_FROM_FUNC, 8, false, 0, NULL } },
	{ "__probe_ret_ip", { 0, 1 }, { FIELD_NUMBER, FILTER_FROM_IP, 8, false, 0, NULL } },
};

#define N_COMMON_FIELDS (sizeof(common_fields) / sizeof(common_fields[0]))

static bool is_named(const char *name, const char *text, size_t len)
{
	return strncmp(name, text, len) == 0 && name[len] == '\0';
}

static void arg_field(const struct spec_arg *arg, struct field *ret_field)
{
	const struct spec_type *type = &arg->type;

	ret_field->kind = type->format == SPEC_STRING  ? FIELD_STRING
			  : type->format == SPEC_FLOAT ? FIELD_FLOAT
						       : FIELD_NUMBER;
	ret_field->arg = arg;
	ret_field->source = FILTER_FROM_DATA;
	ret_field->size = type->size * (type->count ? type->count : 1U);
	ret_field->is_signed = type->format == SPEC_SIGNED;
	ret_field->at = arg->at;
}

static bool find_field(const struct spec_probe *probe, const char *text, size_t len,
		       struct field *ret_field)
{
	for (size_t i = 0; i < probe->n_args; i++) {
		if (is_named(probe->args[i].name, text, len)) {
			arg_field(&probe->args[i], ret_field);
			return true;
		}
	}
	for (size_t i = 0; i < N_COMMON_FIELDS; i++) {
		if (!common_fields[i].of[probe->kind])
			continue;
		if (is_named(common_fields[i].name, text, len)) {
			*ret_field = common_fields[i].field;
			return true;
		}
	}
	return false;
}

static bool is_string_field(const struct field *field)
{
	return field->kind == FIELD_STRING || field->kind == FIELD_COMM;
}

static bool is_word_size(unsigned size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* --- value ---------------------------------------------------------------- */

/*
 * .function compares with the address of a function of the kernel. A user
 * program's values are none, so no name is ever found.
 */
static int parse_function(struct draft *d)
{
	const char *text = d->p->text;
	size_t from = d->at;
	uint64_t value;

	if (d->field.size != 8 || d->field.kind == FIELD_FLOAT)
		return draft_fail(d, "Illegal operation for field type");
	if (d->op != OP_EQ && d->op != OP_NE)
		return draft_fail(d, "Invalid operator");
	if (char_is_digit(text[d->at])) {
		while (char_is_alnum(text[d->at]))
			d->at++;
		if (d->at - from > NUMBER_MAX)
			return draft_fail(d, "Operand too long");
		if (!filter_number(text + from, d->at - from, false, &value))
			return draft_fail(d, "Invalid value (did you forget quotes)?");
	} else {
		while (text[d->at] && !char_is_space(text[d->at]))
			d->at++;
	}
	return draft_fail(d, "Function not found");
}

/* Compare the field with @value as a number. */
static void make_number(struct draft *d, uint64_t value, bool is_signed)
{
	static const struct {
		enum filter_test test;
		bool negated;
	} tests[] = {
		[OP_EQ] = { FILTER_EQ, false },   [OP_NE] = { FILTER_EQ, true },
		[OP_LT] = { FILTER_LT, false },   [OP_GE] = { FILTER_LT, true },
		[OP_LE] = { FILTER_LE, false },   [OP_GT] = { FILTER_LE, true },
		[OP_AND] = { FILTER_AND, false },
	};
	struct filter_pred *pred = d->pred;

	/* Arrays of other sizes are equal to nothing and different from nothing. */
	if (!is_word_size(d->field.size))
		return;
	pred->test = (uint8_t)tests[d->op].test;
	d->negated = tests[d->op].negated;
	pred->size = (uint8_t)d->field.size;
	pred->is_signed = is_signed;
	pred->value = filter_extend(value, d->field.size, is_signed);
}

/* The numbers below @n_cpus whose bits are set at @set, more or less than one. */
static void make_set(struct draft *d, uint32_t set, unsigned n_cpus)
{
	if (!is_word_size(d->field.size) || d->op == OP_EQ)
		return; /* no CPU is equal to several */
	if (d->op == OP_AND)
		d->pred->test = FILTER_IN_SET;
	else
		d->pred->test = FILTER_IS_CPU;
	d->pred->size = (uint8_t)d->field.size;
	d->pred->value = n_cpus;
	d->pred->text = set;
	d->pred->text_len = FILTER_SET_SIZE(n_cpus);
}

/* The only CPU of a set; false when there are more, or none. */
static bool is_single(const uint8_t *set, unsigned n_cpus, unsigned *ret_cpu)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_cpus; i++) {
		if (set[i / 8] >> (i % 8) & 1) {
			*ret_cpu = i;
			n++;
		}
	}
	return n == 1;
}

static int parse_cpus(struct draft *d)
{
	const char *text = d->p->text;
	unsigned n_cpus = filter_machine_cpus(), cpu = 0;
	uint8_t *set = d->p->filter->bytes + d->p->n_bytes;
	size_t from;

	if (d->field.kind != FIELD_CPU && d->field.kind != FIELD_NUMBER)
		return draft_fail(d, "Illegal operation for field type");
	if (d->op != OP_EQ && d->op != OP_NE && d->op != OP_AND)
		return draft_fail(d, "Illegal operation for field type");
	d->at += strlen("CPUS");
	if (text[d->at++] != '{')
		return draft_fail(d, "Missing '{'");
	from = d->at;
	while (text[d->at] && text[d->at] != '}')
		d->at++;
	if (text[d->at] != '}')
		return draft_fail(d, "Missing '}'");
	if (d->at == from || !filter_cpu_list(text + from, d->at - from, n_cpus, set))
		return draft_fail(d, "Invalid cpulist");
	d->at++;
	if (is_single(set, n_cpus, &cpu)) {
		if (d->op == OP_AND)
			d->op = OP_EQ;
		make_number(d, cpu, d->field.kind == FIELD_CPU);
	} else {
		make_set(d, d->p->n_bytes, n_cpus);
		d->p->n_bytes += FILTER_SET_SIZE(n_cpus);
	}
	return 0;
}

static int parse_string(struct draft *d)
{
	const char *text = d->p->text, *value;
	char quote = text[d->at];
	size_t len;

	if (d->op != OP_NE && d->op != OP_GLOB && d->op != OP_EQ)
		return draft_fail(d, "Illegal operation for field type");
	if (!is_string_field(&d->field))
		return draft_fail(d, "Expecting numeric field");
	value = text + ++d->at;
	while (text[d->at] && text[d->at] != quote)
		d->at++;
	if (!text[d->at])
		return draft_fail(d, "Missing matching quote");
	len = (size_t)(text + d->at - value);
	if (len > STRING_MAX)
		return draft_fail(d, "Operand too long");
	d->at++;

	d->pred->test = FILTER_SAME;
	d->negated = d->op == OP_NE;
	if (d->op == OP_GLOB)
		d->pred->test = (uint8_t)filter_pattern(
			&value, &len, d->field.arg && d->field.arg->type.is_dump, &d->negated);
	d->pred->text = d->p->n_bytes;
	d->pred->text_len = (uint32_t)len;
	memcpy(d->p->filter->bytes + d->p->n_bytes, value, len);
	d->p->n_bytes += (uint32_t)len;
	return 0;
}

/* Extended: true if a number with a unit stands there. */
static bool take_unit(struct draft *d)
{
	const char *text = d->p->text + d->at;
	size_t len = *text == '-';
	uint64_t value;

	while (char_is_alnum(text[len]) || (text[len] == '.' && char_is_digit(text[len + 1])))
		len++;
	if (!d->p->probe->takes_units || len > NUMBER_MAX ||
	    !units_number(text, len, d->field.is_signed, &value))
		return false;
	d->at += len;
	make_number(d, value, d->field.is_signed);
	return true;
}

/* Extended: at the point of a number with a unit, as 1.5xs, that take_unit() did not take? */
static bool is_part_with_unit(const struct draft *d)
{
	const char *text = d->p->text + d->at;
	size_t digits = *text == '.' ? strspn(text + 1, "0123456789") : 0;

	return digits && char_is_alpha(text[1 + digits]) && d->p->probe->takes_units;
}

static int parse_number(struct draft *d)
{
	const char *text = d->p->text;
	size_t from = d->at;
	uint64_t value;

	if (is_string_field(&d->field))
		return draft_fail(d, "Expecting string field");
	if (d->op == OP_GLOB)
		return draft_fail(d, "Illegal operation for field type");
	if (take_unit(d))
		return 0;
	if (text[d->at] == '-')
		d->at++;
	while (char_is_alnum(text[d->at]))
		d->at++;
	if (d->at - from > NUMBER_MAX)
		return draft_fail(d, "Operand too long");
	if (!filter_number(text + from, d->at - from, d->field.is_signed, &value) ||
	    is_part_with_unit(d)) {
		d->at = from;
		(void)draft_fail(d, "Illegal integer value");
		hint_unit(d->p, from, d->field.is_signed);
		return -EINVAL;
	}
	make_number(d, value, d->field.is_signed);
	return 0;
}

/* --- extended: floating-point numbers, and names of numbers ------------------ */

static size_t float_len(const char *text)
{
	size_t n = 0;

	while (char_is_alnum(text[n]) || text[n] == '.' ||
	       ((text[n] == '-' || text[n] == '+') && (n == 0 || (text[n - 1] | 0x20) == 'e')))
		n++;
	return n;
}

static int parse_float(struct draft *d)
{
	static const struct {
		uint8_t test;
		bool negated;
	} tests[] = {
		[OP_EQ] = { FILTER_FLOAT_EQ, false }, [OP_NE] = { FILTER_FLOAT_EQ, true },
		[OP_LT] = { FILTER_FLOAT_LT, false }, [OP_LE] = { FILTER_FLOAT_LE, false },
		[OP_GT] = { FILTER_FLOAT_GT, false }, [OP_GE] = { FILTER_FLOAT_GE, false },
	};
	const char *text = d->p->text + d->at;
	size_t len = float_len(text);

	if (d->op == OP_GLOB || d->op == OP_AND)
		return draft_fail(d, "Floating-point numbers have no bits and no patterns");
	if (d->field.arg->type.count)
		return draft_fail(d, "Arrays of floating-point numbers can't be compared");
	if (*text == '"' || *text == '\'')
		return draft_fail(d, "Expecting numeric field");
	if (!filter_float(text, len, d->field.size, &d->pred->value))
		return draft_fail(d, "Wanted is a decimal number, as 1.5 or -2e3");
	d->at += len;
	d->pred->test = tests[d->op].test;
	d->negated = tests[d->op].negated;
	d->pred->size = (uint8_t)d->field.size;
	return 0;
}

/* The longest of the field's names that @text begins with, as a word. */
static const struct value_name *find_name(const struct value_names *names, const char *text)
{
	const struct value_name *found = NULL;
	size_t found_len = 0;

	for (size_t i = 0; i < names->n; i++) {
		size_t len = strlen(names->v[i].name);

		if (len <= found_len || strncmp(text, names->v[i].name, len) != 0 ||
		    char_is_name(text[len]))
			continue;
		found = &names->v[i];
		found_len = len;
	}
	return found;
}

static int parse_name(struct draft *d)
{
	const char *text = d->p->text + d->at;
	const struct value_name *name = find_name(d->field.arg->names, text);

	if (!name) {
		(void)draft_fail(d, "The field has no value of that name");
		hint_value(d->p, d->at, d->field.arg->names);
		return -EINVAL;
	}
	if (d->op == OP_GLOB)
		return draft_fail(d, "Illegal operation for field type");
	d->at += strlen(name->name);
	make_number(d, (uint64_t)name->value, d->field.is_signed);
	return 0;
}

static bool is_name(const struct draft *d, const char *text)
{
	return d->field.arg && d->field.arg->names && d->field.kind == FIELD_NUMBER &&
	       char_is_name(*text) && !char_is_digit(*text);
}

static int parse_value(struct draft *d, bool is_function)
{
	const char *text = d->p->text + d->at;

	if (is_function)
		return parse_function(d);
	if (d->field.kind == FIELD_FLOAT)
		return parse_float(d);
	if (is_name(d, text) && (strncmp(text, "CPUS{", 5) != 0))
		return parse_name(d);
	if (strncmp(text, "CPUS", 4) == 0)
		return parse_cpus(d);
	if (*text == '"' || *text == '\'')
		return parse_string(d);
	if (char_is_digit(*text) || *text == '-')
		return parse_number(d);
	return draft_fail(d, "Invalid value (did you forget quotes)?");
}

/* --- predicate ------------------------------------------------------------ */

static void skip_blanks(struct draft *d)
{
	while (char_is_space(d->p->text[d->at]))
		d->at++;
}

static bool skip_word(struct draft *d, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(d->p->text + d->at, word, len) != 0)
		return false;
	d->at += len;
	return true;
}

static int parse_op(struct draft *d)
{
	for (size_t i = 0; i < N_OPS; i++) {
		if (skip_word(d, op_texts[i])) {
			d->op = (enum op)i;
			return 0;
		}
	}
	(void)draft_fail(d, "Invalid operator");
	hint_operator(d->p, d->at);
	return -EINVAL;
}

int filter_parse_pred(struct filter_parser *p, size_t *at, struct filter_pred *ret_pred,
		      bool *ret_negated)
{
	struct draft d = { .p = p, .at = *at, .pred = ret_pred };
	bool is_function;
	int rc;

	while (char_is_alnum(p->text[d.at]) || p->text[d.at] == '_')
		d.at++;
	if (d.at == *at) {
		(void)filter_fail(p, EPERM, "Error", 0);
		hint_no_field(p);
		return -EPERM;
	}
	if (!find_field(p->probe, p->text + *at, d.at - *at, &d.field)) {
		(void)draft_fail(&d, "Field not found");
		hint_field(p, p->text + *at, d.at - *at);
		return -EINVAL;
	}
	/* Strings of an event are in its record, whoever they came from. */
	(void)skip_word(&d, ".ustring");
	is_function = skip_word(&d, ".function");
	skip_blanks(&d);
	rc = parse_op(&d);
	if (rc < 0)
		return rc;
	skip_blanks(&d);

	*ret_pred = (struct filter_pred){
		.test = FILTER_NEVER,
		.source = (uint8_t)d.field.source,
		.at = d.field.at,
	};
	rc = parse_value(&d, is_function);
	if (rc < 0)
		return rc;
	*at = d.at;
	*ret_negated = d.negated;
	return 0;
}
