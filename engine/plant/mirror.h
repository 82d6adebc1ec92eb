/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A debugger may come to a process that nobody traces, and set a breakpoint at any instruction. One of those that a jump
 * stands on begins in the middle of the jump, and a byte that was changed there would lead the program anywhere. So such a byte
 * has to be a breakpoint's already: it is written over with what it was, nothing happens, and nothing does when it is put back.
 * What these bytes are is decided by where the jump leads. So it leads to a mirror: memory of ours at a fixed distance from
 * the code, where in the same place as each jump stands another one, to the detour. That one is a hop (hop.h).
 *
 * A mirror is an area without slots.
 */

#ifndef UBP_PLANT_MIRROR_H
#define UBP_PLANT_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

struct held;
struct maps;
struct plant_space;
struct site;
struct site_jump;
struct ubp_arch;
struct ubp_err;
struct window;

/*
 * A mirror of the code that is mapped at @vaddr, up to *ret_end, where there is room for one. 0; or -errno: the thread is gone, say.
 * @maps is as it is then.
 */
int mirror_provide(const struct held *held, struct maps *maps, uint64_t vaddr,
		   uint64_t *ret_end, struct ubp_err *err);

/* Has the jump at @site, over @window, a place in a mirror that serves, or is one found? It is the site's hop then. */
bool mirror_choose(const struct plant_space *ps, const struct ubp_arch *arch,
		   const struct window *window, struct site *site);

/* Can a breakpoint be set at each instruction that @jump stands on? */
bool mirror_takes_breakpoints(const struct ubp_arch *arch, const struct site *site);

#endif
