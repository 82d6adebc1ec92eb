/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/window.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/decoded.h"
#include "engine/code/go_window.h"
#include "engine/code/hops.h"
#include "engine/code/landing_set.h"
#include "engine/code/landings.h"
#include "engine/code/led_to.h"
#include "engine/code/puns.h"
#include "engine/code/refusals.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/properties.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"

#define PADDING_MAX 8

struct site {
	struct object *object;
	const struct ubp_arch *arch;
	uint64_t vaddr;      /* elf_vaddr of the window */
	uint64_t first;      /* what nobody may lead to: that, or all behind its first byte */
	uint64_t start, end; /* of its function */
	bool is_run_up, is_behind; /* a return is caught there; it has a lead */
	struct window *window;
	struct ubp_err *err;
};

static struct site site_in(struct object *object, struct window *window, struct ubp_err *err)
{
	return (struct site){
		.object = object, .arch = object->arch, .window = window, .err = err
	};
}

static struct site site_exit(struct object *object, struct window *window, struct ubp_err *err)
{
	struct site s = site_in(object, window, err);

	s.is_run_up = true;
	return s;
}

static int refuse(const struct site *s, enum window_refusal why, const char *text)
{
	s->window->why = (uint8_t)why;
	return ubp_fail(s->err, EOPNOTSUPP, "%s", text);
}

/* Bytes of fill behind the function, that are nobody's, if a window may reach so far. */
static size_t find_padding(const struct site *s)
{
	uint8_t code[UBP_WINDOW_MAX];
	ssize_t len = code_read(s->object, s->end, code, sizeof(code));
	size_t fill, n = 0;

	if (len <= 0 || s->end - s->vaddr >= PADDING_MAX)
		return 0;
	fill = s->arch->insn.fill_len(code, (size_t)len);
	for (; n < fill && n < PADDING_MAX; n++) {
		uint64_t foffset, start, end;

		if (object_vaddr_to_foffset(s->object, s->end + n, &foffset) < 0)
			break;
		/* Go's table has it with the function in front of it, the symbols have not. */
		if (object_extent(s->object, foffset, &start, &end) == 0 &&
		    !(s->object->is_go && start == s->start))
			break;
	}
	return n;
}

static int find_function(struct site *s, uint64_t foffset)
{
	struct decoded_insn insn;
	int rc;

	if (!object_is_executable(s->object, foffset) ||
	    object_foffset_to_vaddr(s->object, foffset, &s->vaddr) < 0)
		return refuse(s, WINDOW_UNKNOWN, "it is not in code");
	if (object_extent(s->object, foffset, &s->start, &s->end) < 0)
		return refuse(s, WINDOW_UNKNOWN, "no function is known there");
	if (s->vaddr == s->start)
		return 0;
	rc = decoded_at(s->object, s->vaddr, &insn);
	if (rc == -ENOMEM || rc == -EIO)
		return ubp_fail(s->err, -rc, "cannot look at the code of %s", s->object->path);
	if (rc < 0 || insn.start != s->vaddr)
		return refuse(s, WINDOW_UNKNOWN, "no instruction is known to start there");
	return 0;
}

static int find_window(struct site *s)
{
	uint8_t code[UBP_WINDOW_MAX];
	ssize_t len = code_read(s->object, s->vaddr, code, sizeof(code));
	uint64_t left = s->end - s->vaddr;

	if (len <= 0)
		return ubp_fail(s->err, EIO, "cannot read the code of %s", s->object->path);
	return s->arch->jump.find(code, left < (size_t)len ? left : (size_t)len,
				  find_padding(s), s->vaddr, s->window, s->err);
}

/* The instruction that a breakpoint takes the place of. */
static int find_insn(struct site *s)
{
	uint8_t code[UBP_INSN_MAX];
	ssize_t len = code_read(s->object, s->vaddr, code, sizeof(code));
	int rc;

	if (len <= 0)
		return ubp_fail(s->err, EIO, "cannot read the code of %s", s->object->path);
	rc = s->arch->insn.analyze(code, (size_t)len, s->vaddr, &s->window->insns[0], s->err);
	if (rc < 0)
		return refuse(s, WINDOW_INSN,
			      "what follows its first instruction stays in place");
	s->window->n = 1;
	s->window->len = s->window->insns[0].len;
	s->window->jump_len = s->arch->swbp.len;
	return 0;
}

/* The guard has a jump of its own there (plant/sigaction.c). */
static bool is_for_guard(const struct ubp_arch *arch, const uint8_t *code, size_t len)
{
	for (size_t i = 0; i < arch->hook.n_calls; i++)
		if (len >= arch->hook.call_len &&
		    memcmp(code, arch->hook.calls[i], arch->hook.call_len) == 0)
			return true;
	return false;
}

/* The window's place is the one behind the lead. */
static int find_lead(struct site *s, struct lead *lead)
{
	uint8_t code[UBP_WINDOW_MAX];
	uint64_t left = s->end - s->vaddr;
	ssize_t len = code_read(s->object, s->vaddr, code, sizeof(code));

	memset(lead, 0, sizeof(*lead));
	if (len > 0 && left < (uint64_t)len)
		len = (ssize_t)left;
	if (len <= 0 || !s->arch->lead.find || !s->arch->lead.find(code, (size_t)len, lead) ||
	    lead->len == len ||
	    is_for_guard(s->arch, code + lead->len, (size_t)len - lead->len)) {
		lead->len = 0;
		return refuse(s, WINDOW_LEAD,
			      "what its first instruction does cannot be taken back");
	}
	s->vaddr += lead->len;
	s->first = s->vaddr;
	return 0;
}

static int check_go(const struct site *s)
{
	const struct go_place place = { s->object, s->start,     s->end,
					s->vaddr,  s->is_run_up, s->is_behind };
	const char *why = s->object->is_go ? go_why_no_window(&place, s->window) : NULL;

	return why ? refuse(s, WINDOW_GO, why) : 0;
}

/* --- who leads there -------------------------------------------------------------------- */

/* Indirect branches lead there. */
static int check_pad(const struct site *s)
{
	if (s->arch->jump.is_landing_pad && s->arch->jump.is_landing_pad(s->window) &&
	    object_needs_landings(s->object))
		return refuse(s, WINDOW_LANDING,
			      "it is a landing pad, and its file asks for those (BTI): no "
			      "indirect branch could come to a jump");
	return 0;
}

/* How a landing is told. */
static const struct {
	enum window_refusal why;
	const char *who;
} landing_texts[LANDING_N] = {
	[LANDING_NAME] = { WINDOW_LANDING, "a symbol or a start of a function" },
	[LANDING_PAD] = { WINDOW_LANDING, "an exception" },
	[LANDING_BRANCH] = { WINDOW_BRANCH, "a branch" },
	[LANDING_ADDRESS] = { WINDOW_ADDRESS, "an address that code makes" },
	[LANDING_TABLE] = { WINDOW_TABLE, "a jump table" },
	[LANDING_POINTER] = { WINDOW_POINTER, "a pointer" },
	[LANDING_SHORT_POINTER] = { WINDOW_POINTER, "a pointer of 4 bytes" },
};

/* As C++ and Rust make them. */
static bool is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 ||
	       (strncmp(name, "_R", 2) == 0 && name[2] && strchr("CIMNXY", name[2]));
}

/*
 * Is its function from a compiler? Names tell. Code that was written by hand can have addresses of 4 bytes; compilers
 * have 8 for each, or distances.
 */
static bool is_compiled(const struct site *s)
{
	struct object_symbol symbol;
	uint64_t foffset;

	return object_is_64bit(s->object) &&
	       object_vaddr_to_foffset(s->object, s->start, &foffset) == 0 &&
	       object_function_at(s->object, foffset, &symbol) == 0 && symbol.name &&
	       symbol.elf_vaddr == s->start && is_mangled(symbol.name);
}

/* The first landing of @kind that the window must not have, or @to. */
static uint64_t first_of(const struct site *s, const struct landings *landings,
			 enum landing_kind kind, uint64_t to)
{
	uint64_t at = s->first - 1;

	if (landings_first(landings, 1u << kind, s->first, to) == 0 ||
	    (kind == LANDING_SHORT_POINTER && is_compiled(s)))
		return to;
	do
		at = landings_first(landings, 1u << kind, at + 1, to);
	while (at != 0 && !led_by_landing(s->object, landings, kind, at));
	return at ? at : to;
}

/* Landings that the file has a list of. */
static int check_listed(const struct site *s, const struct landings *landings)
{
	uint64_t to = s->vaddr + s->window->jump_len, at = to;
	enum landing_kind kind = LANDING_N;

	if (landings_first(landings, LANDINGS_ALL, s->first, to) == 0)
		return 0;
	for (unsigned k = 0; k < LANDING_N; k++) {
		uint64_t first = first_of(s, landings, k, at);

		if (first < at)
			kind = k;
		at = first;
	}
	if (kind == LANDING_N)
		return 0;
	s->window->why = (uint8_t)landing_texts[kind].why;
	if (at == s->vaddr)
		return ubp_fail(s->err, EOPNOTSUPP,
				"%s may lead to behind its first instruction",
				landing_texts[kind].who);
	return ubp_fail(s->err, EOPNOTSUPP, "%s may lead to %d bytes on, under the jump",
			landing_texts[kind].who, (int)(at - s->vaddr));
}

static int check_landings(const struct site *s)
{
	uint64_t to = s->vaddr + s->window->jump_len;
	const struct landings *landings;
	int rc = landings_get(s->object, &landings, s->err);

	if (rc == 0)
		rc = check_listed(s, landings);
	if (rc < 0)
		return rc;
	if (to <= s->first)
		return 0;
	/* Tables of distances between labels look like nothing; but no label is in the middle of an instruction. */
	if ((s->first == s->vaddr || s->window->jump_len > s->window->insns[0].len) &&
	    (led_by_base(s->object, landings, s->start + 1, s->end) ||
	     led_by_constant(s->object, landings, s->start + 1, s->end, s->start, s->end)))
		return refuse(s, WINDOW_OWN, "its function computes addresses of its own code");
	if (led_by_constant(s->object, landings, s->first, to, 0, UINT64_MAX))
		return refuse(s, WINDOW_ADDRESS,
			      "an address under the jump is a constant in code");
	if (led_by_branch(s->object, s->first, to))
		return refuse(s, WINDOW_BRANCH, "a branch near by leads to under the jump");
	return 0;
}

/* The window begins at @foffset; if @lead is not NULL, behind its lead, which goes there. */
static int find_start(struct site *s, uint64_t foffset, struct lead *lead)
{
	const char *why;
	int rc = find_function(s, foffset);

	s->first = s->vaddr + 1;
	if (rc == 0 && lead)
		rc = find_lead(s, lead);
	if (rc < 0)
		return rc;
	why = object_refuse_at(s->object, foffset + (lead ? lead->len : 0));
	return why ? refuse(s, WINDOW_INSN, why) : 0;
}

static int look(struct site *s, uint64_t foffset, struct lead *lead)
{
	int rc;

	memset(s->window, 0, sizeof(*s->window));
	s->is_behind = lead != NULL;
	if (!s->arch || !s->arch->jump.find)
		return refuse(s, WINDOW_INSN, "no jumps for this instruction set");
	rc = find_start(s, foffset, lead);
	if (rc == 0)
		rc = find_window(s);
	if (rc == 0)
		rc = check_go(s);
	if (rc == 0 && !lead)
		rc = check_pad(s);
	/* Where nothing can start but at its start, nobody can lead there. */
	if (rc == 0 && (lead || s->window->jump_len > s->arch->insn.align))
		rc = check_landings(s);
	return rc;
}

int object_lead(struct object *object, uint64_t foffset, struct lead *ret_lead,
		struct window *ret_window, struct ubp_err *err)
{
	struct site s = site_in(object, ret_window, err);
	int rc;

	memset(ret_lead, 0, sizeof(*ret_lead));
	memset(ret_window, 0, sizeof(*ret_window));
	if (!s.arch)
		return refuse(&s, WINDOW_INSN, "no breakpoints for this instruction set");
	rc = find_start(&s, foffset, ret_lead);
	if (rc == 0)
		rc = find_insn(&s);
	return rc == 0 ? check_landings(&s) : rc;
}

/* The bytes at @foffset: *ret_len that can be read, and how many of them are the function's. */
static int read_start(struct site *s, uint64_t foffset, uint8_t code[UBP_WINDOW_MAX],
		      size_t *ret_len, size_t *ret_own)
{
	uint64_t left;
	ssize_t len;
	int rc = find_start(s, foffset, NULL);

	if (rc < 0)
		return rc;
	left = s->end - s->vaddr;
	len = code_read(s->object, s->vaddr, code, UBP_WINDOW_MAX);
	if (len <= 0)
		return ubp_fail(s->err, EIO, "cannot read the code of %s", s->object->path);
	*ret_len = (size_t)len;
	*ret_own = left < *ret_len ? left : *ret_len;
	return 0;
}

/* What is refused for a longer jump is refused by look() already. */
static int look_short(struct site *s, uint64_t foffset)
{
	uint8_t code[UBP_WINDOW_MAX];
	size_t len = 0, own = 0;
	int rc = read_start(s, foffset, code, &len, &own);

	if (rc < 0)
		return rc;
	rc = s->arch->jump.find_short(code, own, find_padding(s), s->vaddr, s->window, s->err);
	if (rc == 0 && s->object->is_go)
		return refuse(s, WINDOW_GO, "goroutines may be parked at what a jump leads to");
	if (rc == 0)
		rc = check_landings(s);
	if (rc == 0)
		rc = hops_find(s->object, s->vaddr, s->window, s->err);
	if (rc == 0 && !s->window->n_hops)
		return refuse(s, WINDOW_FILL, "no unused bytes are near by for a short one");
	return rc;
}

static int look_all_short(struct site *s, uint64_t foffset)
{
	memset(s->window, 0, sizeof(*s->window));
	if (!s->arch || !s->arch->jump.find_short)
		return refuse(s, WINDOW_INSN, "no short jumps for this instruction set");
	return look_short(s, foffset);
}

int object_window_short(struct object *object, uint64_t foffset, struct window *ret_window,
			struct ubp_err *err)
{
	struct site s = site_in(object, ret_window, err);

	return look_all_short(&s, foffset);
}

/* In a jump for @jump_len bytes. */
static int look_punned(struct site *s, uint64_t foffset, uint8_t jump_len)
{
	uint8_t code[UBP_WINDOW_MAX];
	size_t len = 0, own = 0;
	int rc = read_start(s, foffset, code, &len, &own);

	if (rc < 0)
		return rc;
	rc = s->arch->jump.find_punned(code, own, jump_len, s->vaddr, s->window, s->err);
	/* Its hop is in memory of ours, where no goroutine is parked. */
	if (rc == 0)
		rc = check_go(s);
	if (rc == 0)
		rc = check_landings(s);
	if (rc == 0 && !puns_choose(s->object, s->vaddr, foffset, code, len, s->window))
		return refuse(s, WINDOW_FILL,
			      "what stands there lets a part of a jump lead to no free memory");
	return rc;
}

static int look_all_punned(struct site *s, uint64_t foffset)
{
	int rc = -EOPNOTSUPP;

	memset(s->window, 0, sizeof(*s->window));
	if (!s->arch || !s->arch->jump.find_punned)
		return refuse(s, WINDOW_INSN, "no punned jumps for this instruction set");
	/* The more bytes of it are written, the more places are there that it may lead to. */
	for (uint8_t n = UBP_PUN_FIXED; n > 0 && rc == -EOPNOTSUPP; n--) {
		ubp_err_reset(s->err);
		rc = look_punned(s, foffset, n);
		if (rc < 0 && s->window->why == WINDOW_FILL)
			break;
	}
	return rc;
}

int object_window_punned(struct object *object, uint64_t foffset, struct window *ret_window,
			 struct ubp_err *err)
{
	struct site s = site_in(object, ret_window, err);

	return look_all_punned(&s, foffset);
}

/* All of a jump but its last byte. */
static int look_run_up(struct site *s, uint64_t foffset)
{
	uint8_t code[UBP_WINDOW_MAX];
	size_t len = 0, own = 0;
	int rc = read_start(s, foffset, code, &len, &own);

	if (rc == 0)
		rc = s->arch->jump.find_punned(code, own, UBP_HOP_LEN - 1, s->vaddr, s->window,
					       s->err);
	if (rc == 0 && s->window->n > 1)
		return refuse(s, WINDOW_SHORT, "its first instruction is too short");
	if (rc == 0)
		rc = check_go(s);
	if (rc == 0)
		rc = check_landings(s);
	/* Behind that byte a breakpoint may stand. */
	if (rc == 0 && (!puns_choose(s->object, s->vaddr, foffset, code, len, s->window) ||
			s->window->pun.n_fixed != 1))
		return refuse(s, WINDOW_FILL,
			      "what stands there lets a part of a jump lead to no free memory");
	return rc;
}

int object_window_run_up(struct object *object, uint64_t foffset, bool several,
			 struct window *ret_window, struct ubp_err *err)
{
	struct site s = site_exit(object, ret_window, err);
	int rc = look(&s, foffset, NULL);

	if (several || (rc == 0 && ret_window->n == 1) || (rc < 0 && rc != -EOPNOTSUPP) ||
	    !object->arch || !object->arch->jump.find_punned)
		return rc == 0 && ret_window->n > 1 && !several ? -EOPNOTSUPP : rc;
	memset(ret_window, 0, sizeof(*ret_window));
	ubp_err_reset(err);
	return look_run_up(&s, foffset);
}

static int check_ret(const struct object *object, const struct window *window,
		     struct ubp_err *err)
{
	const struct displaced_insn *ret = &window->insns[0];

	if (window->n > 1 || ret->leave != LEAVE_RET ||
	    ret->ret_pops != object->arch->addr_size)
		return ubp_fail(err, EOPNOTSUPP, "it is no plain ret instruction");
	return 0;
}

/* What @find finds at a ret: flags are nobody's there. */
static int find_at_ret(struct object *object, uint64_t foffset,
		       int (*find)(struct site *s, uint64_t foffset), struct window *ret_window,
		       struct ubp_err *err)
{
	struct site s = site_exit(object, ret_window, err);
	int rc;

	if (!object->arch || !object->arch->jump.runs_anywhere)
		return ubp_fail(err, EOPNOTSUPP, "no detours at ret instructions");
	rc = find(&s, foffset);
	return rc == 0 ? check_ret(object, ret_window, err) : rc;
}

static int look_at_start(struct site *s, uint64_t foffset)
{
	return look(s, foffset, NULL);
}

int object_window_at_ret(struct object *object, uint64_t foffset, struct window *ret_window,
			 struct ubp_err *err)
{
	return find_at_ret(object, foffset, look_at_start, ret_window, err);
}

int object_window_punned_ret(struct object *object, uint64_t foffset, struct window *ret_window,
			     struct ubp_err *err)
{
	return find_at_ret(object, foffset, look_all_punned, ret_window, err);
}

int object_window_short_ret(struct object *object, uint64_t foffset, struct window *ret_window,
			    struct ubp_err *err)
{
	return find_at_ret(object, foffset, look_all_short, ret_window, err);
}

int object_window_at_jump(struct object *object, uint64_t foffset, struct window *ret_window,
			  struct ubp_err *err)
{
	struct site s = site_exit(object, ret_window, err);
	int rc;

	if (!object->arch || !object->arch->jump.runs_anywhere)
		return ubp_fail(err, EOPNOTSUPP, "no detours where functions are left");
	rc = look(&s, foffset, NULL);
	if (rc == -EOPNOTSUPP && object->arch->jump.find_short) {
		ubp_err_reset(err);
		rc = look_all_short(&s, foffset);
	}
	if (rc == 0 && (ret_window->n > 1 || ret_window->insns[0].leave != LEAVE_JUMP ||
			!object->arch->jump.ends_flow(&ret_window->insns[0])))
		return ubp_fail(err, EOPNOTSUPP, "it is no plain jump");
	if (rc == 0 && ret_window->asks_room &&
	    go_may_ask_flags(object, ret_window->insns[0].target))
		return refuse(&s, WINDOW_GO, "what it jumps to may ask for the flags");
	return rc;
}

int object_window_first(struct object *object, uint64_t foffset, struct window *ret_window,
			struct ubp_err *err)
{
	struct window window;
	struct ubp_err why;
	int rc = object_window(object, foffset, ret_window, err);

	if (rc != -EOPNOTSUPP || !object->arch || !object->arch->jump.find_short)
		return rc;
	ubp_err_reset(&why);
	rc = object_window_short(object, foffset, &window, &why);
	if (rc == 0) {
		*ret_window = window;
		return 0;
	}
	if (rc == -EOPNOTSUPP && object->arch->jump.find_punned) {
		struct window punned;
		struct ubp_err ignored;

		ubp_err_reset(&ignored);
		if (object_window_punned(object, foffset, &punned, &ignored) == 0) {
			*ret_window = punned;
			return 0;
		}
	}
	if (rc == -EOPNOTSUPP && window.why == WINDOW_FILL) {
		struct ubp_err first = *err;

		return ubp_fail(err, EOPNOTSUPP, "%s, and %s", first.text, why.text);
	}
	return -EOPNOTSUPP;
}

int object_window(struct object *object, uint64_t foffset, struct window *ret_window,
		  struct ubp_err *err)
{
	struct site s = site_in(object, ret_window, err);

	return look(&s, foffset, NULL);
}

int object_window_behind(struct object *object, uint64_t foffset, struct lead *ret_lead,
			 struct window *ret_window, struct ubp_err *err)
{
	struct site s = site_in(object, ret_window, err);

	memset(ret_lead, 0, sizeof(*ret_lead));
	return look(&s, foffset, ret_lead);
}
