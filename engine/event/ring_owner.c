/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/event/ring_owner.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/base/ring.h"

/* The kernel follows no longer list. */
#define OWNERS_MAX (ROBUST_LIST_LIMIT - 1)

static uint32_t *word_of(struct ring_owner *owner)
{
	return (uint32_t *)((char *)owner + PAGE);
}

static int take_over_list(struct ring_owners *owners, struct ubp_err *err)
{
	size_t len;

	if (syscall(SYS_get_robust_list, 0, &owners->before, &len) < 0)
		return ubp_fail_sys(err, "get_robust_list");
	owners->tid = gettid();
	owners->head.list.next = &owners->head.list;
	owners->head.futex_offset = PAGE;
	owners->head.list_op_pending = NULL;
	if (syscall(SYS_set_robust_list, &owners->head, sizeof(owners->head)) < 0)
		return ubp_fail_sys(err, "set_robust_list");
	return 0;
}

/* Two pages: ours in front, then the shared one. */
static struct ring_owner *map_pages(int fd)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	if (mmap(pages + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		munmap(pages, 2 * PAGE);
		return NULL;
	}
	(void)madvise(pages, 2 * PAGE, MADV_DONTFORK);
	return (struct ring_owner *)pages;
}

/* The list holds at every moment: we may be killed at any. */
static void link_in(struct ring_owners *owners, struct ring_owner *owner)
{
	struct robust_list *first = owners->head.list.next;

	owner->prev = NULL;
	owner->link.next = first;
	if (first != &owners->head.list)
		((struct ring_owner *)first)->prev = owner;
	__atomic_store_n(&owners->head.list.next, &owner->link, __ATOMIC_RELEASE);
}

static void take_out(struct ring_owners *owners, struct ring_owner *owner)
{
	struct robust_list *next = owner->link.next;
	struct robust_list *prev = owner->prev ? &owner->prev->link : &owners->head.list;

	if (next != &owners->head.list)
		((struct ring_owner *)next)->prev = owner->prev;
	__atomic_store_n(&prev->next, next, __ATOMIC_RELEASE);
}

int ring_owner_take(struct ring_owners *owners, int fd, struct ring_owner **ret_owner,
		    struct ubp_err *err)
{
	struct ring_owner *owner;
	int rc = 0;

	if (owners->n == OWNERS_MAX)
		return ubp_fail(err, ENOSPC, "more than %d targets with rings", OWNERS_MAX);
	if (owners->n == 0)
		rc = take_over_list(owners, err);
	if (rc < 0)
		return rc;
	owner = map_pages(fd);
	if (!owner) {
		rc = ubp_fail_sys(err, "rings: cannot map their control page");
		if (owners->n == 0)
			(void)syscall(SYS_set_robust_list, owners->before,
				      sizeof(*owners->before));
		return rc;
	}
	link_in(owners, owner);
	__atomic_store_n(word_of(owner), (uint32_t)gettid(), __ATOMIC_RELEASE);
	owners->n++;
	*ret_owner = owner;
	return 0;
}

void ring_owner_give(struct ring_owners *owners, struct ring_owner *owner)
{
	__atomic_store_n(word_of(owner), RING_OWNER_DIED, __ATOMIC_RELEASE);
	take_out(owners, owner);
	munmap(owner, 2 * PAGE);
	if (--owners->n == 0 && owners->tid == gettid())
		(void)syscall(SYS_set_robust_list, owners->before, sizeof(*owners->before));
}
