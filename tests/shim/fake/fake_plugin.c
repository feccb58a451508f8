// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See late.c. */
#include "fake.h"

struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr,
				   void *mlx5_attr);
struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context,
				  struct ibv_cq_init_attr_ex *attr,
				  void *efa_attr, uint32_t inlen);
struct ibv_cq_ex *plugin(int efa, struct ibv_context *context,
			 struct ibv_cq_init_attr_ex *attr);

struct ibv_cq_ex *plugin(int efa, struct ibv_context *context,
			 struct ibv_cq_init_attr_ex *attr)
{
	if (efa)
		return efadv_create_cq(context, attr, NULL, 0);
	return mlx5dv_create_cq(context, attr, NULL);
}
