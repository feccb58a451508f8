// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The memory of event rings: pages that the kernel and one process have
 * mapped.  How they are used stands in ring.h.
 */

#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "compat/vm_flags.h"
#include "compch.h"
#include "ring.h"

/**
 * struct compch_ring_memory - a ring and its memory
 * @ring: the ring
 * @queue: whose ring it is
 * @lock: for the two that follow
 * @mm: the process that has mapped it, or NULL; only to be compared
 * @mappings: how many times
 * @size: bytes that are mapped
 * @rcu: for the final free
 */
struct compch_ring_memory {
	struct compch_ring ring;
	struct compch_queue *queue;
	spinlock_t lock;
	struct mm_struct *mm;
	unsigned int mappings;
	size_t size;
	struct rcu_head rcu;
};

static struct compch_ring_memory *compch_ring_memory_of(struct compch_ring *ring)
{
	return container_of(ring, struct compch_ring_memory, ring);
}

/* A program says how much: it gets -ENOMEM, and nobody a stack trace. */
#define COMPCH_RING_GFP		(GFP_KERNEL_ACCOUNT | __GFP_NOWARN)

/* Of what only the kernel sees */
static int compch_ring_alloc_own(struct compch_ring *ring, u32 cqs)
{
	ring->own = kvcalloc(cqs, sizeof(*ring->own), COMPCH_RING_GFP);
	if (!ring->own)
		return -ENOMEM;
	ring->unused = kvcalloc(cqs, sizeof(*ring->unused), COMPCH_RING_GFP);
	if (!ring->unused)
		goto free_own;
	ring->unpushed = bitmap_zalloc(cqs, COMPCH_RING_GFP);
	if (!ring->unpushed)
		goto free_unused;
	ring->queued = bitmap_zalloc(cqs, COMPCH_RING_GFP);
	if (!ring->queued)
		goto free_unpushed;
	return 0;

free_unpushed:
	bitmap_free(ring->unpushed);
free_unused:
	kvfree(ring->unused);
free_own:
	kvfree(ring->own);
	return -ENOMEM;
}

static void compch_ring_free_own(struct compch_ring *ring)
{
	bitmap_free(ring->queued);
	bitmap_free(ring->unpushed);
	kvfree(ring->unused);
	kvfree(ring->own);
}

/**
 * compch_ring_create() - Make a ring.
 * @queue: whose ring it will be
 * @cqs: how many CQs it is to have room for
 *
 * Return: the ring, or an ERR_PTR: -EINVAL if @cqs is out of range, -EOPNOTSUPP,
 * -ENOMEM.
 */
struct compch_ring *compch_ring_create(struct compch_queue *queue, u32 cqs)
{
	struct compch_ring_memory *memory;
	void *shared;

	if (!cqs || cqs > COMPCH_RING_MAX_CQS)
		return ERR_PTR(-EINVAL);
	/* There, 64 bits are not atomic for the kernel and programs alike. */
	if (!IS_ENABLED(CONFIG_64BIT))
		return ERR_PTR(-EOPNOTSUPP);

	memory = kzalloc(sizeof(*memory), GFP_KERNEL_ACCOUNT);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	memory->queue = queue;
	spin_lock_init(&memory->lock);
	memory->size = PAGE_ALIGN(compch_ring_size(cqs));
	shared = __vmalloc(memory->size, COMPCH_RING_GFP | __GFP_ZERO);
	if (!shared)
		goto free_memory;
	if (compch_ring_alloc_own(&memory->ring, cqs))
		goto free_shared;
	compch_ring_init(&memory->ring, shared, cqs);
	return &memory->ring;

free_shared:
	vfree(shared);
free_memory:
	kfree(memory);
	return ERR_PTR(-ENOMEM);
}

static void compch_ring_free(struct rcu_head *rcu)
{
	struct compch_ring_memory *memory =
		container_of(rcu, struct compch_ring_memory, rcu);

	compch_ring_free_own(&memory->ring);
	vfree(memory->ring.shared);
	kfree(memory);
}

/**
 * compch_ring_destroy() - Undo compch_ring_create().
 * @ring: a ring that no source uses and nobody has mapped; or NULL
 *
 * Who has just fired may still look whom to wake, and change what the ring says
 * of that.  So it is freed after an RCU grace period.
 */
void compch_ring_destroy(struct compch_ring *ring)
{
	if (ring)
		call_rcu(&compch_ring_memory_of(ring)->rcu, compch_ring_free);
}

/** compch_ring_exit() - Wait until all rings are freed. */
void compch_ring_exit(void)
{
	rcu_barrier();
}

/**
 * compch_ring_mapped_size() - What mmap() is to be called with.
 * @ring: the ring, or NULL
 *
 * Return: bytes.
 */
size_t compch_ring_mapped_size(struct compch_ring *ring)
{
	return ring ? compch_ring_memory_of(ring)->size : 0;
}

static int compch_ring_get_mapping(struct compch_ring_memory *memory,
				   struct mm_struct *mm)
{
	int ret = 0;

	spin_lock(&memory->lock);
	if (memory->mm && memory->mm != mm) {
		ret = -EBUSY;
	} else {
		memory->mm = mm;
		memory->mappings++;
	}
	spin_unlock(&memory->lock);
	return ret;
}

static void compch_ring_put_mapping(struct compch_ring_memory *memory)
{
	bool last;

	spin_lock(&memory->lock);
	last = !--memory->mappings;
	spin_unlock(&memory->lock);
	if (!last)
		return;

	/* Before another process can map it */
	compch_queue_repair(memory->queue);
	spin_lock(&memory->lock);
	if (!memory->mappings)
		memory->mm = NULL;
	spin_unlock(&memory->lock);
}

/*
 * The mapping has moved; or a child has got a copy, for the program insisted
 * (MADV_DOFORK).  The kernel does not ask whether it may, so it is counted.
 */
static void compch_ring_vma_open(struct vm_area_struct *vma)
{
	struct compch_ring_memory *memory = vma->vm_private_data;

	spin_lock(&memory->lock);
	memory->mappings++;
	spin_unlock(&memory->lock);
}

static void compch_ring_vma_close(struct vm_area_struct *vma)
{
	compch_ring_put_mapping(vma->vm_private_data);
}

static int compch_ring_vma_may_split(struct vm_area_struct *vma,
				     unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct compch_ring_vm_ops = {
	.open = compch_ring_vma_open,
	.close = compch_ring_vma_close,
	.may_split = compch_ring_vma_may_split,
};

/**
 * compch_ring_mmap() - The mmap() method.
 * @ring: the ring
 * @vma: where to map it
 *
 * Return: 0, -EINVAL if it is not to be mapped shared and as a whole, -EBUSY if
 * another process has it mapped, -ENOMEM.
 */
int compch_ring_mmap(struct compch_ring *ring, struct vm_area_struct *vma)
{
	struct compch_ring_memory *memory = compch_ring_memory_of(ring);
	unsigned long offset;
	int ret;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_pgoff ||
	    vma->vm_end - vma->vm_start != memory->size)
		return -EINVAL;
	ret = compch_ring_get_mapping(memory, vma->vm_mm);
	if (ret)
		return ret;

	compat_vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	for (offset = 0; offset < memory->size; offset += PAGE_SIZE) {
		void *page = (void *)ring->shared + offset;

		ret = vm_insert_page(vma, vma->vm_start + offset,
				     vmalloc_to_page(page));
		if (ret)
			goto put_mapping;
	}
	vma->vm_private_data = memory;
	vma->vm_ops = &compch_ring_vm_ops;
	return 0;

put_mapping:
	compch_ring_put_mapping(memory);
	return ret;
}
