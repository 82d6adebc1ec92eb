/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/synth_parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/spec/chars.h"
#include "engine/trigger/pool.h"
#include "engine/trigger/set.h"
#include "engine/trigger/text.h"

#define BLANKS "\t\n\v\f\r "

/* Words of one part that are looked at: more than all fields can have. */
#define SPLIT_MAX (3 * SYNTH_FIELDS_MAX + 3)

static const struct {
	const char *name;
	unsigned size;
} types[] = {
	{ "s64", 8 },
	{ "u64", 8 },
	{ "s32", 4 },
	{ "u32", 4 },
	{ "s16", 2 },
	{ "u16", 2 },
	{ "s8", 1 },
	{ "u8", 1 },
	{ "char", 1 },
	{ "unsigned char", 1 },
	{ "int", 4 },
	{ "long", 8 },
	{ "bool", 1 },
	{ "unsigned int", 4 },
	{ "unsigned long", 8 },
	{ "pid_t", 4 },
	{ "gfp_t", 4 },
};

bool synth_is_name(const char *name)
{
	if (!char_is_alpha(*name) && *name != '_')
		return false;
	while (*++name)
		if (!char_is_alnum(*name) && *name != '_')
			return false;
	return true;
}

int synth_form_error(struct trigger_set *set)
{
	return trigger_log_at(&set->log, EINVAL,
			      "Command must be of the form: <name> field[;field] ...", 0);
}

/* Bytes of char[N], 0 for any length, -EINVAL. */
static int string_size(const char *type)
{
	const char *from = strstr(type, "char[") + 5, *to = strchr(from, ']');
	char digits[4] = "";
	uint64_t size;

	if (!to || to[1] || to - from > 3)
		return -EINVAL;
	if (to == from)
		return 0;
	memcpy(digits, from, (size_t)(to - from));
	if (text_number(digits, &size) < 0 || size > SYNTH_TEXT_MAX)
		return -EINVAL;
	return (int)size;
}

/* 0: of any length, or there is no such type. */
static int type_size(const char *type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, type) == 0)
			return (int)types[i].size;
	return strstr(type, "char[") ? string_size(type) : 0;
}

static int settle_type(struct pool *pool, struct synth_field *field)
{
	int size = type_size(field->type);

	if (size < 0)
		return size;
	field->is_string = strstr(field->type, "char[");
	field->is_stack = !field->is_string && strstr(field->type, "long[");
	field->size = (unsigned)size;
	field->kernel_type = field->type;
	if (size == 0) {
		if (!field->is_string && !field->is_stack)
			return -ENOENT;
		field->is_dynamic = true;
		field->size = 8;
		field->kernel_type = pool_format(pool, "__data_loc %s", field->type);
	}
	field->is_signed = field->type[0] != 'u' && strcmp(field->type, "gfp_t") != 0;
	return field->kernel_type ? 0 : -ENOMEM;
}

/* One field of @words; *used grows by the words it takes. */
static int parse_field(struct trigger_set *set, struct pool *pool, struct synth_field *field,
		       char **words, size_t n, size_t *used)
{
	bool is_unsigned = strcmp(words[0], "unsigned") == 0;
	const char *type, *name, *array;
	int rc;

	if (is_unsigned && n < 3)
		return trigger_log_token(&set->log, EINVAL, "Incomplete type", words[0]);
	if (n < 2)
		return trigger_log_token(&set->log, EINVAL, "Invalid field", words[0]);
	type = words[is_unsigned];
	name = words[1 + is_unsigned];
	*used += 2U + is_unsigned;
	array = strchr(name, '[');
	field->name = pool_text(pool, name, array ? (size_t)(array - name) : strlen(name));
	field->type = pool_format(pool, "%s%s%s", is_unsigned ? "unsigned " : "", type,
				  array ? array : "");
	if (!field->name || !field->type)
		return -ENOMEM;
	if (!synth_is_name(field->name))
		return trigger_log_token(&set->log, EINVAL, "Illegal name", name);
	rc = settle_type(pool, field);
	if (rc == -EINVAL && array)
		return trigger_log_token(&set->log, EINVAL, "Invalid array specification",
					 name);
	if (rc == -EINVAL || rc == -ENOENT)
		return trigger_log_token(&set->log, EINVAL, "Invalid type", type);
	return rc;
}

/* The fields between two semicolons: there may be several. */
static int parse_part(struct trigger_set *set, struct pool *pool, struct synth *synth,
		      char *part)
{
	char *words[SPLIT_MAX];
	size_t n = 0, used = 0;
	char *word;

	while ((word = strsep(&part, BLANKS)))
		if (*word && n < SPLIT_MAX)
			words[n++] = word;
	while (used < n) {
		struct synth_field field = { 0 };
		int rc = parse_field(set, pool, &field, words + used, n - used, &used);

		if (rc < 0)
			return rc;
		if (synth->n_fields == SYNTH_FIELDS_MAX)
			return trigger_log_at(&set->log, EINVAL, "Too many fields", 0);
		synth->fields[synth->n_fields++] = field;
	}
	return 0;
}

int synth_parse_fields(struct trigger_set *set, struct pool *pool, struct synth *synth,
		       char *fields)
{
	char *part;

	while ((part = strsep(&fields, ";"))) {
		int rc = parse_part(set, pool, synth, part);

		if (rc < 0)
			return rc;
	}
	return synth->n_fields ? 0 : synth_form_error(set);
}
