/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard: what keeps a target alive when its tracer is killed. A SIGTRAP
 * handler in the SSOL area that runs when no tracer takes a trap: it looks the
 * site up in a table and continues in the slot, puts a hijacked return address
 * back, or hands the trap to the handler that the program itself set.
 *
 * This is the layout that the handler's code (arch/.../guard.S) shares with its
 * owner (engine/plant). It is found again by later sessions: a change needs a
 * new UBP_GUARD_VERSION.
 *
 *   area, r-x, written from outside only:
 *     0      struct guard_head
 *     0x100  return trampoline            } in the first area of a space only;
 *     0x140  remote-call stub             } the rest of the space before the table
 *     0x180  the guard's code             } is zero in further ones
 *     0xf00  its variant for many calls   }
 *     0x1000 site table, a power of two of entries, then slots
 *   data, rw-, behind the first area: struct guard_data, a page
 *   gate, rw-, the page behind that: struct guard_gate. A child of fork() finds it zeroed, where the tracer has asked for that.
 *   return table, rw-: a power of two of struct guard_return
 *
 * All words are 8 bytes, in the tracee's byte order, of a 32-bit one too: the upper
 * halves of addresses are 0 there. Entries are read by threads of the target while the
 * tracer writes them: value before key, each by one aligned write.
 *
 * "The stack word" of a hijacked return address is where the address stood. Where a
 * call leaves it in a register (RETURN_IN_REGISTER) there is none: then it is the stack
 * pointer on entry, which is what it is again on return.
 */

#ifndef UBP_ARCH_GUARD_H
#define UBP_ARCH_GUARD_H

#include <stddef.h>
#include <stdint.h>

#define UBP_GUARD_MAGIC   0x44524155472d4255ULL /* "UB-GUARD" in memory, little-endian */
#define UBP_GUARD_VERSION 16

#define UBP_AREA_TRAMPOLINE 0x100
#define UBP_AREA_STUB       0x140
#define UBP_AREA_GUARD      0x180
#define UBP_AREA_BATCH      0xf00
#define UBP_AREA_TABLE      0x1000

/* At the start of each area. */
struct guard_head {
	uint64_t magic;
	uint64_t version;
	uint64_t len;        /* bytes of the area */
	uint64_t used;       /* bytes given out, from the start; slots follow */
	uint64_t table_mask; /* entries of the site table - 1 */
	uint64_t next;       /* vaddr of the next area of this space; 0: the last */
	/* In the first area only: */
	uint64_t data;         /* vaddr of struct guard_data; 0: no guard stands here */
	uint64_t returns;      /* vaddr of the return table; 0: none */
	uint64_t returns_mask; /* its entries - 1 */
	/* What is given to rt_sigaction(SIGTRAP): the kernel's struct, with fill behind it. */
	uint64_t action[4]; /* 64 bits: handler, flags, restorer, mask */
	/* When the tracer that is there now has changed the program's code last, by its own clock; 0: not yet. For it
	 * alone: a copy of the memory tells by this whether it was made before. */
	uint64_t changed_ns;
};

_Static_assert(sizeof(struct guard_head) <= UBP_AREA_TRAMPOLINE, "in front of what follows");

/* What a space has at most. Whoever reads it from a target's memory believes no more. */
#define UBP_AREAS_MAX     4096
#define UBP_AREAS_LEN_MAX (1ULL << 30) /* all together */
#define UBP_SITES_MAX     (1ULL << 20) /* entries of their tables, all together */
/* Entries of the tables of return addresses, powers of two. */
#define UBP_RETURNS_MOST  0x40000ULL
#define UBP_RETURNS_LEAST 4096ULL

/* In guard_site.slot, whose lowest bits are free: slots are aligned. */
#define UBP_SLOT_FLAGS  63U
#define UBP_SLOT_UNWIND 1U /* an unwinder's: return addresses go back before it reads them */
#define UBP_SLOT_JUMP   2U /* the copy of a window, with a struct guard_jump in front of it */
#define UBP_SLOT_PART   4U /* its instruction is longer than the breakpoint, and no nop */

/*
 * A site: found by open addressing from guard_hash(vaddr) & table_mask upwards,
 * wrapping around, up to an entry with vaddr 0. Entries are never taken away.
 */
struct guard_site {
	uint64_t vaddr;  /* of the breakpoint */
	uint32_t slot;   /* offset of its slot in this area; 0: none, no rescue; UBP_SLOT_* */
	uint8_t orig[4]; /* the bytes under the breakpoint */
};

/*
 * A hijacked return address: from (word >> 3) & returns_mask upwards, wrapping
 * around, up to an entry with word 0. One that is over may stay until it is in
 * the way.
 */
struct guard_return {
	uint64_t word; /* vaddr of the stack word that holds the trampoline's address */
	uint64_t real; /* what stood there */
};

/* In front of a window's copy (arch/detour.h): what a jump replaced. */
#define UBP_JUMP_MAGIC 0x504d554a2d425500ULL
#define UBP_JUMP_LEAF                                                                          \
	0x4641454c2d425500ULL /* the same, with a copy of the function: struct guard_leaf */
#define UBP_JUMP_FREE 0x454552462d425500ULL /* nobody is in this block, or can come there */

struct guard_jump {
	uint64_t magic;
	uint64_t vaddr;   /* of the window */
	uint32_t len;     /* of the block, this head included */
	uint32_t entry;   /* offset of the detour's entry from the copy */
	uint8_t jump_len; /* bytes of the jump */
	uint8_t n_orig;   /* bytes of .orig */
	uint8_t n_fixed; /* bytes behind those of the jump that it has, too (struct pun, arch/detour.h) ... */
	uint8_t n_prefix; /* ... and those in front of its opcode */
	uint8_t orig[28]; /* what stood there; behind it, what stood at the hop */
	uint64_t
		hop; /* vaddr of what it leads to, in place of the entry: UBP_HOP_LEN bytes; 0: none */
};

/*
 * In front of a detour's entry, where its function is copied (arch/leaf.h). In front of this, .n_exits places that the copy leads out to, each an
 * int16_t from guard_jump.vaddr on; in front of these, .n_rets of the copy's rets, which lead to what records, each a uint16_t from the window's
 * copy on.
 * At most UBP_LEAF_EXITS and UBP_LEAF_INSNS (arch/leaf.h): more are not believed, so these belong to the layout, too.
 */
struct guard_leaf {
	uint16_t n_rets, n_exits;
};

/* A reference counter that we incremented. */
struct guard_semaphore {
	uint64_t vaddr;
	uint32_t place;    /* of which file, and where in it: a hash; never 0 */
	uint16_t without;  /* what it is without us, if it is being changed */
	uint16_t changing; /* 1: it is */
};

/* A process in this memory beside the first one, with an action of SIGTRAP of its own: as guard_data begins. */
struct guard_sharer {
	uint64_t chain_at;
	uint64_t chain[2][4];
	uint64_t owner; /* 0: nobody */
};

#define UBP_GUARD_SEMAPHORES 192
#define UBP_GUARD_SHARERS    9
#define UBP_GUARD_GATE       4096ULL /* struct guard_gate, behind the start of the data */
#define UBP_GUARD_DATA_LEN   8192ULL /* both */

/* What the program, in the guard's own code, may write. */
struct guard_data {
	/* The action the program itself has set for SIGTRAP, as the kernel keeps it;
	 * two, so that one is whole at any time. */
	uint64_t chain_at; /* lowest bit: which of the two counts; the rest is the code's own */
	uint64_t chain[2][4]; /* as guard_head.action */
	/* Process (as itself sees its id) that chain[] belongs to: not that of a
	 * vfork() child, which shares the memory but has signal actions of its own. */
	uint64_t owner;
	uint64_t retired; /* 1: the guard is not installed, calls go to the kernel */
	uint64_t unused;
	uint64_t rings;     /* vaddr of the control page in front of them; 0: none mapped */
	uint64_t rings_len; /* bytes, from there on */
	uint64_t hijacks;   /* vaddr of the table of struct guard_hijack; 0: none */
	uint64_t hijacks_mask;
	uint64_t return_vaddr; /* of the code that return addresses are replaced by */
	uint64_t name;         /* "ubp": of memory files */
	uint64_t n_semaphores;
	struct guard_semaphore semaphores[UBP_GUARD_SEMAPHORES];
	uint64_t n_sharers; /* 0: nobody needs to look for itself among them */
	struct guard_sharer sharers[UBP_GUARD_SHARERS];
	uint64_t claim_code; /* vaddr of the code by which threads claim rings; 0: none */
	uint64_t fill[4];
	/* Signals, bit N - 1 for signal N, whose handlers the program wants to run with SIGTRAP blocked.
	 * They do not: their actions were set without it. */
	uint64_t masked;
	uint64_t action[4]; /* what the tracer has set next */
	/*
	 * The guard's own, once it has put return addresses back for an unwinder: all stack words
	 * of others that are still replaced lie in [live_lo, live_end), as nobody replaces more.
	 * .live_end 0: it has not looked yet.
	 */
	uint64_t live_lo, live_end;
};

/* Words that a process does not share with its child, and does not leave to it. */
struct guard_gate {
	uint64_t gate; /* RING_GATE_*, or where the rings are (engine/base/ring.h) */
	/*
	 * 1: its tracer has let go of it, so nobody takes a trap; 2: it is about to, so traps are taken, but who wants to be traced has
	 * to ask for that. Above these bits, how often the tracer could not come.
	 */
	uint64_t alone;
};
#define UBP_ALONE_REFUSED 4

_Static_assert(sizeof(struct guard_data) <= UBP_GUARD_GATE, "one page");
_Static_assert(offsetof(struct guard_data, n_sharers) == 3224 &&
		       offsetof(struct guard_data, masked) == 3992,
	       "as guard.inc has it");
_Static_assert(offsetof(struct guard_data, owner) == offsetof(struct guard_sharer, owner),
	       "what begins alike");

static inline uint64_t guard_hash(uint64_t vaddr)
{
	return (vaddr * 0x9e3779b97f4a7c15ULL) >> 40;
}

#endif
