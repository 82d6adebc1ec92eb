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
#include "engine/object/maps.h"
#include "engine/plant/page_edit.h"
#include "engine/trace/hold.h"

/* Of a site's block, before it is made; what is not needed stays untouched memory. */
#define BLOCK_GUESS 2048
#define HOLD_MS     200
#define PAGE        4096

struct jump_try {
	struct site *site;
	struct site_jump *jump; /* NULL: given up */
};

struct jump_batch {
	struct jump_try *tries;
	size_t n;
	struct batch_area {
		uint64_t lo, hi; /* of the object */
		struct area *area;
	} * areas;
	size_t n_areas;
};

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
	for (uint64_t at = site->vaddr + 1; at < site->vaddr + len; at++)
		if (map_get(&ps->sites, at))
			return "another probe stands on the instructions that a jump would "
			       "replace";
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
		len = probe->window.len + probe->window.padding;
	}
	return neighbour(ps, site, len);
}

/* It stays a breakpoint, for good. @why: NULL, or a text that stays. */
static void refuse(struct site *site, const char *why)
{
	site->no_jump = why;
	for (size_t i = 0; why && i < site->n_probes; i++)
		__atomic_store_n(&site->probes[i]->stats.no_jump, why, __ATOMIC_RELAXED);
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

static bool is_candidate(const struct site *site)
{
	return site->n_probes && site->planted && !site->is_patched && !site->is_spared &&
	       site->rung == SITE_BOOSTED && !site->no_jump;
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
	size_t pos = 0;
	void *value;

	batch->tries = calloc(ps->sites.n + 1, sizeof(*batch->tries));
	if (!batch->tries)
		return -ENOMEM;
	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;

		if (!is_candidate(site))
			continue;
		refuse(site, why_not(ps, site));
		if (site->no_jump)
			continue;
		/* Made before, and put off. */
		batch->tries[batch->n++] = (struct jump_try){ site, site->jump };
		site->jump = NULL;
	}
	return 0;
}

/* Those that would have to replace return addresses, and can't. */
static void refuse_returns(struct jump_batch *batch, const char *why)
{
	size_t kept = 0;

	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];

		if (has_return(try->site))
			refuse(try->site, why);
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

/* One area for each object that has some of them. */
static int provide_areas(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
			 struct maps *maps, struct jump_batch *batch, struct ubp_err *err)
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
				  (i - first) * (BLOCK_GUESS / UBP_SLOT_SIZE), &a->area, err);
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
static bool provide_returns(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
			    const struct maps *maps, struct jump_batch *batch)
{
	pid_t tid = t->tid;
	struct ubp_err err;
	size_t i = 0;

	while (i < batch->n && !has_return(batch->tries[i].site))
		i++;
	if (i < batch->n && hijack_provide(tracer, t, at, maps, &err) < 0) {
		if (map_get(&tracer->tracees, (uint64_t)tid) != t)
			return false;
		refuse_returns(batch, "its return address is replaced by the tracer");
	}
	return true;
}

static void give_up(struct plant_space *ps, const char *why)
{
	size_t pos = 0;
	void *value;

	ps->jumps_failed = true;
	while (map_next(&ps->sites, &pos, NULL, &value))
		if (is_candidate(value))
			refuse(value, why);
}

int jump_prepare(struct plant *plant, struct tracer *tracer, struct tracee *t,
		 const struct ubp_regs *at, struct jump_batch **ret_batch, struct ubp_err *err)
{
	struct plant_space *ps = t->process->space->plant;
	struct jump_batch *batch;
	struct ubp_regs regs;
	struct maps maps;
	pid_t tid = t->tid;
	int rc;

	*ret_batch = NULL;
	if (!ps)
		return 0;
	ps->jumps_due = false;
	if (!plant->rings || ps->closing || ps->jumps_failed || !ps->data || !ps->areas ||
	    !ps->areas->keys || ps->unguarded || !t->process->space->arch->build_detour)
		return 0;
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = collect(ps, batch);
	if (rc < 0 || !batch->n) {
		jump_batch_free(batch);
		return rc < 0 ? ubp_fail(err, ENOMEM, "out of memory") : 0;
	}
	qsort(batch->tries, batch->n, sizeof(*batch->tries), compare_tries);
	maps = (struct maps){ 0 };
	if (!at && ubp_host_get_regs(tid, &regs) < 0)
		rc = ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	else
		rc = maps_read(tid, &maps, err);
	if (rc == 0)
		rc = rings_provide(plant, tracer, t, at ? at : &regs, &maps, err);
	if (rc == 0)
		rc = provide_areas(tracer, t, at ? at : &regs, &maps, batch, err);
	if (rc == 0 && !provide_returns(tracer, t, at ? at : &regs, &maps, batch))
		rc = -ESRCH;
	maps_free(&maps);
	if (rc == 0 && batch->n) {
		*ret_batch = batch;
		return 0;
	}
	jump_batch_free(batch);
	if (rc == 0)
		return 0;
	if (map_get(&tracer->tracees, (uint64_t)tid) != t)
		return ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	give_up(t->process->space->plant, keep_reason(plant, err->text));
	return rc == -ESRCH ? rc : 0;
}

/* --- their detours ------------------------------------------------------------------- */

/* What the program itself has there. */
static int find_window(const struct space *space, const struct site *site,
		       struct window *ret_window, struct ubp_err *err)
{
	const struct uprobe_window *w = &site->probes[0]->window;
	uint8_t code[UBP_WINDOW_MAX];
	size_t got;

	got = mem_peek(&space->mem, site->vaddr, code, w->len);
	/* Its first bytes are a breakpoint's. */
	memcpy(code, site->insn.bytes, site->insn.len < got ? site->insn.len : got);
	return space->arch->find_window(code, got, w->padding, site->vaddr, ret_window, err);
}

static size_t fill_probes(const struct site *site, const struct ubp_arch *arch, uint32_t *cell,
			  struct detour_probe *probes)
{
	for (size_t i = 0; i < site->n_probes; i++) {
		const struct uprobe *u = site->probes[i];

		probes[i] = (struct detour_probe){ .number = u->number,
						   .is_return = u->is_return,
						   .program = u->program,
						   .filter = u->filter,
						   .cell = *cell };
		*cell = (*cell + arch->detour_cells(u->program)) % (RING_CELLS / 2);
	}
	return site->n_probes;
}

static void forget_code(struct site_jump *jump)
{
	free(jump->detour.code);
	free(jump->detour.loads);
	*jump = (struct site_jump){ 0 };
}

static int generate(const struct plant *plant, const struct space *space,
		    const struct site *site, uint64_t vaddr, uint32_t *cell,
		    struct site_jump *jump, struct ubp_err *err)
{
	const struct plant_space *ps = space->plant;
	const struct ubp_arch *arch = space->arch;
	struct detour_probe probes[UBP_DETOUR_PROBES];
	struct window window;
	struct detour_plan plan = {
		.site = site->vaddr,
		.vaddr = vaddr,
		.gate = ps->data + offsetof(struct guard_data, gate),
		.window = &window,
		.probes = probes,
		.lossless = plant->lossless,
		.count_dropped = plant->count_dropped,
		.trampoline = ps->trampoline,
		.hijacks = ps->hijacks,
		.hijacks_mask = ps->hijacks_mask,
		.return_vaddr = ps->return_vaddr,
	};
	int rc = find_window(space, site, &window, err);

	if (rc < 0)
		return rc;
	plan.n_probes = fill_probes(site, arch, cell, probes);
	rc = arch->build_detour(&plan, &jump->detour, err);
	if (rc < 0)
		return rc;
	jump->copy = vaddr;
	jump->len = (uint32_t)jump->detour.len;
	jump->n = window.n;
	for (size_t i = 0; i < window.n; i++) {
		jump->from[i + 1] = jump->from[i] + window.insns[i].len;
		memcpy(jump->orig + jump->from[i], window.insns[i].bytes, window.insns[i].len);
	}
	jump->jump_len = window.jump_len;
	/* What it takes of the fill behind the function. */
	if (window.jump_len > window.len &&
	    mem_peek(&space->mem, site->vaddr + window.len, jump->orig + window.len,
		     window.jump_len - window.len) != (size_t)(window.jump_len - window.len))
		return ubp_fail(err, EFAULT, "it cannot be read");
	return arch->build_jump(&window, site->vaddr, vaddr + jump->detour.entry_at,
				jump->bytes, err);
}

/* The block: what a later session needs to know, then the code. */
static int write_block(const struct space *space, const struct site *site,
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
	int rc;

	_Static_assert(sizeof(head) <= UBP_SLOT_SIZE, "in front of the copy");
	memcpy(head.orig, jump->orig, head.n_orig);
	rc = mem_write(&space->mem, 0, block, &head, sizeof(head));
	return rc == 0 ? mem_write(&space->mem, 0, jump->copy, jump->detour.code, jump->len)
		       : rc;
}

/* Where its breakpoints are, for the hit path. */
static int note_traps(struct plant_space *ps, struct site *site, const struct site_jump *jump)
{
	int rc = 0;

	for (size_t i = 0; i < site->n_probes && rc == 0; i++) {
		if (jump->detour.trap_at[i])
			rc = map_put(&ps->traps, jump->copy + jump->detour.trap_at[i], site);
		if (rc == 0 && jump->detour.ret_trap_at[i])
			rc = map_put(&ps->traps, jump->copy + jump->detour.ret_trap_at[i],
				     site);
	}
	return rc < 0 ? rc : 0;
}

/* A block that an earlier session left, if it serves. 0: none. */
static uint64_t old_block(const struct space *space, const struct batch_area *a,
			  const struct site *site, size_t *ret_len)
{
	struct plant_space *ps = space->plant;
	uint64_t block = (uint64_t)(uintptr_t)map_remove(&ps->blocks, site->vaddr);
	const struct area *area = block ? area_of(ps, block) : NULL;
	uint64_t from = area && area->vaddr < a->lo ? area->vaddr : a->lo;
	uint64_t to = area && area->vaddr + area->len > a->hi ? area->vaddr + area->len : a->hi;
	struct guard_jump head;

	if (!area || to - from >= space->arch->near_max ||
	    mem_peek(&space->mem, block, &head, sizeof(head)) != sizeof(head))
		return 0;
	*ret_len = head.len;
	return block;
}

/* Its detour, in a block that was there before or a new one. Returns why not, or NULL. */
static const char *make_block(struct plant *plant, const struct space *space,
			      struct batch_area *a, struct site *site, uint32_t *cell,
			      struct site_jump *jump, uint64_t *ret_block)
{
	size_t room = 0;
	uint64_t block = old_block(space, a, site, &room);
	struct ubp_err err;

	ubp_err_reset(&err);
	if (block &&
	    generate(plant, space, site, block + UBP_SLOT_SIZE, cell, jump, &err) == 0 &&
	    jump->len + UBP_SLOT_SIZE <= room) {
		area_own_block(area_of(space->plant, block), block, room, site);
		*ret_block = block;
		return NULL;
	}
	forget_code(jump);
	block = a->area->vaddr + a->area->used;
	if (generate(plant, space, site, block + UBP_SLOT_SIZE, cell, jump, &err) < 0)
		return keep_reason(plant, err.text);
	*ret_block = block;
	return area_take_block(a->area, jump->len + UBP_SLOT_SIZE, site) ? NULL
									 : "its area is full";
}

static const char *build_one(struct plant *plant, struct space *space, struct batch_area *a,
			     struct site *site, uint32_t *cell, struct site_jump **ret_jump)
{
	struct site_jump *jump = calloc(1, sizeof(*jump));
	uint64_t block = 0;
	const char *why;

	if (!jump)
		return "out of memory";
	why = make_block(plant, space, a, site, cell, jump, &block);
	if (!why && (write_block(space, site, jump, block) < 0 ||
		     area_enter_copy(space, 0, area_of(space->plant, block), jump->copy) < 0 ||
		     note_traps(space->plant, site, jump) < 0))
		why = "its detour cannot be written";
	free(jump->detour.code);
	jump->detour.code = NULL;
	if (why)
		jump_free(jump);
	else
		*ret_jump = jump;
	return why;
}

void jump_build(struct plant *plant, struct space *space, pid_t pid, struct jump_batch *batch)
{
	uint32_t cell = 0;
	size_t k = 0;

	rings_look_around(space, pid, NULL, 0);
	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];

		while (k < batch->n_areas && try->site->vaddr >= batch->areas[k].hi)
			k++;
		if (k == batch->n_areas)
			return;
		if (!try->jump)
			refuse(try->site, build_one(plant, space, &batch->areas[k], try->site,
						    &cell, &try->jump));
	}
}

/* --- writing ------------------------------------------------------------------------- */

/* Try @vaddr lies in the middle of: of its window, or of its slot. NULL: none. */
static struct jump_try *try_of(const struct jump_batch *batch, uint64_t vaddr)
{
	size_t low = 0, high = batch->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (batch->tries[mid].site->vaddr < vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	/* The last one that starts below. */
	for (; low > 0 && vaddr - batch->tries[low - 1].site->vaddr < UBP_WINDOW_MAX; low--) {
		struct jump_try *try = &batch->tries[low - 1];

		if (try->jump && vaddr - try->site->vaddr < try->jump->from[try->jump->n])
			return try;
	}
	return NULL;
}

static struct jump_try *try_of_slot(const struct space *space, const struct jump_batch *batch,
				    uint64_t vaddr)
{
	const struct site *site = plant_site_of_slot(space, vaddr);
	struct jump_try *try;

	if (!site || vaddr < site->slot || vaddr - site->slot >= UBP_SLOT_SIZE)
		return NULL;
	try = try_of(batch, site->vaddr + 1);
	return try && try->site == site ?
	try : NULL
		;
}

static void put_off(struct plant_space *ps, struct jump_try *try)
{
	if (!try->jump)
		return;
	jump_free(try->site->jump);
	try->site->jump = try->jump;
	try->jump = NULL;
	ps->jumps_due = true;
}

/* Where in the copy a thread in the window, or in the slot, is to go on. 0: not known. */
static uint64_t in_copy(const struct jump_try *try, uint64_t pc)
{
	const struct site *site = try->site;
	const struct site_jump *jump = try->jump;

	if (pc == site->slot)
		return jump->copy + jump->detour.copy.at[0];
	if (site->code.done_at < site->code.len && pc == site->slot + site->code.done_at)
		return jump->n > 1 || site->insn.leave == LEAVE_NOT
			       ? jump->copy + jump->detour.copy.at[1]
			       : 0;
	for (size_t i = 1; i < jump->n; i++)
		if (pc == site->vaddr + jump->from[i])
			return jump->copy + jump->detour.copy.at[i];
	return 0;
}

/* A held thread must not be, nor come back to, where a jump will stand. */
static void clear_pc(const struct space *space, struct jump_batch *batch, struct tracee *t)
{
	const struct ubp_arch *arch = space->arch;
	struct jump_try *try;
	uint64_t pc, to;

	if (t->called)
		pc = t->before->r[arch->pc];
	else if (ubp_host_get_pc(t->tid, &pc) < 0)
		return;
	try = try_of(batch, pc);
	if (!try)
		try = try_of_slot(space, batch, pc);
	if (!try)
		return;
	to = in_copy(try, pc);
	if (!to)
		put_off(space->plant, try);
	else if (t->called)
		t->before->r[arch->pc] = to;
	else if (ubp_host_set_pc(t->tid, to) < 0)
		put_off(space->plant, try);
}

#define STACK_CHUNK 0x4000
#define STACK_MAX   0x2000000ULL

/* Frames of signal handlers keep where the thread was; so may others. */
static void clear_stack(const struct space *space, struct jump_batch *batch,
			const struct tracee *t, uint64_t sp)
{
	uint64_t words[STACK_CHUNK / sizeof(uint64_t)];
	uint64_t lo = batch->tries[0].site->vaddr;
	uint64_t hi = batch->tries[batch->n - 1].site->vaddr + UBP_WINDOW_MAX;
	struct jump_try *try;

	for (uint64_t at = sp & ~7ULL; at - sp < STACK_MAX; at += sizeof(words)) {
		size_t got = mem_read(t->tid, at, words, sizeof(words));

		for (size_t i = 0; i < got / sizeof(words[0]); i++) {
			try = words[i] >= lo && words[i] < hi
				      ? try_of(batch, words[i])
				      : try_of_slot(space, batch, words[i]);
			/* The address behind a call at the window's end is not in it. */
			if (try)
				put_off(space->plant, try);
		}
		if (got < sizeof(words))
			return;
	}
}

static void clear_threads(struct tracer *tracer, struct space *space, struct jump_batch *batch)
{
	const struct ubp_arch *arch = space->arch;
	struct ubp_regs regs;
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->tracees, &pos, NULL, &value)) {
		struct tracee *t = value;

		if (t->process->space != space || !t->held)
			continue;
		clear_pc(space, batch, t);
		if (t->called)
			regs = *t->before;
		else if (ubp_host_get_regs(t->tid, &regs) < 0)
			continue;
		clear_stack(space, batch, t, regs.r[arch->sp]);
		rings_add_thread(tracer, t, regs.r[arch->tp]);
	}
}

/*
 * Over the end of a page the bytes could be torn by our end: the breakpoint stays until
 * the rest stands, and what it leads to becomes the copy of the whole window.
 */
static bool write_over_end(const struct space *space, const struct site *site,
			   const struct site_jump *jump)
{
	const struct ubp_arch *arch = space->arch;
	size_t n = arch->swbp_len;
	uint8_t now[sizeof(arch->swbp)];
	struct slot_code code;

	if (mem_peek(&space->mem, site->vaddr, now, n) != n || memcmp(now, arch->swbp, n) != 0)
		return false;
	arch->build_slot_jump(site->slot, jump->copy, &code);
	return mem_write(&space->mem, 0, site->slot, code.code, code.len) == 0 &&
	       mem_write(&space->mem, 0, site->vaddr + n, jump->bytes + n,
			 jump->jump_len - n) == 0 &&
	       mem_write(&space->mem, 0, site->vaddr, jump->bytes, n) == 0;
}

/* False: it is a breakpoint still, or gone. */
static bool write_jump(const struct space *space, struct page_edit *edit,
		       const struct site *site, const struct site_jump *jump)
{
	const struct ubp_arch *arch = space->arch;
	uint8_t *bytes;

	/* It may have been unmapped while its threads were stopped. */
	if (plant_site_at(space, site->vaddr) != site || !site->planted)
		return false;
	if (site->vaddr % PAGE + jump->jump_len > PAGE)
		return write_over_end(space, site, jump);
	bytes = page_edit_at(edit, site->vaddr, jump->jump_len);
	if (!bytes || memcmp(bytes, arch->swbp, arch->swbp_len) != 0)
		return false;
	memcpy(bytes, jump->bytes, jump->jump_len);
	page_edit_changed(edit);
	return true;
}

static void count_rung(const struct site *site, bool up)
{
	for (size_t i = 0; i < site->n_probes; i++) {
		struct uprobe_stats *st = &site->probes[i]->stats;

		__atomic_store_n(&st->jumped, st->jumped + (up ? 1 : -1U), __ATOMIC_RELAXED);
		__atomic_store_n(&st->boosted, st->boosted + (up ? -1U : 1), __ATOMIC_RELAXED);
	}
}

static void write_all(struct space *space, struct jump_batch *batch)
{
	struct plant_space *ps = space->plant;
	struct page_edit *edit = calloc(1, sizeof(*edit));

	if (!edit)
		return;
	edit->mem = &space->mem;
	(void)rings_set_gate(space, space, 0, ps->rings_base);
	for (size_t i = 0; i < batch->n; i++) {
		struct jump_try *try = &batch->tries[i];
		struct site *site = try->site;

		if (!try->jump || !write_jump(space, edit, site, try->jump))
			continue;
		site->jump = try->jump;
		try->jump = NULL;
		site->rung = SITE_JUMPED;
		site->jump->is_written = true;
		ps->last_write = site->vaddr;
		count_rung(site, true);
		ps->n_jumps++;
	}
	page_edit_end(edit);
	free(edit);
}

static bool has_any(const struct jump_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		if (batch->tries[i].jump)
			return true;
	return false;
}

void jump_write(struct tracer *tracer, struct space *space, const struct tracee *keep,
		struct jump_batch *batch)
{
	struct plant_space *ps = space->plant;
	bool all;

	if (!has_any(batch)) {
		jump_batch_free(batch);
		return;
	}
	space->refs++; /* it must not go while we stop its threads */
	all = hold_all(tracer, space, HOLD_MS);
	if (space->plant != ps || !ps || ps->closing) {
		/* Its image is another, or it is given up. */
	} else if (all) {
		clear_threads(tracer, space, batch);
		write_all(space, batch);
	} else {
		for (size_t i = 0; i < batch->n; i++)
			put_off(ps, &batch->tries[i]);
	}
	hold_end(tracer, space, keep);
	jump_batch_free(batch);
	space_put(tracer, space);
}

/* --- and back -------------------------------------------------------------------------- */

static void unwrite_over_end(const struct space *space, pid_t tid, const struct site *site)
{
	const struct ubp_arch *arch = space->arch;
	const struct site_jump *jump = site->jump;
	uint8_t now[UBP_INSN_MAX];
	size_t n = arch->swbp_len;

	if (mem_peek(&space->mem, site->vaddr, now, jump->jump_len) != jump->jump_len ||
	    memcmp(now, jump->bytes, jump->jump_len) != 0)
		return;
	/* As it was written: the breakpoint leads to the copy. */
	(void)mem_write(&space->mem, tid, site->vaddr, arch->swbp, n);
	(void)mem_write(&space->mem, tid, site->vaddr + n, jump->orig + n, jump->jump_len - n);
	(void)mem_write(&space->mem, tid, site->vaddr, jump->orig, n);
}

static void unwrite_one(const struct space *space, struct page_edit *edit, pid_t tid,
			const struct site *site)
{
	const struct site_jump *jump = site->jump;
	uint8_t *bytes;

	if (site->vaddr % PAGE + jump->jump_len > PAGE) {
		unwrite_over_end(space, tid, site);
		return;
	}
	bytes = page_edit_at(edit, site->vaddr, jump->jump_len);
	if (!bytes || memcmp(bytes, jump->bytes, jump->jump_len) != 0)
		return;
	memcpy(bytes, jump->orig, jump->jump_len);
	page_edit_changed(edit);
}

static int compare_sites(const void *pa, const void *pb)
{
	const struct site *a = *(struct site *const *)pa, *b = *(struct site *const *)pb;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

/* In the order of their addresses. Allocated; NULL: none, or out of memory. */
static struct site **written_sites(const struct plant_space *ps, size_t *ret_n)
{
	struct site **sites = calloc(ps->sites.n + 1, sizeof(struct site *));
	size_t pos = 0;
	void *value;

	*ret_n = 0;
	while (sites && map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;

		if (site->jump && site->jump->is_written)
			sites[(*ret_n)++] = site;
	}
	if (sites)
		qsort(sites, *ret_n, sizeof(struct site *), compare_sites);
	return sites;
}

void jump_unwrite(const struct plant_space *owner, const struct space *space, pid_t tid)
{
	struct page_edit *edit;
	struct site **sites;
	size_t n;

	if (!owner->n_jumps)
		return;
	edit = calloc(1, sizeof(*edit));
	sites = written_sites(owner, &n);
	if (edit && sites) {
		edit->mem = &space->mem;
		for (size_t i = 0; i < n; i++)
			unwrite_one(space, edit, tid, sites[i]);
		page_edit_end(edit);
	}
	free(edit);
	free(sites);
}

static void note_in(const struct space *space, uint64_t vaddr)
{
	struct site *site = plant_site_of_slot(space, vaddr);
	uint64_t at;

	if (site && jump_has(site, vaddr, &at))
		site->jump->in_use = true;
}

/* Whose detours somebody is in, or will come back to from a signal handler. */
static void look_who_is_in(struct tracer *tracer, const struct space *space, bool all)
{
	const struct plant_space *ps = space->plant;
	const struct ubp_arch *arch = space->arch;
	uint64_t words[STACK_CHUNK / sizeof(uint64_t)];
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;

		/* Return addresses lead to return code; nobody counts them. */
		if (site->jump)
			site->jump->in_use = !all || site->jump->detour.return_at;
	}
	pos = 0;
	while (all && map_next(&tracer->tracees, &pos, NULL, &value)) {
		const struct tracee *t = value;
		struct ubp_regs regs;
		size_t got = sizeof(words);

		if (t->process->space != space)
			continue;
		if (t->called)
			regs = *t->before;
		else if (ubp_host_get_regs(t->tid, &regs) < 0)
			continue;
		note_in(space, regs.r[arch->pc]);
		for (uint64_t at = regs.r[arch->sp] & ~7ULL; got == sizeof(words);
		     at += sizeof(words)) {
			got = mem_read(t->tid, at, words, sizeof(words));
			for (size_t i = 0; i < got / sizeof(words[0]); i++)
				note_in(space, words[i]);
		}
	}
}

/* Blocks that nobody is in, nor can come to any more, serve the next session. */
static void free_blocks(const struct space *space)
{
	const struct plant_space *ps = space->plant;
	const uint64_t magic = UBP_JUMP_FREE;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site_jump *jump = ((const struct site *)value)->jump;

		if (jump && !jump->in_use)
			(void)mem_write(&space->mem, 0, jump->copy - UBP_SLOT_SIZE, &magic,
					sizeof(magic));
	}
}

void jump_remove(struct tracer *tracer, struct space *space)
{
	struct plant_space *ps = space->plant;
	bool all;

	if (!ps || ps->closing || !ps->n_jumps)
		return;
	space->refs++;
	/* Whoever does not stop runs no instruction of the program's before it does. */
	all = hold_all(tracer, space, HOLD_MS);
	if (space->plant == ps) {
		(void)rings_set_gate(space, space, 0, RING_GATE_OFF);
		jump_unwrite(ps, space, 0);
		look_who_is_in(tracer, space, all);
		hijack_put_back(ps, space, 0);
		ps->n_jumps = 0;
	}
	hold_end(tracer, space, NULL);
	if (space->plant == ps)
		free_blocks(space);
	space_put(tracer, space);
}

/*
 * Its first byte a breakpoint, the rest what it was. Over the end of a page the slot
 * leads to the copy meanwhile, so that nobody meets half of both.
 */
static int write_breakpoint(const struct space *space, const struct site *site)
{
	const struct ubp_arch *arch = space->arch;
	const struct site_jump *jump = site->jump;
	size_t n = arch->swbp_len;
	uint8_t bytes[UBP_WINDOW_MAX];
	int rc;

	memcpy(bytes, jump->orig, jump->jump_len);
	memcpy(bytes, arch->swbp, n);
	if (site->vaddr % PAGE + jump->jump_len <= PAGE)
		return mem_write(&space->mem, 0, site->vaddr, bytes, jump->jump_len);
	rc = mem_write(&space->mem, 0, site->vaddr, bytes, n);
	if (rc == 0)
		rc = mem_write(&space->mem, 0, site->vaddr + n, bytes + n, jump->jump_len - n);
	if (rc == 0)
		rc = mem_write(&space->mem, 0, site->slot, site->code.code, site->code.len);
	return rc;
}

bool jump_demote(struct tracer *tracer, struct tracee *t, struct site *site, const char *why)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	pid_t tid = t->tid;
	bool done = false, was_held = t->held;

	space->refs++;
	t->held = true;
	if (hold_all(tracer, space, HOLD_MS) && space->plant == ps && site->jump &&
	    site->rung == SITE_JUMPED && write_breakpoint(space, site) == 0) {
		count_rung(site, false);
		site->rung = SITE_BOOSTED;
		site->jump->is_written = false;
		refuse(site, why);
		done = true;
	}
	hold_end(tracer, space, map_get(&tracer->tracees, (uint64_t)tid) == t ? t : NULL);
	if (map_get(&tracer->tracees, (uint64_t)tid) == t)
		t->held = was_held;
	space_put(tracer, space);
	return done;
}

/* --- look-ups of the hit path ----------------------------------------------------------- */

struct site *jump_of_trap(const struct space *space, uint64_t vaddr, size_t *ret_first,
			  bool *ret_is_return)
{
	const struct plant_space *ps = space->plant;
	struct site *site = ps ? map_get(&ps->traps, vaddr) : NULL;
	const struct site_jump *jump = site ? site->jump : NULL;

	for (size_t i = 0; jump && i < site->n_probes; i++) {
		*ret_first = i;
		*ret_is_return = jump->copy + jump->detour.ret_trap_at[i] == vaddr;
		if (*ret_is_return || jump->copy + jump->detour.trap_at[i] == vaddr)
			return site;
	}
	return NULL;
}

bool jump_has(const struct site *site, uint64_t vaddr, uint64_t *ret_at)
{
	if (!site->jump || vaddr - site->jump->copy >= site->jump->len)
		return false;
	*ret_at = vaddr - site->jump->copy;
	return true;
}

uint64_t jump_fixup(const struct site *site, uint64_t at)
{
	const struct detour *d = &site->jump->detour;
	size_t low = 0, high = d->n_loads;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->loads[mid].at < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->n_loads && d->loads[low].at == at
		       ? site->jump->copy + d->loads[low].fixup
		       : 0;
}

int jump_copy(const struct site *from, struct site *to)
{
	struct site_jump *copy;

	to->jump = NULL;
	if (!from->jump)
		return 0;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *from->jump;
	copy->detour.code = NULL;
	copy->detour.loads = malloc((copy->detour.n_loads + 1) * sizeof(*copy->detour.loads));
	if (!copy->detour.loads) {
		free(copy);
		return -ENOMEM;
	}
	if (copy->detour.n_loads)
		memcpy(copy->detour.loads, from->jump->detour.loads,
		       copy->detour.n_loads * sizeof(*copy->detour.loads));
	to->jump = copy;
	return 0;
}
