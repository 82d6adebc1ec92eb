/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes on and off, as callers ask for it: before the start, too (live.h has the rest). */

#include <errno.h>

#include "engine/base/err.h"
#include "engine/define/definitions.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/space/uprobe.h"

static int check_probe(const struct ubp_session *s, size_t i, struct ubp_err *err)
{
	ubp_err_reset(err);
	if (definitions_are_given_up(s->defined))
		return ubp_fail(err, EBUSY, "the session was given up");
	if (i >= definitions_n(s->defined))
		return ubp_fail(err, EINVAL, "there is no probe %zu", i);
	return 0;
}

int ubp_probe_enable(struct ubp_session *s, size_t i, bool on, struct ubp_err *err)
{
	int rc = check_probe(s, i, err);

	if (rc == 0 && live_begin(s) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	return rc < 0 ? rc : live_switch(s, (unsigned)i, on, err);
}

bool ubp_probe_is_enabled(const struct ubp_session *s, size_t i)
{
	return i < definitions_n(s->defined) && uprobe_is_on(definitions_uprobe(s->defined, i));
}
