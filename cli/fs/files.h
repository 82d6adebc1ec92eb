/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The files of the tree: a table for each subject, a row for each file. */

#ifndef UBP_CLI_FS_FILES_H
#define UBP_CLI_FS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct event;
struct group;
struct instance;
struct state;
struct text;

/* Folders that a file is in. */
enum {
	IN_TOP = 1,      /* the tree's own */
	IN_INSTANCE = 2, /* those of instances/ */
	IN_EVENTS = 4,
	IN_GROUP = 8,
	IN_EVENT = 16,
	IN_CPU = 32,
	IN_OPTIONS = 64,
	IN_BOTH = IN_TOP | IN_INSTANCE,
};

/* Which of the files of a row it is. What its folder does not say is NULL or 0. */
struct file_at {
	struct instance *instance;
	struct group *group;
	struct event *event;
	int cpu; /* or BUFFER_ALL_CPUS */
};

struct file_write {
	const char *data;
	size_t len;
	int folder; /* the writer's working directory, an O_PATH descriptor; -1: not known */
	pid_t tid;
};

/*
 * A slow one is for the worker, which has no lock; all else is done with the state's. Where there is no function the kernel's answer is EINVAL,
 * and for truncation, success.
 */
struct file {
	const char *name;
	mode_t mode;
	unsigned in;
	bool is_pipe; /* reading takes from the buffer */
	bool lets_go; /* its instance may be removed while it is open */
	bool reads_slowly, writes_slowly;
	/* All of its text. */
	void (*read)(struct state *state, const struct file_at *at, struct text *out);
	/* The number of bytes that were taken, or a negative errno. */
	ssize_t (*write)(struct state *state, const struct file_at *at,
			 const struct file_write *w);
	/* It is opened with O_TRUNC: by the worker. 0 or a negative errno: then it is not opened. */
	int (*truncate)(struct state *state, const struct file_at *at);
};

extern const struct file files_of_definitions[], files_of_events[], files_of_traces[],
	files_of_settings[], files_of_triggers[];
extern const size_t n_files_of_definitions, n_files_of_events, n_files_of_traces,
	n_files_of_settings, n_files_of_triggers;

#endif
