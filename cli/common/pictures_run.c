/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Pictures, from the start of tracing to its end. */

#include "cli/common/pictures.h"

#include <sys/stat.h>

#include "cli/common/message.h"
#include "engine/base/err.h"

static int begin_one(struct pictures *p, struct ubp_session *session, const char *path,
		     const char *svg)
{
	struct ubp_sink_options how = { .form = pictures_ends_with(path, ".html") ? "html"
										  : svg };
	struct ubp_err err;

	ubp_err_reset(&err);
	if (ubp_sink_new(session, &how, &p->sinks[p->n], &err) < 0)
		return cli_error_record(&err);
	if (output_open(&p->outs[p->n], path, &err) < 0) {
		ubp_sink_free(p->sinks[p->n]);
		return cli_error_record(&err);
	}
	p->n++;
	return CLI_OK;
}

/* The same regular file, by whatever name. */
static bool are_one(const struct output *a, const struct output *b)
{
	struct stat x, y;

	return fstat(a->fd, &x) == 0 && fstat(b->fd, &y) == 0 && S_ISREG(x.st_mode) &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What is written into one file twice would be neither the one nor the other. */
static int check_apart(const struct pictures *p, const struct output *lines)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (are_one(&p->outs[i], lines))
			return cli_usage_error("a picture and the lines (-o) would be in one "
					       "file: %s",
					       p->outs[i].name);
		if (i && are_one(&p->outs[0], &p->outs[i]))
			return cli_usage_error("--flame and --heat would be in one file: %s",
					       p->outs[i].name);
	}
	return CLI_OK;
}

int pictures_begin(struct pictures *p, struct ubp_session *session,
		   const struct picture_options *o, const struct output *lines)
{
	int status = CLI_OK;

	if (o->flame)
		status = begin_one(p, session, o->flame, "flame");
	if (status == CLI_OK && o->heat)
		status = begin_one(p, session, o->heat, "heat");
	return status == CLI_OK ? check_apart(p, lines) : status;
}

void pictures_event(struct pictures *p, const struct ubp_event *event)
{
	size_t len;

	for (unsigned i = 0; i < p->n; i++)
		(void)ubp_sink_event(p->sinks[i], event, &len);
}

int pictures_end(struct pictures *p)
{
	int status = CLI_OK;

	for (unsigned i = 0; i < p->n; i++) {
		struct output *out = &p->outs[i];
		size_t len;
		const char *text = ubp_sink_end(p->sinks[i], &len);

		output_begin(out);
		output_add(out, text, len);
		if (ubp_sink_is_short(p->sinks[i]))
			cli_warn(NULL, "out of memory: some events are not in the picture");
		if (output_wait(out) != CLI_OK)
			status = CLI_FAILED;
		ubp_sink_free(p->sinks[i]);
	}
	p->n = 0;
	return status;
}

void pictures_free(struct pictures *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		output_close(&p->outs[i]);
		ubp_sink_free(p->sinks[i]);
	}
	p->n = 0;
}
