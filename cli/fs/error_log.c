/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/error_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/clock.h"
#include "cli/fs/text.h"
#include "engine/ubp_err.h"

#define COMMAND "  Command: "

void error_log_add(struct error_log *log, const char *what, const struct ubp_err *err)
{
	uint64_t us = cli_now_ns() / 1000;
	char *entry;

	if (!err->has_caret ||
	    asprintf(&entry,
		     "[%5" PRIu64 ".%06" PRIu64 "] %s: error: %s\n" COMMAND "%s\n%*s^\n",
		     us / 1000000, us % 1000000, what, err->text, err->command,
		     (int)(strlen(COMMAND) + err->caret), "") < 0)
		return;
	if (log->n == ERROR_LOG_MAX) {
		free(log->entries[0]);
		memmove(log->entries, log->entries + 1, --log->n * sizeof(*log->entries));
	}
	log->entries[log->n++] = entry;
}

void error_log_read(const struct error_log *log, struct text *out)
{
	for (size_t i = 0; i < log->n; i++)
		text_puts(out, log->entries[i]);
}

void error_log_clear(struct error_log *log)
{
	while (log->n)
		free(log->entries[--log->n]);
}
