// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rsocket ADDRESS: two threads talk by rsockets, whose channels are made, set to
 * not block, and polled inside of librdmacm.  Each waits for the other one, so
 * that there must be events; the caller may see whose.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <rdma/rsocket.h>

#include "rdma.h"

#define MESSAGES 30
#define PORT 7272

static void receive(int fd, char *data, size_t size)
{
	size_t got = 0;
	ssize_t len;

	while (got < size) {
		len = rrecv(fd, data + got, size - got, 0);
		if (len <= 0)
			FAIL("rrecv: %m");
		got += len;
	}
}

static void *serve(void *arg)
{
	int listen = *(int *)arg, fd, i;
	struct pollfd pfd;
	char data[4096];

	fd = raccept(listen, NULL, NULL);
	if (fd < 0)
		FAIL("raccept: %m");
	for (i = 0; i < MESSAGES; i++) {
		pfd = (struct pollfd){ .fd = fd, .events = POLLIN };
		CHECK_EQ(rpoll(&pfd, 1, 30000), 1);
		receive(fd, data, sizeof(data));
		CHECK_EQ(data[0], i);
		test_sleep_ms(20); /* the other one gives polling up */
		CHECK_EQ(rsend(fd, data, sizeof(data), 0), sizeof(data));
	}
	rshutdown(fd, SHUT_RDWR);
	rclose(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};
	char data[4096];
	pthread_t thread;
	int listen, fd, i;

	test_deadline(60);
	CHECK_EQ(argc, 2);
	CHECK_EQ(inet_pton(AF_INET, argv[1], &address.sin_addr), 1);
	listen = rsocket(AF_INET, SOCK_STREAM, 0);
	if (listen < 0)
		FAIL("rsocket: %m");
	CHECK_EQ(rbind(listen, (void *)&address, sizeof(address)), 0);
	CHECK_EQ(rlisten(listen, 1), 0);
	CHECK_EQ(pthread_create(&thread, NULL, serve, &listen), 0);
	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	if (rconnect(fd, (void *)&address, sizeof(address)))
		FAIL("rconnect: %m");
	for (i = 0; i < MESSAGES; i++) {
		memset(data, i, sizeof(data));
		CHECK_EQ(rsend(fd, data, sizeof(data), 0), sizeof(data));
		receive(fd, data, sizeof(data));
		CHECK_EQ(data[sizeof(data) - 1], i);
	}
	CHECK_EQ(pthread_join(thread, NULL), 0);
	rshutdown(fd, SHUT_RDWR);
	rclose(fd);
	rclose(listen);
	return 0;
}
