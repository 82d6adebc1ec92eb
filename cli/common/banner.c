/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/banner.h"

#include <stdio.h>
#include <string.h>

#include "engine/ubp.h"

char *banner_probe(const char *listing)
{
	const char *name = listing + 2, *space = strchr(listing, ' ');
	const char *offset = space, *digits;
	char *text;

	/* "uprobes" is the group of whoever named none. */
	if (strncmp(name, "uprobes/", 8) == 0)
		name += 8;
	/* PATH:0x and 16 digits; a path may hold most of that, but not all. */
	for (;;) {
		offset = offset ? strstr(offset, ":0x") : NULL;
		if (!offset)
			return strdup(listing);
		offset += 3;
		if (strspn(offset, "0123456789abcdef") == 16)
			break;
	}
	digits = offset + strspn(offset, "0");
	if (digits > offset + 15)
		digits = offset + 15;
	if (asprintf(&text, "%.2s%.*s%s", listing, (int)(offset - name), name, digits) < 0)
		return NULL;
	return text;
}

bool banner_is_one_event(struct ubp_session *session)
{
	for (size_t i = 1; i < ubp_n_probes(session); i++)
		if (strcmp(ubp_probe_event(session, i), ubp_probe_event(session, 0)) != 0 ||
		    strcmp(ubp_probe_group(session, i), ubp_probe_group(session, 0)) != 0)
			return false;
	return true;
}
