/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/sample_json.h"

json_t *sample_to_json(const struct sample_plan *plan)
{
	const struct tally_field *field = &plan->field;

	if (!plan->has_field)
		return json_pack("{s:i}", "every", (int)plan->every);
	return json_pack("{s:i, s:i, s:i, s:b}", "every", (int)plan->every, "at",
			 (int)field->at, "size", (int)field->size, "signed",
			 (int)field->is_signed);
}

bool sample_of_json(const json_t *json, size_t fixed, struct sample_plan *ret_plan)
{
	json_int_t every = json_integer_value(json_object_get(json, "every"));
	json_int_t at = json_integer_value(json_object_get(json, "at"));
	json_int_t size = json_integer_value(json_object_get(json, "size"));
	bool has_field = json_object_get(json, "size") != NULL;

	if (every < 1 || every > SAMPLE_EVERY_MAX)
		return false;
	if (has_field && ((size != 1 && size != 2 && size != 4 && size != 8) || at < 0 ||
			  (uint64_t)at > fixed || (uint64_t)size > fixed - (uint64_t)at))
		return false;
	*ret_plan = (struct sample_plan){ .every = (uint32_t)every, .has_field = has_field };
	ret_plan->field.at = (uint32_t)at;
	ret_plan->field.size = (uint8_t)size;
	ret_plan->field.is_signed = json_is_true(json_object_get(json, "signed"));
	return true;
}
