/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/notes_run.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/clock.h"
#include "cli/common/message.h"
#include "cli/common/trace_options.h"
#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/ubp_files.h"
#include "engine/ubp_stats.h"

#define DELETED   " (deleted)"
#define PATHS_MAX 3   /* files that are told of */
#define NAME_LEN  128 /* of a function, at most */

/* --- who maps a file ---------------------------------------------------------------- */

/* Processes, by what they have under the name of a file. */
struct who_maps {
	const char *path;
	size_t len;
	unsigned n_same, n_replaced,
		n_elsewhere; /* it; one that is gone; one of another root */
	unsigned n_unseen;   /* nobody may look */
	pid_t unseen;        /* the first of them */
	pid_t pid;           /* the first of those that have another one */
};

static bool sees_our_files(pid_t pid)
{
	char path[64];
	struct stat ours, theirs;

	(void)snprintf(path, sizeof(path), "/proc/%d/root/", (int)pid);
	return stat("/", &ours) < 0 || stat(path, &theirs) < 0 ||
	       (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino);
}

/* Does @line, of maps, end in the path? Then what stands behind that. NULL: no. */
static const char *behind_path(const struct who_maps *who, const char *line)
{
	const char *path = strchr(line, '/');

	return path && strncmp(path, who->path, who->len) == 0 ? path + who->len : NULL;
}

static void look_at_maps(struct who_maps *who, pid_t pid, char *text)
{
	bool is_replaced = false, is_there = false;
	char *save, *line = strtok_r(text, "\n", &save);

	for (; line; line = strtok_r(NULL, "\n", &save)) {
		const char *rest = behind_path(who, line);

		is_there |= rest && !*rest;
		is_replaced |= rest && strcmp(rest, DELETED) == 0;
	}
	if (is_there && sees_our_files(pid))
		who->n_same++;
	else if (is_there)
		who->n_elsewhere++;
	else if (is_replaced)
		who->n_replaced++;
	if (!who->pid && who->n_replaced + who->n_elsewhere)
		who->pid = pid;
}

static int look_at_process(void *ctx, pid_t pid)
{
	struct who_maps *who = ctx;
	char path[64], *text;

	if (pid == getpid())
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	errno = 0;
	text = proc_read_all(path);
	if (text)
		look_at_maps(who, pid, text);
	else if ((errno == EACCES || errno == EPERM) && !who->n_unseen++)
		who->unseen = pid;
	free(text);
	return 0;
}

static void look_at_all(struct who_maps *who)
{
	who->len = strlen(who->path);
	(void)proc_each(look_at_process, who);
}

/* --- what was inlined ----------------------------------------------------------------- */

/* Places of a function, by the lines of --vars: "@<f+16>" is code of f. */
struct inlined {
	char name[NAME_LEN + 1];
	size_t len;
	unsigned n_own, n_others;
};

static int count_place(void *ctx, const char *line)
{
	struct inlined *f = ctx;
	const char *at = strstr(line, "\t@<");

	if (at == line && strncmp(at + 3, f->name, f->len) == 0 && at[3 + f->len] == '+')
		f->n_own++;
	else if (at == line)
		f->n_others++;
	return 0;
}

/* The function of "p:bash:readline+4 ARGS" or "p:g/e /bin/bash:readline". False: it names none. */
static bool name_function(const struct trace_definition *d, struct inlined *f)
{
	const char *text = d->text, *end, *colon;

	if (d->kind == DEFINITION_FILE)
		return false;
	/* The word that has the place: the second, if the first is "p:EVENT". */
	end = text + strcspn(text, " ");
	colon = memchr(text, ':', (size_t)(end - text));
	if (*end && colon && !memchr(colon + 1, ':', (size_t)(end - colon) - 1)) {
		text = end + 1;
		end = text + strcspn(text, " ");
	}
	for (colon = end; colon > text && *colon != ':'; colon--)
		;
	f->len = strspn(colon + 1,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
	if (*colon != ':' || !f->len || f->len > NAME_LEN || isdigit((unsigned char)colon[1]))
		return false;
	(void)snprintf(f->name, sizeof(f->name), "%.*s", (int)f->len, colon + 1);
	return true;
}

/* How often the first function is inlined, where its definition has none of that. 0: not, or nobody knows. */
static unsigned count_inlined(const struct notes *notes, const char *path, struct inlined *f)
{
	const struct trace_options *o = notes->opt;
	struct ubp_target target = { .name = path,
				     .debug = { o->debug.dirs, o->debug.symbols } };
	struct ubp_err err;

	ubp_err_reset(&err);
	/* A server would be asked, and a static probe is no function: nobody waits for that. */
	if (getenv("DEBUGINFOD_URLS") || strcmp(cli_program, "uprobe") != 0)
		return 0;
	if (!o->n_definitions || !name_function(&o->definitions[0], f) ||
	    ubp_list_variables(&target, f->name, count_place, f, &err) < 0)
		return 0;
	/* Where it is nowhere by itself, the copies are what is probed. */
	return f->n_own && o->definitions[0].n_probes == 1 ? f->n_others : 0;
}

/* --- what is told --------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void tell(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) >= 0)
		cli_tell(NULL, text);
	va_end(ap);
	free(text);
}

static bool is_of_all(const struct trace_options *o)
{
	return !o->command && !o->who.n_pids && !o->who.tid;
}

static const char *some(const struct trace_options *o)
{
	return o->who.of_user || o->who.cgroup ? " of the chosen ones" : "";
}

/* Which could not be: how many, and the first of them. */
static void say_who_not(char *text, size_t size, const struct who_maps *who,
			const struct ubp_stats *st)
{
	char name[16] = "", not_seen[128] = "", not_traced[320] = "";

	if (who->n_unseen) {
		(void)proc_read_comm(who->unseen, name);
		(void)snprintf(not_seen, sizeof(not_seen),
			       "; %u could not be looked at%s, the first is %d%s%s%s",
			       who->n_unseen, geteuid() == 0 ? "" : " (root could)",
			       (int)who->unseen, *name ? " (" : "", name, *name ? ")" : "");
	}
	if (st->skipped)
		(void)snprintf(not_traced, sizeof(not_traced),
			       "; %u could not be traced, the first: %s", st->skipped,
			       st->why_skipped ? st->why_skipped : "");
	(void)snprintf(text, size, "%s%s", not_traced, not_seen);
}

static void tell_processes(const struct notes *notes)
{
	struct who_maps who = { .path = "" };
	struct ubp_stats st = { 0 };
	char unseen[512];

	ubp_stats(notes->session, &st);
	look_at_all(&who);
	say_who_not(unseen, sizeof(unseen), &who, &st);
	if (st.processes)
		tell("%u process%s%s run%s this code now, and %s traced%s", st.processes,
		     st.processes == 1 ? "" : "es", some(notes->opt),
		     st.processes == 1 ? "s" : "", st.processes == 1 ? "is" : "are", unseen);
	else
		tell("no process%s runs this code now; those that start later will be traced%s",
		     some(notes->opt), unseen);
}

/* No process that is traced has the file. */
static void tell_nobody(const struct notes *notes, const struct who_maps *who)
{
	unsigned n_more = who->n_replaced + who->n_elsewhere - 1;
	char more[48] = "", unseen[64] = "";

	if (n_more && n_more != -1U)
		(void)snprintf(more, sizeof(more), " (and %u more)", n_more);
	if (who->n_unseen)
		(void)snprintf(unseen, sizeof(unseen), "; %u could not be looked at%s",
			       who->n_unseen, geteuid() == 0 ? "" : ": root could");
	if (who->n_replaced)
		tell("no hit yet: process %d%s runs a %s that was replaced since it started: "
		     "the "
		     "file that is probed is another one%s",
		     (int)who->pid, more, who->path, unseen);
	else if (who->n_elsewhere)
		tell("no hit yet: process %d%s runs the %s of another root, as of a container: "
		     "-p, "
		     "or --container, takes that one%s",
		     (int)who->pid, more, who->path, unseen);
	else
		tell("no hit yet: no process%s maps %s%s", some(notes->opt), who->path, unseen);
}

static void tell_somebody(const struct notes *notes, const char *path, unsigned n)
{
	struct inlined f = { 0 };
	unsigned n_inlined = count_inlined(notes, path, &f);

	tell("no hit yet: %u traced process%s map%s %s, but none has called the function", n,
	     n == 1 ? "" : "es", n == 1 ? "s" : "", path);
	if (n_inlined)
		tell("%s is also inlined in %u place%s, which are not probed; use %s:0 to "
		     "probe "
		     "them, too",
		     f.name, n_inlined, n_inlined == 1 ? "" : "s", f.name);
}

/* @is_only: it is the only file that is probed. */
static void tell_of_file(const struct notes *notes, const char *path, bool is_only)
{
	char *real = realpath(path, NULL);
	struct who_maps who = { .path = real ? real : path };
	struct ubp_stats st = { 0 };
	bool of_all = is_of_all(notes->opt);
	unsigned n = 0;

	ubp_stats(notes->session, &st);
	if (of_all)
		look_at_all(&who);
	/* It may have another name there. */
	if (!of_all || (is_only && !who.n_replaced && !who.n_elsewhere))
		n = st.processes;
	n = of_all && who.n_same ? who.n_same : n;
	who.path = path;
	if (n)
		tell_somebody(notes, path, n);
	else
		tell_nobody(notes, &who);
	free(real);
}

/* The first files that are probed, each once. Returns how many. */
static size_t list_files(const struct notes *notes, const char *files[PATHS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < ubp_n_probes(notes->session) && n < PATHS_MAX; i++) {
		const char *path = ubp_probe_path(notes->session, i);
		bool is_new = path;

		for (size_t k = 0; is_new && k < n; k++)
			is_new = strcmp(files[k], path) != 0;
		if (is_new)
			files[n++] = path;
	}
	return n;
}

static void tell_why(const struct notes *notes)
{
	const char *files[PATHS_MAX];
	size_t n = list_files(notes, files);

	for (size_t i = 0; i < n; i++)
		tell_of_file(notes, files[i], n == 1);
}

static bool has_hit(const struct notes *notes)
{
	struct ubp_probe_stats st = { 0 };

	for (size_t i = 0; i < ubp_n_probes(notes->session) && !st.hits; i++)
		ubp_probe_stats(notes->session, i, &st);
	return st.hits;
}

void notes_begin(struct notes *notes, struct ubp_session *session,
		 const struct trace_options *opt)
{
	const struct notes_options *o = &opt->notes;

	*notes = (struct notes){ .opt = opt, .session = session };
	if (o->when == NOTES_NEVER || opt->live.detach || opt->to.tui ||
	    (o->when == NOTES_AUTO && (opt->command || !isatty(STDERR_FILENO))))
		return;
	if (is_of_all(opt) && ubp_n_probes(session))
		tell_processes(notes);
	/* Probes that are off until somebody says otherwise have no hits. */
	if (opt->steer.is_off && !opt->steer.delay_ns)
		return;
	notes->due_ns =
		cli_now_ns() + opt->steer.delay_ns + (o->after_ns ? o->after_ns : NOTES_NS);
}

int notes_look(struct notes *notes, bool seen)
{
	uint64_t now;

	if (!notes->due_ns)
		return -1;
	if (seen) {
		notes->due_ns = 0;
		return -1;
	}
	now = cli_now_ns();
	if (now < notes->due_ns)
		return (int)((notes->due_ns - now + 999999) / 1000000);
	notes->due_ns = 0;
	if (!has_hit(notes))
		tell_why(notes);
	return -1;
}
