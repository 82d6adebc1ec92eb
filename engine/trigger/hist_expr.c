/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Expressions of histograms. Which mistakes are told, in which order and where, is the kernel's. */

#include <errno.h>
#include <string.h>

#include "engine/spec/chars.h"
#include "engine/trigger/event.h"
#include "engine/trigger/hist_field.h"
#include "engine/trigger/hist_text.h"
#include "engine/trigger/hist_value.h"
#include "engine/trigger/set.h"
#include "engine/trigger/text.h"

#define OPERATORS_MAX 3
/* Divisors up to this, and dividends below: division is a multiplication. */
#define DIVIDE_SHIFT 20

static int fail(struct hist *hist, int code, const char *text, const char *token)
{
	return trigger_log_token(&hist->set->log, code, text, token);
}

bool hist_is_ref(const char *text)
{
	return text && text[0] == '$' && text[1];
}

char hist_operator(const char *text, char **ret_at)
{
	char *minus = strrchr(text, '-'), *plus = strrchr(text, '+');
	char *over = strrchr(text, '/'), *times = strrchr(text, '*');
	char *at = minus;

	if (minus == text && minus)
		*ret_at = minus;
	else if (plus || minus)
		*ret_at = at = !minus || (plus && plus > minus) ? plus : minus;
	else
		*ret_at = at = !over || (times && times > over) ? times : over;
	if (!at)
		return 0;
	return at == text && *at == '-' ? '_' : *at;
}

/* --- atoms ------------------------------------------------------------------ */

static int parse_modifier(struct hist *hist, const char *field, const char *modifier,
			  unsigned *flags, uint64_t *ret_buckets)
{
	static const struct {
		const char *name;
		unsigned flag;
	} plain[] = {
		{ "hex", HIST_HEX },
		{ "sym", HIST_SYM },
		{ "symXoffset", HIST_SYM_OFFSET },
		{ "syscall", HIST_SYSCALL },
		{ "log2", HIST_LOG2 },
		{ "usecs", HIST_USECS },
		{ "stacktrace", HIST_STACK },
	};
	const char *rest;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strcmp(plain[i].name, modifier) == 0) {
			*flags |= plain[i].flag;
			return 0;
		}
	if (strcmp(modifier, "execname") == 0 && strcmp(field, "common_pid") == 0) {
		*flags |= HIST_EXECNAME;
		return 0;
	}
	if (text_begins(modifier, "percent", NULL) && !(*flags & (HIST_VAR | HIST_KEY))) {
		*flags |= HIST_PERCENT;
		return 0;
	}
	if (text_begins(modifier, "graph", NULL) && !(*flags & (HIST_VAR | HIST_KEY))) {
		*flags |= HIST_GRAPH;
		return 0;
	}
	if (text_begins(modifier, "bucket", &rest)) {
		rest += *rest == 's';
		modifier = rest;
		if (*rest == '=') {
			modifier = ++rest;
			if (text_number(rest, ret_buckets) == 0 && *ret_buckets) {
				*flags |= HIST_BUCKET;
				return 0;
			}
		}
	}
	return fail(hist, EINVAL, "Invalid field modifier", modifier);
}

static int find_field(struct hist *hist, const char *name, unsigned *flags,
		      const struct trigger_field **ret)
{
	const struct trigger_field *field;

	if (strcmp(name, "common_timestamp") == 0) {
		*flags |= HIST_TIME;
		hist->has_time = true;
		if (*flags & HIST_USECS)
			hist->in_usecs = true;
	} else if (strcmp(name, "common_stacktrace") == 0)
		*flags |= HIST_STACK;
	else if (strcmp(name, "common_cpu") == 0)
		*flags |= HIST_CPU;
	else if (strcmp(name, "hitcount") == 0)
		*flags |= HIST_HITCOUNT;
	else {
		field = event_field(hist->event, name);
		if (field && field->form == FIELD_CPU)
			*flags |= HIST_CPU;
		else if (field && field->form == FIELD_TRACE)
			*flags |= HIST_STACK;
		else if (!field || field->form == FIELD_COMM)
			return fail(hist, EINVAL, "Couldn't find field", name);
		*ret = field->form == FIELD_CPU || field->form == FIELD_TRACE ? NULL : field;
	}
	return 0;
}

/* FIELD[.MODIFIER] */
static int parse_field(struct hist *hist, const char *text, unsigned *flags,
		       const char *var_name, struct hist_field **ret)
{
	const struct trigger_field *field = NULL;
	char *modifier = pool_text(&hist->pool, text, strlen(text)), *name;
	uint64_t buckets = 0;
	int rc = 0;

	if (!modifier)
		return -ENOMEM;
	name = strsep(&modifier, ".");
	if (modifier)
		rc = parse_modifier(hist, name, modifier, flags, &buckets);
	if (rc == 0)
		rc = find_field(hist, name, flags, &field);
	if (rc < 0)
		return rc;
	if (modifier && strcmp(modifier, "stacktrace") == 0 &&
	    (!field || field->form != FIELD_STACK))
		return fail(hist, EINVAL, "Invalid field modifier", text);
	*ret = hist_field_new(hist, field, *flags, var_name);
	if (!*ret)
		return -ENOMEM;
	if ((*ret)->flags & HIST_CPU)
		((*ret)->operand[0] ? (*ret)->operand[0] : *ret)->name = name;
	(*ret)->buckets = buckets;
	return 0;
}

static int parse_const(struct hist *hist, const char *text, unsigned *flags,
		       const char *var_name, struct hist_field **ret)
{
	uint64_t value;

	if (text_number(text, &value) < 0)
		return fail(hist, EINVAL, "Expecting numeric literal", text);
	*flags |= HIST_CONST;
	*ret = hist_field_new(hist, NULL, *flags, var_name);
	if (!*ret)
		return -ENOMEM;
	(*ret)->constant = value;
	return 0;
}

/* What stands for $NAME of this very histogram: the text of its field. NULL: no such. */
static const char *local_field(const struct hist *hist, const char *system,
			       const char *event_name, const char *name)
{
	const struct hist_text *text = hist->text;
	char *at;

	if (system && (strcmp(system, hist->event->group) != 0 ||
		       strcmp(event_name, hist->event->name) != 0))
		return NULL;
	if (!hist_is_ref(name))
		return NULL;
	for (size_t i = 0; i < text->n_defined; i++)
		if (strcmp(text->var_names[i], name + 1) == 0 &&
		    !hist_operator(text->var_exprs[i], &at) && !hist_is_ref(text->var_exprs[i]))
			return text->var_exprs[i];
	return NULL;
}

/* A variable of another histogram; *ret stays NULL if there is none. */
static int parse_ref(struct hist *hist, const char *system, const char *event_name,
		     const char *name, const char *var_name, struct hist_field **ret)
{
	struct hist_field *var, *ref = NULL, *alias;

	if (!hist_is_ref(name))
		return 0;
	var = hist_var_find(hist, system, event_name, name + 1);
	if (var)
		ref = hist_ref_make(hist, var, system, event_name);
	if (!ref) {
		fail(hist, EINVAL, "Couldn't find variable", name + 1);
		return 0;
	}
	*ret = ref;
	if (!var_name)
		return 0;
	alias = hist_field_new(hist, NULL, HIST_ALIAS | HIST_VAR, var_name);
	if (!alias)
		return -ENOMEM;
	alias->operand[0] = ref;
	alias->size = ref->size;
	alias->is_signed = ref->is_signed;
	alias->type = ref->type;
	alias->system = ref->system;
	alias->event_name = ref->event_name;
	*ret = alias;
	return 0;
}

int hist_parse_atom(struct hist *hist, char *text, unsigned *flags, const char *var_name,
		    struct hist_field **ret)
{
	char *system = NULL, *event_name = NULL;
	const char *dot = strchr(text, '.'), *local;
	int rc;

	*ret = NULL;
	if (char_is_digit(text[0]))
		return parse_const(hist, text, flags, var_name, ret);
	if (dot && strchr(dot + 1, '.')) {
		system = strsep(&text, ".");
		event_name = strsep(&text, ".");
	}
	local = local_field(hist, system, event_name, text);
	if (local)
		return parse_field(hist, local, flags, var_name, ret);
	rc = parse_ref(hist, system, event_name, text, var_name, ret);
	if (rc < 0 || *ret)
		return rc;
	return parse_field(hist, text, flags, var_name, ret);
}

/* --- expressions -------------------------------------------------------------- */

static int finish(struct hist *hist, struct hist_field *expr)
{
	const struct hist_field *left = expr->operand[0];

	expr->size = left->size;
	expr->is_signed = left->is_signed;
	expr->type = left->type;
	expr->name = hist_expr_text(hist, expr);
	return expr->name && expr->type ? 0 : -ENOMEM;
}

static int parse_minus(struct hist *hist, char *text, unsigned flags, const char *var_name,
		       unsigned *n_operators, struct hist_field **ret)
{
	struct hist_field *expr;
	char *end;
	int rc;

	if (++*n_operators > OPERATORS_MAX)
		return fail(hist, EINVAL, "Too many subexpressions (3 max)", text);
	text++;
	if (!strchr(text, '('))
		return -EINVAL;
	text++;
	end = strrchr(text, ')');
	if (!end)
		return -EINVAL;
	if (end[1])
		return fail(hist, EINVAL, "Unary minus not supported in sub-expressions", text);
	*end = '\0';
	expr = hist_field_new(hist, NULL, flags | HIST_EXPR, var_name);
	if (!expr)
		return -ENOMEM;
	rc = hist_parse_expr(hist, text, 0, NULL, n_operators, &expr->operand[0]);
	if (rc < 0)
		return rc;
	if (!expr->operand[0])
		return -EINVAL;
	if (expr->operand[0]->flags & HIST_STRING)
		return fail(hist, EINVAL, "String type can not be an operand in expression",
			    text);
	/* What has an operand but no operator of two cannot be listed behind a minus. */
	if (expr->operand[0]->operand[0] &&
	    (!expr->operand[0]->op || expr->operand[0]->op == '_'))
		return -EINVAL;
	expr->flags |= expr->operand[0]->flags & (HIST_TIME | HIST_USECS);
	expr->op = '_';
	*ret = expr;
	return finish(hist, expr);
}

/* The variable that an operand stands for, itself if it is none; NULL: there is none any more. */
static const struct hist_field *behind(const struct hist_field *operand)
{
	if (operand->flags & (HIST_REF | HIST_ALIAS))
		return hist_var_in(operand->var_hist, operand->name);
	return operand;
}

/* Both sides are parsed: make them one. @right_text is for errors. */
static int join(struct hist *hist, struct hist_field *expr, const char *right_text)
{
	struct hist_field *left = expr->operand[0], *right = expr->operand[1];
	const struct hist_field *l = behind(left), *r = behind(right);

	if (!l || !r)
		return -EINVAL;
	if ((l->flags ^ r->flags) & HIST_USECS)
		return trigger_log_at(&hist->set->log, EINVAL,
				      "Timestamp units in expression don't match", 0);
	left->read_once = right->read_once = true;
	expr->flags |= left->flags & (HIST_TIME | HIST_USECS);
	if (expr->op == '/' && r->flags & HIST_CONST) {
		uint64_t by = r->constant;

		if (!by)
			return fail(hist, EDOM, "Division by zero", right_text);
		right->constant = by;
		if (by & (by - 1) && by <= 1U << DIVIDE_SHIFT)
			right->multiplier = (1U << DIVIDE_SHIFT) / by;
	}
	if (!(l->flags & r->flags & HIST_CONST)) {
		expr->flags |= HIST_EXPR;
		return finish(hist, expr);
	}
	expr->constant = hist_compute(expr->op, l->constant, r->constant, right->multiplier);
	expr->flags |= HIST_CONST;
	expr->flags &= ~(unsigned)(HIST_TIME | HIST_USECS);
	expr->op = 0;
	expr->operand[0] = expr->operand[1] = NULL;
	expr->size = 8;
	expr->type = "u64";
	return 0;
}

int hist_parse_expr(struct hist *hist, char *text, unsigned flags, const char *var_name,
		    unsigned *n_operators, struct hist_field **ret)
{
	struct hist_field *left, *right, *expr;
	char op, *at, *behind_op;
	int rc;

	*ret = NULL;
	if (*n_operators > OPERATORS_MAX)
		return fail(hist, EINVAL, "Too many subexpressions (3 max)", text);
	op = hist_operator(text, &at);
	if (!op)
		return hist_parse_atom(hist, text, &flags, var_name, ret);
	if (op == '_')
		return parse_minus(hist, text, flags, var_name, n_operators, ret);
	behind_op = at + 1;
	*at = '\0';
	if (!*text || !*behind_op)
		return -EINVAL;
	++*n_operators;
	rc = hist_parse_expr(hist, text, 0, NULL, n_operators, &left);
	if (rc < 0)
		return rc;
	if (!left)
		return -EINVAL;
	if (left->flags & HIST_STRING)
		return fail(hist, EINVAL, "String type can not be an operand in expression",
			    text);
	rc = hist_parse_expr(hist, behind_op, 0, NULL, n_operators, &right);
	if (rc < 0)
		return rc;
	if (!right)
		return -EINVAL;
	if (right->flags & HIST_STRING)
		return fail(hist, EINVAL, "String type can not be an operand in expression",
			    behind_op);
	expr = hist_field_new(hist, NULL, HIST_EXPR, var_name);
	if (!expr)
		return -ENOMEM;
	expr->flags = flags;
	expr->op = op;
	expr->operand[0] = left;
	expr->operand[1] = right;
	*ret = expr;
	return join(hist, expr, behind_op);
}
