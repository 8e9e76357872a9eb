// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Closing, half and full, graceful and not (T10, T11, R79-R90). */
#include "peer_test.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEN "0123456789"

static void no_dreq(struct peer *p, int ms)
{
	long end = now_ms() + ms;
	struct msg m;

	while (sdp_next(p, end - now_ms(), &m) > 0)
		;
	if (p->gone)
		fail("connection ended: %s", p->why);
}

/* Answered, and both sides are through. */
static void dreq_drep(struct peer *p)
{
	struct msg m;
	long end = now_ms() + WAIT;

	peer_cmd(p, "dreq");
	while (!p->drep && !p->timewait && now_ms() < end)
		sdp_next(p, 20, &m);
	if (!p->drep && !p->dreq)
		fail("DREQ without a DREP (R82)");
}

/* T10 with the peer as A: the socket closes second and leaves the DREQ to the first. */
static void t10_socket_second(struct link *l)
{
	struct msg m;

	link_up(l);
	SEND(l->p, .mid = DATA, .data = "627965");
	SEND(l->p, .mid = DISCONN);
	sk_read(l->s, "bye");
	sk_eof(l->s);
	sk_write(l->s, "reply");
	sdp_want_text(l->p, WAIT, "reply");
	no_dreq(l->p, SHORT);
	close(l->s);
	m = sdp_want(l->p, WAIT, DISCONN, 0);
	if (m.ack != l->p->tx_seq && m.ack < 2)
		fail("DisConn with MSeqAck %u", m.ack);
	/* an immediate DREQ would make OFED report EPIPE (8.2) */
	no_dreq(l->p, 1000);
	dreq_drep(l->p);
}

/* T10 with the socket as A: it sends the DREQ when it has the peer's DisConn (R81). */
static void t10_socket_first(struct link *l)
{
	link_up(l);
	sk_write(l->s, "bye");
	shutdown(l->s, SHUT_WR);
	sdp_want_text(l->p, WAIT, "bye");
	sdp_want(l->p, WAIT, DISCONN, 0);
	no_dreq(l->p, SHORT);
	sdp_wait_credit(l->p, 3, WAIT);
	SEND(l->p, .mid = DATA, .data = "7265706c79");
	sk_read(l->s, "reply");
	SEND(l->p, .mid = DISCONN);
	sdp_want_dreq(l->p, WAIT);
	sk_eof(l->s);
}

/* The same by close(): data still queued in the socket is delivered before the DisConn. */
static void close_first(struct link *l)
{
	link_up(l);
	for (int i = 0; i < 20; i++)
		sk_write(l->s, TEN);
	close(l->s);
	sdp_want_text(l->p, WAIT, TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
		      TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN);
	sdp_want(l->p, WAIT, DISCONN, 0);
	SEND(l->p, .mid = DISCONN);
	sdp_want_dreq(l->p, WAIT);
}

/* R80: any amount after the other half is closed. */
static void half_closed_stream(struct link *l)
{
	uint32_t pos = 0;

	link_up(l);
	shutdown(l->s, SHUT_WR);
	sdp_want(l->p, WAIT, DISCONN, 0);
	l->p->seed_out = 21;
	while (pos < 300000) {
		uint32_t n = max_payload(l->p);

		sdp_wait_credit(l->p, 3, WAIT);
		sdp_data(l->p, n);
		sk_pattern(l->s, 21, pos, n);
		pos += n;
	}
	SEND(l->p, .mid = DISCONN);
	sk_eof(l->s);
	sdp_want_dreq(l->p, WAIT);
}

/* Both first: the peer's DisConn is on its way when the socket's comes; DREQs may cross. */
static void simultaneous(struct link *l)
{
	struct msg m;

	link_up(l);
	shutdown(l->s, SHUT_WR);
	SEND(l->p, .mid = DISCONN);
	peer_cmd(l->p, "flush");	/* or the DREQ may overtake it */
	peer_try(l->p, "dreq");
	while (sdp_next(l->p, WAIT, &m) > 0)
		;
	if (!l->p->eof)
		fail("no DisConn");
	if (!l->p->dreq && !l->p->drep)
		fail("neither DREQ nor DREP (R82)");
	sk_eof(l->s);
}

/* R82: the peer sends its DREQ the moment the module may send its own. */
static void crossing_dreq(struct link *l)
{
	struct msg m;

	link_up(l);
	shutdown(l->s, SHUT_WR);
	sdp_want(l->p, WAIT, DISCONN, 0);
	SEND(l->p, .mid = DISCONN);
	peer_cmd(l->p, "flush");	/* or the DREQ may overtake it */
	peer_try(l->p, "dreq");
	for (long end = now_ms() + WAIT; !l->p->dreq && !l->p->drep; sdp_next(l->p, 20, &m))
		if (now_ms() > end)
			fail("neither DREQ nor DREP (R82)");
	sk_eof(l->s);
	close(l->s);
}

/* The module's DREQ is never answered: its CM gives up, the socket doesn't hang. */
static void no_drep(struct link *l)
{
	link_up(l);
	peer_cmd(l->p, "auto-drep 0");
	shutdown(l->s, SHUT_WR);
	sdp_want(l->p, WAIT, DISCONN, 0);
	SEND(l->p, .mid = DISCONN);
	sdp_want_dreq(l->p, WAIT);
	sk_eof(l->s);
	close(l->s);
}

/* R83 */
static void disconn_waits(struct link *l)
{
	link_up(l);
	SEND(l->p, .mid = DATA, .data = "6c617374");
	SEND(l->p, .mid = DISCONN);
	peer_cmd(l->p, "flush");
	peer_cmd(l->p, "dreq");
	sk_read(l->s, "last");
	sk_eof(l->s);
	sk_eof(l->s);
}

/* R84 */
static void dreq_alone(struct link *l)
{
	link_up(l);
	peer_cmd(l->p, "dreq");
	peer_want(l->p, WAIT, "drep");
	sk_error(l->s, ECONNRESET);
	if (send(l->s, "x", 1, MSG_NOSIGNAL) >= 0 || errno != EPIPE)
		fail("send after the reset: %s", strerror(errno));
}

/* As TCP does: what came before the reset may be lost, EOF may not be made up. */
static void dreq_after_data(struct link *l)
{
	char buf[10];
	ssize_t n;

	link_up(l);
	SEND(l->p, .mid = DATA, .data = "64617461");
	peer_cmd(l->p, "flush");
	peer_cmd(l->p, "dreq");
	peer_want(l->p, WAIT, "drep");
	n = recv(l->s, buf, sizeof(buf), 0);
	if (n > 0)
		n = recv(l->s, buf, sizeof(buf), 0);
	if (n >= 0 || errno != ECONNRESET)
		fail("wanted ECONNRESET, got %s", n < 0 ? strerror(errno) : "EOF");
}

/* The peer's QP dies without a word; its CM id goes with it. */
static void peer_dies(struct link *l)
{
	link_up(l);
	peer_cmd(l->p, "close");
	sk_error(l->s, ECONNRESET);
}

/* T11, the peer aborts. */
static void t11_peer_aborts(struct link *l)
{
	link_up(l);
	SEND(l->p, .mid = DISCONN);
	SEND(l->p, .mid = ABORT_CONN);
	peer_cmd(l->p, "flush");
	peer_try(l->p, "dreq");
	poll(NULL, 0, SHORT);
	sk_error(l->s, ECONNRESET);
}

/* After the socket saw EOF. */
static void abort_after_eof(struct link *l)
{
	link_up(l);
	SEND(l->p, .mid = DISCONN);
	sk_eof(l->s);
	SEND(l->p, .mid = ABORT_CONN);
	sdp_want_dreq(l->p, WAIT);
	if (send(l->s, "x", 1, MSG_NOSIGNAL) >= 0)
		fail("send() after AbortConn");
}

/* AbortConn that no DisConn precedes is taken as a reset. */
static void abort_alone(struct link *l)
{
	link_up(l);
	SEND(l->p, .mid = ABORT_CONN);
	sdp_want_dreq(l->p, WAIT);
	sk_error(l->s, ECONNRESET);
}

static void linger_0(int s)
{
	struct linger lg = { 1, 0 };

	if (setsockopt(s, SOL_SOCKET, SO_LINGER, &lg, sizeof(lg)))
		fail("SO_LINGER: %s", strerror(errno));
	close(s);
}

/* R85, R89: before the DisConn no message, only DREQ. */
static void reset_before_disconn(struct link *l)
{
	struct msg m;
	int rc;

	link_up(l);
	linger_0(l->s);
	while ((rc = sdp_next(l->p, WAIT, &m)) > 0)
		if (m.mid != DATA || m.payload)
			fail("message %02x, wanted only a DREQ (R85)", m.mid);
	if (!rc || !l->p->dreq)
		fail("no DREQ");
}

/* T11, the socket aborts. */
static void t11_socket_aborts(struct link *l)
{
	link_up(l);
	shutdown(l->s, SHUT_WR);
	sdp_want(l->p, WAIT, DISCONN, 0);
	linger_0(l->s);
	sdp_want(l->p, WAIT, ABORT_CONN, 0);
	sdp_want_dreq(l->p, WAIT);
}

static void unread_data(struct link *l)
{
	struct msg m;
	int rc;

	link_up(l);
	SEND(l->p, .mid = DATA, .data = "61");
	if (poll(&(struct pollfd){ l->s, POLLIN, 0 }, 1, WAIT) != 1)
		fail("no data");
	close(l->s);
	while ((rc = sdp_next(l->p, WAIT, &m)) > 0)
		if (m.mid == DISCONN)
			fail("close() with unread data ends gracefully (R89)");
	if (!rc || !l->p->dreq)
		fail("no DREQ");
}

/* R90 */
static void data_after_close(struct link *l)
{
	link_up(l);
	close(l->s);
	sdp_want(l->p, WAIT, DISCONN, 0);
	SEND(l->p, .mid = DATA, .data = "61");
	sdp_want(l->p, WAIT, ABORT_CONN, 0);
	sdp_want_dreq(l->p, WAIT);
}

/* A DisConn that finds no one and a DREQ: both sides are done and the listener still works. */
static void many(struct link *l)
{
	link_up(l);
	for (int i = 0; i < 8; i++) {
		SEND(l->p, .mid = DISCONN);
		sk_eof(l->s);
		close(l->s);
		sdp_want(l->p, WAIT, DISCONN, 0);
		dreq_drep(l->p);
		peer_close(l->p);
		link_peer(l);
		link_hello(l);
		put16(l->hello + 28, 0xd000 + i);
		link_connect(l);
		link_answer(l);
		link_ready(l);
	}
}

/* Credits still move for a half that is closed the other way. */
static void updates_after_disconn(struct link *l)
{
	link_up(l);
	shutdown(l->s, SHUT_WR);
	sdp_want(l->p, WAIT, DISCONN, 0);
	for (int i = 0; i < 200; i++) {
		sdp_wait_credit(l->p, 3, WAIT);
		SEND(l->p, .mid = DATA, .data = "61");
		sk_read(l->s, "a");
	}
}

const struct tcase cases_close[] = {
	{ "T10-socket-second", t10_socket_second, "cp", NULL, NULL, NULL },
	{ "T10-socket-first", t10_socket_first, "cp", NULL, NULL, NULL },
	{ "close-first", close_first, "cp", NULL, NULL, NULL },
	{ "close-first-four", close_first, "cp", &fl_four, NULL, NULL },
	{ "half-closed-stream", half_closed_stream, "cp", NULL, NULL, NULL },
	{ "updates-after-disconn", updates_after_disconn, "cp", NULL, NULL, NULL },
	{ "simultaneous-disconn", simultaneous, "cp", NULL, NULL, NULL },
	{ "crossing-dreq", crossing_dreq, "cp", NULL, NULL, NULL },
	{ "no-drep", no_drep, "cp", NULL, NULL, NULL },
	{ "disconn-waits", disconn_waits, "cp", NULL, NULL, NULL },
	{ "dreq-alone", dreq_alone, "cp", NULL, NULL, NULL },
	{ "dreq-after-data", dreq_after_data, "cp", NULL, NULL, NULL },
	{ "peer-dies", peer_dies, "cp", NULL, NULL, NULL },
	{ "T11-peer-aborts", t11_peer_aborts, "cp", NULL, NULL, NULL },
	{ "abort-after-eof", abort_after_eof, "cp", NULL, NULL, NULL },
	{ "abort-alone", abort_alone, "cp", NULL, NULL, NULL },
	{ "reset-before-disconn", reset_before_disconn, "cp", NULL, NULL, NULL },
	{ "T11-socket-aborts", t11_socket_aborts, "cp", NULL, NULL, NULL },
	{ "unread-data", unread_data, "cp", NULL, NULL, NULL },
	{ "data-after-close", data_after_close, "cp", NULL, NULL, NULL },
	{ "many", many, "c", NULL, NULL, NULL },
	{ }
};
