# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What counting in the target takes: how much more two threads count than one, by their processor time; the memory of a million keys, in the
target and of uprobe; and what a busy python3 keeps of its speed with a counter at each function of libc.

  python3 tests/bench/counting.py build/uprobe [PAIRS]"""

import os
import re
import subprocess
import sys
import tempfile

CALLS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define N 20000000L
__attribute__((noinline, noipa)) void f(long i) { __asm__ volatile("nop; nop; nop; nop; nop" ::"r"(i) : "memory"); }
static double spent(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
static void *work(void *to)
{
	double from;

	for (long i = 0; i < 100000; i++)
		f(i & 63);
	from = spent();
	for (long i = 0; i < N; i++)
		f(i & 63);
	*(double *)to = spent() - from;
	return 0;
}
static double rate(int n)
{
	pthread_t t[2];
	double s[2], sum = 0;

	for (int i = 0; i < n; i++)
		pthread_create(&t[i], 0, work, &s[i]);
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], 0);
		sum += N / s[i];
	}
	return sum;
}
static long shmem(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (fgets(line, sizeof(line), file))
		sscanf(line, "RssShmem: %ld", &kb);
	fclose(file);
	return kb;
}
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0, before;

	for (int i = 0; i < 5 && !n; i++)
		printf("%.3f\n", rate(2) / rate(1));
	for (long i = 0; i < 1000; i++)
		f(0);
	before = shmem();
	for (long i = 0; i < n; i++)
		f(i);
	if (n)
		printf("%ld\n", (shmem() - before) * 1024);
	return 0;
}
"""

BUSY = r"""
import json, re, time
data = {"k%d" % i: [i, str(i), {"x": i * 1.5}] for i in range(300)}
begun, n = time.process_time(), 0
while time.process_time() - begun < 4:
    text = json.dumps(data)
    sorted(json.loads(text).items(), key=lambda item: item[1][1])
    re.findall(r"\d+", text)
    n += 1
print(n / (time.process_time() - begun))
"""

UPROBE, PAIRS = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
WAYS = {"--count=i": (["--count=i"], []), "--trigger hist:keys=i": ([], ["--trigger", "hist:keys=i"])}


def numbers(*argv):
    """What it prints; and the most memory of uprobe in bytes, of which the target's counters are a part."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        out = run.stdout.read()
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = status
    if status:
        sys.exit(f"{argv}: ends with {status}")
    return [float(line) for line in out.split() if re.fullmatch(r"[\d.]+", line)], usage.ru_maxrss * 1024


with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    with open("calls.c", "w", encoding="ascii") as source:
        source.write(CALLS)
    with open("busy.py", "w", encoding="ascii") as source:
        source.write(BUSY)
    subprocess.run(["gcc", "-O2", "-pthread", "-o", "calls", "calls.c"], check=True)
    for name, (before, behind) in WAYS.items():
        probe = [UPROBE, "-o", "/dev/null", *before, "-e", "p:./calls:f i=%di:s64", *behind, "--"]
        times, _ = numbers(*probe, "./calls")
        taken, most = numbers(*probe, "./calls", "1000000")
        print(f"{name}: two threads count {min(times):.2f} to {max(times):.2f} times what one does; a million keys take {taken[0] / 1e6:.0f} MB "
              f"in the target, at most {most / 1e6:.0f} MB of uprobe", flush=True)
    # Both at once on one CPU: what else runs there slows both.
    busy, kept = ["taskset", "-c", str(max(os.sched_getaffinity(0))), sys.executable, "busy.py"], []
    for _ in range(PAIRS):
        with subprocess.Popen(busy, stdout=subprocess.PIPE, text=True) as bare:
            counted, _ = numbers(UPROBE, "-o", "/dev/null", "--count", "p:libc:*", "--", *busy)
            kept.append(100 * counted[0] / float(bare.stdout.read()))
    print(f"p:libc:*: a busy python3 keeps {', '.join(f'{k:.1f}' for k in kept)} % of its speed")
