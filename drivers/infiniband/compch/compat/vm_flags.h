/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Linux 6.3 made vma->vm_flags something that only functions change.
 */
#ifndef _COMPCH_COMPAT_VM_FLAGS_H
#define _COMPCH_COMPAT_VM_FLAGS_H

#include <linux/mm.h>

#ifdef COMPAT_HAVE_VM_FLAGS_SET
#define compat_vm_flags_set vm_flags_set
#else
static inline void compat_vm_flags_set(struct vm_area_struct *vma,
				       unsigned long flags)
{
	vma->vm_flags |= flags;
}
#endif

#endif /* _COMPCH_COMPAT_VM_FLAGS_H */
