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
struct hook_file;
struct plant_ahead;
struct probe_list;
struct ring_set;
struct scan_place;
struct space;
struct uprobe;

/* Why something cannot be in a process, or some better thing not be done there. */
#define UBP_NO_MEMORY "no memory can be had in it"

/* Per session. */
struct plant {
	struct probe_list *list;   /* the current version; probe_list() */
	pthread_mutex_t list_lock; /* of that pointer */
	struct plant_ahead *ahead; /* of plant_look_ahead() */
	/* Look for the exits of a return probe: sets .exits or .no_exits. */
	void (*find_exits)(void *ctx, struct uprobe *probe);
	/* Look for the lead of a probe whose sites stand at it: sets .window.lead, or not. */
	void (*find_lead)(void *ctx, struct uprobe *probe);
	void *ctx; /* of both */
	/* Breakpoints are to stand where unwinders begin, since a return address will be replaced: 0 or -EFAULT. */
	int (*wake_unwinders)(struct space *space, pid_t tid);
	bool step;              /* --mode step */
	struct ring_set *rings; /* NULL: no jumps */
	bool counts_open;       /* functions that detours have entered, and that never return */
	unsigned code_has;      /* ubp_host_code_has(), which takes long in a virtual machine */
	bool lossless, force;   /* the options */
	bool count_dropped;     /* hits that filters drop are counted, too */
	unsigned frames;        /* of stacks that jumps take; 0: none */
	char *reasons[64];      /* why there is no jump */
	bool is_attaching;      /* a thread of each process in the memory is held */
	struct hook_file *hook_files; /* hooks.c: what is known of files */
	struct call_file *call_files; /* sigaction.c: what is known of files */
	struct scan_place *scans;     /* scan.c: of its own that jump */
	bool beside_kernel;           /* no jump begins at a first instruction */
	char unread[256];             /* the file whose reading was given up; "": none */
	enum { CPU_NOT_ASKED, CPU_PLAIN, CPU_SHADOW_STACK } cpu; /* hooks.c */
};

/* The reading of this file was given up, as the thread was told to (engine/base/cancel.h): for the user. */
void plant_note_unread(struct plant *plant, const char *path);

#endif
