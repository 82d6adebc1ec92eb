/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/page.h"
#include "engine/event/clock.h"
#include "engine/os/maps.h"
#include "engine/space/space.h"
#include "engine/stack/caller.h"
#include "engine/stack/files.h"
#include "engine/stack/frame.h"
#include "engine/stack/libunwind.h"
#include "engine/stack/maps_now.h"
#include "engine/stack/maps_set.h"
#include "engine/stack/memory.h"
#include "engine/trace/process.h"

/* How often addresses that are mapped nowhere, as corrupt stacks have them, are looked for: less
 * and less, as long as nothing comes of it. */
#define LOOK_AGAIN_NS     10000000
#define LOOK_AGAIN_MAX_NS 1000000000

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
	struct stack_libunwind *libunwind;
	bool only_libunwind;
	struct stack_ways ways; /* written by the tracing thread, relaxed */
};

int stack_unwinder_new(struct stack_maps_set *maps, bool only_libunwind,
		       const struct perf_map_warn *warn, struct stack_unwinder **ret_unwinder,
		       struct ubp_err *err)
{
	struct stack_unwinder *u = calloc(1, sizeof(*u));
	int rc;

	if (!u)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = stack_libunwind_new(&u->libunwind, err);
	if (rc < 0) {
		free(u);
		return rc;
	}
	u->maps = maps;
	u->only_libunwind = only_libunwind;
	if (warn)
		u->files.warn = *warn;
	*ret_unwinder = u;
	return 0;
}

void stack_unwinder_ways(const struct stack_unwinder *u, struct stack_ways *ret_ways)
{
	ret_ways->by_rows = __atomic_load_n(&u->ways.by_rows, __ATOMIC_RELAXED);
	ret_ways->by_libunwind = __atomic_load_n(&u->ways.by_libunwind, __ATOMIC_RELAXED);
	ret_ways->by_frame_pointer =
		__atomic_load_n(&u->ways.by_frame_pointer, __ATOMIC_RELAXED);
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
	stack_libunwind_free(u->libunwind);
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
	struct space *space = t->process->space;
	uint64_t now_ns = event_clock_now(CLOCK_KIND_MONO);
	const struct mapping *m;

	if (!space->plant || now_ns - known->looked_ns < known->wait_ns)
		return NULL;
	stack_maps_changed(space);
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

static bool count(uint64_t *counter, bool found)
{
	if (found)
		__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
	return found;
}

static bool by_frame_pointer(struct stack_unwinder *u, struct stack_frame *frame)
{
	return count(&u->ways.by_frame_pointer, stack_frame_by_frame_pointer(frame));
}

static bool by_libunwind(struct stack_unwinder *u, const struct known_space *known,
			 struct stack_frame *frame, bool only_tables)
{
	return stack_libunwind_serves(frame->space->arch) &&
	       count(&u->ways.by_libunwind,
		     stack_frame_by_libunwind(u->libunwind, frame, known->maps, only_tables));
}

/* What a signal handler returns to. */
static bool is_sigreturn(const struct stack_frame *frame)
{
	const struct ubp_arch *arch = frame->space->arch;
	uint8_t code[UBP_SIGRETURN_MAX];

	return frame->is_call &&
	       stack_memory_read(frame->memory, frame->pc, code, sizeof(code)) &&
	       arch->unwind.is_sigreturn(code, sizeof(code));
}

/* Code of a file that cannot be opened, made by the program, or of ours: only a file has tables. */
static bool step_without_file(struct stack_unwinder *u, const struct known_space *known,
			      const struct mapping *m, struct stack_frame *frame)
{
	if (is_sigreturn(frame))
		return stack_frame_by_signal(frame);
	return (m->ino && by_libunwind(u, known, frame, true)) || by_frame_pointer(u, frame);
}

/* libunwind first. */
static bool step_by_libunwind(struct stack_unwinder *u, const struct known_space *known,
			      struct stack_frame *frame)
{
	return is_sigreturn(frame) ? stack_frame_by_signal(frame)
				   : by_libunwind(u, known, frame, false);
}

static bool step(struct stack_unwinder *u, const struct tracee *t, struct known_space *known,
		 const struct mapping *m, struct stack_frame *frame)
{
	const struct stack_place *place;
	struct stack_file *file;

	if (u->only_libunwind && stack_libunwind_serves(frame->space->arch))
		return step_by_libunwind(u, known, frame);
	file = file_of(u, t, known, m);
	if (!file)
		return step_without_file(u, known, m, frame);
	place = stack_file_place(&u->files, file, m, frame->pc, frame->is_call);
	if (!place)
		return false;
	if (place->is_sigreturn)
		return stack_frame_by_signal(frame);
	if (place->row)
		return count(&u->ways.by_rows, stack_frame_by_row(frame, place->row));
	if (by_libunwind(u, known, frame, true))
		return true;
	return place->is_start ? stack_frame_by_entry(frame) : by_frame_pointer(u, frame);
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
		stack[n++] = regs->r[space->arch->reg.pc];
	if (!known)
		return n;
	u->files.arch = space->arch;
	stack_memory_begin(&u->memory, &space->mem, t->tid, regs->r[space->arch->reg.sp]);
	stack_libunwind_begin(u->libunwind, &space->mem, t->tid);
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
