/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names of what there is on this machine: processes, programs that run, libraries, their functions and static probes, sessions. */

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/complete/complete.h"
#include "cli/live/place.h"
#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/base/vec.h"
#include "engine/ubp_files.h"

#define NAMES_MAX 20000 /* of one answer: nobody reads more */

/* Names, told in their order and each once. */
struct names {
	char **v;
	size_t n;
};

static int take(struct names *names, const char *name, size_t len)
{
	char *copy;

	if (names->n >= NAMES_MAX || VEC_FIT(names->v, names->n + 1) < 0)
		return -ENOBUFS;
	copy = strndup(name, len);
	if (!copy)
		return -ENOMEM;
	names->v[names->n++] = copy;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* @end stands behind each. */
static void say_names(const struct completion *c, struct names *names, const char *end)
{
	char text[PATH_MAX];

	if (names->n)
		qsort(names->v, names->n, sizeof(*names->v), compare);
	for (size_t i = 0; i < names->n; i++) {
		(void)snprintf(text, sizeof(text), "%s%s", names->v[i], end);
		if (i == 0 || strcmp(names->v[i - 1], names->v[i]) != 0)
			complete_say(c, text, NULL);
	}
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
	*names = (struct names){ 0 };
}

/* --- processes ------------------------------------------------------------------------ */

/* Its executable, where that is ours to know; kernel threads have none. */
static bool read_exe(pid_t pid, char exe[PATH_MAX])
{
	char path[64];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	len = readlink(path, exe, PATH_MAX - 1);
	if (len <= 0)
		return false;
	exe[len] = '\0';
	return true;
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int say_pid(void *ctx, pid_t pid)
{
	char exe[PATH_MAX], text[16];

	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	if (pid != getpid() && read_exe(pid, exe))
		complete_say(ctx, text, file_of(exe));
	return 0;
}

static int take_program(void *ctx, pid_t pid)
{
	char exe[PATH_MAX];
	const char *name;

	if (pid == getpid() || !read_exe(pid, exe))
		return 0;
	name = file_of(exe);
	if (!strstr(name, " (deleted)"))
		(void)take(ctx, name, strlen(name));
	return 0;
}

/* "12,bash": another one, by number or by name, behind the comma. */
static void say_processes(const struct completion *c)
{
	const char *comma = strrchr(c->text, ',');
	struct completion last = complete_behind(c, comma ? (size_t)(comma + 1 - c->text) : 0);
	struct names names = { 0 };

	(void)proc_each(say_pid, &last);
	(void)proc_each(take_program, &names);
	say_names(&last, &names, "");
}

static void say_users(const struct completion *c)
{
	FILE *file = fopen("/etc/passwd", "re");
	char line[1024];

	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		complete_say(c, line, NULL);
	}
	if (file)
		(void)fclose(file);
}

/* --- targets -------------------------------------------------------------------------- */

/* "libc.so.6" is told as "libc". */
static int take_library(void *ctx, const char *name, const char *path)
{
	const char *end = strstr(name, ".so");

	(void)path;
	return end && end != name ? take(ctx, name, (size_t)(end - name)) : 0;
}

/* Programs that do not run just now are many: those that begin with what is typed. */
static void take_from_path(struct names *names, const char *begin)
{
	char *path = strdup(getenv("PATH") ? getenv("PATH") : ""), *rest = path, *name;

	while (begin[0] && path && (name = strsep(&rest, ":"))) {
		DIR *folder = opendir(name);
		const struct dirent *entry;

		while (folder && (entry = readdir(folder)))
			if (strncmp(entry->d_name, begin, strlen(begin)) == 0)
				(void)take(names, entry->d_name, strlen(entry->d_name));
		if (folder)
			(void)closedir(folder);
	}
	free(path);
}

static void say_targets(const struct completion *c, const char *end)
{
	struct names names = { 0 };
	struct ubp_err err;

	if (strchr(c->text, '/') || c->text[0] == '.') {
		complete_by_shell(c, "files");
		return;
	}
	(void)proc_each(take_program, &names);
	take_from_path(&names, c->text);
	(void)ubp_list_libraries(take_library, &names, &err);
	say_names(c, &names, end);
}

/* --- functions, static probes ---------------------------------------------------------- */

/* One that would be read as something else is left out: names of C++ with their arguments, and what a shell has a meaning for. */
static int take_function(void *ctx, const char *name, uint64_t offset, const char *explain)
{
	(void)offset;
	(void)explain;
	return strpbrk(name, " ()<>*?['\"`\\;|&") ? 0 : take(ctx, name, strlen(name));
}

/* c->text: "TARGET:FUNC" so far. */
static void say_functions(const struct completion *c, size_t target_len)
{
	struct completion place = complete_behind(c, target_len + 1);
	char *name = strndup(c->text, target_len), *pattern = NULL;
	struct ubp_target target = { .name = name };
	struct names names = { 0 };
	struct ubp_err err;

	if (name && !strpbrk(place.text, "*?[+ ") &&
	    asprintf(&pattern, "%s*", place.text) > 0) {
		target.pattern = pattern;
		(void)ubp_list_functions(&target, take_function, &names, &err);
		say_names(&place, &names, "");
	}
	free(pattern);
	free(name);
}

static int take_probe(void *ctx, const struct ubp_usdt *usdt)
{
	char text[256];
	int len = snprintf(text, sizeof(text), "%s:%s", usdt->provider, usdt->name);

	return len < (int)sizeof(text) ? take(ctx, text, (size_t)len) : 0;
}

static void say_probes(const struct completion *c, size_t target_len)
{
	struct completion probe = complete_behind(c, target_len + 1);
	struct ubp_target target = { .name = strndup(c->text, target_len) };
	struct names names = { 0 };
	struct ubp_err err;

	if (target.name)
		(void)ubp_list_usdt(&target, take_probe, &names, &err);
	say_names(&probe, &names, "");
	free((char *)target.name);
}

/* --- definitions ------------------------------------------------------------------------ */

/* What "p:", "r:" and an alias take of c->text. */
static size_t head_of(const char *text)
{
	const char *space = strchr(text, ' ');

	if ((text[0] != 'p' && text[0] != 'r') || text[1] != ':')
		return 0;
	return space && !memchr(text + 2, ':', (size_t)(space - text - 2))
		       ? (size_t)(space + 1 - text)
		       : 2;
}

static void say_definition(const struct completion *c, bool is_static)
{
	size_t head = head_of(c->text);
	struct completion rest = complete_behind(c, head);
	const char *colon = strchr(rest.text, ':');

	if (!is_static && !head) {
		complete_say(c, "p:", "when a function begins");
		complete_say(c, "r:", "when a function returns");
	} else if (strchr(rest.text, ' ')) {
		return; /* arguments */
	} else if (!colon) {
		say_targets(&rest, ":");
	} else if (is_static) {
		say_probes(&rest, (size_t)(colon - rest.text));
	} else {
		say_functions(&rest, (size_t)(colon - rest.text));
	}
}

/* --- sessions ----------------------------------------------------------------------------- */

static void say_sessions(const struct completion *c)
{
	struct ubp_err err;
	int place = place_open(false, &err);
	DIR *folder = place >= 0 ? fdopendir(place) : NULL;
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		/* One that was killed has left its name. */
		int fd = place_is_name(entry->d_name)
				 ? place_connect(place, entry->d_name, 1, &err)
				 : -1;

		if (fd >= 0) {
			complete_say(c, entry->d_name, NULL);
			(void)close(fd);
		}
	}
	if (folder)
		(void)closedir(folder);
}

/* --- all of them --------------------------------------------------------------------------- */

static bool is_listing(const struct completion *c)
{
	for (size_t i = 0; i < c->n_words; i++)
		if (strcmp(c->words[i], "-l") == 0 || strcmp(c->words[i], "-L") == 0 ||
		    strncmp(c->words[i], "--list", 6) == 0)
			return true;
	return false;
}

/* Of two words that are no options the second one is a filter. */
static bool has_definition(const struct completion *c)
{
	for (size_t i = 0; i < c->n_words; i++)
		if (c->words[i][0] != '-' && strchr(c->words[i], ':'))
			return !c->option;
	return false;
}

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

void complete_names(const struct completion *c)
{
	bool is_static = strcmp(cli_program, "usdt") == 0;

	/* Somebody waits for the answer: nothing is fetched for it. */
	(void)unsetenv("DEBUGINFOD_URLS");
	if (strncmp(c->kind, "PID", 3) == 0)
		say_processes(c);
	else if (is(c->kind, "USER"))
		say_users(c);
	else if (is(c->option, "cgroup"))
		complete_by_shell(c, "folders");
	else if (is(c->option, "session"))
		say_sessions(c);
	else if (strncmp(c->kind, "TARGET", 6) == 0 || (!c->option && is_listing(c)))
		say_targets(c, "");
	else if ((is(c->kind, "DEF") || is(c->kind, "PROBE")) && !has_definition(c))
		say_definition(c, is_static);
}
