/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The table of return addresses that detours have replaced, in a target's memory. It is part of what UBP_GUARD_VERSION counts. */

#ifndef UBP_ARCH_GUARD_HIJACK_H
#define UBP_ARCH_GUARD_HIJACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its entries, at most: a power of two. */
#define UBP_HIJACKS_MOST 0x20000ULL
/* How many entries a detour looks at for a word (struct guard_hijack). */
#define UBP_HIJACK_LOOKS 64

/*
 * The first of them is at this index & mask, for a word of @size bytes and all levels of its chain. Words that follow one another
 * have indices that do. Stacks of threads lie a power of two apart, so each KiB moves them on by one word more: the same functions
 * of many threads would share a place else.
 */
#define UBP_HIJACK_INDEX(word, size)                                                           \
	((uint64_t)(word) / (size)*2 + ((uint64_t)(word) >> UBP_HIJACK_DRIFT) * 2)
#define UBP_HIJACK_DRIFT 10
/* So far apart are the first of two words, @distance from each other, at most. */
#define UBP_HIJACK_SPAN(distance, size) (UBP_HIJACK_INDEX(distance, size) + 2)

/*
 * A return address that a detour replaced, by its stack word: from UBP_HIJACK_INDEX() &
 * mask upwards, wrapping around, to an entry with word 0. Entries stay: .real is 0
 * while there is nothing to go back to. Private to each process.
 *
 * There are two entries for each word. Where all functions are probed, all words of
 * the part of the stack that the program works in come to have one, and with one for each, those of
 * chains would find no room near by.
 *
 * Where return addresses are in the stack, a function that was left by a jump to another one has a
 * chain: the word is replaced already when that is entered, and its entry tells how many have been
 * entered so. Each of those has an entry of its own, with the same .real: by the word + 1, the
 * next one's by the word + 2. They return in the reverse order. One whose level is above what the word's entry
 * tells was left by a longjmp(), or returns just now.
 */
struct guard_hijack {
	uint64_t word; /* + its level, for one of a chain */
	uint64_t real;
	uint64_t back; /* vaddr of the detour's return code, aligned; + how long its chain is */
	/* Where somebody asks how long it takes: ticks at entry; once .real is 0 again,
	 * nanoseconds from there to the return. Once the word was given back another address,
	 * that one ^ UBP_GIVEN_BACK: who is on the way from it already finds it by that. */
	uint64_t time;
};

/* Words are aligned: so long is a chain at most. */
#define UBP_CHAIN_MOST(word_size) ((word_size)-1u)
#define UBP_CHAIN_MAX             UBP_CHAIN_MOST(sizeof(uint64_t))

/*
 * Processors keep the return addresses of calls, and go on at once where a function returns to one of them; to any other address it
 * takes them some 10 to 30 ns. So a detour of x86-64 replaces the return address by a call: the function returns to the
 * instruction behind it, UBP_CALLED_BACK bytes in front of .back. All such addresses leave UBP_CALLED_AT, which few other words
 * do, when they are divided by UBP_CALLED_ALIGN.
 */
#define UBP_CALLED_BACK  5u
#define UBP_CALLED_AT    43u
#define UBP_CALLED_ALIGN 64u

/* Is it worth to look for the entry of a stack word that holds @address? */
static inline bool guard_may_be_called(uint64_t address)
{
	return address % UBP_CALLED_ALIGN == UBP_CALLED_AT;
}

/* What a call of its detour puts into the entry's stack word. */
static inline uint64_t guard_called(const struct guard_hijack *entry)
{
	return (entry->back & ~(uint64_t)UBP_CHAIN_MAX) - UBP_CALLED_BACK;
}

/* No time, and no address. */
#define UBP_GIVEN_BACK 0x7562702d00000000ULL

#endif
