/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * struct iov_iter: what its current piece is.
 */
#ifndef _COMPCH_COMPAT_IOV_ITER_H
#define _COMPCH_COMPAT_IOV_ITER_H

#include <linux/minmax.h>
#include <linux/uio.h>

/**
 * compat_iter_user_addr() - the current piece of user memory
 * @iter: any iterator
 * @len: set to its length, or to 0 if it is not user memory
 */
static inline void __user *compat_iter_user_addr(const struct iov_iter *iter,
						 size_t *len)
{
	void __user *addr;

	if (!user_backed_iter(iter)) {
		*len = 0;
		return NULL;
	}
#ifdef COMPAT_HAVE_ITER_IOV_ADDR
	addr = iter_iov_addr(iter);
	*len = iter_iov_len(iter);
#else
	if (iter_is_ubuf(iter)) {
		*len = iov_iter_count(iter);
		return iter->ubuf + iter->iov_offset;
	}
	addr = iter->iov->iov_base + iter->iov_offset;
	*len = iter->iov->iov_len - iter->iov_offset;
#endif
	*len = min(*len, iov_iter_count(iter));
	return addr;
}

#endif /* _COMPCH_COMPAT_IOV_ITER_H */
