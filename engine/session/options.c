/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/options.h"

#include <errno.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/ubp.h"

/* What the first version of the structure ended with. */
#define LEAST                                                                                  \
	(offsetof(struct ubp_options, until) + sizeof(((struct ubp_options *)NULL)->until))

unsigned ubp_version(void)
{
	return UBP_API_VERSION;
}

int session_options_take(const struct ubp_options *opt, struct ubp_options *ret_options,
			 struct ubp_err *err)
{
	const unsigned char *bytes = (const unsigned char *)opt;
	size_t size = opt->size;

	if (size < LEAST)
		return ubp_fail(err, EINVAL,
				"the options have a size of %zu: UBP_OPTIONS_INIT sets it",
				size);
	for (size_t i = sizeof(*opt); i < size; i++)
		if (bytes[i])
			return ubp_fail(err, E2BIG,
					"an option is set that this version of the library "
					"does not know");
	memset(ret_options, 0, sizeof(*ret_options));
	memcpy(ret_options, opt, size < sizeof(*opt) ? size : sizeof(*opt));
	ret_options->size = sizeof(*ret_options);
	return 0;
}
