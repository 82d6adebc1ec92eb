/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The jump of one site and its detour (struct site.jump): what the hit path, and a copy of the memory, ask of it. */

#ifndef UBP_SPACE_SITE_JUMP_H
#define UBP_SPACE_SITE_JUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/detour.h"

struct plant_space;
struct site;
struct space;
struct uprobe;
struct uprobe_exit;

struct site_jump {
	uint64_t copy; /* vaddr of the window's copy, the start of the detour's code */
	uint32_t len;  /* of the code, from there on */
	struct detour detour;
	uint8_t n;                          /* instructions of the window */
	uint8_t from[UBP_WINDOW_INSNS + 1]; /* where they start; the last: behind them */
	uint8_t orig[UBP_WINDOW_MAX], bytes[UBP_INSN_MAX];
	uint8_t jump_len;
	uint8_t n_prefix; /* of them (struct pun) */
	uint8_t reach;    /* bytes that are read as the jump: more, if it is a punned one */
	bool is_at_ret; /* it catches returns, at a ret: it stands on that, or on a run-up to it */
	bool ends_at_ret; /* its other probes come first (detour_plan.then) */
	bool is_at_jump; /* it tells that functions are left by a jump, to where their returns are not seen */
	uint8_t run_up; /* bytes from it to that ret (struct site); 0: it is none of a run-up */
	uint8_t hop[UBP_HOP_LEN]; /* what is to stand at the site's hop ... */
	uint64_t
		hop_at; /* ... where that was when it was made; 0: it leads to the detour itself */
	bool is_begun;   /* some of it may stand behind the breakpoint, or all of it */
	bool is_written; /* all of it stands */
	bool is_left;    /* it could not be taken out again */
	bool claims; /* threads that it does not know claim rings there; or it records nothing */
	bool is_outdated; /* another one is to be made in its place */
	bool in_use;      /* somebody is in its code */
	bool is_watch; /* it has no probes: its detour scans the stack, or asks the tracer to come (detour_plan.scans, .asks) */
	bool is_awaited; /* of an old one: a return address that it has replaced may bring somebody back */
	bool is_quiet; /* of an old one: nobody was in it at a look, so it replaces no return address any more */
	/* What it records, in this order: those of its site when it was made, with a reference to each. */
	struct uprobe **probes;
	size_t n_probes;
	unsigned n_numbers;      /* that there had been by then */
	uint32_t room;           /* bytes of its block, from .copy on; no less than .len */
	struct site_jump *older; /* in struct site.old_jumps */
};

/* Of the breakpoint in a detour at @vaddr: that, its site, and from which of its probes on the hit
 * is the tracer's. *ret_is_return: it is in the return code. NULL: it is none. */
struct site_jump *jump_of_trap(const struct space *space, uint64_t vaddr,
			       struct site **ret_site, size_t *ret_first, bool *ret_is_return);
/* Is a breakpoint of some detour of this session there? */
bool jump_has_trap(const struct plant_space *ps, uint64_t vaddr);
/* The site's detour, now or before its probes changed, that @vaddr is in. *ret_at: where, from the copy's start. NULL:
 * none is. */
struct site_jump *jump_at(const struct site *site, uint64_t vaddr, uint64_t *ret_at);
/* The instruction that stands at offset @at of the copies in its detour: *ret_from, behind the site. False: none begins there. */
bool jump_insn_at(const struct site_jump *jump, uint64_t at, uint64_t *ret_from);
/* The same of the one that @at is in. False: @at is in no copy. */
bool jump_insn_around(const struct site_jump *jump, uint64_t at, uint64_t *ret_from);
/* Where a thread goes on that was about to carry out the window's instruction number @i: in the copy; of a run-up, in what the detour carries out. */
uint64_t jump_instead(const struct site_jump *jump, size_t i);
/* A fault at that place is the detour's own: where the thread goes on. 0: it is not. */
uint64_t jump_fixup(const struct site_jump *jump, uint64_t at);
/* Of @from's jump and its old ones. 0 or -ENOMEM. */
int jump_copy(const struct site *from, struct site *to);
/* What it has is freed; it is all zeros then. */
void jump_clear(struct site_jump *jump);
/* Without its old ones. */
void jump_free(struct site_jump *jump);
/* All of the site's. */
void jump_free_all(struct site *site);
/* Does the site's detour look for room on the stack (struct window)? */
bool jump_asks_room(const struct site *site);
/* It is to record what its site has now. 0 or -ENOMEM. */
int jump_take_probes(struct site_jump *jump, const struct site *site);
/* Are returns caught at @site, and does nobody else ask for it? Then a jump there is for these. */
bool jump_is_at_ret(const struct site *site);
/* The same, and are they left by a jump to another function there? */
bool jump_is_at_jump(const struct site *site);
/* Is it a function of one ret, of which entries and returns are caught there? */
bool jump_ends_at_ret(const struct site *site);
/* What a jump of @site is to record: its probes; then, at a ret, those of the functions that are left by it, or those whose returns are told in its copy. */
size_t jump_n_recorded(const struct site *site);
struct uprobe *jump_recorded(const struct site *site, size_t i);
/* Of a ret where returns are caught, or of a run-up: what its file tells of the ret. NULL: it is neither. */
const struct uprobe_exit *jump_exit(const struct site *site);
/* The hops that a short jump of @site may lead to, *ret_n of them, as far as its file tells. */
const struct hop *jump_hops(const struct site *site, size_t *ret_n);
/* Has @site one of these? */
bool jump_is_short(const struct site *site);
/* Of a ret, or a jump, where returns are caught: bytes that its own jump takes, or is read as. */
size_t jump_exit_len(const struct site *site, const struct uprobe_exit *its_exit);
/* The punned jump that @site is to get, as far as its file tells. NULL, or .n_fixed 0: none. */
const struct pun *jump_pun(const struct site *site);
/* Has its site other probes than when it was made? */
bool jump_is_stale(const struct site *site);
/* The next of a site's jumps, NULL begins: the one that stands, then old ones. NULL: there is none. */
struct site_jump *jump_next(const struct site *site, const struct site_jump *jump);

/*
 * The block at @block, of a detour that nobody is in any more, may be the next one's of the site at @vaddr. @looks: as for
 * map_put_within(), and it returns what that does.
 */
int jump_keep_block(const struct plant_space *ps, uint64_t vaddr, uint64_t block, size_t looks);
/* Not any more. */
void jump_drop_block(const struct plant_space *ps, uint64_t vaddr);
void jump_forget_blocks(const struct plant_space *ps);

/* The site's hop is nobody's any more, and does not stand. */
void jump_forget_hop(const struct plant_space *ps, struct site *site);
void jump_forget_hops(const struct plant_space *ps);
/* A hop stands at @vaddr, and is @site's. @looks: as for map_put_within(), and it returns what that does. */
int jump_keep_hop(const struct plant_space *ps, uint64_t vaddr, struct site *site,
		  size_t looks);
/* Hops of punned jumps may stand there. As jump_keep_hop(). */
int jump_keep_pun(const struct plant_space *ps, uint64_t vaddr, size_t looks);
/* Of what was read at @vaddr (@got bytes in @buf): where hops stand, put what stood there before. */
void jump_show_under_hops(const struct plant_space *ps, uint64_t vaddr, uint8_t *buf,
			  size_t got);

/* Whether somebody is in a detour, or will come back to it, is to be looked for: nobody has been found so far in any
 * (@is_known), or nothing is known, so that somebody may be in each. */
void jump_forget_users(struct plant_space *ps, bool is_known);

#endif
