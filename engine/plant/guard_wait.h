/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How long a guard that was taken over is waited for: until no thread is in its code. */

#ifndef UBP_PLANT_GUARD_WAIT_H
#define UBP_PLANT_GUARD_WAIT_H

struct held;
struct ubp_err;

/*
 * Its space has been taken over. Wait until nobody there is in the guard.
 *
 * What the guard has noted of replaced return addresses holds as long as nobody replaces more, which
 * we will. But a thread that met a breakpoint of the killed tracer may be in the middle of its look, and
 * would note what it saw afterwards. Once all are through nobody looks while we trace. Who is stopped in there
 * stays for a time that nobody knows: then -EBUSY, and all has to stay as it is.
 */
int guard_wait(const struct held *held, struct ubp_err *err);

#endif
