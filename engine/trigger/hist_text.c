/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/hist_text.h"

#include <errno.h>
#include <string.h>

#include "engine/base/num.h"
#include "engine/trigger/log.h"
#include "engine/trigger/pool.h"
#include "engine/trigger/text.h"

#define BITS_DEFAULT 11
#define BITS_LEAST   7
#define BITS_MOST    17

static int parse_size(const char *text, unsigned *ret_bits)
{
	uint64_t size;
	unsigned bits;
	int rc = text_number(text, &size);

	if (rc < 0)
		return rc;
	bits = num_log2(size);
	if (bits < BITS_LEAST || bits > BITS_MOST)
		return -EINVAL;
	*ret_bits = bits;
	return 0;
}

static int keep(struct pool *pool, const char *text, char **ret)
{
	*ret = pool_text(pool, text, strlen(text));
	return *ret ? 0 : -ENOMEM;
}

/* NAME=VALUE */
static int parse_assignment(struct trigger_log *log, struct pool *pool, char *item,
			    struct hist_text *ret)
{
	const struct {
		const char *prefix;
		char **to;
	} texts[] = {
		{ "key=", &ret->keys },  { "keys=", &ret->keys },   { "val=", &ret->vals },
		{ "vals=", &ret->vals }, { "values=", &ret->vals }, { "sort=", &ret->sort },
		{ "name=", &ret->name },
	};
	const char *rest;
	char *clock;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (text_begins(item, texts[i].prefix, &rest))
			return keep(pool, rest, texts[i].to);
	if (text_begins(item, "clock=", &rest)) {
		if (keep(pool, rest, &clock) < 0)
			return -ENOMEM;
		ret->clock = text_strip(clock);
		return 0;
	}
	if (text_begins(item, "size=", &rest))
		return parse_size(rest, &ret->bits);
	if (ret->n_vars == HIST_VARS_MAX)
		return trigger_log_token(log, EINVAL, "Too many variables defined", item);
	return keep(pool, item, &ret->vars[ret->n_vars++]);
}

static int parse_item(struct trigger_log *log, struct pool *pool, char *item,
		      struct hist_text *ret)
{
	const char *assign = strchr(item, '=');

	if (assign && !assign[1])
		return trigger_log_token(log, EINVAL, "Empty assignment", item);
	if (assign)
		return parse_assignment(log, pool, item, ret);
	if (strcmp(item, "nohitcount") == 0 || strcmp(item, "NOHC") == 0)
		ret->nohitcount = true;
	else if (strcmp(item, "pause") == 0)
		ret->pause = true;
	else if (strcmp(item, "cont") == 0 || strcmp(item, "continue") == 0)
		ret->cont = true;
	else if (strcmp(item, "clear") == 0)
		ret->clear = true;
	else if (ret->n_doers < sizeof(ret->doers) / sizeof(ret->doers[0]) &&
		 (text_begins(item, "onmatch(", NULL) || text_begins(item, "onmax(", NULL) ||
		  text_begins(item, "onchange(", NULL)))
		return keep(pool, item, &ret->doers[ret->n_doers++]);
	else
		return -EINVAL;
	return 0;
}

int hist_text_parse(struct trigger_log *log, struct pool *pool, char *text,
		    struct hist_text *ret)
{
	char *item;

	ret->bits = BITS_DEFAULT;
	while ((item = strsep(&text, ":"))) {
		int rc = parse_item(log, pool, item, ret);

		if (rc < 0)
			return rc;
	}
	if (!ret->keys)
		return -EINVAL;
	return ret->clock ? 0 : keep(pool, "global", &ret->clock);
}

/* One item. */
static int cut_vars(struct trigger_log *log, struct pool *pool, struct hist_text *text,
		    char *item)
{
	for (size_t i = 0; i < HIST_VARS_MAX; i++) {
		char *expr = strsep(&item, ","), *name;

		if (!expr)
			break;
		name = strsep(&expr, "=");
		if (!expr)
			return trigger_log_token(log, EINVAL, "Malformed assignment", name);
		if (text->n_defined == HIST_VARS_MAX)
			return trigger_log_token(log, EINVAL, "Too many variables defined",
						 name);
		text->var_names[text->n_defined] = pool_text(pool, name, strlen(name));
		text->var_exprs[text->n_defined] = pool_text(pool, expr, strlen(expr));
		if (!text->var_names[text->n_defined] || !text->var_exprs[text->n_defined])
			return -ENOMEM;
		text->n_defined++;
	}
	return 0;
}

int hist_text_vars(struct trigger_log *log, struct pool *pool, struct hist_text *text)
{
	for (size_t i = 0; i < text->n_vars; i++) {
		int rc = cut_vars(log, pool, text, text->vars[i]);

		if (rc < 0)
			return rc;
	}
	return 0;
}
