// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies a file through a stream socket of the given family.
 *
 *   copyfile [-f FAMILY] -l ADDR PORT OUT	receives one file
 *   copyfile [-f FAMILY] ADDR PORT FILE	sends it
 *
 * Prints bytes and seconds. The receiver answers with the count when it has
 * written everything, so the sender's time is that of the whole copy.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char buf[1 << 18];

static void die(const char *what)
{
	fprintf(stderr, "copyfile: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void write_all(int fd, const char *p, size_t n, const char *what)
{
	while (n) {
		ssize_t r = write(fd, p, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			die(what);
		p += r;
		n -= r;
	}
}

/* To the end of the stream; the number of bytes. */
static uint64_t pump(int in, int out, const char *from, const char *to)
{
	uint64_t total = 0;

	for (;;) {
		ssize_t r = read(in, buf, sizeof(buf));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			die(from);
		if (!r)
			return total;
		write_all(out, buf, r, to);
		total += r;
	}
}

static uint64_t receive(int l, const char *path, double *t0)
{
	uint64_t total, be;
	int s, out;

	s = accept(l, NULL, NULL);
	if (s < 0)
		die("accept");
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (out < 0)
		die(path);
	*t0 = now();
	total = pump(s, out, "receive", path);
	if (close(out))
		die(path);
	be = htobe64(total);
	write_all(s, (char *)&be, sizeof(be), "answer");
	close(s);
	return total;
}

static uint64_t transmit(int s, const char *path, double *t0)
{
	uint64_t total, be;
	int in = open(path, O_RDONLY);

	if (in < 0)
		die(path);
	*t0 = now();
	total = pump(in, s, path, "send");
	if (shutdown(s, SHUT_WR))
		die("shutdown");
	errno = 0;
	if (recv(s, &be, sizeof(be), MSG_WAITALL) != sizeof(be))
		die("the receiver's answer");
	if (be64toh(be) != total) {
		fprintf(stderr, "copyfile: sent %llu bytes, %llu arrived\n",
			(unsigned long long)total,
			(unsigned long long)be64toh(be));
		exit(1);
	}
	return total;
}

int main(int argc, char **argv)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	int family = AF_INET, listening = 0, one = 1, o, fd;
	double t0 = 0, t;
	uint64_t n;

	while ((o = getopt(argc, argv, "f:l")) != -1) {
		if (o == 'f')
			family = atoi(optarg);
		else if (o == 'l')
			listening = 1;
		else
			goto usage;
	}
	if (argc - optind != 3 ||
	    inet_pton(AF_INET, argv[optind], &sa.sin_addr) != 1)
		goto usage;
	sa.sin_port = htons(atoi(argv[optind + 1]));
	fd = socket(family, SOCK_STREAM, 0);
	if (fd < 0)
		die("socket");
	if (listening) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (void *)&sa, sizeof(sa)) || listen(fd, 1))
			die("bind and listen");
		n = receive(fd, argv[optind + 2], &t0);
	} else {
		if (connect(fd, (void *)&sa, sizeof(sa)))
			die("connect");
		n = transmit(fd, argv[optind + 2], &t0);
	}
	t = now() - t0;
	printf("%s %llu bytes in %.3f s (%.1f MB/s)\n",
	       listening ? "received" : "sent", (unsigned long long)n, t,
	       t > 0 ? n / t / 1e6 : 0.0);
	return 0;
usage:
	fprintf(stderr,
		"usage: copyfile [-f FAMILY] [-l] ADDR PORT FILE\n");
	return 2;
}
