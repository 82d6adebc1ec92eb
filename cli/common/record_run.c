/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A recording, from the start of tracing to its end. */

#include "cli/common/record.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/common/message.h"
#include "cli/common/signals.h"
#include "engine/base/err.h"
#include "engine/ubp_record.h"
#include "engine/ubp_stats.h"

int record_begin(struct ubp_session *session, const struct record_options *o, bool append)
{
	struct ubp_record_options opt = {
		.path = o->path,
		.level = o->level,
		.max_size = o->max_size,
		.append = append,
		.rotate = o->rotate,
		.keep = (unsigned)o->keep,
		.per_thread = o->per_thread,
	};
	struct ubp_err err;

	ubp_err_reset(&err);
	if (o->path)
		signals_hold_writes();
	if (o->path && ubp_record(session, &opt, &err) < 0)
		return cli_error_record(&err);
	return CLI_OK;
}

int record_next(struct ubp_session *session)
{
	struct ubp_err err;

	return ubp_record_next(session, &err) < 0 ? cli_error_record(&err) : CLI_OK;
}

int record_end(struct ubp_session *session, const struct record_options *o, bool has_failed)
{
	char text[4300], lost[96] = "";
	struct ubp_stats st = { 0 };
	struct ubp_err err;
	uint64_t n, bytes;

	if (!o->path)
		return CLI_OK;
	ubp_err_reset(&err);
	ubp_stats(session, &st);
	if (st.ring_lost)
		(void)snprintf(lost, sizeof(lost),
			       "; %" PRIu64 " were lost, for which --lossless waits",
			       st.ring_lost);
	n = ubp_record_count(session, &bytes);
	if (ubp_record_end(session, &err) < 0)
		return has_failed ? CLI_FAILED : cli_error_record(&err);
	if (o->is_kept)
		return CLI_OK;
	(void)snprintf(text, sizeof(text),
		       "%s: %" PRIu64 " event%s, %" PRIu64 " KiB%s; ubp-report prints %s",
		       o->path, n, n == 1 ? "" : "s", (bytes + 1023) / 1024, lost,
		       o->keep     ? "what the files that were kept have"
		       : o->rotate ? "them, if all files are given"
				   : "them");
	cli_tell(NULL, text);
	return CLI_OK;
}
