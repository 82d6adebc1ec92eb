/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Containers by the control groups that those who run them make: the name of one has the container's id of 64 digits at its end
 * (docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, crio-ID.scope, docker/ID), or its name (LXC, systemd-nspawn). What
 * docker and podman call one stands in their files.
 */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/who.h"
#include "engine/base/proc.h"

#define ID_LEN 64
#define ID_MIN 12

/* What is looked for, and what was found. */
struct sought {
	char text[NAME_MAX + 1]; /* an id, or its beginning; else a name */
	size_t len;
	bool is_id;
	char *group;             /* as ubp_only_cgroup() takes it */
	char name[NAME_MAX + 1]; /* of its folder */
	pid_t pid;               /* in there */
	bool are_several;        /* another one is meant as well */
};

static size_t n_digits(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len &&
	       (isdigit((unsigned char)text[n]) || (text[n] >= 'a' && text[n] <= 'f')))
		n++;
	return n;
}

/* --- groups ----------------------------------------------------------------- */

/* Without ".scope" or ".service". */
static size_t stem(const char *name, size_t len)
{
	if (len > 6 && memcmp(name + len - 6, ".scope", 6) == 0)
		return len - 6;
	if (len > 8 && memcmp(name + len - 8, ".service", 8) == 0)
		return len - 8;
	return len;
}

/* Not the group of conmon, who looks after a container from outside. */
static bool has_id(const struct sought *s, const char *name, size_t len)
{
	const char *id = len < ID_LEN ? NULL : name + len - ID_LEN;

	if (!id || n_digits(id, ID_LEN) != ID_LEN || memcmp(id, s->text, s->len) != 0)
		return false;
	return id == name ||
	       ((id[-1] == '-' || id[-1] == ':') && !memmem(name, len - ID_LEN, "conmon", 6));
}

static bool has_name(const struct sought *s, const char *name, size_t len)
{
	static const char *const begins[] = { "lxc.payload.", "machine-", "systemd-nspawn@" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t n = strlen(begins[i]);

		if (len == n + s->len && memcmp(name, begins[i], n) == 0 &&
		    memcmp(name + n, s->text, s->len) == 0)
			return true;
	}
	return false;
}

/* @line is "NUMBER:CONTROLLERS:PATH"; the group's name ends at @end, and begins at @name. */
static int found(struct sought *s, const char *line, const char *path, const char *name,
		 const char *end)
{
	const char *list = strchr(line, ':') + 1;
	int list_len = (int)strcspn(list, ",:");

	if (s->group) {
		s->are_several |= strncmp(s->name, name, (size_t)(end - name)) != 0 ||
				  s->name[end - name];
		return 0;
	}
	(void)snprintf(s->name, sizeof(s->name), "%.*s", (int)(end - name), name);
	return asprintf(&s->group, "%.*s:%.*s", list_len, list, (int)(end - path), path) < 0
		       ? -ENOMEM
		       : 0;
}

static int look_at_line(struct sought *s, const char *line)
{
	const char *path = strchr(line, '/'), *name, *end;

	if (!path || !strchr(line, ':'))
		return 0;
	for (name = path; *name; name = end) {
		size_t len;

		name += *name == '/';
		end = name + strcspn(name, "/");
		len = stem(name, (size_t)(end - name));
		if (s->is_id ? has_id(s, name, len) : has_name(s, name, len))
			return found(s, line, path, name, end);
	}
	return 0;
}

static int look_at_process(void *ctx, pid_t pid)
{
	struct sought *s = ctx;
	char path[64], *text, *save, *line;
	int rc = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	text = proc_read_all(path);
	line = text ? strtok_r(text, "\n", &save) : NULL;
	for (; line && rc == 0; line = strtok_r(NULL, "\n", &save))
		rc = look_at_line(s, line);
	if (s->group && !s->pid)
		s->pid = pid;
	free(text);
	return rc;
}

/* --- names of docker and podman -------------------------------------------------- */

static void take_id(struct sought *s, const char *id)
{
	memcpy(s->text, id, ID_LEN);
	s->text[ID_LEN] = '\0';
	s->len = ID_LEN;
	s->is_id = true;
}

/* Each has a folder of its own, with "Name":"/NAME" in a file. */
static void ask_docker(struct sought *s, const char *quoted)
{
	static const char folder[] = "/var/lib/docker/containers";
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && !s->is_id && (entry = readdir(dir))) {
		char path[sizeof(folder) + NAME_MAX + 32], *text;

		if (n_digits(entry->d_name, ID_LEN + 1) != ID_LEN)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s/config.v2.json", folder,
			       entry->d_name);
		text = proc_read_all(path);
		if (text && strstr(text, quoted))
			take_id(s, entry->d_name);
		free(text);
	}
	if (dir)
		(void)closedir(dir);
}

/* One list of objects: "id":"ID", "names":["NAME"], and more. */
static void ask_podman(struct sought *s, const char *file, const char *quoted)
{
	char *text = proc_read_all(file), *at = text;

	while (at && (at = strstr(at, "\"id\":\"")) && !s->is_id) {
		char *next = strstr(at + 1, "\"id\":\""), *names = strstr(at, "\"names\":["),
		     *end;

		at += 6;
		end = names ? strchr(names, ']') : NULL;
		if (!end || (next && names > next))
			continue;
		if (n_digits(at, ID_LEN) == ID_LEN &&
		    memmem(names, (size_t)(end - names), quoted, strlen(quoted)))
			take_id(s, at);
	}
	free(text);
}

static void ask_podmans(struct sought *s, const char *quoted)
{
	static const char tail[] = "containers/storage/*-containers/*containers.json";
	const char *home = getenv("HOME");
	char of_user[PATH_MAX], of_root[sizeof(tail) + 16];
	glob_t files = { 0 };

	(void)snprintf(of_user, sizeof(of_user), "%s/.local/share/%s", home ? home : "", tail);
	(void)snprintf(of_root, sizeof(of_root), "/var/lib/%s", tail);
	(void)glob(of_root, 0, NULL, &files);
	(void)glob(of_user, files.gl_pathc ? GLOB_APPEND : 0, NULL, &files);
	for (size_t i = 0; i < files.gl_pathc && !s->is_id; i++)
		ask_podman(s, files.gl_pathv[i], quoted);
	globfree(&files);
}

/* The id of who is called so, in its place. */
static void ask_name(struct sought *s)
{
	char docker[sizeof(s->text) + 16], podman[sizeof(s->text) + 8];

	(void)snprintf(docker, sizeof(docker), "\"Name\":\"/%s\"", s->text);
	(void)snprintf(podman, sizeof(podman), "\"%s\"", s->text);
	ask_docker(s, docker);
	if (!s->is_id)
		ask_podmans(s, podman);
}

int who_container(const char *text, char **ret_cgroup, pid_t *ret_pid)
{
	struct sought s = { .len = strlen(text) };
	int rc;

	if (!s.len || s.len >= sizeof(s.text) || strpbrk(text, "/\""))
		return cli_usage_error("--container takes an id or a name, not '%s'", text);
	memcpy(s.text, text, s.len + 1);
	s.is_id = s.len >= ID_MIN && s.len <= ID_LEN && n_digits(text, s.len) == s.len;
	if (!s.is_id)
		ask_name(&s);
	rc = proc_each(look_at_process, &s);
	*ret_cgroup = s.group;
	*ret_pid = s.pid;
	if (rc < 0)
		return cli_error("cannot look through /proc: %s", strerror(-rc));
	if (s.are_several)
		return cli_error("several containers are '%s': give more of the id", text);
	if (s.group)
		return CLI_OK;
	return cli_error("no process runs in a container '%s'%s", text,
			 s.is_id ? ""
			 : geteuid() == 0
				 ? ": that is no name, and an id has 12 digits or more"
				 : ": give 12 digits of its id or more, if its name may "
				   "only be looked up by root");
}
