/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The tree of folders and files: what a name in a folder is. A node is a number that says all about it, so none is ever kept. With the
 * state's lock, or on the worker's thread, which alone changes what there is.
 */

#ifndef UBP_CLI_FS_TREE_H
#define UBP_CLI_FS_TREE_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/fs/files.h"

#define TREE_ROOT 1

struct tree_node {
	uint64_t number;
	mode_t mode;             /* with its type */
	const struct file *file; /* NULL: it is a folder */
	struct file_at at;
};

/* 0, or -ENOENT: it is gone. */
int tree_find(const struct state *state, uint64_t number, struct tree_node *ret_node);
/* What is @name in @folder? 0, -ENOENT or -ENOTDIR. */
int tree_look_up(const struct state *state, uint64_t folder, const char *name,
		 struct tree_node *ret_node);
/* Calls @each for what is in @folder, until that returns other than 0, which is returned. -ENOENT, -ENOTDIR. */
int tree_each(const struct state *state, uint64_t folder,
	      int (*each)(void *ctx, const char *name, uint64_t number, mode_t mode),
	      void *ctx);
/* May folders be made in it? */
bool tree_takes_folders(uint64_t folder);

#endif
