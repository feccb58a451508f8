// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See fake.h: a libmlx5.so.1. */
#include "fake.h"

struct mlx5dv_cq_init_attr;

struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr,
				   struct mlx5dv_cq_init_attr *mlx5_attr);
struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr,
				   struct mlx5dv_cq_init_attr *mlx5_attr)
{
	FAKE_COUNT(mlx5_cqs, 1);
	fake.provider_attr = mlx5_attr;
	return fake_create_cq_ex(context, attr);
}
