/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The lines of a function, as perf probe -L prints them. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/define/list.h"
#include "engine/define/list_aside.h"
#include "engine/define/target.h"
#include "engine/dwarf/dwarf.h"
#include "engine/elf/object.h"
#include "engine/files/file_root.h"
#include "engine/os/untrusted_file.h"
#include "engine/sink/buf.h"

/* Lines that are shown behind the last that can be probed. */
#define MORE_LINES 3

/* Of the source, as debug information names it. */
#define LINE_LEN_MAX   4096
#define SOURCE_LEN_MAX (64u << 20)

struct printing {
	struct dwarf_lines lines;
	pid_t pid;
	FILE *source;  /* NULL: there is none ... */
	int no_source; /* ... for this reason: -errno */
	size_t n_read;
	char text[LINE_LEN_MAX]; /* of a line; of a longer one the beginning */
	struct sink_buf out;
	int (*each)(void *ctx, const char *line);
	void *ctx;
	struct ubp_err *err;
};

static int print(struct printing *p)
{
	int rc;

	sink_buf_add(&p->out, "", 1);
	if (p->out.failed)
		return ubp_fail(p->err, ENOMEM, "out of memory");
	rc = p->each(p->ctx, p->out.data);
	p->out.len = 0;
	return rc;
}

/* The next line of the source into .text; false: there is none. */
static bool read_line(struct printing *p)
{
	size_t n = 0;
	int c = EOF;

	while (p->source && p->n_read < SOURCE_LEN_MAX && (c = getc(p->source)) != EOF) {
		p->n_read++;
		if (c == '\n')
			break;
		if (n + 1 < sizeof(p->text))
			p->text[n++] = (char)c;
	}
	if (n > 0 && p->text[n - 1] == '\r')
		n--;
	p->text[n] = '\0';
	return n > 0 || c == '\n';
}

static bool is_probeable(const struct dwarf_lines *lines, unsigned line)
{
	return line <= lines->last && lines->is_probeable[line - lines->first];
}

static int print_line(struct printing *p, unsigned line)
{
	bool has_text = read_line(p);

	if (is_probeable(&p->lines, line))
		sink_buf_printf(&p->out, "%7u", line - p->lines.first);
	else if (has_text)
		sink_buf_printf(&p->out, "%7s", "");
	else
		return 0;
	if (has_text)
		sink_buf_printf(&p->out, "  %s", p->text);
	return print(p);
}

static int print_lines(struct printing *p)
{
	const struct dwarf_lines *lines = &p->lines;
	unsigned last = lines->last + (p->source ? MORE_LINES : 0);
	int rc;

	for (unsigned line = 1; line < lines->first && read_line(p); line++)
		;
	sink_buf_printf(&p->out, "<%s@%s:0>", lines->function, lines->file);
	rc = print(p);
	if (rc == 0 && !p->source) {
		sink_buf_printf(&p->out, "(no source there: %s)", file_error(p->no_source));
		rc = print(p);
	}
	for (unsigned line = lines->first; line <= last && rc == 0; line++)
		rc = print_line(p, line);
	return rc;
}

/*
 * Debug information names it, so it may be anything: a regular file is opened, where the program sees
 * it.
 */
static void open_source(struct printing *p, const char *file)
{
	struct file_root root;
	char *path = NULL;
	struct stat st;
	int fd = -ENOMEM;

	file_root_init(&root, p->pid);
	if (asprintf(&path, "%s%s", root.path, file) >= 0)
		fd = file_open(path, &st);
	free(path);
	p->source = fd < 0 ? NULL : fdopen(fd, "r");
	p->no_source = fd < 0 ? fd : -errno;
	if (fd >= 0 && !p->source)
		(void)close(fd);
}

static int list_lines(struct dwarf *dwarf, const char *function, struct printing *p)
{
	int rc = dwarf_lines_of(dwarf, function, &p->lines, p->err);

	if (rc < 0)
		return rc;
	open_source(p, p->lines.file);
	rc = print_lines(p);
	if (p->source)
		(void)fclose(p->source);
	sink_buf_free(&p->out);
	dwarf_lines_free(&p->lines);
	return rc;
}

static int list(const struct define_target *target, const char *function, list_each *each,
		void *ctx, struct ubp_err *err)
{
	struct printing p = { .pid = target->pid, .each = each, .ctx = ctx, .err = err };
	struct object *object = NULL;
	struct dwarf *dwarf = NULL;
	int rc;

	rc = target_open_dwarf(target, &object, &dwarf, err);
	if (rc == 0)
		rc = list_lines(dwarf, function, &p);
	dwarf_free(dwarf);
	object_free(object);
	return rc;
}

int define_list_lines(const struct define_target *target, const char *function,
		      int (*each)(void *ctx, const char *line), void *ctx, struct ubp_err *err)
{
	ubp_err_reset(err);
	return list_aside(list, target, function, each, ctx, err);
}
