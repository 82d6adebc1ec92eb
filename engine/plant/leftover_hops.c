/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Hops (arch/detour.h) that a killed tracer has left. What led to them is out by then; one that somebody may
 * come back to from a signal handler stays, with its block: it is this session's to take out at its end.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/vec.h"
#include "engine/os/maps.h"
#include "engine/plant/leftover_parts.h"
#include "engine/plant/site.h"
#include "engine/returns/stack_words.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/hold.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define HOLD_MS 20
/* Who is left alone may wake up while one looks. */
#define TRIES 8
/* Others in the way of a key in a map of ours: the target may have chosen its keys so. */

struct pun leftover_pun(const struct guard_jump *head)
{
	return (struct pun){ .n_fixed = head->n_fixed, .n_prefix = head->n_prefix };
}

bool leftover_is_jump(const struct space *space, const struct guard_jump *head)
{
	if (!head->n_fixed)
		return !head->n_prefix;
	return space->arch->jump.find_punned && head->hop && head->n_fixed <= UBP_PUN_FIXED &&
	       head->n_prefix < head->jump_len &&
	       head->jump_len + head->n_fixed == head->n_prefix + UBP_HOP_LEN;
}

/* Of a punned jump: in memory that may be an area's, which are not all known yet. */
static bool is_pun_place(const struct adoption *a, const struct guard_jump *head)
{
	const struct mapping *m = maps_at(a->maps, head->hop);

	return head->entry < head->len - UBP_SLOT_SIZE && m && m->exec && !m->write &&
	       !m->shared && !m->ino && leftover_is_jump(a->space, head) &&
	       head->n_orig <= sizeof(head->orig) - UBP_HOP_LEN;
}

/* Within reach of a short jump, and where a file's code is. */
static bool is_place(const struct adoption *a, const struct guard_jump *head)
{
	const struct arch_jump *jump = &a->space->arch->jump;
	const struct mapping *m = maps_at(a->maps, head->hop);

	return head->hop && head->entry < head->len - UBP_SLOT_SIZE && m && m->exec && m->ino &&
	       jump->find_short &&
	       head->hop - head->vaddr + jump->short_back <=
		       (uint64_t)jump->short_back + jump->short_on &&
	       head->n_orig <= sizeof(head->orig) - UBP_HOP_LEN;
}

int leftover_note_hop(struct adoption *a, const struct guard_jump *head, uint64_t copy)
{
	const struct space *space = a->space;
	struct window window = { .jump_len = UBP_HOP_LEN };
	struct left_hop hop = { .vaddr = head->hop,
				.to = copy + head->entry,
				.site = head->vaddr };
	uint8_t bytes[UBP_INSN_MAX], now[UBP_HOP_LEN];
	struct ubp_err ignored;
	int rc;

	ubp_err_reset(&ignored);
	if (head->n_fixed ? !is_pun_place(a, head) : !is_place(a, head))
		return 0;
	rc = head->n_fixed ? leftover_noted(a, jump_keep_pun(space->plant, head->hop,
							     LEFTOVER_KEY_LOOKS))
			   : 0;
	if (rc < 0)
		return rc;
	if (space->arch->jump.build(&window, hop.vaddr, hop.to, bytes, &ignored) < 0)
		return 0;
	memcpy(hop.orig, head->orig + head->n_orig, UBP_HOP_LEN);
	memcpy(hop.bytes, bytes, UBP_HOP_LEN);
	if (mem_peek(&space->mem, hop.vaddr, now, UBP_HOP_LEN) != UBP_HOP_LEN)
		return -EFAULT;
	if (!site_is_ours(space->arch, bytes, hop.orig, UBP_HOP_LEN, now))
		return 0;
	if (VEC_ROOM(a->hops, &a->cap_hops, a->n_hops) < 0)
		return -ENOMEM;
	a->hops[a->n_hops++] = hop;
	return 0;
}

static struct left_hop *hop_of(const struct adoption *a, uint64_t vaddr)
{
	for (size_t i = 0; i < a->n_hops; i++)
		if (a->hops[i].vaddr == vaddr)
			return &a->hops[i];
	return NULL;
}

static int compare_words(const void *pa, const void *pb)
{
	const struct left_hop *a = pa, *b = pb;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static void note_word(void *ctx, uint64_t word)
{
	struct adoption *a = ctx;
	struct left_hop key = { .vaddr = word };
	struct left_hop *hop;

	if (word < a->hops[0].vaddr || word > a->hops[a->n_hops - 1].vaddr)
		return;
	hop = bsearch(&key, a->hops, a->n_hops, sizeof(key), compare_words);
	if (hop)
		hop->in_use = true;
}

/* A held one that is at a hop goes on where that leads to. False: nobody knows where it is. */
static bool look_at(struct adoption *a, struct tracee *t)
{
	const struct space *space = a->space;
	const struct ubp_arch *arch = space->arch;
	const struct left_hop *hop;
	struct ubp_regs regs;

	if (t->held ? hold_get_regs(t, &regs) < 0
		    : !task_asleep(t->tid, &regs.r[arch->reg.pc], &regs.r[arch->reg.sp]))
		return false;
	hop = hop_of(a, regs.r[arch->reg.pc]);
	if (hop && !(t->held && hold_set_pc(t, hop->to) == 0))
		return false;
	return stack_words(a->maps, &space->mem, t->tid, regs.r[arch->reg.sp], arch->addr_size,
			   note_word, a);
}

/* All of its threads stand still that are not asleep elsewhere. False: not all. */
static bool look_at_all(struct adoption *a)
{
	struct tracee *t = NULL;
	bool known = hold_running(a->tracer, a->space, HOLD_MS);

	for (size_t i = 0; i < a->n_hops; i++)
		a->hops[i].in_use = false;
	while (known && (t = space_next(a->space, t)))
		known = look_at(a, t);
	return known;
}

/* A site that stands nowhere has it, until it is out. Without memory for that it is for a later session. */
static void keep(struct plant_space *ps, const struct left_hop *hop)
{
	struct site *site = calloc(1, sizeof(*site));

	jump_drop_block(ps, hop->site);
	if (!site || jump_keep_hop(ps, hop->vaddr, site, LEFTOVER_KEY_LOOKS) < 0) {
		free(site);
		return;
	}
	site->hop = (struct site_hop){ .vaddr = hop->vaddr, .to = hop->to, .stands = true };
	memcpy(site->hop.orig, hop->orig, UBP_HOP_LEN);
	memcpy(site->hop.bytes, hop->bytes, UBP_HOP_LEN);
	site->next_dead = ps->dead;
	ps->dead = site;
}

void leftover_hops(struct adoption *a)
{
	bool known = false;

	if (!a->n_hops)
		return;
	qsort(a->hops, a->n_hops, sizeof(*a->hops), compare_words);
	for (int i = 0; i < TRIES && !known; i++) {
		/* Those that it counts already stay held. */
		known = look_at_all(a);
		a->holds = true;
	}
	for (size_t i = 0; i < a->n_hops; i++) {
		const struct left_hop *hop = &a->hops[i];

		if (!known || hop->in_use ||
		    mem_write(&a->space->mem, a->tid, hop->vaddr, hop->orig, UBP_HOP_LEN) < 0)
			keep(a->space->plant, hop);
	}
}
