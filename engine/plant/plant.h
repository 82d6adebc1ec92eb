/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Planting: which addresses of which process carry a breakpoint, where their
 * displaced instructions are, and which return addresses are hijacked.
 *
 * A site is one patched address of one address space, shared by all probes
 * there. Its displaced instruction is carried out by code in a slot of an SSOL
 * area, a mapping of ours near the object, readable and executable, written from
 * outside. Nothing of an area is ever taken away while the target lives: a thread
 * may be in it.
 */

#ifndef UBP_PLANT_PLANT_H
#define UBP_PLANT_PLANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct held;
struct maps;
struct plant;
struct probe_list;
struct space;
struct ubp_err;

/*
 * Bring a process up to date: plant what its mappings now call for, forget what
 * is no longer mapped. @t is a held thread of it, @at the registers it goes on with
 * (NULL: those it has). Everything is checked before the first byte is written;
 * on failure nothing of this call stays.
 *
 * Errors: -ESRCH (ended meanwhile), -EBUSY (bytes differ from the file's),
 * -EILSEQ, -EOPNOTSUPP (instruction cannot be displaced), -ENOMEM, -EPERM...
 * (the target could not map memory), -EINPROGRESS (plant_settle() is next, then plant_get_ready(), then this again: with very many
 * places to plant, some of them stand by then).
 */
int plant_update(struct plant *plant, const struct held *held, struct ubp_err *err);

/*
 * Do of plant_update() what can be done while all threads of @space run: learn of the
 * files that are mapped, and decode what will be probed. It takes milliseconds. @tid:
 * one of the threads. What was found is good for the next plant_update() there.
 */
void plant_look_ahead(struct plant *plant, struct space *space, pid_t tid);
void plant_forget_ahead(struct plant *plant);
/* Between two calls of plant_update(), while all run: @tid is one of the threads. */
void plant_get_ready(struct plant *plant, struct space *space, pid_t tid);
/* Is there more to be planted of what is ready? */
bool plant_has_pieces(const struct plant *plant);
/* @space is about to be forgotten. */
void plant_space_gone(struct plant *plant, const struct space *space);

/* Was @space not brought up to date yet since the list of probes changed? */
bool plant_lacks(const struct plant *plant, const struct space *space);
/* It was tried, whatever has come of it. */
void plant_tried(const struct plant *plant, struct space *space);

/* Does a process with these mappings have a place for a probe? */
bool plant_wants(const struct probe_list *list, const struct maps *maps);

#endif
