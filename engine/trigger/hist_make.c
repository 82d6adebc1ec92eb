/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/hist_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/trigger/field.h"
#include "engine/trigger/hist_field.h"
#include "engine/trigger/hist_text.h"
#include "engine/trigger/set.h"
#include "engine/trigger/text.h"

static int fail(struct hist *hist, int code, const char *text, const char *token)
{
	return trigger_log_token(&hist->set->log, code, text, token);
}

/* --- values and variables ----------------------------------------------------- */

/* Texts of variables are cut: for those behind, $x stands for what is left of it. */
static int add_value(struct hist *hist, char *text, const char *var_name)
{
	static const unsigned not_var = HIST_GRAPH | HIST_PERCENT | HIST_BUCKET | HIST_LOG2;
	static const unsigned not_value = HIST_SYM | HIST_SYM_OFFSET | HIST_SYSCALL |
					  HIST_STACK | HIST_LOG2 | HIST_BUCKET;
	char *copy = var_name ? text : pool_text(&hist->pool, text, strlen(text));
	struct hist_field *field;
	unsigned n_operators = 0;
	int rc;

	if (!copy)
		return -ENOMEM;
	rc = hist_parse_expr(hist, copy, var_name ? HIST_VAR : 0, var_name, &n_operators,
			     &field);
	if (rc < 0)
		return rc;
	if (field->flags & (var_name ? not_var : not_value))
		return fail(hist, EINVAL, "Invalid field modifier", copy);
	if (var_name) {
		field->var = (unsigned)hist->n_vars++;
		field->var_hist = hist;
	}
	hist->fields[hist->n_fields++] = field;
	hist->n_values++;
	return 0;
}

static int add_values(struct hist *hist)
{
	char *list = hist->text->vals, *text;
	struct hist_field *count = hist_field_new(hist, NULL, HIST_HITCOUNT, NULL);
	bool was_count = false;
	int rc;

	if (!count)
		return -ENOMEM;
	hist->fields[hist->n_fields++] = count;
	hist->n_values++;
	for (size_t i = 0; i < HIST_VALUES_MAX && hist->n_values < HIST_VALUES_MAX; i++) {
		text = strsep(&list, ",");
		if (!text)
			break;
		if (strcmp(text, "hitcount") == 0 && !was_count) {
			was_count = true;
			continue;
		}
		rc = add_value(hist, text, NULL);
		if (rc < 0)
			return rc;
	}
	if (list && strcmp(list, "hitcount") != 0)
		return -EINVAL;
	if (hist->n_values == 1 && hist->text->nohitcount)
		return trigger_log_at(&hist->set->log, ENOENT,
				      "Non-hitcount value is required for 'nohitcount'", 0);
	return 0;
}

static int add_vars(struct hist *hist)
{
	for (size_t i = 0; i < hist->text->n_defined; i++) {
		const char *name = hist->text->var_names[i];
		int rc;

		if (hist_var_near(hist, name) && !hist->removes)
			return fail(hist, EINVAL, "Variable already defined", name);
		rc = add_value(hist, hist->text->var_exprs[i], name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- keys --------------------------------------------------------------------- */

static bool uses_vars(const struct hist_field *field)
{
	if (!field)
		return false;
	return field->flags & (HIST_VAR | HIST_REF) || uses_vars(field->operand[0]) ||
	       uses_vars(field->operand[1]);
}

static int parse_key(struct hist *hist, const char *text, struct hist_field **ret)
{
	char *copy = pool_text(&hist->pool, text, strlen(text));
	unsigned n_operators = 0;
	int rc;

	if (!copy)
		return -ENOMEM;
	rc = hist_parse_expr(hist, copy, HIST_KEY, NULL, &n_operators, ret);
	if (rc < 0)
		return rc;
	if (uses_vars(*ret))
		return fail(hist, EINVAL, "Using variable references in keys not supported",
			    copy); /* what is left of it */
	return 0;
}

static int add_key(struct hist *hist, const char *text)
{
	struct hist_field *field;
	int rc = 0;

	if (strcmp(text, "stacktrace") == 0) {
		field = hist_field_new(hist, NULL, HIST_KEY | HIST_STACK, NULL);
		if (!field)
			return -ENOMEM;
	} else
		rc = parse_key(hist, text, &field);
	if (rc < 0)
		return rc;
	if (field->flags & HIST_STRING)
		field->size = SYNTH_TEXT_MAX;
	field->size = (field->size + 7) & ~7U;
	field->offset = (unsigned)hist->key_size;
	hist->key_size += field->size;
	hist->fields[hist->n_fields++] = field;
	return hist->key_size > HIST_KEY_MAX ? -EINVAL : 0;
}

static int add_keys(struct hist *hist)
{
	char *list = hist->text->keys;

	for (size_t i = 0; i < HIST_KEYS_MAX && list; i++) {
		int rc = add_key(hist, strsep(&list, ","));

		if (rc < 0)
			return rc;
	}
	return list ? -EINVAL : 0;
}

/* --- sorting ------------------------------------------------------------------ */

static int take_order(struct hist *hist, const char *text, struct hist_sort *sort)
{
	if (!text || strcmp(text, "ascending") == 0)
		return 0;
	if (strcmp(text, "descending") != 0)
		return fail(hist, EINVAL, "Invalid sort modifier", text);
	sort->descending = true;
	return 0;
}

static int take_sort(struct hist *hist, char *text, struct hist_sort *sort)
{
	char *name = strsep(&text, ".");
	unsigned number = 0;

	if (!*name)
		return fail(hist, EINVAL, "Empty sort field", "sort=");
	if (strcmp(name, "hitcount") == 0)
		return take_order(hist, text, sort);
	for (size_t i = 1; i < hist->n_fields; i++) {
		if (hist->fields[i]->flags & HIST_VAR)
			continue;
		number++;
		if (strcmp(name, hist_field_name(hist->fields[i])) != 0)
			continue;
		sort->value = number;
		return take_order(hist, text, sort);
	}
	return fail(hist, EINVAL, "Sort field must be a key or a val", name);
}

static int add_sorts(struct hist *hist)
{
	char *list = hist->text->sort, *text;
	int rc;

	hist->n_sorts = 1;
	for (size_t i = 0; list && i < HIST_SORTS_MAX; i++) {
		text = strsep(&list, ",");
		if (!*text)
			return fail(hist, EINVAL, "Empty sort field", "sort=");
		if (i == HIST_SORTS_MAX - 1 && list)
			return fail(hist, EINVAL, "Too many sort fields (Max = 2)", "sort=");
		rc = take_sort(hist, text, &hist->sorts[i]);
		if (rc < 0)
			return rc;
		hist->n_sorts = i + 1;
	}
	return 0;
}

static int parse(struct hist *hist, char *text)
{
	struct trigger_log *log = &hist->set->log;
	int rc = hist_text_parse(log, &hist->pool, text, hist->text);

	if (rc == 0)
		rc = hist_parse_doers(hist);
	if (rc == 0)
		rc = hist_text_vars(log, &hist->pool, hist->text);
	if (rc == 0)
		rc = add_values(hist);
	if (rc == 0)
		rc = add_vars(hist);
	if (rc == 0)
		rc = add_keys(hist);
	/* From here on $x is no name for a field any more. */
	hist->text->n_defined = 0;
	if (rc == 0)
		rc = add_sorts(hist);
	hist->map.bits = hist->text->bits;
	hist->map.key_size = hist->key_size;
	return rc;
}

struct hist *hist_make(struct trigger_set *set, struct trigger_event *event, char *text,
		       bool removes, int *ret_rc)
{
	struct hist *hist = calloc(1, sizeof(*hist));

	*ret_rc = -ENOMEM;
	if (!hist)
		return NULL;
	hist->set = set;
	hist->event = event;
	hist->removes = removes;
	hist->text = pool_get(&hist->pool, sizeof(*hist->text));
	if (hist->text)
		*ret_rc = parse(hist, text);
	if (*ret_rc == 0)
		return hist;
	hist_free(hist);
	return NULL;
}

void hist_free(struct hist *hist)
{
	if (!hist)
		return;
	hist_map_clear(&hist->map);
	pool_free(&hist->pool);
	free(hist);
}
