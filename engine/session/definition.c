/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes as the kernel would take them. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/host.h"

#include "engine/base/err.h"
#include "engine/session/definitions.h"

/* The parser knows what is the kernel's: that is what --strict is for. */
static int parse_strictly(struct ubp_session *s, const char *line, struct ubp_err *err)
{
	struct spec_env env = {
		.arch = ubp_host_arch(),
		.strict = true,
		.find_file = files_find,
		.arch_of = define_arch_of,
		.ctx = s,
	};
	struct spec_table *table = spec_table_new(&env);
	int rc = table ? spec_table_write(table, line, strlen(line), err)
		       : ubp_fail(err, ENOMEM, "out of memory");

	spec_table_free(table);
	return rc;
}

const char *ubp_probe_definition(struct ubp_session *s, size_t i, const char **ret_why)
{
	struct session_probe *p = s->defined.probes[i];
	const char *line = ubp_probe_listing(s, i);
	struct ubp_err err;

	ubp_err_reset(&err);
	*ret_why = NULL;
	if (parse_strictly(s, line, &err) == 0)
		return line;
	free(p->no_definition);
	if (asprintf(&p->no_definition, "%s: %s", line, err.text) < 0)
		p->no_definition = NULL;
	*ret_why = p->no_definition ? p->no_definition : "out of memory";
	return NULL;
}
