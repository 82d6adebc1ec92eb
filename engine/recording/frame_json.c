/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/frame_json.h"

#include "engine/recording/text_json.h"

static void set_text(json_t *json, const char *key, const char *text)
{
	if (text)
		(void)json_object_set_new(json, key, text_to_json(text));
}

static json_t *frame_to_json(const struct sink_frame *frame)
{
	json_t *json = json_object();

	set_text(json, "function", frame->function);
	set_text(json, "file", frame->file);
	set_text(json, "source", frame->source);
	if (frame->function && !frame->is_inlined)
		(void)json_object_set_new(json, "offset",
					  json_integer((json_int_t)frame->offset));
	if (frame->file)
		(void)json_object_set_new(json, "file_at",
					  json_integer((json_int_t)frame->file_vaddr));
	if (frame->source)
		(void)json_object_set_new(json, "line", json_integer(frame->line));
	if (frame->is_inlined)
		(void)json_object_set_new(json, "inlined", json_true());
	return json;
}

json_t *frames_to_json(uint32_t maps, uint64_t vaddr, bool is_first,
		       const struct sink_frame *frames, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(list, frame_to_json(&frames[i]));
	return json_pack("{s:I, s:I, s:b, s:o}", "maps", (json_int_t)maps, "at",
			 (json_int_t)vaddr, "first", is_first, "frames", list);
}

size_t frames_of_json(const json_t *json, uint64_t vaddr,
		      struct sink_frame frames[SINK_FRAMES_MAX])
{
	const json_t *list = json_object_get(json, "frames");
	size_t n = json_array_size(list);

	n = n > SINK_FRAMES_MAX ? SINK_FRAMES_MAX : n;
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(list, i);

		frames[i] = (struct sink_frame){
			.vaddr = vaddr,
			.function = json_string_value(json_object_get(one, "function")),
			.offset = (uint64_t)json_integer_value(json_object_get(one, "offset")),
			.file = json_string_value(json_object_get(one, "file")),
			.file_vaddr =
				(uint64_t)json_integer_value(json_object_get(one, "file_at")),
			.source = json_string_value(json_object_get(one, "source")),
			.line = (unsigned)json_integer_value(json_object_get(one, "line")),
			.is_inlined = json_is_true(json_object_get(one, "inlined")),
		};
	}
	if (!n)
		frames[n++] = (struct sink_frame){ .vaddr = vaddr };
	return n;
}
