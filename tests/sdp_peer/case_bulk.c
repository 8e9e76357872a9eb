// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Streams of several megabytes with each kind of peer; every message checked, every byte compared (R29, R100). */
#include "peer_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { OUT = 1, IN = 2, CHUNK = 60000 };

struct run {
	int dirs;
	uint32_t bytes;
	uint32_t each;		/* bytes of a message of the peer; 0: all that fits */
	uint32_t write;		/* bytes of a send() of the socket */
};

struct state {
	uint32_t written, read;
};

static bool socket_writes(struct link *l, struct state *st, uint32_t bytes, uint32_t chunk)
{
	static uint8_t buf[CHUNK];
	uint32_t n = bytes - st->written;
	ssize_t k;

	n = n < chunk ? n : chunk;
	if (!n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		buf[i] = pat_byte(40, st->written + i);
	k = send(l->s, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (k < 0 && errno != EAGAIN)
		fail("send at %u: %s", st->written, strerror(errno));
	st->written += k > 0 ? k : 0;
	return k > 0;
}

static bool socket_reads(struct link *l, struct state *st)
{
	static uint8_t buf[CHUNK];
	ssize_t k = recv(l->s, buf, sizeof(buf), MSG_DONTWAIT);

	if (k < 0 && errno == EAGAIN)
		return false;
	if (k <= 0)
		fail("recv at %u: %s", st->read, k ? strerror(errno) : "EOF");
	for (ssize_t i = 0; i < k; i++)
		if (buf[i] != pat_byte(41, st->read + i))
			fail("socket: wrong byte at stream position %u", st->read + (uint32_t)i);
	st->read += k;
	return true;
}

static bool peer_side(struct link *l, uint32_t bytes, uint32_t each)
{
	struct peer *p = l->p;
	bool moved = false;
	struct msg m;
	int rc;

	while (sdp_credit(p) >= 3 && p->pos_out < bytes) {
		uint32_t n = bytes - p->pos_out, max = each ? each : max_payload(p);

		sdp_data(p, n < max ? n : max);
		moved = true;
	}
	while ((rc = sdp_next(p, 0, &m)) > 0) {
		if (m.mid != DATA)
			fail("message %02x in a plain stream", m.mid);
		moved = true;
	}
	if (rc < 0)
		fail("connection ended: %s", p->why);
	return moved;
}

static void bulk(struct link *l)
{
	const struct run *r = l->tc->arg;
	uint32_t out = r->dirs & OUT ? r->bytes : 0, in = r->dirs & IN ? r->bytes : 0;
	struct state st = {};
	long last = now_ms();

	link_up(l);
	l->p->seed_in = 40;
	l->p->seed_out = 41;
	l->p->pattern = true;
	while (st.read < out || l->p->pos_in < in) {
		bool moved = socket_writes(l, &st, in, r->write);

		moved |= st.read < out && socket_reads(l, &st);
		moved |= peer_side(l, out, r->each);
		if (moved) {
			last = now_ms();
			continue;
		}
		poll((struct pollfd[]){ { l->p->fd, POLLIN, 0 }, { l->s, POLLIN, 0 } }, 2, 20);
		if (now_ms() - last > WAIT)
			fail("stuck: socket wrote %u and read %u, peer sent %u and got %u, credit %d", st.written,
			     st.read, l->p->pos_out, l->p->pos_in, sdp_credit(l->p));
	}
	/* the end is the end */
	shutdown(l->s, SHUT_WR);
	sdp_want(l->p, WAIT, DISCONN, 0);
	SEND(l->p, .mid = DISCONN);
	sk_eof(l->s);
	sdp_want_dreq(l->p, WAIT);
}

#define RUN(...) (&(const struct run){ __VA_ARGS__ })
#define MB << 20

const struct tcase cases_bulk[] = {
	{ "bulk-2005", bulk, "cp", &fl_2005, NULL, RUN(OUT | IN, 2 MB, 0, CHUNK) },
	{ "bulk-ofed", bulk, "cp", &fl_ofed, NULL, RUN(OUT | IN, 4 MB, 0, CHUNK) },
	{ "bulk-freebsd", bulk, "cp", &fl_freebsd, NULL, RUN(OUT | IN, 4 MB, 0, CHUNK) },
	{ "bulk-new", bulk, "cp", NULL, NULL, RUN(OUT | IN, 4 MB, 0, CHUNK) },
	{ "bulk-four", bulk, "cp", &fl_four, NULL, RUN(OUT | IN, 1 MB, 0, CHUNK) },
	{ "bulk-in-ofed", bulk, "cp", &fl_ofed, NULL, RUN(IN, 4 MB, 0, CHUNK) },
	{ "bulk-out-ofed", bulk, "cp", &fl_ofed, NULL, RUN(OUT, 4 MB, 0, CHUNK) },
	{ "small-both-ofed", bulk, "cp", &fl_ofed, NULL, RUN(OUT | IN, 60000, 30, 30) },
	{ "small-both-2005", bulk, "cp", &fl_2005, NULL, RUN(OUT | IN, 60000, 30, 30) },
	{ "one-byte-messages", bulk, "c", &fl_four, NULL, RUN(OUT, 2000, 1, 1) },
	{ "tiny-buffers", bulk, "cp", &(const struct flavour){ "tiny", 0x22, 4, 37, 1, 0 }, NULL,
	  RUN(OUT | IN, 10000, 0, 1000) },
	{ }
};
