/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: what a killed ubp seems to have left in a target. The target's memory is a file, an offset
 * in it an address; the input says which mappings there are, and what heads, tables, blocks, return
 * addresses and data of the guard stand in them. Whatever that is, it is taken over in bounded time,
 * and what is known of it afterwards is sound.
 */

#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/guard.h"
#include "arch/guard_hijack.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/leave.h"
#include "engine/plant/leftover.h"
#include "engine/returns/hijack.h"
#include "engine/returns/hijack_chain.h"
#include "engine/space/guard_part.h"
#include "engine/space/hijack_part.h"
#include "engine/space/jump_part.h"
#include "engine/space/return_part.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

#define PAGES  4096ULL
#define N_MAPS 12
#define TID    1 /* not traced by us: what ptrace is asked of it fails */

static int memory = -1;
static struct tracer tracer;

static void put(uint64_t at, const void *bytes, size_t len)
{
	/* A file with seals: behind its end nothing comes to be. */
	(void)!pwrite(memory, bytes, len, (off_t)at);
}

static uint64_t page(struct fuzz_input *in)
{
	return fuzz_number(in, 2) % PAGES * PAGE;
}

/* A size or an address as it would be, or any. */
static uint64_t odd(struct fuzz_input *in, uint64_t otherwise)
{
	switch (fuzz_number(in, 1)) {
	case 255:
		return fuzz_number(in, 8);
	case 254:
		return otherwise + fuzz_number(in, 1) - 128;
	default:
		return otherwise;
	}
}

/* Ascending, as the kernel lists them: each begins some pages behind the last. */
static char *make_maps(struct fuzz_input *in)
{
	static const char *const kinds[] = {
		"r-xp 00000000 00:00 0 ",
		"rw-p 00000000 00:00 0 ",
		"r-xp 00000000 08:01 7     /bin/x",
		"rw-p 00000000 08:01 7     /bin/x",
		"rwxp 00000000 00:00 0 ",
		"rw-s 00000000 00:01 9     /memfd:ubp (deleted)",
		"r-xs 00000000 00:01 9     /memfd:ubp (deleted)",
		"---p 00000000 00:00 0 ",
	};
	char *text = malloc(N_MAPS * 100 + 1);
	uint64_t at = 16;
	size_t len = 0;

	CLAIM(text);
	text[0] = '\0';
	for (int i = 0; i < N_MAPS; i++) {
		uint64_t kind = fuzz_number(in, 1), n = fuzz_number(in, 1) + 1;

		at += kind >> 4;
		len += (size_t)snprintf(text + len, 100, "%llx-%llx %s\n",
					(unsigned long long)(at * PAGE),
					(unsigned long long)((at + n) * PAGE), kinds[kind % 8]);
		at += n;
	}
	return text;
}

static void put_head(struct fuzz_input *in)
{
	uint64_t at = page(in), bits = fuzz_number(in, 1) % 16;
	uint64_t len = (fuzz_number(in, 1) + 1) * PAGE, entries = 1ULL << bits;
	struct guard_head head = { .magic = UBP_GUARD_MAGIC, .version = UBP_GUARD_VERSION };

	head.len = odd(in, len);
	head.table_mask = odd(in, entries - 1);
	head.used = odd(in, UBP_AREA_TABLE + entries * sizeof(struct guard_site));
	head.next = odd(in, page(in));
	head.data = odd(in, at + len);
	head.returns = odd(in, page(in));
	head.returns_mask = odd(in, (1ULL << (12 + bits % 8)) - 1);
	put(at, &head, sizeof(head));
}

static void put_site(struct fuzz_input *in)
{
	uint64_t base = page(in), slot = fuzz_number(in, 3), n = fuzz_number(in, 1) + 1;
	struct guard_site site = { .vaddr = odd(in, page(in) + fuzz_number(in, 1)),
				   .slot = (uint32_t)slot };
	uint64_t at = base + UBP_AREA_TABLE + fuzz_number(in, 2) * sizeof(site);

	for (uint64_t i = 0; i < n; i++, site.vaddr += 16, site.slot += UBP_SLOT_SIZE)
		put(at + i * sizeof(site), &site, sizeof(site));
}

/* Its entry in a table, too. */
static void put_block(struct fuzz_input *in)
{
	static const uint64_t magics[] = { UBP_JUMP_FREE, UBP_JUMP_MAGIC, UBP_JUMP_LEAF,
					   UBP_JUMP_MAGIC };
	uint64_t base = page(in), block = base + fuzz_number(in, 2) * UBP_SLOT_SIZE;
	struct guard_jump head = { .magic = magics[fuzz_number(in, 1) % 4] };
	struct guard_leaf leaf;
	struct guard_site site = { .vaddr = block + UBP_SLOT_SIZE };

	head.vaddr = page(in) + fuzz_number(in, 1);
	head.len = (uint32_t)odd(in, fuzz_number(in, 2));
	head.entry = (uint32_t)fuzz_number(in, 2);
	head.jump_len = (uint8_t)fuzz_number(in, 1);
	head.n_orig = (uint8_t)fuzz_number(in, 1);
	/* Of a punned jump, in the half of them. */
	head.n_fixed = head.n_orig & 0x80 ? head.n_orig & 7 : 0;
	head.n_prefix = head.n_orig & 0x80 ? head.n_orig >> 3 & 3 : 0;
	head.n_orig &= 0x7f;
	head.hop = odd(in, head.vaddr + fuzz_number(in, 1) - 128);
	site.slot = (uint32_t)(site.vaddr - base) | UBP_SLOT_JUMP;
	put(block, &head, sizeof(head));
	put(base + UBP_AREA_TABLE + fuzz_number(in, 1) * sizeof(site), &site, sizeof(site));
	if (head.magic != UBP_JUMP_LEAF)
		return;
	leaf.n_rets = (uint16_t)fuzz_number(in, 2);
	leaf.n_exits = (uint16_t)fuzz_number(in, 1);
	put(site.vaddr + head.entry - sizeof(leaf), &leaf, sizeof(leaf));
}

/* A short jump, its hop, and the block that they lead to, as they would be. */
static void put_short(struct fuzz_input *in)
{
	uint64_t base = page(in), block = base + fuzz_number(in, 2) * UBP_SLOT_SIZE;
	struct guard_jump head = { .magic = fuzz_number(in, 1) & 1 ? UBP_JUMP_MAGIC
								   : UBP_JUMP_FREE,
				   .vaddr = page(in) + 128 + fuzz_number(in, 1),
				   .len = 1024,
				   .entry = 64,
				   .jump_len = 2,
				   .n_orig = 2 };
	struct guard_site site = { .vaddr = block + UBP_SLOT_SIZE };
	uint8_t back = (uint8_t)(fuzz_number(in, 1) % 120 + 5), jump[2] = { 0xeb, 0 };
	uint8_t hop[5] = { 0xe9 };
	uint32_t to;

	head.hop = odd(in, head.vaddr - back);
	to = (uint32_t)(site.vaddr + head.entry - (head.hop + sizeof(hop)));
	jump[1] = (uint8_t)(-back - 2);
	memcpy(hop + 1, &to, sizeof(to));
	site.slot = (uint32_t)(site.vaddr - base) | UBP_SLOT_JUMP;
	put(block, &head, sizeof(head));
	put(base + UBP_AREA_TABLE + fuzz_number(in, 1) * sizeof(site), &site, sizeof(site));
	put(head.vaddr, jump, sizeof(jump));
	put(head.hop, hop, fuzz_number(in, 1) % (sizeof(hop) + 1));
}

static void put_jump(struct fuzz_input *in)
{
	uint8_t jump[5] = { fuzz_number(in, 1) & 1 ? 0xe9 : 0xcc };
	uint32_t to = (uint32_t)fuzz_number(in, 3);

	memcpy(jump + 1, &to, sizeof(to));
	put(page(in) + fuzz_number(in, 1), jump, sizeof(jump));
}

/* Entries whose words hold @word, and these. */
static void put_returns(struct fuzz_input *in)
{
	uint64_t table = page(in), words = page(in), n = fuzz_number(in, 1) + 1;
	uint64_t word = page(in) + UBP_AREA_TRAMPOLINE, first = fuzz_number(in, 2);

	for (uint64_t i = 0; i < n; i++) {
		struct guard_return entry = { words + 8 * i, word };

		put(table + (first + i) * sizeof(entry), &entry, sizeof(entry));
		put(words + 8 * i, &word, sizeof(word));
	}
}

static void put_hijacks(struct fuzz_input *in)
{
	uint64_t table = page(in), words = page(in), n = fuzz_number(in, 1) + 1;
	uint64_t word = page(in) + fuzz_number(in, 1) * UBP_SLOT_SIZE;

	for (uint64_t i = 0; i < n; i++) {
		struct guard_hijack entry = { words + 8 * i, fuzz_number(in, 1), word, 0 };

		put(table + ((words >> 3) + i) * sizeof(entry), &entry, sizeof(entry));
		put(words + 8 * i, &word, sizeof(word));
	}
}

static void put_data(struct fuzz_input *in)
{
	struct guard_data data = { .retired = fuzz_number(in, 1) & 1 };

	data.hijacks = odd(in, page(in));
	data.hijacks_mask = odd(in, (1ULL << (10 + fuzz_number(in, 1) % 10)) - 1);
	data.return_vaddr = odd(in, page(in) + fuzz_number(in, 1) * UBP_SLOT_SIZE);
	data.n_semaphores = odd(in, fuzz_number(in, 1));
	for (size_t i = 0; i < 4; i++)
		data.semaphores[i] =
			(struct guard_semaphore){ page(in), (uint32_t)fuzz_number(in, 4) | 1, 0,
						  (uint16_t)i };
	put(page(in), &data, sizeof(data));
}

static void put_bytes(struct fuzz_input *in)
{
	uint64_t at = page(in) + fuzz_number(in, 2) % PAGE;
	size_t n = fuzz_number(in, 1);

	if (n > in->left)
		n = in->left;
	put(at, in->at, n);
	in->at += n;
	in->left -= n;
}

static void fill(struct fuzz_input *in)
{
	static void (*const parts[])(struct fuzz_input *) = {
		put_head,    put_site,    put_block, put_jump,
		put_returns, put_hijacks, put_data,  put_bytes,
	};

	while (in->left) {
		uint64_t n = fuzz_number(in, 1);

		(n >= 224 ? put_short : parts[n % 8])(in);
	}
}

static void check_areas(const struct plant_space *ps, const struct maps *maps)
{
	uint64_t len = 0;
	size_t n = 0;

	for (const struct area *a = ps->areas; a; a = a->next, n++) {
		const struct mapping *m = maps_at(maps, a->vaddr);

		CLAIM(m && m->exec && !m->write && !m->shared && a->len <= m->end - a->vaddr);
		CLAIM(a->used <= a->len && a->used % UBP_SLOT_SIZE == 0);
		CLAIM(a->n_entries <= a->table_mask);
		CLAIM(area_of(ps, a->vaddr) == a && area_of(ps, a->vaddr + a->len - 1) == a);
		CLAIM(!plant_site_of_slot(&(struct space){ .plant = (void *)ps },
					  a->vaddr + a->len - 1));
		len += a->len;
	}
	CLAIM(len <= PAGES * PAGE);
}

static void check_maps(const struct plant_space *ps)
{
	size_t pos = 0;
	uint64_t key;
	void *value;

	CLAIM(ps->slots.n + ps->jump->blocks.n <= UBP_SITES_MAX);
	while (map_next(&ps->slots, &pos, &key, &value)) {
		CLAIM(area_holds(area_of(ps, (uintptr_t)value), (uintptr_t)value,
				 UBP_SLOT_SIZE));
		(void)area_has_entry(ps, key);
	}
	pos = 0;
	while (map_next(&ps->jump->hops, &pos, &key, &value)) {
		const struct site *site = value;

		CLAIM(site->hop.vaddr == key && site->hop.stands && area_of(ps, site->hop.to));
	}
	pos = 0;
	while (map_next(&ps->jump->blocks, &pos, &key, &value))
		CLAIM(area_holds(area_of(ps, (uintptr_t)value), (uintptr_t)value,
				 2 * UBP_SLOT_SIZE));
	CLAIM(ps->ret->by_slot.n == ps->ret->indexes.n &&
	      ps->ret->by_slot.n == ps->ret->lost.n && ps->ret->by_slot.n <= UBP_RETURNS_MOST);
	CLAIM(!ps->hijack->table || (ps->hijack->mask < UBP_HIJACKS_MOST &&
				     ps->hijack->mask + 1 >= UBP_RETURNS_LEAST));
	CLAIM(!ps->ret->table || ps->ret->mask < UBP_RETURNS_MOST);
}

/* What a session goes on to do with it. */
static void use(struct space *space)
{
	struct plant_space *ps = space->plant;
	struct mem_writes writes = { .mem = &space->mem };

	for (struct area *a = ps->areas; a; a = a->next) {
		uint64_t copy;
		size_t n = 0;

		while (n < 3 && area_take(a, NULL))
			n++;
		if (!area_take_block(a, 1000, NULL))
			continue;
		copy = a->vaddr + a->used - UBP_SLOT_SIZE;
		area_enter_copies(&writes, a, &copy, 1);
	}
	(void)mem_writes_end(&writes);
	(void)area_has_entry(ps, 4096);
	for (uint64_t at = 0; at < PAGES * PAGE; at += PAGES / 4 * PAGE)
		(void)hijack_nearest(space, at);
	(void)hijack_real(space, ps->hijack->table, ps->hijack->code_vaddr);
	(void)hijack_duration(space, ps->hijack->table, ps->hijack->code_vaddr);
}

static void adopt(struct maps *maps)
{
	struct space space = { .refs = 1,
			       .mem = { .file.fd = memory },
			       .arch = ubp_arch_by_name("x86_64") };
	struct process process = { .space = &space };
	struct tracee t = { .tid = TID, .process = &process };
	struct held held = held_thread(&tracer, &t, NULL);
	struct ubp_err err;
	unsigned n = 0;
	int rc;

	ubp_err_reset(&err);
	CLAIM(space.arch && plant_space_get(&space));
	CLAIM(map_put(&tracer.tracees, TID, &t) == 0);
	rc = leftover_adopt(&held, maps, &n, &err);
	map_remove(&tracer.tracees, TID);
	check_areas(space.plant, maps);
	if (rc == 0) {
		check_maps(space.plant);
		use(&space);
	} else {
		const struct plant_space *ps = space.plant;

		CLAIM(err.text[0] && !ps->areas && !ps->slots.n && !ps->guard->data &&
		      !ps->stub);
	}
	plant_forget(&space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct maps maps = { 0 };

	if (memory < 0) {
		memory = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		CLAIM(memory >= 0 && ftruncate(memory, (off_t)(PAGES * PAGE)) == 0);
		CLAIM(fcntl(memory, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0);
	}
	CLAIM(maps_parse(make_maps(&in), &maps) == 0);
	fill(&in);
	adopt(&maps);
	maps_free(&maps);
	CLAIM(fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			(off_t)(PAGES * PAGE)) == 0);
	return 0;
}
