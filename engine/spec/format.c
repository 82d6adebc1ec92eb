/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/format.h"

#include "engine/spec/out.h"

static void add_field(struct spec_out *out, const char *field, size_t offset, size_t size,
		      bool is_signed)
{
	spec_out_add(out, "\tfield:%s;\toffset:%zu;\tsize:%zu;\tsigned:%d;\n", field, offset,
		     size, is_signed);
}

static void add_head(struct spec_out *out, const struct spec_probe *probe, unsigned id)
{
	spec_out_add(out, "name: %s\nID: %u\nformat:\n", probe->event, id);
	add_field(out, "unsigned short common_type", 0, 2, false);
	add_field(out, "unsigned char common_flags", 2, 1, false);
	add_field(out, "unsigned char common_preempt_count", 3, 1, false);
	add_field(out, "int common_pid", 4, 4, true);
	spec_out_add(out, "\n");
	if (probe->kind == PROBE_RETURN) {
		add_field(out, "unsigned long __probe_func", 8, 8, false);
		add_field(out, "unsigned long __probe_ret_ip", 16, 8, false);
	} else {
		add_field(out, "unsigned long __probe_ip", 8, 8, false);
	}
}

static void add_arg_field(struct spec_out *out, const struct spec_arg *arg, size_t head)
{
	const struct spec_type *type = &arg->type;
	size_t size = type->size * (type->count > 0 ? type->count : 1u);
	bool is_signed = type->format == SPEC_SIGNED || type->format == SPEC_STRING ||
			 type->format == SPEC_FLOAT;

	spec_out_add(out, "\tfield:");
	if (type->format == SPEC_STRING && type->count > 0)
		spec_out_add(out, "__data_loc char[][%u] %s", type->count, arg->name);
	else if (type->format == SPEC_STRING)
		spec_out_add(out, "__data_loc char[] %s", arg->name);
	else if (type->format == SPEC_FLOAT)
		spec_out_add(out, "%s %s%s", type->size == 8 ? "double" : "float", arg->name,
			     type->count > 0 ? "[]" : "");
	else
		spec_out_add(out, "%c%u %s%s", type->format == SPEC_SIGNED ? 's' : 'u',
			     type->size * 8u, arg->name, type->count > 0 ? "[]" : "");
	spec_out_add(out, ";\toffset:%zu;\tsize:%zu;\tsigned:%d;\n", head + arg->at, size,
		     is_signed);
}

/* The printf conversion of one element, quoted for a string literal. */
static const char *conversion(const struct spec_type *type)
{
	switch (type->format) {
	case SPEC_UNSIGNED:
		return type->size == 8 ? "%Lu" : "%u";
	case SPEC_SIGNED:
		return type->size == 8 ? "%Ld" : "%d";
	case SPEC_HEX:
		return type->size == 8 ? "0x%Lx" : "0x%x";
	case SPEC_CHAR:
		return "'%c'";
	case SPEC_STRING:
		return "\\\"%s\\\"";
	case SPEC_FLOAT:
		return type->size == 8 ? "%.17g" : "%.9g";
	}
	return "";
}

static void add_conversions(struct spec_out *out, const struct spec_arg *arg)
{
	const char *text = conversion(&arg->type);

	spec_out_add(out, " %s=", arg->name);
	if (arg->type.count == 0) {
		spec_out_add(out, "%s", text);
		return;
	}
	for (unsigned i = 0; i < arg->type.count; i++)
		spec_out_add(out, "%c%s", i == 0 ? '{' : ',', text);
	spec_out_add(out, "}");
}

static void add_values(struct spec_out *out, const struct spec_arg *arg)
{
	bool is_string = arg->type.format == SPEC_STRING;
	const char *open = is_string ? "__get_str(" : "REC->";
	const char *close = is_string ? ")" : "";

	if (arg->type.count == 0)
		spec_out_add(out, ", %s%s%s", open, arg->name, close);
	for (unsigned i = 0; i < arg->type.count; i++)
		spec_out_add(out, ", %s%s[%u]%s", open, arg->name, i, close);
}

static void add_print_fmt(struct spec_out *out, const struct spec_probe *probe)
{
	spec_out_add(out, "\nprint fmt: \"%s",
		     probe->kind == PROBE_RETURN ? "(%lx <- %lx)" : "(%lx)");
	for (size_t i = 0; i < probe->n_args; i++)
		add_conversions(out, &probe->args[i]);
	spec_out_add(out, "\", %s",
		     probe->kind == PROBE_RETURN ? "REC->__probe_func, REC->__probe_ret_ip"
						 : "REC->__probe_ip");
	for (size_t i = 0; i < probe->n_args; i++)
		add_values(out, &probe->args[i]);
	spec_out_add(out, "\n");
}

int spec_format_text(const struct spec_probe *probe, unsigned id, char *buf, size_t size)
{
	struct spec_out out = { .buf = buf, .size = size };

	add_head(&out, probe, id);
	for (size_t i = 0; i < probe->n_args; i++)
		add_arg_field(&out, &probe->args[i], probe_kind_head(probe->kind));
	add_print_fmt(&out, probe);
	return (int)out.len;
}
