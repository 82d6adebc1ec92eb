/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Lines of source files. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "engine/dwarf/candidates.h"
#include "engine/dwarf/limits.h"
#include "engine/dwarf/rows.h"
#include "engine/dwarf/units.h"
#include "engine/dwarf/unlimited.h"
#include "engine/elf/object.h"

#define PATH_SIZE   4096
#define MATCHES_MAX 5 /* more are ambiguous enough */
#define FILES_MAX   (1u << 20)

/* --- paths ------------------------------------------------------------------------ */

/* Without "./" and "dir/../". False: it is too long. */
static bool tidy(const char *path, char out[PATH_SIZE])
{
	size_t n = 0;

	while (*path) {
		size_t len = strcspn(path, "/");
		bool is_up = len == 2 && path[0] == '.' && path[1] == '.';

		if (is_up && n > 1 && !(n >= 3 && memcmp(out + n - 3, "../", 3) == 0)) {
			/* Behind the slash in front of the last part. */
			for (n--; n > 0 && out[n - 1] != '/'; n--)
				;
		} else if (!(len == 1 && path[0] == '.') && (len > 0 || n == 0)) {
			if (n + len + 2 > PATH_SIZE)
				return false;
			memcpy(out + n, path, len);
			n += len;
			if (path[len] == '/')
				out[n++] = '/';
		}
		path += len;
		path += *path == '/';
	}
	out[n] = '\0';
	return true;
}

/* Is @tail the end of @path, from a '/' on? */
static bool ends_with(const char *path, const char *tail)
{
	size_t n = strlen(path), m = strlen(tail);

	return n >= m && strcmp(path + n - m, tail) == 0 &&
	       (n == m || tail[0] == '/' || path[n - m - 1] == '/');
}

/* --- files of that name ------------------------------------------------------------- */

struct file_search {
	struct dwarf *d;
	char wanted[PATH_SIZE];
	unsigned line;
	/* Different files with code, tidy. */
	char *matches[MATCHES_MAX];
	size_t n_matches;
	struct dw_candidates candidates;
	struct dw_near_lines near;
	struct nearest near_files; /* by their last names */
	/* Of the unit at hand: which files are wanted, by their number. */
	bool *is_wanted, *is_noted;
	struct dw_unit *unit;
	Dwarf_Files *files;
	size_t n_files;
	struct ubp_err *err;
};

/*
 * The files of the unit's line table: those of a unit in a file of its own (.dwo) may have other
 * numbers, for what it declares.
 */
static bool find_files(struct file_search *s, struct dw_unit *unit)
{
	Dwarf_Lines *lines;
	size_t n, number;

	if (dw_get_files(&unit->die, &s->files, &s->n_files) != 0)
		return false;
	if (dw_get_lines(&unit->die, &lines, &n) != 0 || n == 0)
		return true;
	if (dwarf_line_file(dwarf_onesrcline(lines, 0), &s->files, &number) != 0)
		return false;
	for (s->n_files = 0; s->n_files < FILES_MAX; s->n_files++)
		if (!dwarf_filesrc(s->files, s->n_files, NULL, NULL))
			break;
	return true;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int mark_files(struct file_search *s, struct dw_unit *unit, bool *ret_any)
{
	char path[PATH_SIZE];

	*ret_any = false;
	s->unit = unit;
	if (!find_files(s, unit))
		return 0;
	free(s->is_wanted);
	free(s->is_noted);
	s->is_wanted = calloc(s->n_files + 1, sizeof(bool));
	s->is_noted = calloc(s->n_files + 1, sizeof(bool));
	if (!s->is_wanted || !s->is_noted)
		return ubp_fail(s->err, ENOMEM, "out of memory");
	for (size_t i = 0; i < s->n_files; i++) {
		const char *file = dwarf_filesrc(s->files, i, NULL, NULL);

		file = dw_path(s->d, &unit->die, file);
		/* For what is told if none is found. */
		if (file && !s->n_matches)
			nearest_offer(&s->near_files, last_name(file));
		s->is_wanted[i] = file && tidy(file, path) && ends_with(path, s->wanted);
		*ret_any |= s->is_wanted[i];
	}
	return 0;
}

static int note_file(struct file_search *s, const char *file)
{
	char path[PATH_SIZE];

	if (!tidy(file, path) || s->n_matches == MATCHES_MAX)
		return 0;
	for (size_t i = 0; i < s->n_matches; i++)
		if (strcmp(s->matches[i], path) == 0)
			return 0;
	s->matches[s->n_matches] = strdup(path);
	if (!s->matches[s->n_matches])
		return ubp_fail(s->err, ENOMEM, "out of memory");
	s->n_matches++;
	return 0;
}

static int look_at_row(void *ctx, const struct dw_row *row)
{
	struct file_search *s = ctx;
	Dwarf_Files *files;
	const char *file;
	Dwarf_Die owner;
	size_t number;

	if (dwarf_line_file(row->line, &files, &number) != 0 || files != s->files ||
	    number >= s->n_files || !s->is_wanted[number])
		return 0;
	file = dw_row_file(row);
	if (!s->is_noted[number] && file) {
		int rc = note_file(s, dw_path(s->d, &s->unit->die, file));

		if (rc < 0)
			return rc;
		s->is_noted[number] = true;
	}
	dw_near_line(&s->near, s->line, row->lineno);
	if (row->lineno != s->line || !dw_row_owner(s->d, row, file, &owner))
		return 0;
	return dw_add_candidate(s->d, &s->candidates, &owner, row->addr, file, s->line, s->err);
}

static int look_at_units(struct file_search *s)
{
	bool has_any;
	int rc = dw_read_units(s->d, s->err);

	for (size_t i = 0; i < s->d->n_units && rc == 0; i++) {
		rc = mark_files(s, &s->d->units[i], &has_any);
		if (rc == 0 && has_any)
			rc = dw_each_row(&s->d->units[i], look_at_row, s);
	}
	return rc;
}

/* --- what came of it --------------------------------------------------------------- */

static int fail_ambiguous(const struct file_search *s, const char *file, struct ubp_err *err)
{
	char list[UBP_ERR_TEXT_MAX] = "";
	size_t n = 0;

	for (size_t i = 0; i < s->n_matches && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      i + 1 < MATCHES_MAX ? s->matches[i] : "...");
	return ubp_fail(err, EEXIST, "'%s' is several source files of %s: %s", file,
			object_path(s->d->object), list);
}

static int fail_no_line(const struct file_search *s, const char *file, struct ubp_err *err)
{
	char near[64], near_files[NEAREST_TEXT_MAX];

	nearest_text(&s->near_files, near_files, sizeof(near_files));
	if (!s->n_matches)
		return ubp_fail(
			err, ENOENT,
			"no source file '%s' with code in the debug information of %s%s", file,
			object_path(s->d->object), near_files);
	dw_near_text(&s->near, near, sizeof(near));
	return ubp_fail(err, ENOENT, "line %u of %s has no code%s", s->line, s->matches[0],
			near);
}

/* A whole path is one file, even if it ends others. */
static bool is_whole(const struct file_search *s)
{
	for (size_t i = 0; i < s->n_matches; i++)
		if (strcmp(s->matches[i], s->wanted) == 0)
			return true;
	return false;
}

static int take_file(struct file_search *s, const char *file, struct dwarf_places *ret_places)
{
	int rc;

	if (s->n_matches > 1 && !is_whole(s))
		return fail_ambiguous(s, file, s->err);
	rc = dw_take_candidates(s->d, &s->candidates, ret_places, s->err);
	return rc == 0 && ret_places->n == 0 ? fail_no_line(s, file, s->err) : rc;
}

int dw_file_line(struct dwarf *d, const char *file, unsigned line,
		 struct dwarf_places *ret_places, struct ubp_err *err)
{
	struct file_search s = { .d = d, .line = line, .err = err };
	int rc = 0;

	*ret_places = (struct dwarf_places){ 0 };
	nearest_init(&s.near_files, last_name(file), strlen(last_name(file)),
		     NEAREST_EDITS_FILES);
	if (!tidy(file, s.wanted))
		rc = ubp_fail(err, ENAMETOOLONG, "%s: too long", file);
	if (rc == 0)
		rc = look_at_units(&s);
	if (rc == 0)
		rc = take_file(&s, file, ret_places);
	dw_free_candidates(&s.candidates);
	while (s.n_matches)
		free(s.matches[--s.n_matches]);
	free(s.is_wanted);
	free(s.is_noted);
	if (rc < 0)
		dwarf_places_free(ret_places);
	return rc;
}
