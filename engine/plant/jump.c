/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/jump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/event/ring.h"
#include "engine/object/maps.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/kernel.h"

/* What a block may take, before it is made; what is not needed stays untouched memory. */
#define PROBE_GUESS 1024
#define OP_GUESS    256
#define STACK_GUESS 512

void jump_free(struct site_jump *jump)
{
	if (jump) {
		free(jump->detour.code);
		free(jump->detour.loads);
	}
	free(jump);
}

void jump_batch_free(struct jump_batch *batch)
{
	if (!batch)
		return;
	for (size_t i = 0; i < batch->n; i++)
		jump_free(batch->tries[i].jump);
	free(batch->tries);
	free(batch->areas);
	free(batch);
}

/* --- which sites ----------------------------------------------------------------- */

/* Another site in the way of a jump over [vaddr, vaddr + len). */
static const char *neighbour(const struct plant_space *ps, const struct site *site, size_t len)
{
	for (uint64_t at = site->vaddr + 1; at < site->vaddr + len + UBP_INSN_MAX; at++) {
		const struct site *other = map_get(&ps->sites, at);

		/* It may stand behind the probe. */
		if (other && at - (other->n_probes ? site_behind(other, other->probes[0]) : 0) <
				     site->vaddr + len)
			return "another probe stands on the instructions that a jump would "
			       "replace";
	}
	for (uint64_t back = 1; back < UBP_WINDOW_MAX; back++) {
		const struct site *other = map_get(&ps->sites, site->vaddr - back);

		if (other && ((other->is_patched && other->patch_len > back) ||
			      (other->jump && other->jump->jump_len > back)))
			return "the jump of another probe reaches over it";
	}
	return NULL;
}

static const char *why_not(const struct plant_space *ps, const struct site *site)
{
	size_t len = 0;

	if (!site->n_probes) {
		len = (size_t)site->scan->len + site->scan->padding;
		return len ? neighbour(ps, site, len) : site->scan->why;
	}
	if (site->n_probes > UBP_DETOUR_PROBES)
		return "more probes than a detour has room for";
	if (site->watches)
		return "ubp itself watches this place";
	if (site->n_exits)
		return "returns are caught here";
	for (size_t i = 0; i < site->n_probes; i++) {
		const struct uprobe *probe = site->probes[i];

		if (!probe->window.len)
			return probe->window.why ? probe->window.why : "not looked at";
		if (site_behind(site, probe) != uprobe_behind(probe))
			return "somebody else has a breakpoint on its first instruction";
		if (uprobe_behind(probe) != uprobe_behind(site->probes[0]))
			return "another probe stands on the instruction behind the probed one";
		len = probe->window.len + probe->window.padding;
	}
	return neighbour(ps, site, len);
}

void jump_tell_why(const struct site *site, const char *why)
{
	for (size_t i = 0; i < site->n_probes; i++)
		__atomic_store_n(&site->probes[i]->stats.no_jump, why, __ATOMIC_RELAXED);
}

void jump_refuse(struct site *site, const char *why)
{
	site->no_jump = why;
	if (why)
		jump_tell_why(site, why);
}

/* A copy of a reason, kept as long as the session. */
static const char *keep_reason(struct plant *plant, const char *text)
{
	size_t i = 0;

	for (; i < sizeof(plant->reasons) / sizeof(plant->reasons[0]); i++) {
		if (!plant->reasons[i])
			plant->reasons[i] = strdup(text);
		if (plant->reasons[i] && strcmp(plant->reasons[i], text) == 0)
			return plant->reasons[i];
	}
	return "refused";
}

void jump_free_reasons(struct plant *plant)
{
	for (size_t i = 0; i < sizeof(plant->reasons) / sizeof(plant->reasons[0]); i++) {
		free(plant->reasons[i]);
		plant->reasons[i] = NULL;
	}
}

static bool is_candidate(const struct site *site)
{
	return (site->n_probes || (site->scan && scan_is_one(site))) && site->planted &&
	       !site->is_patched && !site->is_spared && site->rung == SITE_BOOSTED &&
	       !site->no_jump;
}

static bool has_return(const struct site *site)
{
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->is_return)
			return true;
	return false;
}

static int collect(struct plant_space *ps, struct jump_batch *batch)
{
	/* See watch.c: a breakpoint first, until one of them is hit. */
	bool no_returns = !ps->watch.begins_awake && watch_has_unwinders(ps);
	size_t pos = 0;
	void *value;

	batch->tries = calloc(ps->sites.n + 1, sizeof(*batch->tries));
	if (!batch->tries)
		return -ENOMEM;
	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;

		if (!is_candidate(site) || (no_returns && has_return(site)))
			continue;
		jump_refuse(site, why_not(ps, site));
		if (site->no_jump)
			continue;
		/* Made before, and put off. */
		batch->tries[batch->n++] =
			(struct jump_try){ .site = site, .jump = site->jump };
		site->jump = NULL;
	}
	return 0;
}

/* Has it to do with return addresses that are replaced? */
static bool needs_table(const struct site *site)
{
	return has_return(site) || !site->n_probes;
}

/* Those that would have to replace return addresses, or to know what was, and can't. */
static void refuse_returns(struct jump_batch *batch, bool all, const char *why)
{
	size_t kept = 0;

	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];

		if (all || needs_table(try->site))
			jump_refuse(try->site, why);
		else
			batch->tries[kept++] = *try;
	}
	batch->n = kept;
}

static int compare_tries(const void *pa, const void *pb)
{
	const struct jump_try *a = pa, *b = pb;

	return (a->site->vaddr > b->site->vaddr) - (a->site->vaddr < b->site->vaddr);
}

/* --- room for their detours --------------------------------------------------------- */

static size_t guess(const struct plant *plant, const struct jump_try *tries, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		len += tries[i].site->n_probes ? 0 : PROBE_GUESS;
		for (size_t p = 0; p < tries[i].site->n_probes; p++)
			len += PROBE_GUESS + (plant->frames ? STACK_GUESS : 0) +
			       OP_GUESS * tries[i].site->probes[p]->program->n_ops;
	}
	return len;
}

/* One area for each object that has some of them. */
static int provide_areas(const struct plant *plant, struct tracer *tracer, struct tracee *t,
			 const struct ubp_regs *at, struct maps *maps, struct jump_batch *batch,
			 struct ubp_err *err)
{
	int rc = 0;

	batch->areas = calloc(batch->n + 1, sizeof(*batch->areas));
	if (!batch->areas)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0, first = 0; i < batch->n && rc == 0; first = i) {
		struct batch_area *a = &batch->areas[batch->n_areas];
		const struct mapping *m = maps_at(maps, batch->tries[i].site->vaddr);

		if (!m)
			return ubp_fail(err, ESRCH, "it is no longer mapped");
		maps_file_extent(maps, m, &a->lo, &a->hi);
		while (i < batch->n && batch->tries[i].site->vaddr < a->hi)
			i++;
		rc = area_provide(tracer, t, at, maps, a->lo, a->hi,
				  guess(plant, batch->tries + first, i - first) / UBP_SLOT_SIZE,
				  &a->area, err);
		batch->n_areas += rc == 0;
		if (rc == 0) {
			/* It takes up room now. */
			maps_free(maps);
			rc = maps_read(t->tid, maps, err);
		}
	}
	return rc;
}

/* False: the thread is gone. */
static bool provide_returns(const struct plant *plant, struct tracer *tracer, struct tracee *t,
			    const struct ubp_regs *at, const struct maps *maps,
			    struct jump_batch *batch)
{
	pid_t tid = t->tid;
	struct ubp_err err;
	size_t i = 0;

	/* Stacks may lead through addresses that are replaced later. */
	while (i < batch->n && !plant->frames && !needs_table(batch->tries[i].site))
		i++;
	if (i < batch->n)
		(void)watch_wake_begins(t->process->space, tid);
	if (i < batch->n && hijack_provide(tracer, t, at, maps, &err) < 0) {
		if (!tracer_has(tracer, t, tid))
			return false;
		refuse_returns(
			batch, plant->frames,
			plant->frames ? "there is no table of replaced return addresses, which "
					"stacks need"
				      : "its return address is replaced by the tracer");
	}
	return true;
}

static void give_up(struct plant_space *ps, const char *why)
{
	size_t pos = 0;
	void *value;

	ps->jump.failed = true;
	while (map_next(&ps->sites, &pos, NULL, &value))
		if (is_candidate(value))
			jump_refuse(value, why);
}

void jump_refuse_all(struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;

		if (!site->n_probes || !site->planted || site->is_patched || site->no_jump)
			continue;
		if (ps->guard.no_room)
			jump_refuse(site, ps->guard.no_room);
		else
			jump_refuse(site, site->rung == SITE_IN_PLACE
						  ? "there is no free memory near it"
						  : "nothing guards the process (--force)");
	}
}

struct jump_batch *jump_collect(struct plant *plant, const struct space *space)
{
	struct plant_space *ps = space->plant;
	struct jump_batch *batch;
	int rc;

	if (!ps)
		return NULL;
	ps->jump.due = false;
	if (!plant->rings || ps->closing || ps->jump.failed || !ps->guard.data || !ps->areas ||
	    !ps->areas->keys || ps->guard.unguarded || !space->arch->detour.build)
		return NULL;
	if (!scan_look(plant, space, space->mem.pid))
		jump_later(ps);
	batch = calloc(1, sizeof(*batch));
	rc = batch ? collect(ps, batch) : -ENOMEM;
	if (rc < 0)
		jump_later(ps);
	if (rc < 0 || !batch->n) {
		jump_batch_free(batch);
		return NULL;
	}
	qsort(batch->tries, batch->n, sizeof(*batch->tries), compare_tries);
	return batch;
}

int jump_prepare(struct plant *plant, struct tracer *tracer, struct tracee *t,
		 const struct ubp_regs *at, struct jump_batch *batch, struct ubp_err *err)
{
	struct maps maps = { 0 };
	struct ubp_regs regs;
	pid_t tid = t->tid;
	int rc;

	if (!at && ubp_host_get_regs(tid, &regs) < 0)
		rc = ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	else
		rc = maps_read(tid, &maps, err);
	if (rc == 0)
		rc = rings_provide(plant, tracer, t, at ? at : &regs, &maps, err);
	if (rc == 0)
		rc = provide_areas(plant, tracer, t, at ? at : &regs, &maps, batch, err);
	if (rc == 0 && !provide_returns(plant, tracer, t, at ? at : &regs, &maps, batch))
		rc = -ESRCH;
	maps_free(&maps);
	if (rc == 0)
		return 0;
	if (!tracer_has(tracer, t, tid))
		return ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	give_up(t->process->space->plant, keep_reason(plant, err->text));
	return rc;
}

/* --- their detours ------------------------------------------------------------------- */

static const char why_not_written[] = "its detour cannot be written";

/* What all detours of a batch are made with. */
struct build {
	struct plant *plant;
	struct space *space;
	struct mem_view view; /* of the program's code */
	struct mem_writes writes;
	uint32_t cell;
};

/* What the program itself has there. */
static int find_window(const struct space *space, struct mem_view *view,
		       const struct site *site, struct window *ret_window, struct ubp_err *err)
{
	const struct uprobe_window *w = site->n_probes ? &site->probes[0]->window : site->scan;
	uint8_t code[UBP_WINDOW_MAX];
	size_t got;

	if (!w)
		return ubp_fail(err, EINVAL, "nothing is known of its window");
	got = mem_view_peek(view, site->vaddr, code, w->len);
	/* Its first bytes are a breakpoint's. */
	memcpy(code, site->insn.bytes, site->insn.len < got ? site->insn.len : got);
	return space->arch->jump.find(code, got, w->padding, site->vaddr, ret_window, err);
}

static size_t fill_probes(const struct plant *plant, const struct site *site, uint32_t *cell,
			  struct detour_probe *probes)
{
	for (size_t i = 0; i < site->n_probes; i++) {
		const struct uprobe *u = site->probes[i];
		uint32_t n_cells = detour_cells(u->program) + (plant->frames != 0);

		ring_set_use_cells(plant->rings, *cell + n_cells);
		probes[i] = (struct detour_probe){ .number = u->number,
						   .is_return = u->is_return,
						   .program = u->program,
						   .filter = u->filter,
						   .cell = *cell };
		*cell = (*cell + n_cells) % (RING_CELLS / 2);
	}
	return site->n_probes;
}

static void forget_code(struct site_jump *jump)
{
	free(jump->detour.code);
	free(jump->detour.loads);
	*jump = (struct site_jump){ 0 };
}

/* Of all detours in a space, from the first on that asks for it. */
static uint64_t ns_factor(const struct plant *plant, struct plant_space *ps,
			  const struct detour_plan *plan)
{
	for (size_t i = 0; i < plan->n_probes && !ps->hijack.ns_factor; i++)
		if (plan->probes[i].program->needs_duration)
			ps->hijack.ns_factor = ring_set_ns_factor(plant->rings);
	return ps->hijack.ns_factor;
}

/* As much of a function is shown to who makes its detour. */
#define CODE_MAX 64

static int generate(struct build *b, const struct site *site, uint64_t vaddr,
		    struct site_jump *jump, struct ubp_err *err)
{
	const struct plant *plant = b->plant;
	struct plant_space *ps = b->space->plant;
	const struct ubp_arch *arch = b->space->arch;
	struct detour_probe probes[UBP_DETOUR_PROBES];
	uint8_t code[CODE_MAX];
	struct window window;
	bool scans = !site->n_probes;
	struct detour_plan plan = {
		.site = scans ? site->vaddr : site_probed(site, site->probes[0]),
		.lead = !scans && uprobe_behind(site->probes[0]) ? &site->probes[0]->window.lead
								 : NULL,
		.scans = scans,
		.vaddr = vaddr,
		.gate = ps->guard.data + offsetof(struct guard_data, gate),
		.window = &window,
		.code = code,
		.code_len = mem_view_peek(&b->view, site->vaddr, code, sizeof(code)),
		.probes = probes,
		.lossless = plant->lossless,
		.count_dropped = plant->count_dropped,
		.frames = (uint8_t)plant->frames,
		.trampoline = ps->ret.trampoline,
		.hijacks = ps->hijack.table,
		.hijacks_mask = ps->hijack.mask,
		.return_vaddr = ps->hijack.code_vaddr,
		.has = plant->code_has,
	};
	int rc = find_window(b->space, &b->view, site, &window, err);

	if (rc < 0)
		return rc;
	plan.n_probes = fill_probes(plant, site, &b->cell, probes);
	plan.ns_factor = ns_factor(plant, ps, &plan);
	plan.leaves_kernel_return = kernel_may_be_misled(plant, site);
	rc = arch->detour.build(&plan, &jump->detour, err);
	if (rc < 0)
		return rc;
	jump->copy = vaddr;
	jump->scans = plan.scans;
	jump->len = (uint32_t)jump->detour.len;
	jump->n = window.n;
	for (size_t i = 0; i < window.n; i++) {
		jump->from[i + 1] = jump->from[i] + window.insns[i].len;
		memcpy(jump->orig + jump->from[i], window.insns[i].bytes, window.insns[i].len);
	}
	jump->jump_len = window.jump_len;
	/* What it takes of the fill behind the function. */
	if (window.jump_len > window.len &&
	    mem_view_peek(&b->view, site->vaddr + window.len, jump->orig + window.len,
			  window.jump_len - window.len) !=
		    (size_t)(window.jump_len - window.len))
		return ubp_fail(err, EFAULT, "it cannot be read");
	return arch->jump.build(&window, site->vaddr, vaddr + jump->detour.entry_at,
				jump->bytes, err);
}

/* The block: what a later session needs to know, then the code. */
static void write_block(struct mem_writes *writes, const struct site *site,
			const struct site_jump *jump, uint64_t block)
{
	struct guard_jump head = {
		.magic = UBP_JUMP_MAGIC,
		.vaddr = site->vaddr,
		.len = jump->len + UBP_SLOT_SIZE,
		.entry = jump->detour.entry_at,
		.jump_len = jump->jump_len,
		.n_orig = jump->jump_len,
	};

	_Static_assert(sizeof(head) <= UBP_SLOT_SIZE, "in front of the copy");
	memcpy(head.orig, jump->orig, head.n_orig);
	mem_writes_add(writes, block, &head, sizeof(head));
	mem_writes_add(writes, jump->copy, jump->detour.code, jump->len);
}

/* Where its breakpoints are, for the hit path. */
static int note_traps(struct plant_space *ps, struct site *site, const struct site_jump *jump)
{
	struct map *traps = &ps->jump.traps;
	uint64_t copy = jump->copy;
	int rc = jump->scans ? map_put(traps, copy + jump->detour.trap_at[0], site) : 0;

	for (size_t i = 0; i < site->n_probes && rc == 0; i++) {
		if (jump->detour.trap_at[i])
			rc = map_put(traps, copy + jump->detour.trap_at[i], site);
		if (rc == 0 && jump->detour.ret_trap_at[i])
			rc = map_put(traps, copy + jump->detour.ret_trap_at[i], site);
	}
	return rc < 0 ? rc : 0;
}

static void forget_traps(struct plant_space *ps, const struct site_jump *jump)
{
	for (size_t i = 0; i < UBP_DETOUR_PROBES; i++) {
		map_remove(&ps->jump.traps, jump->copy + jump->detour.trap_at[i]);
		map_remove(&ps->jump.traps, jump->copy + jump->detour.ret_trap_at[i]);
	}
}

/* A block that an earlier session left, if it serves. 0: none. */
static uint64_t old_block(const struct space *space, const struct batch_area *a,
			  const struct site *site, size_t *ret_len)
{
	struct plant_space *ps = space->plant;
	uint64_t block = (uint64_t)(uintptr_t)map_remove(&ps->jump.blocks, site->vaddr);
	const struct area *area = block ? area_of(ps, block) : NULL;
	uint64_t from = area && area->vaddr < a->lo ? area->vaddr : a->lo;
	uint64_t to = area && area->vaddr + area->len > a->hi ? area->vaddr + area->len : a->hi;
	struct guard_jump head;

	/* The target may have written something else there since it was found. */
	if (!area || to - from >= space->arch->near_max ||
	    mem_peek(&space->mem, block, &head, sizeof(head)) != sizeof(head) ||
	    !area_holds(area, block, head.len))
		return 0;
	*ret_len = head.len;
	return block;
}

/* Its detour, in a block that was there before or a new one. Returns why not, or NULL. */
static const char *make_block(struct build *b, struct batch_area *a, struct site *site,
			      struct site_jump *jump, uint64_t *ret_block)
{
	const struct space *space = b->space;
	size_t room = 0;
	uint64_t block = old_block(space, a, site, &room);
	struct ubp_err err;

	ubp_err_reset(&err);
	if (block && generate(b, site, block + UBP_SLOT_SIZE, jump, &err) == 0 &&
	    jump->len + UBP_SLOT_SIZE <= room) {
		area_own_block(area_of(space->plant, block), block, room, site);
		*ret_block = block;
		return NULL;
	}
	forget_code(jump);
	block = a->area->vaddr + a->area->used;
	if (generate(b, site, block + UBP_SLOT_SIZE, jump, &err) < 0)
		return keep_reason(b->plant, err.text);
	*ret_block = block;
	return area_take_block(a->area, jump->len + UBP_SLOT_SIZE, site) ? NULL
									 : "its area is full";
}

static const char *build_one(struct build *b, struct batch_area *a, struct site *site,
			     struct site_jump **ret_jump)
{
	struct plant_space *ps = b->space->plant;
	struct site_jump *jump = calloc(1, sizeof(*jump));
	struct area *area;
	uint64_t block = 0;
	const char *why;

	if (!jump)
		return "out of memory";
	why = make_block(b, a, site, jump, &block);
	area = area_of(ps, block);
	if (!why) {
		write_block(&b->writes, site, jump, block);
		if ((jump->scans &&
		     area_enter_trap(&b->writes, area, jump->copy + jump->detour.trap_at[0],
				     jump->copy) < 0) ||
		    note_traps(ps, site, jump) < 0)
			why = why_not_written;
		else
			area_enter_copy(&b->writes, area, jump->copy);
	}
	free(jump->detour.code);
	jump->detour.code = NULL;
	if (why)
		jump_free(jump);
	else
		*ret_jump = jump;
	return why;
}

/* The areas may lack any of them. */
static void give_up_all(struct plant_space *ps, struct jump_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];

		if (!try->jump || !try->is_built)
			continue;
		forget_traps(ps, try->jump);
		jump_free(try->jump);
		try->jump = NULL;
		jump_refuse(try->site, why_not_written);
	}
}

void jump_build(struct plant *plant, struct space *space, pid_t pid, struct jump_batch *batch)
{
	struct build *b = calloc(1, sizeof(*b));
	size_t k = 0;

	if (!b) {
		jump_later(space->plant);
		return;
	}
	b->plant = plant;
	b->space = space;
	b->view.mem = b->writes.mem = &space->mem;
	rings_look_around(space, pid, NULL, 0);
	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];

		while (k < batch->n_areas && try->site->vaddr >= batch->areas[k].hi)
			k++;
		if (k == batch->n_areas)
			break;
		if (try->jump)
			continue;
		jump_refuse(try->site, build_one(b, &batch->areas[k], try->site, &try->jump));
		try->is_built = try->jump != NULL;
	}
	if (mem_writes_end(&b->writes) < 0)
		give_up_all(space->plant, batch);
	free(b);
}
