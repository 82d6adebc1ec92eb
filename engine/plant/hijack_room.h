/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Room for what detours need that replace return addresses (engine/returns/hijack.h). */

#ifndef UBP_PLANT_HIJACK_ROOM_H
#define UBP_PLANT_HIJACK_ROOM_H

struct held;
struct maps;
struct ubp_err;

/* The table and the code that they need, in a held thread's process. 0 or -errno. */
int hijack_provide(const struct held *held, const struct maps *maps, struct ubp_err *err);

#endif
