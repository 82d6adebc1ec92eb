/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/tally/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/num.h"
#include "engine/base/units.h"
#include "engine/tally/text.h"

int sample_text_parse(const char *text, struct sample_text *t, struct ubp_err *err)
{
	const char *colon = strrchr(text, ':'), *number = colon ? colon + 1 : text;
	size_t len = strlen(number), n_arg = colon ? (size_t)(colon - text) : 0;
	uint64_t every;

	*t = (struct sample_text){ 0 };
	if ((num_u64(number, len, 10, &every) < 0 &&
	     !(colon && units_number(number, len, false, &every))) ||
	    (colon && !n_arg))
		return ubp_fail(err, EINVAL,
				"'%s' is neither a number of hits nor ARG:SIZE, as n:512KiB",
				text);
	if (!every || every > SAMPLE_EVERY_MAX)
		return ubp_fail(err, EINVAL, "%s is not from 1 to %d", number,
				SAMPLE_EVERY_MAX);
	if (n_arg > SAMPLE_ARG_MAX)
		return ubp_fail(err, EINVAL, "'%.*s' is no name of an argument", (int)n_arg,
				text);
	t->every = (uint32_t)every;
	memcpy(t->arg, text, n_arg);
	return 0;
}

static int bind_field(const char *name, const struct spec_probe *spec,
		      struct tally_field *field, struct ubp_err *err)
{
	struct tally_value value;
	struct tally_text_value text = { .kind = TALLY_SUM };
	int rc;

	memcpy(text.name, name, sizeof(text.name));
	rc = tally_text_bind_value(&text, spec, &value, err);
	*field = value.field;
	return rc;
}

int sample_text_bind(const struct sample_text *text, const struct spec_probe *spec,
		     struct sample_plan **ret_plan, struct ubp_err *err)
{
	struct sample_plan plan = { 0 };
	int rc = 0;

	*ret_plan = NULL;
	if (!text)
		return 0;
	plan.every = text->every;
	plan.has_field = text->arg[0];
	if (plan.has_field)
		rc = bind_field(text->arg, spec, &plan.field, err);
	if (rc < 0)
		return rc;
	*ret_plan = malloc(sizeof(plan));
	if (!*ret_plan)
		return ubp_fail(err, ENOMEM, "out of memory");
	**ret_plan = plan;
	return 0;
}
