/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/run_up.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/plant/hop.h"
#include "engine/plant/neighbour.h"
#include "engine/plant/pun.h"
#include "engine/space/site_jump.h"
#include "engine/space/state.h"
#include "engine/space/stop_why.h"
#include "engine/space/uprobe.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* Stops at the rets of a function until they count as many; and where memory for such jumps gets scarce. */
#define HOT         16
#define HOT_SCARCE  256
#define HOT_AT_ONCE 8

static const char why_too_few[] =
	"too few returns by the ret instruction for a jump of its kind";

bool run_ups_are_wanted(const struct plant *plant, const struct space *space)
{
	return plant->opt.rings && !plant->opt.beside_kernel &&
	       space->arch->jump.runs_anywhere && space->arch->detour.build;
}

bool run_up_fits(const struct space *space, struct mem_view *view, const struct site *ret,
		 const struct uprobe_exit *its_exit)
{
	uint64_t from = ret->vaddr - its_exit->run_up;
	const struct site *first = plant_site_at(space, from);
	uint8_t now[UBP_RUN_UP_MAX];

	if (ret->n_probes || ret->watches || (first && first->run_up != its_exit->run_up))
		return false;
	for (uint64_t at = from + 1; at < ret->vaddr; at++)
		if (plant_site_at(space, at))
			return false;
	return first || (mem_view_peek(view, from, now, its_exit->run_up) == its_exit->run_up &&
			 memcmp(now, its_exit->run_up_code, its_exit->run_up) == 0);
}

void run_up_give_way(struct site *site)
{
	while (site->n_probes)
		uprobe_put(site->probes[--site->n_probes]);
	site->run_up = 0;
	site->no_jump = NULL;
}

struct site *run_up_over(const struct plant_space *ps, uint64_t vaddr)
{
	for (uint64_t back = 0; back <= UBP_RUN_UP_MAX; back++) {
		struct site *other = map_get(&ps->sites, vaddr - back);

		if (other && other->jump && other->jump->is_begun &&
		    (back ? other->jump->run_up >= back
			  : other->jump->run_up && !other->run_up))
			return other;
	}
	return NULL;
}

/* Is what is caught at @ret what @site is for, and nothing else there? */
static bool is_for(const struct site *site, const struct site *ret)
{
	if (!ret || !ret->planted || ret->n_probes || ret->watches || !site->n_probes ||
	    ret->n_exits != site->n_probes)
		return false;
	for (size_t i = 0; i < site->n_probes; i++)
		if (ret->exits[i].probe != site->probes[i] || ret->exits[i].is_jump ||
		    ret->exits[i].func_vaddr != site_probed(site, site->probes[0]))
			return false;
	return true;
}

const char *run_up_why_not(const struct plant_space *ps, const struct place *at)
{
	const struct site *site = at->sites[at->i];

	if (!is_for(site, map_get(&ps->sites, site->vaddr + site->run_up)))
		return "something else stands at the ret instruction";
	if (site->n_probes > UBP_DETOUR_PROBES)
		return "more probes than a detour has room for";
	return neighbour_at(ps, at, site->run_up);
}

/*
 * The fewer places a punned jump may lead to, the more areas do such jumps need. There are not many of those: they are for rets that are
 * hit often.
 */
static bool is_for_hot(const struct uprobe_exit *e)
{
	return e->pun.n_fixed > 1;
}

static bool is_hot(const struct plant_space *ps, const struct site *site)
{
	return site->exits[0].probe->stats.stops[STOP_AT_RET] >=
	       (pun_is_scarce(ps) ? HOT_SCARCE : HOT);
}

/*
 * Of the rets that a function has, one that is hit just then, and ever more seldom, others: four times while the stops double. One
 * for which there was no memory: once.
 */
static bool is_turn(const struct site *site)
{
	uint64_t n = site->exits[0].probe->stats.stops[STOP_AT_RET];
	unsigned top = n ? 63 - (unsigned)__builtin_clzll(n) : 0;
	unsigned low = site->no_jump == why_too_few && top >= 2 ? top - 2 : top;

	return (n & ((UINT64_C(1) << low) - 1)) < HOT_AT_ONCE;
}

bool at_ret_becomes_hot(const struct plant_space *ps, const struct site *site)
{
	const struct uprobe_exit *e;

	if (!site->no_jump || !jump_is_at_ret(site) || !is_hot(ps, site) || !is_turn(site))
		return false;
	e = jump_exit(site);
	return e && is_for_hot(e) && !jump_is_short(site);
}

/* Of a jump to another function: what is counted there is a return that is not seen, whatever is asked of those that are. */
static const char *at_jump_why_not(const struct plant_space *ps, const struct place *at)
{
	const struct site *site = at->sites[at->i];
	const struct uprobe_exit *e = jump_exit(site);

	if (!e || !e->can_jump || site->insn.leave != LEAVE_JUMP ||
	    site->n_exits > UBP_DETOUR_PROBES)
		return "no room for a jump where the function is left by one";
	for (size_t i = 0; i < site->n_exits; i++) {
		const struct uprobe *probe = site->exits[i].probe;

		if (!site->exits[i].is_jump || probe->at_hit.tally || probe->at_hit.sample)
			return "more than that a function is left is told there";
	}
	if (e->n_hops && !jump_is_short(site))
		return hop_why_none;
	return neighbour_at(ps, at, jump_exit_len(site, e));
}

static const char why_handler[] =
	"a handler runs when it returns, while the thread stands still";

/* Of those whose returns are caught there. */
static bool has_handler(const struct site *site)
{
	for (size_t i = 0; i < site->n_exits; i++)
		if (site->exits[i].probe->at_hit.handler.is_there)
			return true;
	return false;
}

const char *at_ret_why_not(const struct plant_space *ps, const struct place *at)
{
	const struct site *site = at->sites[at->i];
	const struct uprobe_exit *e = jump_exit(site);

	if (jump_is_at_jump(site))
		return at_jump_why_not(ps, at);
	if (!e || (!e->padding && !e->n_hops))
		return "no room for a jump at the ret instruction";
	if (!e->padding && !jump_is_short(site))
		return hop_why_none;
	if (is_for_hot(e) && !jump_is_short(site) && !is_hot(ps, site))
		return why_too_few;
	if (site->n_exits > UBP_DETOUR_PROBES)
		return "more probes than a detour has room for";
	for (size_t i = 0; i < site->n_exits; i++)
		if (site->exits[i].is_jump ||
		    site->exits[i].func_vaddr != site_probed(site, site->exits[i].probe) ||
		    site->exits[i].func_vaddr != site->exits[0].func_vaddr)
			return "several functions are left by the ret instruction";
	if (has_handler(site))
		return why_handler;
	return neighbour_at(ps, at, jump_exit_len(site, e));
}

/* Is it by its own ret that the function at @vaddr, which begins with a lead perhaps, is left? */
static bool is_own_ret(const struct site *site, const struct site_exit *e, uint64_t vaddr)
{
	return !e->is_jump && e->func_vaddr == vaddr && site_probed(site, e->probe) == vaddr;
}

const char *ends_at_ret_why_not(const struct site *site)
{
	if (site->insn.leave != LEAVE_RET || site->watches ||
	    jump_n_recorded(site) > UBP_DETOUR_PROBES)
		return "returns are caught here";
	for (size_t i = 0; i < site->n_exits; i++)
		if (!is_own_ret(site, &site->exits[i], site_probed(site, site->probes[0])))
			return "several functions are left by the ret instruction";
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->kind == PROBE_RETURN)
			return "returns are caught here";
	return has_handler(site) ? why_handler : NULL;
}

static int find_before(const struct ubp_arch *arch, const uint8_t *code,
		       const struct site *site, struct window *before, struct ubp_err *err)
{
	const struct uprobe_exit *e = jump_exit(site);
	bool (*runs)(const struct displaced_insn *insn) =
		e && e->may_fault ? arch->jump.runs_or_faults : arch->jump.runs_anywhere;

	while (before->len < site->run_up) {
		struct displaced_insn *insn = &before->insns[before->n];

		if (before->n == UBP_WINDOW_INSNS ||
		    arch->insn.analyze(code + before->len, (size_t)site->run_up - before->len,
				       site->vaddr + before->len, insn, err) < 0 ||
		    !runs(insn))
			return ubp_fail(
				err, EBUSY,
				"what is in front of the ret is not what the file has there");
		before->n++;
		before->len = (uint8_t)(before->len + insn->len);
	}
	return 0;
}

/* Of @code, @got bytes. */
static int find_punned(const struct ubp_arch *arch, const uint8_t *code, size_t got,
		       const struct site *site, struct window *jumped, struct ubp_err *err)
{
	const struct pun *pun = &site->hop.pun;
	size_t len = (size_t)pun->n_prefix + UBP_HOP_LEN - pun->n_fixed;
	int rc;

	if (len + pun->n_fixed > got || memcmp(code + len, pun->fixed, pun->n_fixed) != 0)
		return ubp_fail(err, EBUSY, "what follows it is not what the file has there");
	rc = arch->jump.find_punned(code, site->run_up ? site->insn.len : got, (uint8_t)len,
				    site->vaddr, jumped, err);
	jumped->pun = *pun;
	return rc;
}

static int find_jumped(const struct ubp_arch *arch, const uint8_t *code,
		       const struct site *site, struct window *jumped, struct ubp_err *err)
{
	if (site->hop.pun.n_fixed)
		return find_punned(arch, code, site->run_up, site, jumped, err);
	return arch->jump.find(code, site->run_up, 0, site->vaddr, jumped, err);
}

/* What is behind a ret must be fill, in memory, too. */
static int find_at_ret(const struct ubp_arch *arch, struct mem_view *view,
		       const struct site *site, struct window *jumped, struct ubp_err *err)
{
	uint8_t code[UBP_WINDOW_MAX];
	size_t got = mem_view_peek(view, site->vaddr, code, sizeof(code)), n = site->insn.len;
	const struct pun *pun = &site->hop.pun;
	int rc;

	/* Its first bytes are a breakpoint's. */
	memcpy(code, site->insn.bytes, n < got ? n : got);
	if (pun->n_fixed)
		rc = find_punned(arch, code, got, site, jumped, err);
	else if (jump_is_short(site))
		rc = arch->jump.find_short(code, got, 0, site->vaddr, jumped, err);
	else
		rc = arch->jump.find(code, got, 0, site->vaddr, jumped, err);
	return rc == 0 && jumped->n > 1 ? ubp_fail(err, EBUSY, "it is no ret any more") : rc;
}

int run_up_find(const struct space *space, struct mem_view *view, const struct site *site,
		struct run_up *ret_run_up, struct ubp_err *err)
{
	const struct ubp_arch *arch = space->arch;
	const struct site *ret = plant_site_at(space, site->vaddr + site->run_up);
	struct run_up *r = ret_run_up;
	uint8_t code[UBP_RUN_UP_MAX];
	int rc;

	memset(r, 0, sizeof(*r));
	if (!ret || ret->insn.leave != LEAVE_RET || ret->insn.ret_pops != arch->addr_size)
		return ubp_fail(err, EOPNOTSUPP, "no plain ret instruction ends it");
	if (mem_view_peek(view, site->vaddr, code, site->run_up) != site->run_up)
		return ubp_fail(err, EFAULT, "it cannot be read");
	/* Its breakpoint, that of one on several instructions, stands since an earlier try. */
	if (site->run_up && site->planted)
		memcpy(code, site->insn.bytes, arch->swbp.len);
	rc = find_before(arch, code, site, &r->before, err);
	if (rc == 0 && site->run_up)
		rc = find_jumped(arch, code, site, &r->jumped, err);
	else if (rc == 0)
		rc = find_at_ret(arch, view, site, &r->jumped, err);
	if (rc < 0)
		return rc;
	run_up_take_ret(r, &ret->insn);
	return 0;
}

void run_up_take_ret(struct run_up *r, const struct displaced_insn *ret)
{
	r->ret = (struct window){
		.insns = { *ret }, .n = 1, .len = ret->len, .jump_len = ret->len
	};
	r->lead = (struct lead){ .sp_down = ret->ret_pops };
}
