/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Rows of what was counted (ubp_tally.h), in a message. */

#ifndef UBP_SESSION_ROWS_WIRE_H
#define UBP_SESSION_ROWS_WIRE_H

struct ubp_tally_row;
struct wire;

void rows_put(struct wire *wire, const struct ubp_tally_row *row);
/* Its texts are part of the message. One that is none sets .failed, and has no keys and no values then. */
void rows_get(struct wire *wire, struct ubp_tally_row *ret_row);

#endif
