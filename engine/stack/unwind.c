/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/event/clock.h"
#include "engine/object/maps.h"
#include "engine/plant/plant.h"
#include "engine/stack/files.h"
#include "engine/stack/frame.h"
#include "engine/stack/maps_now.h"
#include "engine/stack/maps_set.h"
#include "engine/stack/memory.h"

/* How often addresses that are mapped nowhere, as corrupt stacks have them, are looked for: less
 * and less, as long as nothing comes of it. */
#define LOOK_AGAIN_NS     10000000
#define LOOK_AGAIN_MAX_NS 1000000000
#define PAGE              4096

/* What a space maps. */
struct known_space {
	uint32_t number; /* of the set; 0: not known */
	const struct maps *maps;
	struct stack_file **files; /* of each mapping; NULL: not asked yet */
	unsigned generation;       /* of those */
	uint64_t looked_ns, wait_ns;
};

struct stack_unwinder {
	struct stack_maps_set *maps;
	struct map spaces; /* address of a struct space -> struct known_space */
	struct stack_files files;
	struct stack_memory memory;
};

int stack_unwinder_new(struct stack_maps_set *maps, struct stack_unwinder **ret_unwinder,
		       struct ubp_err *err)
{
	struct stack_unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return ubp_fail(err, ENOMEM, "out of memory");
	u->maps = maps;
	*ret_unwinder = u;
	return 0;
}

static void free_space(struct known_space *known)
{
	if (!known)
		return;
	free(known->files);
	free(known);
}

void stack_unwinder_free(struct stack_unwinder *u)
{
	size_t pos = 0;
	void *value;

	if (!u)
		return;
	while (map_next(&u->spaces, &pos, NULL, &value))
		free_space(value);
	map_free(&u->spaces);
	stack_files_free(&u->files);
	free(u);
}

static uint64_t key_of(const struct space *space)
{
	return (uint64_t)(uintptr_t)space;
}

void stack_unwinder_forget(struct stack_unwinder *u, const struct space *space)
{
	free_space(map_remove(&u->spaces, key_of(space)));
}

/* --- what is mapped ------------------------------------------------------------------ */

/* Take over the mappings of that number. Returns whether they are known. */
static bool take(struct stack_unwinder *u, struct known_space *known, uint32_t number)
{
	pid_t whose;

	if (number == known->number)
		return known->files;
	known->number = number;
	known->maps = stack_maps_set_get(u->maps, number, &whose);
	free(known->files);
	known->files =
		known->maps ? calloc(known->maps->n + 1, sizeof(struct stack_file *)) : NULL;
	known->generation = u->files.generation;
	return known->files;
}

/* NULL: can't be known. */
static struct known_space *space_of(struct stack_unwinder *u, const struct tracee *t)
{
	const struct space *space = t->process->space;
	struct known_space *known = map_get(&u->spaces, key_of(space));

	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known || map_put(&u->spaces, key_of(space), known) < 0) {
			free(known);
			return NULL;
		}
	}
	return take(u, known, stack_maps_now(u->maps, t)) ? known : NULL;
}

/* The mapping that @pc is in came without our knowledge, perhaps. */
static const struct mapping *look_again(struct stack_unwinder *u, const struct tracee *t,
					struct known_space *known, uint64_t pc)
{
	struct plant_space *ps = t->process->space->plant;
	uint64_t now_ns = event_clock_now(CLOCK_KIND_MONO);
	const struct mapping *m;

	if (!ps || now_ns - known->looked_ns < known->wait_ns)
		return NULL;
	ps->maps_number = 0;
	m = take(u, known, stack_maps_now(u->maps, t)) ? maps_at(known->maps, pc) : NULL;
	known->looked_ns = now_ns;
	known->wait_ns = m                                    ? 0
			 : known->wait_ns < LOOK_AGAIN_NS     ? LOOK_AGAIN_NS
			 : known->wait_ns < LOOK_AGAIN_MAX_NS ? 2 * known->wait_ns
							      : known->wait_ns;
	return m;
}

/* The code that @pc is in. */
static const struct mapping *mapping_of(struct stack_unwinder *u, const struct tracee *t,
					struct known_space *known, uint64_t pc)
{
	const struct mapping *m = maps_at(known->maps, pc);

	if (!m && pc >= PAGE)
		m = look_again(u, t, known, pc);
	return m && m->exec ? m : NULL;
}

static struct stack_file *file_of(struct stack_unwinder *u, const struct tracee *t,
				  struct known_space *known, const struct mapping *m)
{
	size_t i = (size_t)(m - known->maps->v);

	if (known->generation != u->files.generation) {
		memset(known->files, 0, known->maps->n * sizeof(struct stack_file *));
		known->generation = u->files.generation;
	}
	if (!known->files[i]) {
		struct stack_file *file =
			stack_file_of(&u->files, t->tid, &t->process->space->mem, m);

		/* Others had to go for it. */
		if (known->generation != u->files.generation)
			return file;
		known->files[i] = file;
	}
	return known->files[i];
}

/* --- frames ------------------------------------------------------------------------------ */

/* Code without a file: made by the program, or of ours. */
static bool step_without_file(struct stack_frame *frame)
{
	const struct ubp_arch *arch = frame->space->arch;
	uint8_t code[UBP_SIGRETURN_MAX];

	if (frame->is_call && stack_memory_read(frame->memory, frame->pc, code, sizeof(code)) &&
	    arch->is_sigreturn(code, sizeof(code)))
		return stack_frame_by_signal(frame);
	return stack_frame_by_frame_pointer(frame);
}

static bool step(struct stack_unwinder *u, const struct tracee *t, struct known_space *known,
		 const struct mapping *m, struct stack_frame *frame)
{
	struct stack_file *file = file_of(u, t, known, m);
	const struct stack_place *place;

	if (!file)
		return step_without_file(frame);
	place = stack_file_place(&u->files, file, m, frame->pc, frame->is_call);
	if (!place)
		return false;
	if (place->is_sigreturn)
		return stack_frame_by_signal(frame);
	if (place->row)
		return stack_frame_by_row(frame, place->row);
	return place->is_start ? stack_frame_by_entry(frame)
			       : stack_frame_by_frame_pointer(frame);
}

size_t stack_unwind(struct stack_unwinder *u, struct tracee *t, const struct ubp_regs *regs,
		    uint64_t *stack, size_t max, uint32_t *ret_maps)
{
	const struct space *space = t->process->space;
	struct known_space *known = space_of(u, t);
	const struct mapping *m;
	struct stack_frame frame;
	size_t n = 0;

	*ret_maps = 0;
	if (n < max)
		stack[n++] = regs->r[space->arch->pc];
	if (!known)
		return n;
	u->files.arch = space->arch;
	stack_memory_begin(&u->memory, t->tid, regs->r[space->arch->sp]);
	stack_frame_begin(&frame, space, &u->memory, regs);
	m = mapping_of(u, t, known, frame.pc);
	while (m && n < max && step(u, t, known, m, &frame)) {
		if (!frame.is_call)
			stack_frame_leave_ours(&frame);
		m = mapping_of(u, t, known, frame.pc);
		/* Nobody returns to data: the stack ends, or is corrupt. */
		if (m)
			stack[n++] = frame.pc;
	}
	*ret_maps = known->number;
	return n;
}
