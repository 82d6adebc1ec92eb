/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Sites whose probes change while their threads run. What stands at a site, a breakpoint, asks the tracer, who
 * goes by the site's probes as they are at the stop: a change there is over at once. A jump leads to a detour that was made for the
 * probes there were. It becomes a breakpoint first, and then, by another pass, a jump to another detour. The old one
 * stays as long as somebody may be in it, or comes back to it by a return address that it has replaced; it records
 * what it was made for. So each hit is told once: by the old detour, the breakpoint, or the new one.
 */

#ifndef UBP_PLANT_RENEW_H
#define UBP_PLANT_RENEW_H

#include <stdbool.h>

struct plant;
struct plant_space;
struct site;
struct space;
struct tracer;
struct ubp_err;
struct who;

/*
 * Jumps that were made before threads could claim rings, in a program that had just begun: others take their place. False: there are
 * none.
 */
bool renew_claimless(struct plant *plant, struct plant_space *ps);
/* Would it find some? */
bool renew_has_claimless(const struct plant_space *ps);
/*
 * Probes of @ps that are retired leave their sites, or make room for their successors: at once, but where a jump stands. What
 * is in the target is not touched: renew_pass() is due then.
 */
void renew_drop(struct plant *plant, struct plant_space *ps);
/* A site whose jump stands has got another probe: renew_pass() is due. */
void renew_due(struct plant *plant, struct plant_space *ps);
/* A ret where returns are caught has got a probe: the entry of its function may be a jump, whose detour is to tell it, too (leaf.h). */
void renew_exit_came(struct plant *plant, struct plant_space *ps);
/* The jump at @site becomes a breakpoint, and its detour an old one. All threads are held, and @who knows where they are. 0 or -errno. */
int renew_take_jump_back(const struct space *space, struct site *site, const struct who *who);
/*
 * Between two turns of the tracing thread: in each space of @tracer what is due. It may fail for now, where a thread cannot be
 * stopped: it is tried again by a later call. False: that is so somewhere.
 */
bool renew_pass(struct plant *plant, struct tracer *tracer);

#endif
