/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What was counted, as JSON. */

#ifndef UBP_CLI_COMMON_TALLY_JSON_H
#define UBP_CLI_COMMON_TALLY_JSON_H

#include "engine/ubp_tally.h"

struct output;
struct ubp_session;

/* One row, an object and a newline. */
void tally_json_row(struct output *out, const struct ubp_session *session,
		    const struct ubp_tally_row *row);

#endif
