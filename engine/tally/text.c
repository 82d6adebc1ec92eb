/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/tally/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/nearest.h"
#include "engine/spec/spec.h"

#define EDITS       2
#define COMMAND_MAX 160
#define KEYS        "comm, pid, tid, cpu, event, function, ustack"

static const char prefix[] = "hist:";

/* --- text --------------------------------------------------------------------------------- */

struct piece {
	const char *s;
	size_t len;
};

static bool is(struct piece p, const char *word)
{
	return p.len == strlen(word) && memcmp(p.s, word, p.len) == 0;
}

/* What is in front of the next @c of *@rest, which goes on behind it. False: nothing is left. */
static bool next(struct piece *rest, char c, struct piece *ret)
{
	const char *end;

	if (!rest->s)
		return false;
	end = memchr(rest->s, c, rest->len);
	*ret = (struct piece){ rest->s, end ? (size_t)(end - rest->s) : rest->len };
	*rest = end ? (struct piece){ end + 1, rest->len - ret->len - 1 } : (struct piece){ 0 };
	return true;
}

static bool number(struct piece p, uint64_t *ret)
{
	char digits[24] = "", *end;

	if (p.len == 0 || p.len >= sizeof(digits) || *p.s < '0' || *p.s > '9')
		return false;
	memcpy(digits, p.s, p.len);
	errno = 0;
	*ret = strtoull(digits, &end, 0);
	return !errno && !*end;
}

/* NAME[.MODIFIER]; a name may have dots only where no modifier follows. */
static int take_name(struct piece p, char *name, struct piece *ret_modifier,
		     struct ubp_err *err)
{
	const char *dot = p.len ? memchr(p.s, '.', p.len) : NULL;
	size_t len = dot ? (size_t)(dot - p.s) : p.len;

	if (len == 0 || len > TALLY_NAME_MAX)
		return ubp_fail(err, EINVAL, "'%.*s' is no name of an argument", (int)p.len,
				p.s ? p.s : "");
	memcpy(name, p.s, len);
	name[len] = '\0';
	*ret_modifier = dot ? (struct piece){ dot + 1, p.len - len - 1 } : (struct piece){ 0 };
	return 0;
}

static int take_key(struct tally_text *t, struct piece p, struct ubp_err *err)
{
	struct tally_text_key *key = &t->keys[t->n_keys];
	struct piece modifier = { 0 }, word = { 0 };
	int rc;

	if (t->n_keys == TALLY_KEYS)
		return ubp_fail(err, EINVAL, "more than %d keys", TALLY_KEYS);
	rc = take_name(p, key->name, &modifier, err);
	if (rc < 0)
		return rc;
	t->n_keys++;
	if (!modifier.s)
		return 0;
	if (is(modifier, "log2")) {
		key->scale = TALLY_LOG2;
		return 0;
	}
	(void)next(&modifier, '=', &word);
	if (!is(word, "buckets") || !modifier.s || !number(modifier, &key->bucket) ||
	    !key->bucket)
		return ubp_fail(err, EINVAL,
				"'%.*s': behind a key there may be .log2 or .buckets=N",
				(int)p.len, p.s);
	key->scale = TALLY_BUCKETS;
	return 0;
}

static int take_value(struct tally_text *t, struct piece p, struct ubp_err *err)
{
	struct tally_text_value *value = &t->values[t->n_values];
	struct piece modifier = { 0 };
	int rc;

	if (is(p, "hitcount"))
		return 0;
	if (t->n_values == TALLY_VALUES)
		return ubp_fail(err, EINVAL, "more than %d values", TALLY_VALUES);
	rc = take_name(p, value->name, &modifier, err);
	if (rc < 0)
		return rc;
	if (modifier.s && !is(modifier, "min") && !is(modifier, "max"))
		return ubp_fail(err, EINVAL, "'%.*s': behind a value there may be .min or .max",
				(int)p.len, p.s);
	value->kind = !modifier.s ? TALLY_SUM : is(modifier, "min") ? TALLY_MIN : TALLY_MAX;
	t->n_values++;
	return 0;
}

static int take_item(struct tally_text *t, struct piece item, struct ubp_err *err)
{
	struct piece word = { 0 }, one;
	uint64_t n;
	int rc = 0;

	(void)next(&item, '=', &word);
	if (is(word, "keys")) {
		while (rc == 0 && next(&item, ',', &one))
			rc = take_key(t, one, err);
	} else if (is(word, "vals")) {
		while (rc == 0 && next(&item, ',', &one))
			rc = take_value(t, one, err);
	} else if (is(word, "size") && item.s && number(item, &n)) {
		t->size = n;
	} else {
		rc = ubp_fail(err, EINVAL, "'%.*s': not keys=, vals= or size=", (int)word.len,
			      word.s);
	}
	return rc;
}

int tally_text_parse(const char *text, struct tally_text *t, struct ubp_err *err)
{
	struct piece rest, item;
	int rc = 0;

	*t = (struct tally_text){ 0 };
	if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		return ubp_fail(err, EINVAL, "'%s' does not begin with %s", text, prefix);
	text += sizeof(prefix) - 1;
	rest = (struct piece){ text, strlen(text) };
	while (rc == 0 && next(&rest, ':', &item))
		rc = take_item(t, item, err);
	if (rc == 0 && !t->n_keys)
		rc = ubp_fail(err, EINVAL, "keys= is missing");
	return rc;
}

/* --- probes ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum tally_source source;
} words[] = {
	{ "common_pid", TALLY_TID }, { "common_cpu", TALLY_CPU },    { "cpu", TALLY_CPU },
	{ "pid", TALLY_PID },        { "tid", TALLY_TID },           { "comm", TALLY_COMM },
	{ "event", TALLY_EVENT },    { "function", TALLY_FUNCTION }, { "stack", TALLY_STACK },
	{ "ustack", TALLY_STACK },
};

/* By its name, as it was written, or by its number. NULL: there is none. */
static const struct spec_arg *find_arg(const struct spec_probe *spec, const char *name)
{
	size_t len = strlen(name);
	unsigned long n;
	char *end;

	for (size_t i = 0; i < spec->n_args; i++)
		if (strcmp(spec->args[i].name, name) == 0)
			return &spec->args[i];
	for (size_t i = 0; i < spec->n_args; i++)
		if (strncmp(spec->args[i].text, name, len) == 0 &&
		    (!spec->args[i].text[len] || spec->args[i].text[len] == ':'))
			return &spec->args[i];
	if (strncmp(name, "arg", 3) != 0 || name[3] < '1' || name[3] > '9')
		return NULL;
	n = strtoul(name + 3, &end, 10);
	return *end || n > spec->n_args ? NULL : &spec->args[n - 1];
}

static struct tally_field field_of(const struct spec_probe *spec, const struct spec_arg *arg)
{
	return (struct tally_field){
		.at = arg->at,
		.size = arg->type.size,
		.is_signed = arg->type.format == SPEC_SIGNED,
		.arg = (uint16_t)(arg - spec->args),
	};
}

/* An argument that the definition of any such probe can have, into @text. False: @name is none. */
static bool could_have(const struct spec_probe *spec, const char *name, char *text, size_t size)
{
	bool is_return = spec->kind == PROBE_RETURN, is_entry = !is_return;
	bool is_number = strncmp(name, "arg", 3) == 0 && name[3] >= '1' && name[3] <= '9';
	bool is_duration = strcmp(name, "duration") == 0 || strcmp(name, "$duration") == 0 ||
			   (strcmp(name, "arg1") == 0 && spec->n_args == 0);

	if (is_return && is_duration)
		(void)snprintf(text, size, "$duration");
	else if (is_return && is_number)
		(void)snprintf(text, size, "%s=entry(%s)", name, name);
	else if ((is_entry && is_number) || (is_return && strcmp(name, "$retval") == 0))
		(void)snprintf(text, size, "%s", name);
	else
		return false;
	return strlen(text) + 1 < size;
}

/* What name was meant: one that is near, or that of an argument which the definition might have. */
static void hint_name(const struct spec_probe *spec, const char *name, bool is_key,
		      struct ubp_err *err)
{
	char more[64];
	struct nearest near;

	nearest_init(&near, name, strlen(name), EDITS);
	for (size_t i = 0; i < spec->n_args; i++)
		nearest_offer(&near, spec->args[i].name);
	for (size_t i = 0; is_key && i < sizeof(words) / sizeof(words[0]); i++)
		nearest_offer(&near, words[i].name);
	if (spec->command && strlen(spec->command) < COMMAND_MAX &&
	    could_have(spec, name, more, sizeof(more)))
		ubp_err_hint(err, "give it one: '%s %s'", spec->command, more);
	else if (near.n)
		ubp_err_hint(err, "did you mean %s?%s", near.best[0].name,
			     is_key ? " Keys are arguments, " KEYS : "");
	else
		ubp_err_hint(err, "%s",
			     is_key ? "keys are arguments of the definition, " KEYS
				    : "values are arguments of the definition");
}

static int no_such(const struct spec_probe *spec, const char *name, bool is_key,
		   struct ubp_err *err)
{
	(void)ubp_fail(err, EINVAL, "event %s has no argument '%s'", spec->event, name);
	if (spec->takes_units)
		hint_name(spec, name, is_key, err);
	return -EINVAL;
}

static int bind_key(const struct tally_text_key *text, const struct spec_probe *spec,
		    struct tally_key *key, struct ubp_err *err)
{
	const struct spec_arg *arg = find_arg(spec, text->name);

	*key = (struct tally_key){ .scale = text->scale, .bucket = text->bucket };
	for (size_t i = 0; !arg && i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].name, text->name) != 0)
			continue;
		key->source = words[i].source;
		if (text->scale != TALLY_PLAIN)
			return ubp_fail(err, EINVAL,
					"'%s' is no argument: it has no ranges of values",
					text->name);
		return 0;
	}
	if (!arg)
		return no_such(spec, text->name, true, err);
	if (arg->type.count || arg->type.format == SPEC_FLOAT)
		return ubp_fail(err, EINVAL, "argument '%s' cannot be counted by: it is %s",
				text->name, arg->type.count ? "an array" : "no whole number");
	key->source = arg->type.format == SPEC_STRING ? TALLY_STRING : TALLY_NUMBER;
	if (key->source == TALLY_STRING && text->scale != TALLY_PLAIN)
		return ubp_fail(err, EINVAL, "'%s' is a string", text->name);
	key->field = field_of(spec, arg);
	return 0;
}

int tally_text_bind_value(const struct tally_text_value *text, const struct spec_probe *spec,
			  struct tally_value *value, struct ubp_err *err)
{
	const struct spec_arg *arg = find_arg(spec, text->name);

	if (!arg)
		return no_such(spec, text->name, false, err);
	if (arg->type.count || arg->type.format == SPEC_FLOAT ||
	    arg->type.format == SPEC_STRING)
		return ubp_fail(err, EINVAL, "argument '%s' is not one whole number",
				text->name);
	*value = (struct tally_value){ .kind = text->kind, .field = field_of(spec, arg) };
	return 0;
}

int tally_text_bind(const struct tally_text *text, const struct spec_probe *spec,
		    struct tally_plan *plan, struct ubp_err *err)
{
	unsigned n_stacks = 0;
	int rc = 0;

	*plan = (struct tally_plan){ .n_keys = text->n_keys, .n_values = text->n_values };
	for (unsigned i = 0; i < text->n_keys && rc == 0; i++) {
		rc = bind_key(&text->keys[i], spec, &plan->keys[i], err);
		if (rc == 0 && plan->keys[i].source == TALLY_STACK && n_stacks++)
			rc = ubp_fail(err, EINVAL, "'%s': one key is the stack already",
				      text->keys[i].name);
	}
	for (unsigned i = 0; i < text->n_values && rc == 0; i++)
		rc = tally_text_bind_value(&text->values[i], spec, &plan->values[i], err);
	return rc;
}
