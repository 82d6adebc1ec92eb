#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What it costs to plant thousands of places, and how long the target stands still for it.

plant.py [UPROBE [ROW...]] prints a table; ROW is the name of one. Each target has a thread that reads the processor's
clock in a loop: the longest gap between two readings, and the sum of all gaps, are how long it stood still. What it waited
for a processor meanwhile is taken off, since others use the machine, too. What a virtual machine waits for is not. All in
ms, medians of ROUNDS (3):

in          from the start of UPROBE to the last change of a sampled place: all is planted, as jumps where that can be
held, sum   the longest time that the target stood still, and all of it
CPU         what UPROBE had of the processors by then
out         from SIGINT to its end
"""

import glob
import mmap
import os
import re
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

UPROBE = sys.argv[1] if len(sys.argv) > 1 else "build/uprobe"
CACHE = os.path.join(os.environ.get("UBP_CACHE", os.path.expanduser("~/.cache/ubp")), "bench-plant")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SAMPLES = 32
QUIET_S = 1.0  # nothing was changed for so long: it is done

CLOCK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GAP_NS 50000 /* shorter ones are interrupts */

struct shared {
	volatile uint64_t ready, reset, longest, sum, n;
};

static struct shared *shared;
static int schedstat;
static double ns_per_tick;

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t n;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(n));
	return n;
#endif
}

/* Not libc's: that may be probed. */
static long raw(long nr, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return rc;
#else
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#endif
}

static uint64_t waited_ns(void)
{
	char text[128];
	long n = raw(SYS_pread64, schedstat, (long)text, sizeof(text) - 1, 0);
	uint64_t value = 0;
	long i = 0;

	while (i < n && text[i] != ' ')
		i++;
	for (i++; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	return value;
}

static void *clock_thread(void *arg)
{
	char path[64];
	uint64_t last, waited;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
	schedstat = open(path, O_RDONLY | O_CLOEXEC);
	waited = waited_ns();
	shared->ready = 1;
	for (last = ticks();;) {
		uint64_t now = ticks();
		double gap = (double)(now - last) * ns_per_tick;

		if (gap >= GAP_NS) {
			uint64_t w = waited_ns();

			gap -= (double)(w - waited);
			waited = w;
			now = ticks();
			if (gap >= GAP_NS) {
				shared->sum += (uint64_t)gap;
				shared->n++;
				if ((uint64_t)gap > shared->longest)
					shared->longest = (uint64_t)gap;
			}
		}
		if (shared->reset) {
			shared->longest = shared->sum = shared->n = 0;
			waited = waited_ns();
			shared->reset = 0;
			now = ticks();
		}
		last = now;
	}
	return arg;
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("CLOCK_FILE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct timespec a, b;
	uint64_t t;
	pthread_t thread;

	if (fd < 0)
		return;
	unsetenv("CLOCK_FILE");
	unsetenv("LD_PRELOAD");
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	clock_gettime(CLOCK_MONOTONIC, &a);
	t = ticks();
	usleep(20000);
	clock_gettime(CLOCK_MONOTONIC, &b);
	ns_per_tick = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
		      (double)(ticks() - t);
	pthread_create(&thread, NULL, clock_thread, NULL);
}
"""

# Small functions of a few kinds: leaves, some that call, with loops, with a frame.
BODIES = [
    "return a * {i} + b;",
    "long s = a; for (long k = 0; k < b; k++) s ^= k * {i}; return s;",
    "volatile long v[4]; v[a & 3] = b; return v[b & 3] + {i};",
    "return a > b ? f{j}(a - b, {i}) + 1 : b - a;",
    "if (a == {i}) return f{j}(b, a) * f{j}(a, b); return a ^ b;",
]


def source(n):
    yield "#include <stdio.h>\n#include <unistd.h>\n#define F __attribute__((noinline)) \n"
    for i in range(n):
        body = BODIES[i % len(BODIES)].format(i=i, j=max(i - 7, 0)) if i >= 5 else "return a + b;"
        yield f"F long f{i}(long a, long b) {{ {body} }}\n"
    yield 'int main(void) { char c; puts("ready"); fflush(stdout); return read(0, &c, 1) < 0; }\n'


def compiled(name, lines, *flags):
    """Compiled once: some ten thousand functions take their time."""
    os.makedirs(CACHE, exist_ok=True)
    text, path = "".join(lines), os.path.join(CACHE, name)
    if os.path.exists(path) and os.path.exists(path + ".c") and open(path + ".c").read() == text:
        return path
    with open(path + ".c", "w") as f:
        f.write(text)
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-g0", *flags, "-o", path, path + ".c"], check=True)
    return path


def functions(n):
    return compiled(f"functions{n}", source(n))


def mapped(pid, path):
    """(where, up to, offset) of the executable mappings of that file."""
    real = os.path.realpath(path)
    with open(f"/proc/{pid}/maps") as f:
        for line in f:
            m = re.match(r"([0-9a-f]+)-([0-9a-f]+) ..x. ([0-9a-f]+) \S+ \S+ +(.*)", line)
            if m and os.path.realpath(m[4]) == real:
                yield int(m[1], 16), int(m[2], 16), int(m[3], 16)


def sampled(pid, path):
    """Addresses of some functions of it, all over the file."""
    addrs = set()
    for flags in ["-s"], ["--dyn-syms"]:
        out = subprocess.run(["readelf", "-W", *flags, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        addrs |= {int(m[1], 16) for m in re.finditer(r": ([0-9a-f]+) +\d+ FUNC .*DEFAULT +\d+ ", out)}
    addrs = sorted(addrs)
    out = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, text=True).stdout
    loads = [tuple(int(x, 16) for x in m.groups()) for m in
             re.finditer(r"LOAD +(0x[0-9a-f]+) (0x[0-9a-f]+) \S+ (0x[0-9a-f]+)", out)]
    maps = list(mapped(pid, path))
    there = []
    for a in addrs[:: max(1, len(addrs) // SAMPLES)]:
        off = next((o + a - v for o, v, n in loads if v <= a < v + n), None)
        there += [lo + off - o for lo, hi, o in maps if off is not None and o <= off < o + hi - lo]
    return there


class Target:
    def __init__(self, argv, path):
        preload = compiled("clock.so", [CLOCK], "-shared", "-fPIC", "-pthread")
        self.file = tempfile.NamedTemporaryFile()
        self.file.truncate(4096)
        self.shared = mmap.mmap(self.file.fileno(), 4096)
        env = dict(os.environ, LD_PRELOAD=preload, CLOCK_FILE=self.file.name)
        self.p = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while self.p.stdout.readline() != "ready\n":
            assert self.p.poll() is None
        while not self.word(0):
            time.sleep(0.01)
        self.mem = os.open(f"/proc/{self.p.pid}/mem", os.O_RDONLY)
        self.at = sampled(self.p.pid, path)
        assert self.at, path

    def word(self, i):
        return struct.unpack_from("Q", self.shared, 8 * i)[0]

    def reset(self):
        struct.pack_into("Q", self.shared, 8, 1)
        while self.word(1):
            time.sleep(0.001)

    def still(self):
        """The longest and the sum, in ms."""
        return self.word(2) / 1e6, self.word(3) / 1e6

    def bytes(self):
        return [os.pread(self.mem, 12, a) for a in self.at]

    def tracer(self):
        with open(f"/proc/{self.p.pid}/status") as f:
            return int(re.search(r"TracerPid:\s+(\d+)", f.read())[1])

    def end(self):
        os.close(self.mem)
        self.p.kill()
        self.p.wait()


def cpu_of(pid):
    """Seconds of the processor that it has had."""
    return time.clock_gettime(~pid << 3 | 2)


def watch(target, p, begun):
    """When it was changed for the last time, and what @p had of the processors by then, or a bit more."""
    ready = changed = None
    cpu = 0
    was = target.bytes()
    os.set_blocking(p.stdout.fileno(), False)
    while not ready or time.monotonic() - (changed or ready) < QUIET_S:
        time.sleep(0.004)
        assert p.poll() is None, p.stderr.read()
        if not ready and p.stdout.readline() == "ready\n":
            ready = time.monotonic()
        now = target.bytes()
        if now != was:
            was, changed, cpu = now, time.monotonic(), cpu_of(p.pid)
    return changed - begun, cpu


def one(argv, path, definitions):
    target = Target(argv, path)
    plain = target.bytes()
    target.reset()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    defs = sum((["-e", d] for d in definitions), [])
    p = subprocess.Popen([UPROBE, "--stats", "--ready-fd", "1", "-o", "/dev/null", "-p", str(target.p.pid), *defs],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    took, cpu_in = watch(target, p, begun)
    attach = target.still()
    target.reset()
    ending = time.monotonic()
    p.send_signal(signal.SIGINT)
    err = p.communicate()[1]
    ended = time.monotonic() - ending
    detach = target.still()
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert p.returncode == 0, err[-2000:]
    assert target.bytes() == plain
    target.end()
    if os.environ.get("V"):
        print(err[-600:], attach, detach, file=sys.stderr)
    sites = sum(int(m) for m in re.findall(r" sites=(\d+)", err))
    jumps = sum(int(m) for m in re.findall(r" jumps=(\d+)", err))
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return [sites, jumps, 1000 * took, *attach, 1000 * cpu_in, 1000 * ended, *detach, 1000 * (cpu - cpu_in)]


JAVA = "class W { public static void main(String[] a) throws Exception { System.out.println(\"ready\"); System.in.read(); } }"
PYTHON = "print('ready', flush=True); input()"


def java():
    os.makedirs(CACHE, exist_ok=True)
    path = os.path.join(CACHE, "W.java")
    with open(path, "w") as f:
        f.write(JAVA)
    lib = glob.glob("/usr/lib/jvm/*/lib/server/libjvm.so")
    return ["java", path], os.path.realpath(lib[0])


def rows():
    for n in 20000, 50000:
        path = functions(n)
        yield f"{n} functions", [path], path, [f"p:{path}:f*"]
    libc = next(iter(glob.glob("/lib/*-linux-gnu/libc.so.6")), None)
    if libc:
        yield "libc, of python3", [sys.executable, "-c", PYTHON], libc, ["p:libc:*"]
    if shutil.which("java"):
        argv, path = java()
        yield "libjvm", argv, path, [f"p:{path}:*"]
    node = shutil.which("node")
    if node:
        argv = [node, "-e", "console.log('ready'); process.stdin.resume()"]
        yield "node", argv, os.path.realpath(node), [f"p:{os.path.realpath(node)}:*"]


def main():
    print("| target | places | jumps | in | held | sum | CPU | out | held | sum | CPU |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, *what in rows():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        rounds = [one(*what) for _ in range(ROUNDS)]
        print(f"| {name} | " + " | ".join(f"{statistics.median(c):.1f}" if i in (3, 4, 7, 8)
                                          else f"{statistics.median(c):.0f}"
                                          for i, c in enumerate(zip(*rounds))) + " |", flush=True)


main()
