/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A site: one patched address of an address space (struct site, space.h). It is looked at, made, written, and taken out. */

#ifndef UBP_PLANT_SITE_H
#define UBP_PLANT_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/space/space.h"

struct displaced_insn;
struct file_code;
struct lead;
struct mapping;
struct mem_view;
struct part_copied;
struct part_left;
struct plant;
struct plant_space;
struct site_exit;
struct ubp_arch;
struct ubp_err;
struct undo;
struct uprobe;

/* What a site's file says is there. */
struct site_origin {
	const struct file_code *code;      /* NULL: an internal site, whatever is there */
	const struct displaced_insn *insn; /* the same decoded, or NULL */
	const struct lead *lead;           /* in front of it, or NULL */
	const char *what;                  /* names the probe */
};

/*
 * The site at @vaddr, made if there is none: the instruction there decoded and
 * compared with its file's. Not yet planted. @m is the mapping it lies in; @view was
 * begun after the last write.
 */
int site_provide(struct space *space, pid_t tid, struct mem_view *view, uint64_t vaddr,
		 const struct mapping *m, const struct site_origin *from,
		 struct site **ret_site, struct ubp_err *err);
/* Is @m (NULL: nothing is mapped there) what is mapped at the site, and of its file? */
bool site_is_mapped(const struct site *site, const struct mapping *m);
int site_add_probe(struct site *site, struct uprobe *probe);
/* Has it the probe, or one whose place that is to take? */
bool site_has_probe(const struct site *site, const struct uprobe *probe);
/* Does a function begin there whose returns are caught, not at its rets? Not so on a run-up. */
bool site_has_return(const struct site *site);
void site_drop_probe(struct site *site, const struct uprobe *probe);

/* The bytes at @vaddr as they were before us: *buf, @len bytes. @view NULL: as they are just now. Returns the number read. */
size_t site_read_original(const struct space *space, struct mem_view *view, uint64_t vaddr,
			  uint8_t *buf, size_t len);

/* Has somebody else changed the first instruction at @probe's place, that has no site? */
bool site_is_taken(const struct space *space, struct mem_view *view, uint64_t vaddr,
		   const struct uprobe *probe);

/* As with probes, of functions that are left there. */
int site_add_exit(struct site *site, const struct site_exit *exit_);
bool site_has_exit(const struct site *site, const struct uprobe *probe, uint64_t func_vaddr);
void site_drop_exits(struct site *site, const struct uprobe *probe, uint64_t func_vaddr);
/* Not in a block of its jump. */
static inline bool site_is_in_slot(const struct site *site, uint64_t vaddr)
{
	return vaddr - site->slot < UBP_SLOT_SIZE;
}
static inline bool site_is_probed(const struct site *site)
{
	return site->n_probes || site->n_exits;
}

/* One that was never planted, and is in no map. */
void site_free(struct site *site);
/* Keep one that is in no map any more: return instances may name it. */
void site_bury(struct plant_space *ps, struct site *site);

/* Take a site that is not planted out of its space. */
void site_discard(struct plant_space *ps, struct site *site);

/* Give it a slot in @area (NULL: in place), make the code for that. Nothing is written. @view: of code. */
int site_prepare(const struct plant *plant, struct space *space, pid_t tid,
		 struct mem_view *view, struct site *site, struct area *area,
		 struct ubp_err *err);

/* All of a space, in the order of their addresses. Allocated; NULL: out of memory. */
struct site **plant_sites_by_place(const struct plant_space *ps, size_t *ret_n);

/* Write the breakpoints, or jumps to the guard: one behind the other, up to the first that fails. */
int site_plant_all(const struct space *space, pid_t tid, struct site *const *sites, size_t n,
		   struct ubp_err *err);
int site_plant(const struct space *space, pid_t tid, struct site *site, struct ubp_err *err);

/* Is @site's jump to the guard written at once? Else it is a breakpoint for a moment, both when it comes and when it goes. */
bool site_is_at_once(const struct space *space, const struct site *site);

/* Does it stand there? @view begins after the writes. */
int site_read_back(const struct space *space, struct mem_view *view, const struct site *site,
		   struct ubp_err *err);

/*
 * Does @now, what stands at a site, have something of @ours in it, whole or in part, or a
 * breakpoint over it? @orig: what stood there. Not if there is a byte that we have not written: the program
 * may have mapped something else.
 */
bool site_is_ours(const struct ubp_arch *arch, const uint8_t *ours, const uint8_t *orig,
		  size_t len, const uint8_t *now);

/* Has it been looked at, and has nothing of ours? @view begins after the writes. */
bool site_is_out(const struct space *space, struct mem_view *view, const struct site *site);

/* 0: nothing of ours stands there; it has been looked at. -errno: something may. */
int site_unplant(const struct space *space, pid_t tid, const struct site *site);

/* The same for all that are planted: those that are jumps to the guard, or all others. */
void site_unplant_all(const struct plant_space *owner, struct undo *undo, pid_t tid,
		      bool patched);

/* struct part: the sites of a space and their slots; what stands at them is taken out. */
int sites_copy(const struct part_copied *c);
void sites_leave(struct part_left *l);
void sites_forget(struct plant_space *ps);

#endif
