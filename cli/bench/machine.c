/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/machine.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench/work.h"

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define MITIGATIONS  "/sys/devices/system/cpu/vulnerabilities"

/* The first line of a file, "unknown" if there is none. */
static void read_line(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(text, (int)size, f))
		(void)snprintf(text, size, "unknown");
	if (f)
		(void)fclose(f);
	text[strcspn(text, "\n")] = '\0';
}

static void read_cpu(char *text, size_t size)
{
	static const char key[] = "model name";
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	(void)snprintf(text, size, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (strncmp(line, key, strlen(key)) != 0 || !value)
			continue;
		value += 1 + strspn(value + 1, " ");
		value[strcspn(value, "\n")] = '\0';
		(void)snprintf(text, size, "%s", value);
		break;
	}
	if (f)
		(void)fclose(f);
}

static int is_file(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void read_mitigations(struct bench_machine *m)
{
	struct dirent **list;
	int n = scandir(MITIGATIONS, &list, is_file, alphasort);

	for (int i = 0; i < n; i++) {
		char path[sizeof(MITIGATIONS) + sizeof(list[i]->d_name) + 1], state[192];

		(void)snprintf(path, sizeof(path), "%s/%s", MITIGATIONS, list[i]->d_name);
		read_line(path, state, sizeof(state));
		if (strcmp(state, "Not affected") != 0 &&
		    m->n_mitigations < BENCH_MITIGATIONS_MAX) {
			(void)snprintf(m->mitigations[m->n_mitigations].name,
				       sizeof(m->mitigations[0].name), "%.63s",
				       list[i]->d_name);
			memcpy(m->mitigations[m->n_mitigations].state, state, sizeof(state));
			m->n_mitigations++;
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/* "KVMKVMKVM" is how it writes its name, "KVM" how people do. */
static void read_hypervisor(char *text, size_t size)
{
	static const char *const names[][2] = {
		{ "KVMKVMKVM", "KVM" },       { "Microsoft Hv", "Hyper-V" },
		{ "VMwareVMware", "VMware" }, { "XenVMMXenVMM", "Xen" },
		{ "TCGTCGTCGTCG", "QEMU" },   { "bhyve bhyve ", "bhyve" },
	};
	char id[13];
	const char *name = id;

	if (!bench_hypervisor(id)) {
		*text = '\0';
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(id, names[i][0]) == 0)
			name = names[i][1];
	(void)snprintf(text, size, "%s", *name ? name : "unknown");
}

void bench_machine_look(struct bench_machine *m)
{
	struct utsname u;
	time_t now = time(NULL);
	struct tm tm;

	memset(m, 0, sizeof(*m));
	read_cpu(m->cpu, sizeof(m->cpu));
	m->n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (uname(&u) == 0) {
		(void)snprintf(m->kernel, sizeof(m->kernel), "%s %s", u.release, u.version);
		(void)snprintf(m->arch, sizeof(m->arch), "%.63s", u.machine);
	}
	read_hypervisor(m->hypervisor, sizeof(m->hypervisor));
	read_line(CLOCK_SOURCE, m->clock_source, sizeof(m->clock_source));
	if (gmtime_r(&now, &tm))
		(void)strftime(m->time, sizeof(m->time), "%Y-%m-%dT%H:%M:%SZ", &tm);
	read_mitigations(m);
}
