/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Rings of a target (base/ring.h): its memory files, made by remote calls and shared with us;
 * which of its threads have one; what detours may read.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/event/ring.h"
#include "engine/object/maps.h"
#include "engine/plant/jump.h"
#include "engine/trace/remote.h"
#include "engine/trace/task.h"

#define PAGE 4096ULL
/* Rings lie far from everything, to be in nobody's way. */
#define FAR_AWAY 0x1000000000ULL
#define TRIES    64
#define LOWEST   0x100000000000ULL /* a program at a fixed low address leaves all this free */
/* In 32 bits there is not so much of it, and the program needs some. */
#define REGION_MAX_32 0x4000000ULL
#define SPARE_32      0x1000000ULL
#define LOWEST_32     0x100000ULL

#define DATA(member) offsetof(struct guard_data, member)

static int call(struct remote *remote, int nr, const uint64_t args[6], uint64_t *ret_result,
		struct ubp_err *err)
{
	int64_t result;
	int rc = remote_call(remote, nr, args, &result, err);

	if (rc < 0)
		return rc;
	if (result < 0 && result > -4096)
		return result == -ENOMEM
			       ? ubp_fail(err, ENOMEM, "%s", UBP_NO_MEMORY)
			       : ubp_fail(err, (int)-result, "it can't have rings: %s",
					  strerror((int)-result));
	*ret_result = (uint64_t)result;
	return 0;
}

static bool is_room(const struct maps *maps, uint64_t at, uint64_t len)
{
	size_t k = 0;

	while (k < maps->n && maps->v[k].end + FAR_AWAY / 16 <= at)
		k++;
	return k == maps->n || maps->v[k].start >= at + len + FAR_AWAY / 16;
}

/*
 * In 32 bits: in the smallest gap between mappings that has room to spare, since the large one is
 * where the heap and new mappings grow to; else in the middle of that.
 */
static uint64_t find_room_32(const struct maps *maps, uint64_t len)
{
	uint64_t end = LOWEST_32, best = 0, best_size = UINT64_MAX, middle = 0, largest = 0;

	for (size_t i = 0; i < maps->n; end = maps->v[i++].end) {
		uint64_t size = maps->v[i].start > end ? maps->v[i].start - end : 0;

		if (size > largest) {
			largest = size;
			middle = end + size / 2;
		}
	}
	end = LOWEST_32;
	for (size_t i = 0; i < maps->n; end = maps->v[i++].end) {
		uint64_t size = maps->v[i].start > end ? maps->v[i].start - end : 0;
		bool grows = (i && strcmp(maps->v[i - 1].path, "[heap]") == 0) ||
			     strcmp(maps->v[i].path, "[stack]") == 0;

		if (size == largest || grows || size < len + 2 * SPARE_32 || size >= best_size)
			continue;
		best_size = size;
		best = end + SPARE_32;
	}
	if (!best && largest / 4 >= len)
		best = middle;
	return best / PAGE * PAGE;
}

uint64_t rings_find_room(const struct ubp_arch *arch, const struct maps *maps, uint64_t from,
			 uint64_t len)
{
	if (arch->addr_size == sizeof(uint32_t))
		return find_room_32(maps, len);

	/* A program at a fixed place, low, has all the room above it. */
	bool up = from / FAR_AWAY < TRIES;

	for (uint64_t i = 1; i <= TRIES; i++) {
		uint64_t at = (up ? from + i * FAR_AWAY : from - i * FAR_AWAY) / PAGE * PAGE;

		if (is_room(maps, at, len))
			return at;
	}
	return 0;
}

static bool is_of_rings(const struct mapping *m)
{
	return m->shared && strncmp(m->path, "/memfd:ubp", 10) == 0;
}

uint64_t rings_place(const struct space *space, const struct maps *maps, uint64_t *ret_len)
{
	const struct plant_space *ps = space->plant;
	uint64_t at = 0;
	bool is_told =
		mem_peek(&space->mem, ps->data + DATA(rings), &at, sizeof(at)) == sizeof(at);
	const struct mapping *control = is_told && at ? maps_at(maps, at) : NULL;
	const struct mapping *region = control ? maps_at(maps, control->end) : NULL;

	if (!control || !region || control->start != at ||
	    control->end - control->start != RING_CONTROL_LEN || !is_of_rings(control) ||
	    region->start != control->end || !is_of_rings(region))
		return 0;
	*ret_len = region->end - at;
	return at;
}

/*
 * Where an earlier session had its rings: then ours take just that room, *@part; else somewhere
 * else. @len: all that they may take ever.
 */
static uint64_t choose_place(const struct space *space, const struct maps *maps, uint64_t len,
			     uint64_t *ret_flags, size_t *part)
{
	const struct plant_space *ps = space->plant;
	uint64_t old_len, old = rings_place(space, maps, &old_len);

	if (old && old_len >= RING_CONTROL_LEN + RING_RINGS_AT && old_len <= len) {
		*ret_flags = MAP_SHARED | MAP_FIXED;
		*part = old_len - RING_CONTROL_LEN;
		return old;
	}
	*ret_flags = MAP_SHARED | MAP_FIXED_NOREPLACE;
	return rings_find_room(space->arch, maps, ps->areas->vaddr, len);
}

/* Our end of a file that the target has open. */
static int fetch_fd(pid_t pid, uint64_t fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int own = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, (int)fd, 0);
	char path[64];

	if (pidfd >= 0)
		close(pidfd);
	if (own >= 0)
		return own;
	/* Before Linux 5.6, and where a filter does not know it. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)fd);
	own = open(path, O_RDWR | O_CLOEXEC);
	return own < 0 ? -errno : own;
}

struct files {
	uint64_t control, region; /* numbers in the target */
	bool has_control, has_region;
};

static int make_files(struct remote *remote, uint64_t name, struct files *files,
		      struct ubp_err *err)
{
	const struct ubp_arch *arch = remote->t->process->space->arch;
	uint64_t args[6] = { name, MFD_CLOEXEC | MFD_ALLOW_SEALING };
	int rc = call(remote, arch->nr_memfd_create, args, &files->control, err);

	files->has_control = rc == 0;
	if (rc == 0)
		rc = call(remote, arch->nr_memfd_create, args, &files->region, err);
	files->has_region = rc == 0 && files->has_control;
	return rc;
}

static void close_files(struct remote *remote, const struct files *files)
{
	const struct ubp_arch *arch = remote->t->process->space->arch;
	struct ubp_err ignored;
	uint64_t result, args[6] = { files->control };

	if (files->has_control &&
	    call(remote, arch->nr_close, args, &result, &ignored) == -ESRCH)
		return;
	args[0] = files->region;
	if (files->has_region)
		(void)call(remote, arch->nr_close, args, &result, &ignored);
}

/* Ours of both, made a ring space. */
static int share(struct plant *plant, pid_t pid, const struct files *files, uint64_t base,
		 size_t len, struct ring_space **ret_rings, struct ubp_err *err)
{
	int control = fetch_fd(pid, files->control), region = fetch_fd(pid, files->region);
	int rc;

	if (control < 0 || region < 0)
		rc = ubp_fail(err, control < 0 ? -control : -region,
			      "cannot open the memory file of process %d", (int)pid);
	else
		rc = ring_space_new(plant->rings, control, region, base, len, ret_rings, err);
	if (control >= 0)
		close(control);
	if (region >= 0)
		close(region);
	return rc;
}

/* The control page, and so much of the region. */
static int map_files(struct remote *remote, const struct files *files, uint64_t at,
		     uint64_t part, uint64_t flags, struct ubp_err *err)
{
	const struct ubp_arch *arch = remote->t->process->space->arch;
	uint64_t control[6] = { at, RING_CONTROL_LEN, PROT_READ, flags, files->control, 0 };
	uint64_t region[6] = { at + RING_CONTROL_LEN, part,          PROT_READ | PROT_WRITE,
			       flags | MAP_NORESERVE, files->region, 0 };
	uint64_t result = 0;
	uint64_t advice[6] = { region[0], region[1], MADV_DONTDUMP };
	int rc = call(remote, arch->nr_mmap, control, &result, err);
	struct ubp_err ignored;

	/* Before Linux 4.17 the place was a wish; this room was looked for, and is wide. */
	if (rc == 0 && result != control[0])
		rc = ubp_fail(err, EEXIST, "no room for rings");
	if (rc == 0)
		rc = call(remote, arch->nr_mmap, region, &result, err);
	if (rc == 0 && result != region[0])
		rc = ubp_fail(err, EEXIST, "no room for rings");
	if (rc == 0 && call(remote, arch->nr_madvise, advice, &result, &ignored) == -ESRCH)
		rc = -ESRCH;
	return rc;
}

int rings_note_place(const struct space *space, pid_t tid, uint64_t at, uint64_t len)
{
	const struct plant_space *ps = space->plant;
	uint64_t place[2] = { at, len };

	return mem_write(&space->mem, tid, ps->data + DATA(rings), place, sizeof(place));
}

int rings_provide(struct plant *plant, struct tracer *tracer, struct tracee *t,
		  const struct ubp_regs *at, const struct maps *maps, struct ubp_err *err)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t most = space->arch->addr_size == sizeof(uint32_t) ? REGION_MAX_32 : UINT64_MAX;
	uint64_t len = RING_CONTROL_LEN + ring_region_len(plant->rings, most), flags = 0;
	uint64_t place;
	size_t part = rings_first_part(plant, t, len - RING_CONTROL_LEN);
	const uint64_t name = 0x706275; /* "ubp" */
	struct ring_space *rings = NULL;
	struct files files = { 0 };
	struct remote remote;
	int rc;

	if (ps->rings)
		return 0;
	/* mlockall(MCL_FUTURE) would fetch all of a mapping that is to stay almost empty. */
	if (task_locks_memory(t->tid))
		return ubp_fail(err, EPERM, "the process locks its memory");
	place = choose_place(space, maps, len, &flags, &part);
	if (!place)
		return ubp_fail(err, ENOMEM, "no room for rings");
	if (!part)
		return ubp_fail(err, ENOMEM, "%s", UBP_NO_MEMORY);
	rc = mem_write(&space->mem, t->tid, ps->data + DATA(name), &name, sizeof(name));
	if (rc < 0)
		return ubp_fail(err, -rc, "cannot write to process %d", (int)t->process->pid);
	rc = remote_begin(&remote, tracer, t, at, ps->stub, err);
	if (rc < 0)
		return rc;
	rc = make_files(&remote, ps->data + DATA(name), &files, err);
	if (rc == 0)
		rc = share(plant, t->process->pid, &files, place + RING_CONTROL_LEN,
			   len - RING_CONTROL_LEN, &rings, err);
	/* Told before it is so: who believes it looks what is mapped there. */
	if (rc == 0)
		rc = rings_note_place(space, t->tid, place, part + RING_CONTROL_LEN);
	if (rc == 0)
		rc = map_files(&remote, &files, place, part, flags, err);
	if (rc != -ESRCH)
		close_files(&remote, &files);
	if (rc < 0) {
		if (rings)
			ring_space_close(rings);
	} else {
		ps->rings = rings;
		ps->rings_base = place + RING_CONTROL_LEN;
		ps->rings_mapped = part;
		ps->rings_most = len - RING_CONTROL_LEN;
		ring_space_set_mapped(rings, part);
	}
	if (rc != -ESRCH)
		remote_end(&remote);
	return rc;
}

int rings_set_gate(const struct space *owner, const struct space *space, pid_t tid,
		   uint64_t value)
{
	const struct plant_space *ps = owner->plant;

	return ps->data ? mem_write(&space->mem, tid, ps->data + DATA(gate), &value,
				    sizeof(value))
			: -ENXIO;
}

/* --- threads ------------------------------------------------------------------------ */

static void *tid_value(pid_t tid)
{
	return (void *)(uintptr_t)tid;
}

static void forget_pointer(struct plant_space *ps, const struct tracee *t)
{
	void *who = map_get(&ps->thread_pointers, t->thread_pointer);

	if (t->thread_pointer && (who == tid_value(t->tid) || who == RINGS_SHARED))
		map_remove(&ps->thread_pointers, t->thread_pointer);
}

static void note_thread(struct plant_space *ps, struct tracee *t, uint64_t thread_pointer)
{
	if (ring_space_add(ps->rings, t->process->pid, t->tid, thread_pointer,
			   t->process->silent) == 0)
		ring_space_set_cpu(ps->rings, t->tid, task_rseq_cpu_vaddr(t));
}

static bool is_shared(struct tracer *tracer, const struct process *p)
{
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->processes, &pos, NULL, &value))
		if (value != p && ((struct process *)value)->space == p->space)
			return true;
	return false;
}

/*
 * A process that shares its memory with others may have the thread pointer of one of them. Those
 * found at attach may sleep, and then have never told theirs.
 */
static bool may_be_anothers(struct tracer *tracer, const struct tracee *t)
{
	const struct process *p = t->process;
	size_t pos = 0;
	void *value;

	/* Who stops all threads has a share in the memory, too. */
	if (p->space->refs == 1 || !is_shared(tracer, p))
		return false;
	while (map_next(&tracer->tracees, &pos, NULL, &value)) {
		const struct tracee *other = value;

		if (other->process != p && other->process->space == p->space &&
		    (!other->thread_pointer || other->thread_pointer == t->thread_pointer))
			return true;
	}
	return false;
}

void rings_add_thread(struct tracer *tracer, struct tracee *t, const struct ubp_regs *regs)
{
	struct plant_space *ps = t->process->space->plant;
	uint64_t thread_pointer = 0;
	const struct tracee *other;
	void *who;

	if (!ps || ubp_host_get_thread_pointer(t->process->space->arch, t->tid, regs,
					       &thread_pointer) < 0)
		return;
	if (t->thread_pointer != thread_pointer)
		forget_pointer(ps, t);
	t->thread_pointer = thread_pointer;
	if (!ps->rings || !thread_pointer)
		return;
	who = map_get(&ps->thread_pointers, thread_pointer);
	other = who && who != RINGS_SHARED ? map_get(&tracer->tracees, (uint64_t)(uintptr_t)who)
					   : NULL;
	if (who == RINGS_SHARED)
		return;
	if (other && other != t && other->process->space == t->process->space &&
	    other->thread_pointer == thread_pointer) {
		/* Born without one of its own: nobody can tell the two from each other. */
		ring_space_drop(ps->rings, other->tid);
		(void)map_put(&ps->thread_pointers, thread_pointer, RINGS_SHARED);
		return;
	}
	if (!may_be_anothers(tracer, t) &&
	    map_put(&ps->thread_pointers, thread_pointer, tid_value(t->tid)) == 0)
		note_thread(ps, t, thread_pointer);
}

void rings_drop_thread(struct space *space, pid_t tid)
{
	struct plant_space *ps = space->plant;

	if (ps && ps->rings)
		ring_space_drop(ps->rings, tid);
}

void rings_thread_gone(struct tracee *t)
{
	struct plant_space *ps = t->process->space->plant;

	if (!ps)
		return;
	forget_pointer(ps, t);
	t->thread_pointer = 0;
	rings_drop_thread(t->process->space, t->tid);
}

/* --- what may be read -------------------------------------------------------------- */

bool rings_may_read(const struct plant_space *ps, uint64_t vaddr)
{
	uint64_t page = vaddr >> RING_PAGE_SHIFT;

	for (size_t i = 0; i < ps->n_ranges; i++)
		if (page - (ps->ranges[i] >> RING_RANGE_BITS) <
		    (ps->ranges[i] & ((1ULL << RING_RANGE_BITS) - 1)))
			return true;
	return false;
}

/* Devices may do something when they are read; vvar may not be there. */
static bool is_plain(const struct mapping *m)
{
	if (!m->read || strncmp(m->path, "[vvar", 5) == 0 ||
	    strcmp(m->path, "[vsyscall]") == 0 || strncmp(m->path, "/memfd:ubp", 10) == 0)
		return false;
	return strncmp(m->path, "/dev/", 5) != 0 || strncmp(m->path, "/dev/shm/", 9) == 0 ||
	       strncmp(m->path, "/dev/zero", 9) == 0;
}

static bool is_wanted(uint64_t lo, uint64_t hi, const uint64_t *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wanted[i] >= lo && wanted[i] < hi)
			return true;
	return false;
}

/* The run of mappings that starts with @i: where it ends, and who is behind it. */
static size_t run_of(const struct maps *maps, size_t i, uint64_t *ret_end)
{
	*ret_end = maps->v[i].end;
	for (i++; i < maps->n && maps->v[i].start == *ret_end && is_plain(&maps->v[i]); i++)
		*ret_end = maps->v[i].end;
	return i;
}

static void note_ranges(struct plant_space *ps, const struct maps *maps, const uint64_t *wanted,
			size_t n_wanted, bool wants)
{
	size_t i = 0;

	while (i < maps->n && ps->n_ranges < RING_RANGES) {
		uint64_t start = maps->v[i].start, end, n;

		if (!is_plain(&maps->v[i])) {
			i++;
			continue;
		}
		i = run_of(maps, i, &end);
		n = (end - start) >> RING_PAGE_SHIFT;
		if (n < 1ULL << RING_RANGE_BITS &&
		    is_wanted(start, end, wanted, n_wanted) == wants)
			ps->ranges[ps->n_ranges++] = RING_RANGE(start >> RING_PAGE_SHIFT, n);
	}
}

void rings_look_around(struct space *space, pid_t tid, const uint64_t *wanted, size_t n)
{
	struct plant_space *ps = space->plant;
	struct ubp_err err;
	struct maps maps;

	if (!ps->rings)
		return;
	if (!ps->ranges)
		ps->ranges = calloc(RING_RANGES, sizeof(*ps->ranges));
	if (!ps->ranges)
		return;
	ps->ranges_ns = event_clock_now(CLOCK_KIND_MONO);
	ps->n_ranges = 0;
	/* What is unmapped later would be a fault, of which they would lose their setting. */
	if (!task_ignores(tid, SIGSEGV) && !task_ignores(tid, SIGBUS)) {
		if (maps_read(tid, &maps, &err) == 0) {
			note_ranges(ps, &maps, wanted, n, true);
			note_ranges(ps, &maps, wanted, n, false);
		}
		maps_free(&maps);
	}
	ring_space_set_ranges(ps->rings, ps->ranges, ps->n_ranges);
}

void rings_close(struct plant_space *ps)
{
	if (ps->rings)
		ring_space_close(ps->rings);
	ps->rings = NULL;
	map_free(&ps->thread_pointers);
	free(ps->ranges);
	ps->ranges = NULL;
	ps->n_ranges = 0;
}
