/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/go_window.h"

#include <errno.h>
#include <stddef.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/code/led_to.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/properties.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/gopclntab.h"

#define CODE_MAX 512

static const char why_parked[] = "goroutines may be parked among its instructions";

/*
 * Functions that do not make sure of the stack may run at its very end. The detour has to look, which costs the flags: no function of Go's is given any, or
 * gives some, but for those that begin by saving them. Behind the first instruction, which may set them for others, what comes from there on has to want none; and nobody must return to there
 * who has not come by that.
 */
static const char *why_no_room(const struct go_place *place, const uint8_t *code, size_t len)
{
	const struct ubp_arch *arch = place->object->arch;
	size_t from = 0;

	if (!arch->insn.ignores_flags || !object_has_go_variable(place->object))
		return "its Go function makes not sure of the stack it needs: there may be "
		       "none for a detour";
	if ((place->vaddr != place->start && !place->is_run_up && !place->is_behind) ||
	    (place->is_behind && gopclntab_may_end_stacks(place->object, place->start)))
		return "its Go function makes not sure of the stack it needs, and flags may be "
		       "in use there";
	if (len > place->end - place->start)
		len = place->end - place->start;
	if (place->is_behind)
		from = place->vaddr - place->start;
	if (from >= len || !arch->insn.ignores_flags(code + from, len - from))
		return "its Go function makes not sure of the stack it needs, and may ask for "
		       "the flags it finds";
	return NULL;
}

/*
 * A fault in a copy of theirs is made good by a tracer alone; a program of Go's may panic by it, and go on. Where the return address is on top of the stack it
 * does so without a tracer, too: the runtime takes an address that it does not know for a bad call of the caller's (shouldPushSigpanic()).
 */
static bool may_fault(const struct go_place *place, const struct window *window)
{
	const struct ubp_arch *arch = place->object->arch;

	if (gopclntab_is_frameless(place->object, place->vaddr, place->vaddr + window->len))
		return false;
	for (size_t i = 0; i < window->n; i++)
		if (arch->insn.may_fault(&window->insns[i]))
			return true;
	return false;
}

/* C's, in a program with cgo: Go's table is there, and does not have it. It runs on stacks that are made for C, and no goroutine is parked in it. */
static bool is_of_c(const struct go_place *place)
{
	struct go_function ignored;

	return gopclntab_is_there(place->object) &&
	       gopclntab_at(place->object, place->vaddr, &ignored) == -ENOENT;
}

const char *go_why_no_window(const struct go_place *place, struct window *window)
{
	const struct ubp_arch *arch = place->object->arch;
	uint64_t end = place->vaddr + window->len;
	uint8_t code[CODE_MAX];
	ssize_t len = code_read(place->object, place->start, code, sizeof(code));
	size_t check = len > 0 && arch->insn.go_check_len
			       ? arch->insn.go_check_len(code, (size_t)len)
			       : 0;
	const char *why = NULL;

	if (is_of_c(place))
		return NULL;
	if (check == 0)
		why = why_no_room(place, code, len > 0 ? (size_t)len : 0);
	if (why)
		return why;
	if (check == 0 && may_fault(place, window))
		return "its Go function makes not sure of the stack it needs, and may panic by "
		       "these instructions";
	window->asks_room = check == 0;
	/* A goroutine that was preempted stands anywhere, for any time, as a saved pc. */
	if (window->n > 1 && (check == 0 || end > place->start + check) &&
	    !gopclntab_never_parks(place->object, place->vaddr, end))
		return why_parked;
	return NULL;
}

bool go_may_ask_flags(struct object *object, uint64_t elf_vaddr)
{
	const struct ubp_arch *arch = object->arch;
	uint64_t foffset, start, end;
	uint8_t code[CODE_MAX];
	ssize_t len;

	if (!arch->insn.ignores_flags ||
	    object_vaddr_to_foffset(object, elf_vaddr, &foffset) < 0 ||
	    object_extent(object, foffset, &start, &end) < 0)
		return true;
	len = code_read(object, elf_vaddr, code, sizeof(code));
	if (len > 0 && (uint64_t)len > end - elf_vaddr)
		len = (ssize_t)(end - elf_vaddr);
	return len <= 0 || !arch->insn.ignores_flags(code, (size_t)len);
}
