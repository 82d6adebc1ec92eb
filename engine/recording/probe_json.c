/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/probe_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/event/record.h"
#include "engine/recording/text_json.h"
#include "engine/spec/probe.h"

#define NAMES_MAX 65536 /* of the values of one arg */

static const char *const formats[] = {
	[SPEC_UNSIGNED] = "unsigned", [SPEC_SIGNED] = "signed", [SPEC_HEX] = "hex",
	[SPEC_CHAR] = "char",         [SPEC_STRING] = "string", [SPEC_FLOAT] = "float",
};

#define N_FORMATS (sizeof(formats) / sizeof(*formats))

/* --- writing --------------------------------------------------------------------------- */

static json_t *names_to_json(const struct value_names *names)
{
	json_t *list = json_array();

	for (size_t i = 0; i < names->n; i++)
		(void)json_array_append_new(
			list,
			json_pack("[Is]", (json_int_t)names->v[i].value, names->v[i].name));
	return json_pack("{s:b, s:o}", "flags", names->is_flags, "values", list);
}

static json_t *arg_to_json(const struct spec_arg *arg)
{
	const struct spec_type *type = &arg->type;
	json_t *json = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:b}", "name",
				 arg->name, "text", arg->text, "format", formats[type->format],
				 "size", type->size, "at", (int)arg->at, "count", type->count,
				 "bits", type->bit_width, "bit", type->bit_offset, "default",
				 type->is_default);

	if (json && arg->names)
		(void)json_object_set_new(json, "names", names_to_json(arg->names));
	if (json && arg->read_at)
		(void)json_object_set_new(
			json, "read_at",
			json_pack("[i,i]", (int)arg->read_at,
				  arg->n_derefs ? (int)arg->deref[arg->n_derefs - 1] : 0));
	if (json && type->is_dump)
		(void)json_object_set_new(json, "dump", json_true());
	if (json && arg->at_entry)
		(void)json_object_set_new(json, "entry", json_true());
	return json;
}

json_t *probe_to_json(unsigned number, const struct spec_probe *probe)
{
	char kind[] = { probe_kind_letter(probe->kind), '\0' };
	json_t *path = text_to_json(probe->path ? probe->path : "");
	json_t *args = json_array(), *json;

	for (size_t i = 0; args && i < probe->n_args; i++)
		if (json_array_append_new(args, arg_to_json(&probe->args[i])) < 0) {
			json_decref(args);
			args = NULL;
		}
	/* References are taken, whatever comes of it. */
	json = json_pack("{s:I, s:s, s:s, s:s, s:o, s:I, s:i, s:o, s:b}", "number",
			 (json_int_t)number, "kind", kind, "group", probe->group, "event",
			 probe->event, "path", path, "offset", (json_int_t)probe->offset,
			 "fixed", (int)probe->fixed_size, "args", args, "auto",
			 probe->auto_event);
	if (json && probe->past_entry)
		(void)json_object_set_new(json, "past_entry", json_integer(probe->past_entry));
	return json;
}

/* --- reading ---------------------------------------------------------------------------- */

static bool take_text(const json_t *json, const char *key, char *to, size_t size)
{
	const char *text = json_string_value(json_object_get(json, key));

	if (!text || strlen(text) >= size)
		return false;
	memcpy(to, text, strlen(text) + 1);
	return true;
}

/* A number from 0 to @most. */
static bool take_number(const json_t *json, const char *key, uint64_t most, uint64_t *ret)
{
	const json_t *number = json_object_get(json, key);

	*ret = (uint64_t)json_integer_value(number);
	return json_is_integer(number) && *ret <= most;
}

static bool take_format(const json_t *json, struct spec_type *type)
{
	const char *name = json_string_value(json_object_get(json, "format"));

	for (size_t i = 0; name && i < N_FORMATS; i++)
		if (strcmp(name, formats[i]) == 0) {
			type->format = (enum spec_format)i;
			return true;
		}
	return false;
}

static void free_names(const struct value_names *names)
{
	for (size_t i = 0; names && i < names->n; i++)
		free((char *)names->v[i].name);
	if (names)
		free((void *)names->v);
	free((void *)names);
}

static struct value_names *names_of_json(const json_t *json)
{
	const json_t *list = json_object_get(json, "values");
	size_t n = json_array_size(list);
	struct value_names *names = calloc(1, sizeof(*names));
	struct value_name *v = n <= NAMES_MAX ? calloc(n + 1, sizeof(*v)) : NULL;

	if (!names || !v) {
		free(names);
		free(v);
		return NULL;
	}
	names->v = v;
	names->is_flags = json_is_true(json_object_get(json, "flags"));
	for (; names->n < n; names->n++) {
		const json_t *one = json_array_get(list, names->n);
		const char *name = json_string_value(json_array_get(one, 1));

		v[names->n].value = json_integer_value(json_array_get(one, 0));
		v[names->n].name = name ? strdup(name) : NULL;
		if (!v[names->n].name)
			break;
	}
	if (names->n == n)
		return names;
	free_names(names);
	return NULL;
}

static bool is_size(uint64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* All of its values lie in the fixed area, as whoever prints them expects. */
static bool is_arg_sane(const struct spec_arg *arg, size_t fixed)
{
	const struct spec_type *type = &arg->type;
	size_t n = type->count ? type->count : 1;

	return is_size(type->size) && arg->at <= fixed && n * type->size <= fixed - arg->at &&
	       (type->format != SPEC_STRING || type->size == 4) &&
	       (type->format != SPEC_FLOAT || type->size >= 4) &&
	       type->bit_width + type->bit_offset <= 8 * type->size;
}

/* Names of events and arguments are printed as they are, also as JSON and on terminals: no definition has others than these. */
static bool take_name(const json_t *json, const char *key, char *to, size_t room)
{
	if (!take_text(json, key, to, room) || !*to)
		return false;
	for (; *to; to++)
		if (*to <= ' ' || *to >= 0x7f || *to == '"' || *to == '\\')
			return false;
	return true;
}

/* Where it is told whether memory could be read, and what the outermost dereference adds. */
static bool take_read_at(const json_t *json, size_t fixed, struct spec_arg *arg)
{
	const json_t *read_at = json_object_get(json, "read_at");
	json_int_t at = json_integer_value(json_array_get(read_at, 0));
	json_int_t adds = json_integer_value(json_array_get(read_at, 1));

	if (!read_at)
		return true;
	if (at <= 0 || at > (json_int_t)fixed || adds < INT32_MIN || adds > INT32_MAX)
		return false;
	arg->read_at = (uint32_t)at;
	arg->n_derefs = 1;
	arg->deref[0] = (int32_t)adds;
	return spec_arg_read_size(arg) <= fixed - arg->read_at;
}

static bool arg_of_json(const json_t *json, size_t fixed, struct spec_arg *arg)
{
	const json_t *names = json_object_get(json, "names");
	uint64_t size, at, count, bits, bit;

	if (!take_name(json, "name", arg->name, sizeof(arg->name)) ||
	    !take_text(json, "text", arg->text, sizeof(arg->text)) ||
	    !take_format(json, &arg->type) || !take_number(json, "size", 8, &size) ||
	    !take_number(json, "at", EVENT_DATA_MAX, &at) ||
	    !take_number(json, "count", SPEC_ARRAY_MAX, &count) ||
	    !take_number(json, "bits", 64, &bits) || !take_number(json, "bit", 64, &bit))
		return false;
	arg->at = (uint32_t)at;
	arg->type.size = (uint8_t)size;
	arg->type.count = (uint16_t)count;
	arg->type.bit_width = (uint8_t)bits;
	arg->type.bit_offset = (uint8_t)bit;
	arg->type.is_default = json_is_true(json_object_get(json, "default"));
	if (!is_arg_sane(arg, fixed))
		return false;
	if (!take_read_at(json, fixed, arg))
		return false;
	arg->type.is_dump = json_is_true(json_object_get(json, "dump"));
	arg->at_entry = json_is_true(json_object_get(json, "entry"));
	arg->names = names ? names_of_json(names) : NULL;
	return !names || arg->names;
}

static bool fill_probe(const json_t *json, struct spec_probe *probe, uint64_t *ret_number)
{
	const json_t *args = json_object_get(json, "args");
	const char *path = json_string_value(json_object_get(json, "path"));
	size_t n = json_array_size(args);
	uint64_t fixed;
	char kind[2];

	if (!take_text(json, "kind", kind, sizeof(kind)) ||
	    !probe_kind_by_letter(kind[0], &probe->kind) ||
	    !take_name(json, "group", probe->group, sizeof(probe->group)) ||
	    !take_name(json, "event", probe->event, sizeof(probe->event)) ||
	    !take_number(json, "number", UINT32_MAX, ret_number) ||
	    !take_number(json, "fixed", EVENT_DATA_MAX, &fixed) || !path || n > SPEC_ARGS_MAX)
		return false;
	probe->offset = (uint64_t)json_integer_value(json_object_get(json, "offset"));
	probe->past_entry = (uint32_t)json_integer_value(json_object_get(json, "past_entry"));
	probe->auto_event = json_is_true(json_object_get(json, "auto"));
	probe->is_resolved = true;
	probe->takes_units = true;
	probe->fixed_size = fixed;
	probe->path = strdup(path);
	probe->args = calloc(n + 1, sizeof(*probe->args));
	if (!probe->path || !probe->args)
		return false;
	for (; probe->n_args < n; probe->n_args++)
		if (!arg_of_json(json_array_get(args, probe->n_args), fixed,
				 &probe->args[probe->n_args]))
			return false;
	return true;
}

int probe_of_json(const json_t *json, unsigned *ret_number, struct spec_probe **ret_probe,
		  struct ubp_err *err)
{
	struct spec_probe *probe = calloc(1, sizeof(*probe));
	uint64_t number;

	if (!probe)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (!fill_probe(json, probe, &number)) {
		probe_of_json_free(probe);
		return ubp_fail(err, EINVAL, "a probe of the recording makes no sense");
	}
	*ret_number = (unsigned)number;
	*ret_probe = probe;
	return 0;
}

void probe_of_json_free(struct spec_probe *probe)
{
	if (!probe)
		return;
	for (size_t i = 0; probe->args && i < probe->n_args; i++)
		free_names(probe->args[i].names);
	free(probe->args);
	free(probe->path);
	free(probe);
}
