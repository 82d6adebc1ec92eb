/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Whose hits are traced: -p, -L, --follow, -u, --cgroup, --container. */

#ifndef UBP_CLI_COMMON_WHO_H
#define UBP_CLI_COMMON_WHO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pid_list;
struct trace_options;
struct ubp_session;

/* As .set of struct cli_option, of a structure that begins with trace_options. */
int who_set_pids(void *into, const char *arg);
int who_set_tid(void *into, const char *arg);
int who_set_user(void *into, const char *arg);
int who_set_cgroup(void *into, const char *arg);
int who_set_container(void *into, const char *arg);
/* What makes no sense together. CLI_OK, or said why not. */
int who_check(const struct trace_options *o);

/*
 * The processes that are called so: by their comm, or by the file name of their program. Not those that wait for this one (its ancestors),
 * kernel threads, or, where this one is not root's, those of other users. CLI_OK, with one at least, or said why there is none.
 */
int who_called(const char *name, size_t len, struct pid_list *ret_pids);

/* Number of the user who is called so. False: nobody is. */
bool who_user(const char *name, uid_t *ret_user);

/*
 * The control group that is meant, as ubp_only_cgroup() takes it; to be freed: by the path of its folder, or by what that is below one that is
 * mounted. NULL: there is none.
 */
char *who_cgroup(const char *text);

/* That of the container with this id, the first 12 digits of it or more, or this name, and a process in there. CLI_OK, or said why there is none. */
int who_container(const char *text, char **ret_cgroup, pid_t *ret_pid);

/* The session traces all processes: those alone that are meant. CLI_OK, or said why not. */
int who_begin(struct ubp_session *session, const struct trace_options *o);

#endif
