/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/lost.h"

#include <signal.h>
#include <sys/wait.h>

bool lost_has_ended(pid_t pid)
{
	siginfo_t si = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | __WALL) < 0 || si.si_pid;
}

bool lost_has_room(struct lost *lost)
{
	bool has_room = false;

	for (int i = 0; i < LOST_MAX; i++) {
		if (lost->pids[i] && lost_has_ended(lost->pids[i]))
			lost->pids[i] = 0;
		has_room |= !lost->pids[i];
	}
	return has_room;
}

void lost_add(struct lost *lost, pid_t pid)
{
	if (lost_has_ended(pid))
		return;
	(void)kill(pid, SIGKILL);
	for (int i = 0; i < LOST_MAX; i++) {
		if (lost->pids[i] && !lost_has_ended(lost->pids[i]))
			continue;
		lost->pids[i] = pid;
		return;
	}
}

void lost_forget(struct lost *lost, pid_t pid)
{
	for (int i = 0; i < LOST_MAX; i++)
		if (lost->pids[i] == pid)
			lost->pids[i] = 0;
}
