/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/hist_field.h"

#include <inttypes.h>
#include <string.h>

#include "engine/sink/buf.h"
#include "engine/trigger/field.h"

#define STACK_SIZE 128

static void set_type(struct hist_field *ret, unsigned size, bool is_signed, const char *type)
{
	ret->size = size;
	ret->is_signed = is_signed;
	ret->type = type;
}

/* False: it cannot be used. */
static bool take_field(struct hist_field *ret, const struct trigger_field *field, bool named)
{
	if (field->form == FIELD_TEXT || field->form == FIELD_FIXED_TEXT) {
		ret->flags |= HIST_STRING;
		set_type(ret, field->form == FIELD_TEXT ? SYNTH_TEXT_MAX : field->size, false,
			 field->type);
		return true;
	}
	set_type(ret, field->size, field->is_signed, field->type);
	if (ret->flags & HIST_EXECNAME && named) {
		ret->flags |= HIST_STRING;
		set_type(ret, SYNTH_TEXT_MAX, false, "char[]");
	}
	return field->form == FIELD_NUMBER;
}

struct hist_field *hist_field_new(struct hist *hist, const struct trigger_field *field,
				  unsigned flags, const char *var_name)
{
	struct hist_field *ret = pool_get(&hist->pool, sizeof(*ret));

	if (!ret)
		return NULL;
	ret->flags = flags;
	ret->field = field;
	ret->var_name = var_name;
	if (flags & (HIST_EXPR | HIST_ALIAS | HIST_REF))
		return ret;
	if (flags & (HIST_HITCOUNT | HIST_CONST) ||
	    (flags & HIST_TIME && !(flags & (HIST_STACK | HIST_LOG2 | HIST_BUCKET))))
		set_type(ret, 8, false, "u64");
	else if (flags & HIST_STACK)
		set_type(ret, STACK_SIZE, false, "unsigned long[]");
	else if (flags & (HIST_LOG2 | HIST_BUCKET)) {
		ret->operand[0] = hist_field_new(
			hist, field, flags & ~(unsigned)(HIST_LOG2 | HIST_BUCKET), NULL);
		if (!ret->operand[0])
			return NULL;
		ret->flags |= ret->operand[0]->flags & HIST_STRING;
		set_type(ret, ret->operand[0]->size, false, ret->operand[0]->type);
	} else if (flags & HIST_CPU)
		set_type(ret, 4, false, "unsigned int");
	else if (!field || !take_field(ret, field, var_name != NULL))
		return NULL;
	if (ret->flags & HIST_EXECNAME)
		hist->has_comm = true;
	return ret;
}

/* NULL: it has none. hitcount.log2 counts as the field that it is of, and there is none. */
static const char *name_of(const struct hist_field *field)
{
	if (!field)
		return NULL;
	if (field->field)
		return field->field->name;
	if (field->flags & (HIST_LOG2 | HIST_BUCKET | HIST_ALIAS))
		return name_of(field->operand[0]);
	if (field->flags & HIST_CPU)
		return field->name ? field->name : "common_cpu";
	if (field->flags & (HIST_EXPR | HIST_REF))
		return field->name;
	if (field->flags & HIST_TIME)
		return "common_timestamp";
	if (field->flags & HIST_STACK)
		return "common_stacktrace";
	if (field->flags & HIST_HITCOUNT)
		return "hitcount";
	return NULL;
}

const char *hist_field_name(const struct hist_field *field)
{
	const char *name = name_of(field);

	return name ? name : "";
}

static const char *modifier_of(unsigned flags)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{ HIST_HEX, "hex" },
		{ HIST_SYM, "sym" },
		{ HIST_SYM_OFFSET, "sym-offset" },
		{ HIST_EXECNAME, "execname" },
		{ HIST_SYSCALL, "syscall" },
		{ HIST_LOG2, "log2" },
		{ HIST_BUCKET, "buckets" },
		{ HIST_USECS, "usecs" },
		{ HIST_PERCENT, "percent" },
		{ HIST_GRAPH, "graph" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (flags & names[i].flag)
			return names[i].name;
	return NULL;
}

/* A variable's name as it is written: SYS.EVENT.$x, or without the $. */
static void add_name(const struct hist_field *field, struct sink_buf *out)
{
	if (field->flags & (HIST_REF | HIST_ALIAS)) {
		if (field->system)
			sink_buf_printf(out, "%s.%s.", field->system, field->event_name);
		sink_buf_printf(out, "$");
	}
	sink_buf_printf(out, "%s", hist_field_name(field));
}

void hist_field_text(const struct hist_field *field, struct sink_buf *out)
{
	const char *modifier = modifier_of(field->flags);

	if (field->var_name)
		sink_buf_printf(out, "%s=", field->var_name);
	if (field->flags & HIST_CONST)
		sink_buf_printf(out, "%" PRIu64, field->constant);
	else if (field->flags & HIST_CPU)
		sink_buf_printf(
			out, "common_cpu"); /* in expressions it is listed as it was written */
	else
		add_name(field, out);
	if (modifier && !(field->flags & (HIST_REF | HIST_EXPR | HIST_ALIAS | HIST_STACK)))
		sink_buf_printf(out, ".%s", modifier);
	if (field->buckets)
		sink_buf_printf(out, "=%" PRId64, (int64_t)field->buckets);
}

static void add_operand(const struct hist_field *field, struct sink_buf *out)
{
	const char *modifier = modifier_of(field->flags);

	if (field->flags & HIST_CONST)
		sink_buf_printf(out, "%" PRIu64, field->constant);
	else
		add_name(field, out);
	if (!modifier && field->flags & HIST_STACK)
		modifier = "stacktrace";
	if (modifier && !(field->flags & (HIST_REF | HIST_EXPR)))
		sink_buf_printf(out, ".%s", modifier);
}

const char *hist_expr_text(struct hist *hist, const struct hist_field *expr)
{
	struct sink_buf text = { 0 };
	const char *ret;

	if (expr->op == '_') {
		sink_buf_printf(&text, "-(");
		add_operand(expr->operand[0], &text);
		sink_buf_printf(&text, ")");
	} else {
		add_operand(expr->operand[0], &text);
		sink_buf_printf(&text, "%c", expr->op);
		add_operand(expr->operand[1], &text);
	}
	ret = text.failed ? NULL : pool_text(&hist->pool, text.data, text.len);
	sink_buf_free(&text);
	return ret;
}
