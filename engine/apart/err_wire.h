/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* An error (engine/ubp_err.h) in a message. */

#ifndef UBP_APART_ERR_WIRE_H
#define UBP_APART_ERR_WIRE_H

struct ubp_err;
struct wire;

void err_wire_put(struct wire *wire, const struct ubp_err *err);
/* All of *ret_err is set; what it is worth wire.failed says. */
void err_wire_get(struct wire *wire, struct ubp_err *ret_err);

#endif
