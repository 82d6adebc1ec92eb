/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Arguments of static probes as fetch args. */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/num.h"
#include "engine/base/vec.h"
#include "engine/define/plain.h"
#include "engine/define/usdt.h"
#include "engine/elf/object.h"
#include "engine/sink/buf.h"

struct making {
	const struct usdt_definition *d;
	struct object *object;
	const struct object_note *note;
	const struct usdt_operands *operands;
	struct usdt_args *args;
	struct ubp_err *err;
};

/* --- strings that the args own --------------------------------------------------------- */

static int out_of_memory(const struct making *m)
{
	return ubp_fail(m->err, ENOMEM, "out of memory");
}

/* @text, allocated, becomes the args'; NULL: out of memory. */
static const char *keep(struct usdt_args *args, char *text)
{
	if (!text || VEC_FIT(args->texts, args->n_texts + 1) < 0) {
		free(text);
		return NULL;
	}
	args->texts[args->n_texts++] = text;
	return text;
}

void usdt_args_free(struct usdt_args *args)
{
	for (size_t i = 0; i < args->n_texts; i++)
		free(args->texts[i]);
	free(args->texts);
	free(args->v);
	memset(args, 0, sizeof(*args));
}

static int add(struct making *m, const char *name, const char *text, unsigned col,
	       bool is_verbatim)
{
	struct usdt_args *args = m->args;

	if (!text || VEC_FIT(args->v, args->n + 1) < 0)
		return out_of_memory(m);
	args->v[args->n++] = (struct plain_arg){
		.name = name,
		.text = text,
		.col = col,
		.is_verbatim = is_verbatim,
	};
	return 0;
}

/* --- names ------------------------------------------------------------------------------ */

static bool is_taken(const struct usdt_args *args, const char *name)
{
	for (size_t i = 0; i < args->n; i++)
		if (args->v[i].name && strcmp(args->v[i].name, name) == 0)
			return true;
	return false;
}

/* argN, or if there is one already argN_2, argN_3. NULL: out of memory. */
static const char *name_of_arg(struct usdt_args *args, unsigned number)
{
	char name[32];

	snprintf(name, sizeof(name), "arg%u", number);
	for (unsigned again = 2; is_taken(args, name); again++)
		snprintf(name, sizeof(name), "arg%u_%u", number, again);
	return keep(args, strdup(name));
}

/*
 * Those that are no arguments of the probe have the name of their place, as ever; unless that
 * is one's of the probe.
 */
static int name_others(struct making *m)
{
	struct usdt_args *args = m->args;

	for (size_t i = 0; i < args->n; i++) {
		unsigned number = (unsigned)i + 1;
		char name[32];

		if (args->v[i].name)
			continue;
		do
			snprintf(name, sizeof(name), "arg%u", number++);
		while (is_taken(args, name));
		args->v[i].name = keep(args, strdup(name));
		if (!args->v[i].name)
			return out_of_memory(m);
	}
	return 0;
}

/* --- one argument ------------------------------------------------------------------------ */

__attribute__((format(printf, 3, 4))) static int refuse(const struct making *m, unsigned at,
							const char *fmt, ...)
{
	char text[UBP_ERR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)ubp_fail(m->err, EINVAL, "%s", text);
	return usdt_at(m->d, at, m->err);
}

/* Bytes of a value of type @type (not of an array or a string); 0: not known here. */
static unsigned type_bytes(const char *type, size_t len)
{
	const char *slash = memchr(type, '/', len);
	uint64_t bits = 0;

	if (len == 4 && memcmp(type, "char", 4) == 0)
		return 1;
	if (len && slash && (type[0] == 'b' || type[0] == 's')) {
		len -= (size_t)(slash + 1 - type);
		type = slash + 1;
	} else if (len && strchr("usxf", type[0])) {
		type++;
		len--;
	} else {
		return 0;
	}
	return num_u64(type, len, 10, &bits) == 0 && bits <= 64 ? (unsigned)bits / 8 : 0;
}

/* Is it about what the argument points to? */
static bool is_of_memory(const char *type, size_t len)
{
	return memchr(type, '[', len) || (len == 6 && memcmp(type, "string", 6) == 0) ||
	       (len == 7 && memcmp(type, "ustring", 7) == 0);
}

static int check_size(const struct making *m, const struct usdt_arg *arg,
		      const struct usdt_operand *operand, bool is_pointer)
{
	const struct operand *o = &operand->operand;
	unsigned word = object_is_64bit(m->object) ? 8 : 4;
	unsigned bytes = type_bytes(m->d->text + arg->type.at, arg->type.len);

	if (o->kind == OPERAND_IMM)
		return 0;
	if (is_pointer && (o->size < word || o->is_float))
		return refuse(m, arg->arg.at, "arg%u is no pointer: %s", arg->number,
			      operand->fetch.type);
	if (!is_pointer && bytes > o->size)
		return refuse(m, arg->type.at, "arg%u has %u byte%s, not %u", arg->number,
			      o->size, o->size == 1 ? "" : "s", bytes);
	if (!is_pointer && o->reg_shift && arg->type.len)
		return refuse(m, arg->type.at, "arg%u can only be taken as it is: %s",
			      arg->number, operand->fetch.type);
	return 0;
}

/* The operand in what stands around argN; allocated. NULL: out of memory. */
static char *expand(const struct making *m, const struct usdt_arg *arg,
		    const struct usdt_operand *operand)
{
	const char *text = m->d->text, *type = text + arg->type.at;
	bool is_inner = arg->head.len || arg->tail.len;
	bool of_memory = !is_inner && is_of_memory(type, arg->type.len);
	struct sink_buf made = { 0 };

	sink_buf_add(&made, text + arg->head.at, arg->head.len);
	sink_buf_add_text(&made, of_memory ? "+0(" : "");
	sink_buf_add_text(&made, operand->fetch.value);
	sink_buf_add_text(&made, of_memory ? ")" : "");
	sink_buf_add(&made, text + arg->tail.at, arg->tail.len);
	/* One without a type behind the ':' is for the parser to refuse. */
	if (arg->type.at)
		sink_buf_printf(&made, ":%.*s", (int)arg->type.len, type);
	else if (!is_inner)
		sink_buf_printf(&made, ":%s", operand->fetch.type);
	sink_buf_add(&made, "", 1);
	if (made.failed) {
		sink_buf_free(&made);
		return NULL;
	}
	return made.data;
}

static int add_of_probe(struct making *m, const struct usdt_arg *arg)
{
	const struct usdt_operands *all = m->operands;
	const struct usdt_operand *operand;
	const char *name;
	bool is_pointer;
	int rc;

	if (arg->number > all->n)
		return refuse(m, arg->arg.at, "%s:%s has %s%zu argument%s", m->note->provider,
			      m->note->name, all->n ? "only " : "", all->n,
			      all->n == 1 ? "" : "s");
	operand = &all->v[arg->number - 1];
	if (operand->why)
		return refuse(m, arg->arg.at, "arg%u of %s:%s, %.*s: %s", arg->number,
			      m->note->provider, m->note->name, (int)operand->len,
			      operand->text, operand->why);
	is_pointer = arg->head.len || arg->tail.len ||
		     is_of_memory(m->d->text + arg->type.at, arg->type.len);
	rc = check_size(m, arg, operand, is_pointer);
	if (rc < 0)
		return rc;
	name = arg->is_named ? keep(m->args, strndup(m->d->text + arg->name.at, arg->name.len))
			     : name_of_arg(m->args, arg->number);
	if (!name)
		return out_of_memory(m);
	return add(m, name, keep(m->args, expand(m, arg, operand)), arg->all.at, false);
}

static int add_ordinary(struct making *m, const struct usdt_arg *arg)
{
	const char *text = m->d->text, *name = NULL;

	if (arg->is_named) {
		name = keep(m->args, strndup(text + arg->name.at, arg->name.len));
		if (!name)
			return out_of_memory(m);
	}
	return add(m, name, keep(m->args, strndup(text + arg->all.at, arg->all.len)),
		   arg->all.at, true);
}

/* As the note has it. */
static int add_plainly(struct making *m, unsigned number)
{
	const struct usdt_arg arg = {
		.number = number,
		.all = { m->d->probe_at, 0 },
	};
	const struct usdt_operand *operand = &m->operands->v[number - 1];
	const char *name = name_of_arg(m->args, number);

	if (!name)
		return out_of_memory(m);
	return add(m, name, keep(m->args, expand(m, &arg, operand)), m->d->probe_at, false);
}

/* --- all --------------------------------------------------------------------------------- */

static int add_all(struct making *m, void (*warn)(void *ctx, const char *text), void *ctx)
{
	const struct usdt_operands *all = m->operands;
	int rc = 0;

	for (size_t i = 0; i < all->n && rc == 0; i++) {
		const struct usdt_operand *operand = &all->v[i];
		char text[UBP_ERR_TEXT_MAX];

		if (!operand->why) {
			rc = add_plainly(m, (unsigned)i + 1);
			continue;
		}
		snprintf(text, sizeof(text),
			 "arg%zu of %s:%s at 0x%" PRIx64 " is left out: %.*s: %s", i + 1,
			 m->note->provider, m->note->name, m->note->elf_vaddr,
			 (int)operand->len, operand->text, operand->why);
		if (warn)
			warn(ctx, text);
	}
	return rc;
}

/* Arguments of the probe that @filter names are recorded, too: it can't see them otherwise. */
static int add_of_filter(struct making *m, const char *filter)
{
	char quote = '\0';
	int rc = 0;

	for (const char *c = filter; *c && rc == 0; c++) {
		unsigned long number;
		char name[16], *end;

		if (quote || *c == '"' || *c == '\'') {
			quote = !quote ? *c : *c == quote ? '\0' : quote;
			continue;
		}
		if (strncmp(c, "arg", 3) != 0 || !isdigit((unsigned char)c[3]) || c[3] == '0' ||
		    (c > filter && (isalnum((unsigned char)c[-1]) || c[-1] == '_')))
			continue;
		number = strtoul(c + 3, &end, 10);
		if (isalnum((unsigned char)*end) || *end == '_' || number > m->operands->n ||
		    m->operands->v[number - 1].why)
			continue;
		snprintf(name, sizeof(name), "arg%lu", number);
		if (!is_taken(m->args, name))
			rc = add_plainly(m, (unsigned)number);
	}
	return rc;
}

int usdt_args(const struct usdt_definition *d, struct object *object,
	      const struct object_note *note, const char *filter,
	      void (*warn)(void *ctx, const char *text), void *ctx, struct usdt_args *ret_args,
	      struct ubp_err *err)
{
	struct usdt_operands operands;
	struct making m = { d, object, note, &operands, ret_args, err };
	int rc = 0;

	memset(ret_args, 0, sizeof(*ret_args));
	usdt_operands(object, note, &operands);
	if (d->n_args == 0)
		return add_all(&m, warn, ctx);
	for (size_t i = 0; i < d->n_args && rc == 0; i++)
		rc = d->args[i].number ? add_of_probe(&m, &d->args[i])
				       : add_ordinary(&m, &d->args[i]);
	if (rc == 0 && filter)
		rc = add_of_filter(&m, filter);
	return rc < 0 ? rc : name_others(&m);
}
