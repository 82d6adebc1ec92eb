/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/form.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/output.h"
#include "engine/base/err.h"
#include "engine/ubp_sink.h"

int form_check(const struct ubp_sink_form *form, const char *path, bool is_counted,
	       bool is_appended)
{
	if (is_counted && form->is_whole)
		return cli_usage_error("--%s is for events: it excludes --count, --hist and "
				       "--sum",
				       form->name);
	if (is_appended && form->is_whole)
		return cli_usage_error("nothing can be appended to what --%s writes",
				       form->name);
	if (form->file && !path)
		return cli_usage_error("--%s writes a folder: give its name with -o",
				       form->name);
	if (form->is_binary && !path && isatty(STDOUT_FILENO))
		return cli_usage_error("--%s is nothing for a terminal: write it to a file "
				       "with -o",
				       form->name);
	return CLI_OK;
}

static bool is_ours(const struct ubp_sink_form *form, const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	       strcmp(name, form->file) == 0 ||
	       (form->file_beside && strcmp(name, form->file_beside) == 0);
}

static int make_folder(const struct ubp_sink_form *form, const char *path, struct ubp_err *err)
{
	const struct dirent *entry;
	DIR *dir;

	if (mkdir(path, 0777) == 0)
		return 0;
	if (errno != EEXIST)
		return ubp_fail_sys(err, "cannot create %s", path);
	dir = opendir(path);
	if (!dir)
		return ubp_fail_sys(err, "%s", path);
	while ((entry = readdir(dir)) && is_ours(form, entry->d_name))
		;
	(void)closedir(dir);
	if (entry)
		return ubp_fail(err, EEXIST,
				"%s is there, and has other files in it: it is left alone",
				path);
	return 0;
}

/* NULL: out of memory. */
static char *path_in(const char *folder, const char *file)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, file) < 0 ? NULL : path;
}

int form_open(struct output *out, const struct ubp_sink_form *form, const char *path,
	      struct ubp_err *err)
{
	char *inside;
	int rc;

	if (!form->file || !path)
		return output_open(out, path, err);
	rc = make_folder(form, path, err);
	if (rc < 0)
		return rc;
	inside = path_in(path, form->file);
	if (!inside)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = output_open(out, inside, err);
	out->name = path;
	free(inside);
	return rc;
}

int form_write_beside(const struct ubp_sink_form *form, const char *path, struct ubp_sink *sink)
{
	struct output out;
	struct ubp_err err;
	const char *bytes;
	size_t len;
	char *inside;
	int rc;

	if (!form->file_beside || !path)
		return CLI_OK;
	inside = path_in(path, form->file_beside);
	if (!inside)
		return cli_error("out of memory");
	ubp_err_reset(&err);
	rc = output_open(&out, inside, &err);
	if (rc == 0) {
		bytes = ubp_sink_beside(sink, &len);
		output_begin(&out);
		output_add(&out, bytes, len);
		rc = output_wait(&out);
	} else {
		rc = cli_error_record(&err);
	}
	free(inside);
	return rc;
}

int form_finish(struct output *out, const struct ubp_sink_form *form, const char *path,
		struct ubp_sink *sink)
{
	int status = output_finish(out);

	return form_write_beside(form, path, sink) == CLI_OK ? status : CLI_FAILED;
}
