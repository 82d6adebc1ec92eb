/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/probe_make.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const reg_names[] = { "r15",   "r14", "r13", "r12",     "bp",     "bx",
					 "r11",   "r10", "r9",  "r8",      "ax",     "cx",
					 "dx",    "si",  "di",  "orig_ax", "ip",     "cs",
					 "flags", "sp",  "ss",  "fs_base", "gs_base" };

static const struct ubp_arch *other;

void probe_make_for(const struct ubp_arch *arch)
{
	other = arch;
}

static uint16_t reg_of_other(const char *name)
{
	int reg = other->reg.by_name(name, strlen(name));

	if (reg < 0)
		reg = other->reg.more_by_name(name, strlen(name));
	assert(reg >= 0);
	return (uint16_t)(reg < UBP_REG_VECTOR ? reg : reg - UBP_REG_VECTOR + SPEC_REG_VECTOR);
}

static uint16_t reg_by_name(const char *name)
{
	if (other)
		return reg_of_other(name);
	if (strncmp(name, "xmm", 3) == 0)
		return (uint16_t)(SPEC_REG_VECTOR + strtoul(name + 3, NULL, 10));
	for (size_t i = 0; i < sizeof(reg_names) / sizeof(reg_names[0]); i++)
		if (strcmp(reg_names[i], name) == 0)
			return (uint16_t)i;
	assert(!"register");
	return 0;
}

/* "0x10", "-8", "+-8", "++8" */
static uint64_t number(const char *text)
{
	if (text[0] == '+')
		text++;
	return text[0] == '-' ? (uint64_t)strtoll(text, NULL, 0) : strtoull(text, NULL, 0);
}

static struct spec_type make_type(const char *text)
{
	struct spec_type t = { .format = SPEC_HEX, .size = 8, .is_default = true };
	const char *array = text ? strchr(text, '[') : NULL;
	char *rest;

	if (!text)
		return t;
	t.is_default = false;
	if (array)
		t.count = (uint16_t)strtoul(array + 1, NULL, 0);
	if (strncmp(text, "string", 6) == 0 || strncmp(text, "ustring", 7) == 0) {
		t.format = SPEC_STRING;
		t.is_ustring = text[0] == 'u';
		t.size = 4;
	} else if (strncmp(text, "char", 4) == 0) {
		t.format = SPEC_CHAR;
		t.size = 1;
	} else if (text[0] == 'f') {
		t.format = SPEC_FLOAT;
		t.size = (uint8_t)(strtoul(text + 1, NULL, 10) / 8);
	} else if (text[0] == 'b' || strncmp(text, "sb", 2) == 0) {
		t.format = text[0] == 's' ? SPEC_SIGNED : SPEC_UNSIGNED;
		t.bit_width = (uint8_t)strtoul(strchr(text, 'b') + 1, &rest, 0);
		t.bit_offset = (uint8_t)strtoul(rest + 1, &rest, 0);
		t.size = (uint8_t)(strtoul(rest + 1, NULL, 0) / 8);
	} else {
		t.format = text[0] == 'u'   ? SPEC_UNSIGNED
			   : text[0] == 's' ? SPEC_SIGNED
					    : SPEC_HEX;
		t.size = (uint8_t)(strtoul(text + 1, NULL, 10) / 8);
	}
	return t;
}

/* %BASE+%INDEX*SCALE+DISP, of which the first may be missing. */
static void make_sum(struct spec_arg *arg, const char *text)
{
	char word[64], *star, *rest;

	arg->source = SPEC_REG;
	arg->is_sum = true;
	arg->reg = arg->index_reg = SPEC_NO_REG;
	for (size_t n; *text; text += n) {
		n = 1 + strcspn(text + 1, "+-");
		if (text[0] == '+' && text[1] == '%') {
			text++;
			n--;
		}
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		star = strchr(word, '*');
		if (star)
			*star++ = '\0';
		if (word[0] != '%') {
			arg->addend = strtoll(word, &rest, 0);
			assert(*rest == '\0');
		} else if (star || arg->reg != SPEC_NO_REG) {
			arg->index_reg = reg_by_name(word + 1);
			arg->index_shift =
				star ? (uint8_t)__builtin_ctz((unsigned)atoi(star)) : 0;
		} else {
			arg->reg = reg_by_name(word + 1);
		}
	}
}

static void make_source(struct spec_arg *arg, const char *text)
{
	if (text[0] == '%' && strpbrk(text, "+-*")) {
		make_sum(arg, text);
	} else if (text[0] == '%') {
		arg->source = SPEC_REG;
		arg->reg = reg_by_name(text + 1);
	} else if (strcmp(text, "$stack") == 0) {
		arg->source = SPEC_REG;
		arg->reg = other ? other->reg.sp : REG_SP;
	} else if (strncmp(text, "$stack", 6) == 0) {
		arg->source = SPEC_STACK;
		arg->value = strtoull(text + 6, NULL, 10);
	} else if (strncmp(text, "$retval", 7) == 0) {
		arg->source = SPEC_RETVAL;
		arg->reg = other ? other->reg.retval : REG_AX;
	} else if (strcmp(text, "$duration") == 0) {
		arg->source = SPEC_DURATION;
	} else if (strcmp(text, "$comm") == 0) {
		arg->source = SPEC_COMM;
	} else if (strncmp(text, "\\\"", 2) == 0) {
		arg->source = SPEC_IMM_STRING;
	} else {
		assert(text[0] == '@' || text[0] == '\\');
		arg->source = text[1] == '+' && text[0] == '@' ? SPEC_FOFF : SPEC_IMM;
		arg->value = number(text + 1 + (arg->source == SPEC_FOFF));
		if (text[0] == '@')
			arg->n_derefs = 1;
	}
}

/* The outermost comes first in the text and last in the array. */
static void make_expr(struct spec_arg *arg, char *text)
{
	char *brace = strchr(text, '('), *offset = text + 1;

	if ((text[0] != '+' && text[0] != '-') || !brace) {
		make_source(arg, text);
		return;
	}
	*strrchr(brace, ')') = '\0';
	make_expr(arg, brace + 1);
	if (*offset == 'u')
		offset++;
	*brace = '\0';
	arg->deref[arg->n_derefs++] =
		(int32_t)(uint32_t)(text[0] == '-' ? -number(offset) : number(offset));
}

static void make_arg(struct spec_probe *probe, const char *word)
{
	struct spec_arg *arg = &probe->args[probe->n_args++];
	const char *equals = strchr(word, '=');
	char text[256], *type;

	memset(arg, 0, sizeof(*arg));
	if (equals)
		snprintf(arg->name, sizeof(arg->name), "%.*s", (int)(equals - word), word);
	else
		snprintf(arg->name, sizeof(arg->name), "arg%zu", probe->n_args);
	snprintf(text, sizeof(text), "%s", equals ? equals + 1 : word);
	snprintf(arg->text, sizeof(arg->text), "%.*s", SPEC_ARG_TEXT_MAX, text);
	type = strchr(text, ':');
	if (type)
		*type++ = '\0';
	make_expr(arg, text);
	if (!type && (arg->source == SPEC_COMM || arg->source == SPEC_IMM_STRING))
		arg->type = make_type("string");
	else
		arg->type = make_type(type);
	arg->at = (uint32_t)probe->fixed_size;
	probe->fixed_size += (size_t)arg->type.size * (arg->type.count ? arg->type.count : 1);
}

void probe_make(struct probe_make *make, bool is_return, const char *args)
{
	struct spec_probe *probe = &make->probe;
	char *copy = strdup(args), *save = NULL;

	assert(copy);
	memset(probe, 0, sizeof(*probe));
	probe->kind = is_return ? PROBE_RETURN : PROBE_ENTRY;
	probe->args = make->args;
	strcpy(probe->group, "grp");
	strcpy(probe->event, "evt");
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		make_arg(probe, w);
	free(copy);
}
