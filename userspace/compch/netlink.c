// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The RDMA subsystem's netlink interface, as far as moving a device to another
 * network namespace needs it.  rdma(8) does the same, with namespaces that have
 * a name; here nobody else shall see the one that is used.
 *
 * Functions return 0 or an errno.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>

#include "compch.h"

/**
 * struct netlink - a connection; it stays in the namespace it was opened in
 * @socket: the socket
 * @port: its number
 * @seq: of the last request
 */
struct netlink {
	struct mnl_socket *socket;
	unsigned int port;
	unsigned int seq;
};

/**
 * netlink_open() - connect
 *
 * Return: the connection, or NULL with errno
 */
struct netlink *netlink_open(void)
{
	struct netlink *netlink = calloc(1, sizeof(*netlink));
	int error;

	if (!netlink)
		exit(compch_no_memory());
	netlink->seq = time(NULL);
	netlink->socket = mnl_socket_open2(NETLINK_RDMA, SOCK_CLOEXEC);
	if (netlink->socket &&
	    !mnl_socket_bind(netlink->socket, 0, MNL_SOCKET_AUTOPID)) {
		netlink->port = mnl_socket_get_portid(netlink->socket);
		return netlink;
	}
	error = errno;
	netlink_close(netlink);
	errno = error;
	return NULL;
}

/**
 * netlink_close() - disconnect
 * @netlink: the connection
 */
void netlink_close(struct netlink *netlink)
{
	if (!netlink)
		return;
	if (netlink->socket)
		mnl_socket_close(netlink->socket);
	free(netlink);
}

static struct nlmsghdr *request(struct netlink *netlink, char *buf,
				unsigned int command, unsigned int flags)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(buf);

	header->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	header->nlmsg_seq = ++netlink->seq;
	return header;
}

/* Sends a request, and calls @answer for each message that comes back. */
static int talk(struct netlink *netlink, struct nlmsghdr *header,
		mnl_cb_t answer, void *data)
{
	char buf[32768];
	ssize_t len;
	int ret;

	if (mnl_socket_sendto(netlink->socket, header, header->nlmsg_len) < 0)
		return errno;
	do {
		len = mnl_socket_recvfrom(netlink->socket, buf, sizeof(buf));
		if (len < 0)
			return errno;
		ret = mnl_cb_run(buf, len, netlink->seq, netlink->port, answer,
				 data);
	} while (ret > MNL_CB_STOP);
	return ret < 0 ? errno : 0;
}

static int answer_mode(const struct nlmsghdr *header, void *data)
{
	struct nlattr *attr;
	int *mode = data;

	mnl_attr_for_each(attr, header, 0)
		if (mnl_attr_get_type(attr) == RDMA_NLDEV_SYS_ATTR_NETNS_MODE)
			*mode = mnl_attr_get_u8(attr);
	/* The answer is one message, without an end. */
	return MNL_CB_STOP;
}

/**
 * netlink_get_shared() - do all namespaces share the devices?
 * @netlink: the connection
 * @shared: set to whether they do
 */
int netlink_get_shared(struct netlink *netlink, bool *shared)
{
	char buf[MNL_SOCKET_BUFFER_SIZE];
	int mode = -1, ret;

	ret = talk(netlink, request(netlink, buf, RDMA_NLDEV_CMD_SYS_GET, 0),
		   answer_mode, &mode);
	if (!ret && mode < 0)
		ret = EPROTO;
	*shared = mode > 0;
	return ret;
}

/**
 * netlink_set_shared() - have them share the devices, or not
 * @netlink: the connection
 * @shared: which
 *
 * EBUSY if there is another namespace.
 */
int netlink_set_shared(struct netlink *netlink, bool shared)
{
	char buf[MNL_SOCKET_BUFFER_SIZE];
	struct nlmsghdr *header;

	header = request(netlink, buf, RDMA_NLDEV_CMD_SYS_SET, NLM_F_ACK);
	mnl_attr_put_u8(header, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, shared);
	return talk(netlink, header, NULL, NULL);
}

/**
 * struct search - a device that is looked for
 * @name: its name
 * @index: its number
 * @found: it has been found
 */
struct search {
	const char *name;
	uint32_t index;
	bool found;
};

static int answer_device(const struct nlmsghdr *header, void *data)
{
	struct search *search = data;
	const char *name = NULL;
	struct nlattr *attr;
	uint32_t index = 0;

	mnl_attr_for_each(attr, header, 0) {
		if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_INDEX)
			index = mnl_attr_get_u32(attr);
		else if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_NAME)
			name = mnl_attr_get_str(attr);
	}
	if (name && !strcmp(name, search->name)) {
		search->index = index;
		search->found = true;
	}
	return MNL_CB_OK;
}

/**
 * netlink_find() - find a device
 * @netlink: the connection
 * @device: its name
 * @index: set to its number
 */
int netlink_find(struct netlink *netlink, const char *device, uint32_t *index)
{
	struct search search = { .name = device };
	char buf[MNL_SOCKET_BUFFER_SIZE];
	int ret;

	ret = talk(netlink,
		   request(netlink, buf, RDMA_NLDEV_CMD_GET, NLM_F_DUMP),
		   answer_device, &search);
	*index = search.index;
	return ret ? ret : search.found ? 0 : ENODEV;
}

/**
 * netlink_move() - move a device to another network namespace
 * @netlink: a connection of the one where it is
 * @index: its number
 * @netns: a file descriptor of the other one
 *
 * EOPNOTSUPP if its driver cannot.
 */
int netlink_move(struct netlink *netlink, uint32_t index, int netns)
{
	char buf[MNL_SOCKET_BUFFER_SIZE];
	struct nlmsghdr *header;

	header = request(netlink, buf, RDMA_NLDEV_CMD_SET, NLM_F_ACK);
	mnl_attr_put_u32(header, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	mnl_attr_put_u32(header, RDMA_NLDEV_NET_NS_FD, netns);
	return talk(netlink, header, NULL, NULL);
}

/**
 * struct users - parts of the kernel that use a device
 * @names: theirs, with commas in between
 * @size: how much room there is
 */
struct users {
	char *names;
	size_t size;
};

static void users_add(struct users *users, const char *name)
{
	size_t len = strlen(users->names), own = strlen(name);
	const char *at = users->names;

	/* The core has something on every device. */
	if (!strcmp(name, "ib_core"))
		return;
	while ((at = strstr(at, name))) {
		if ((at == users->names || at[-1] == ' ') &&
		    (!at[own] || at[own] == ','))
			return;
		at += own;
	}
	snprintf(users->names + len, users->size - len, "%s%s",
		 len ? ", " : "", name);
}

static int answer_users(const struct nlmsghdr *header, void *data)
{
	struct nlattr *attr, *entry, *field;

	mnl_attr_for_each(attr, header, 0) {
		if (mnl_attr_get_type(attr) != RDMA_NLDEV_ATTR_RES_PD)
			continue;
		mnl_attr_for_each_nested(entry, attr)
			mnl_attr_for_each_nested(field, entry)
				if (mnl_attr_get_type(field) ==
				    RDMA_NLDEV_ATTR_RES_KERN_NAME)
					users_add(data,
						  mnl_attr_get_str(field));
	}
	return MNL_CB_OK;
}

/**
 * netlink_kernel_users() - which parts of the kernel use a device?
 * @netlink: the connection
 * @index: the device's number
 * @users: filled with their names, with commas in between
 * @size: how much room there is
 *
 * Whatever uses a device has a protection domain.
 */
int netlink_kernel_users(struct netlink *netlink, uint32_t index, char *users,
			 size_t size)
{
	struct users found = { .names = users, .size = size };
	char buf[MNL_SOCKET_BUFFER_SIZE];
	struct nlmsghdr *header;

	users[0] = '\0';
	header = request(netlink, buf, RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_DUMP);
	mnl_attr_put_u32(header, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	return talk(netlink, header, answer_users, &found);
}
