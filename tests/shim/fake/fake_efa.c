// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See fake.h: a libefa.so.1. */
#include "fake.h"

struct efadv_cq_init_attr;

struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context,
				  struct ibv_cq_init_attr_ex *attr,
				  struct efadv_cq_init_attr *efa_attr,
				  uint32_t inlen);
struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context,
				  struct ibv_cq_init_attr_ex *attr,
				  struct efadv_cq_init_attr *efa_attr,
				  uint32_t inlen)
{
	FAKE_COUNT(efa_cqs, 1);
	fake.provider_attr = efa_attr;
	fake.inlen = inlen;
	return fake_create_cq_ex(context, attr);
}
