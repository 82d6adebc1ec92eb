/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What planting knows of a session: its probes, its options, what it has learned of files. */

#ifndef UBP_SPACE_STATE_H
#define UBP_SPACE_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct call_file;
struct definitions;
struct hook_file;
struct plant_ahead;
struct probe_list;
struct ring_set;
struct object;
struct space;
struct tracee;
struct uprobe;
struct watched_place;

/* Why something cannot be in a process, or some better thing not be done there. */
#define UBP_NO_MEMORY "no memory can be had in it"

/* What is planted how. */
struct plant_options {
	bool step, force, lossless; /* as those of a session */
	bool eager;                 /* jumps are made at once */
	bool beside_kernel;         /* no jump begins at a first instruction */
	bool count_dropped;         /* hits that filters drop are counted, too */
	bool once;                  /* a recorded hit switches its probe off */
	bool stay;                  /* nobody is let go of (plant/stand_alone.h) */
	bool follows;               /* children of a process are traced, too */
	bool unwinds;    /* user stacks are unwound, at stops: of hits that are sampled */
	unsigned frames; /* of stacks that jumps take; 0: none */
	struct ring_set *rings; /* NULL: no jumps */
	/* Look for the exits of a return probe: sets .exits or .no_exits. */
	void (*find_exits)(struct uprobe *probe);
	/* At which of a return probe's exits jumps can stand: sets .padding or .run_up of each. */
	void (*find_exit_jumps)(struct uprobe *probe);
	/* Look for the lead of a probe whose sites stand at it, by .defs: sets .window.lead, or not. */
	void (*find_lead)(const struct definitions *defs, struct uprobe *probe);
	const struct definitions *defs;
	/* The file that a probe is in. */
	struct object *(*object_of)(const struct uprobe *probe);
	/* The memory of @t has rings now, or more of them. */
	void (*rings_made)(void *ctx, struct tracee *t);
	void *ctx;
};

/* Per session. */
struct plant {
	struct plant_options opt;
	struct probe_list *list;   /* the current version; probe_list() */
	pthread_mutex_t list_lock; /* of that pointer */
	struct plant_ahead *ahead; /* of plant_look_ahead() */
	/* Breakpoints are to stand where unwinders begin, since a return address will be replaced: 0 or -EFAULT. */
	int (*wake_unwinders)(struct space *space, pid_t tid);
	bool counts_open;  /* functions that detours have entered, and that never return */
	unsigned code_has; /* ubp_host_code_has(), which takes long in a virtual machine */
	bool upgrades_due; /* somewhere breakpoints can be made jumps: upgrade.c */
	bool renews; /* somewhere jumps are to be renewed, or old detours freed: renew.c */
	char *reasons[64]; /* why there is no jump */
	/* Reasons of probes that were retired: sites and statistics may name them still. */
	char **texts;
	size_t n_texts;
	bool is_attaching; /* a thread of each process in the memory is held */
	bool in_pieces; /* one that runs, and in which nothing stays if some of it fails: very much may be planted in several steps */
	struct hook_file *hook_files;  /* hooks.c: what is known of files */
	struct call_file *call_files;  /* sigaction.c: what is known of files */
	struct watched_place *watched; /* watched_windows.c: of its own that jump */
	char unread[256];              /* the file whose reading was given up; "": none */
	enum { CPU_NOT_ASKED, CPU_PLAIN, CPU_SHADOW_STACK } cpu; /* hooks.c */
};

/* The reading of this file was given up, as the thread was told to (engine/base/cancel.h): for the user. */
void plant_note_unread(struct plant *plant, const char *path);

#endif
