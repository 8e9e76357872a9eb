// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Data, credits, modes, urgent data and what else flows in an established connection (T2, T9, T12). */
#define _GNU_SOURCE
#include "peer_test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/sockios.h>
#include <unistd.h>

static void nodelay(int s)
{
	int on = 1;

	if (!opt_model && setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		fail("TCP_NODELAY: %s", strerror(errno));
}

/* No payload for so long; messages without are fine. */
static void no_payload(struct peer *p, int ms)
{
	long end = now_ms() + ms;
	struct msg m;
	int rc;

	while ((rc = sdp_next(p, end - now_ms(), &m)) > 0)
		if (m.payload)
			fail("%u bytes of payload, wanted none", m.payload);
	if (rc < 0)
		fail("connection ended: %s", p->why);
}

/* ---- credits ---- */

/* T2: with four buffers two messages of payload, then none until there is an update. */
static void t2(struct link *l)
{
	struct msg m;

	link_up(l);
	nodelay(l->s);
	l->p->norepost = true;
	sk_write(l->s, "hello");
	m = sdp_want(l->p, WAIT, DATA, 5);
	if (m.seq != 1 || m.ack || m.flags || m.len != 21)
		fail("first Data: MSeq %u MSeqAck %u flags %02x Len %u", m.seq, m.ack, m.flags, m.len);
	sk_write(l->s, " world");
	sdp_want(l->p, WAIT, DATA, 6);
	sk_write(l->s, "!");
	no_payload(l->p, SHORT);
	sdp_post(l->p, 2);
	SEND(l->p, .mid = DATA);
	m = sdp_want(l->p, WAIT, DATA, 1);
	if (m.ack != 1)
		fail("Data after the update: MSeqAck %u", m.ack);
}

static bool write_some(int s)
{
	static char buf[4096];

	return send(s, buf, sizeof(buf), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

/* A peer that doesn't post: payload stops at credit 2, and the checker sees that it does. An update starts it again. */
static void starved(struct link *l)
{
	long end = now_ms() + 2000;
	struct msg m;
	int n = 0;

	link_up(l);
	nodelay(l->s);
	l->p->norepost = true;
	while (now_ms() < end) {
		if (n < 200 && write_some(l->s))
			n++;
		if (sdp_next(l->p, 20, &m) > 0)
			end = now_ms() + 2000;
		if (l->p->gone)
			fail("connection ended: %s", l->p->why);
	}
	/* the reserve of two may be used for messages without payload */
	if (l->p->messages < l->f.bufs - 2u)
		fail("%u messages into %u buffers", l->p->messages, l->f.bufs);
	sdp_post(l->p, 60);
	SEND(l->p, .mid = DATA);
	l->p->norepost = false;
	do {
		if (sdp_next(l->p, WAIT, &m) != 1)
			fail("an update does not start it again");
	} while (!m.payload);
}

static void starved_disconn(struct link *l)
{
	link_up(l);
	nodelay(l->s);
	l->p->norepost = true;
	sk_write(l->s, "a");
	sdp_want(l->p, WAIT, DATA, 1);
	sk_write(l->s, "b");
	sdp_want(l->p, WAIT, DATA, 1);
	shutdown(l->s, SHUT_WR);
	sdp_want(l->p, WAIT, DISCONN, 0);
	no_payload(l->p, SHORT);
}

/* Fill the window of a reader that sleeps. Returns the bytes sent. */
static uint32_t fill(struct link *l, uint32_t each)
{
	struct peer *p = l->p;
	struct msg m;

	p->seed_out = 3;
	while (p->pos_out < 16 << 20) {
		while (sdp_credit(p) >= 3)
			sdp_data(p, each);
		if (!sdp_next(p, 1000, &m))
			return p->pos_out;
		if (p->gone)
			fail("connection ended: %s", p->why);
	}
	fail("16 MB sent and nobody reads");
}

/* R28: control messages go on, reading opens the window. */
static void stalled_reader(struct link *l)
{
	struct peer *p = l->p;
	uint32_t n;

	link_up(l);
	p = l->p;
	p->noupdate = true;
	n = fill(l, l->f.size == 8192 ? 100 : 1000);
	if (sdp_credit(p) < 2)
		fail("credit %d", sdp_credit(p));
	SEND(p, .mid = CH_RCV_BUF, .ext = "00000800");	/* to shrink is answered at once */
	sdp_want(p, WAIT, CH_RCV_BUF_ACK, 0);
	sk_pattern(l->s, 3, 0, n);
	sdp_wait_credit(p, 3, WAIT);
	sdp_data(p, 10);
	sk_pattern(l->s, 3, n, 10);
}

/* A few small messages that nobody reads are no reason to stop: the window follows SO_RCVBUF, as TCP's does. */
static void unread_window(struct link *l)
{
	uint32_t n;

	link_up(l);
	l->p->noupdate = true;
	n = fill(l, 500);
	if (n < 16 * 500)
		fail("the window closes after %u unread bytes", n);
	sk_pattern(l->s, 3, 0, n);
}

/* R27: a probe at credit 2 brings the grant to 1, so an update is owed. */
static void window_probe(struct link *l)
{
	struct peer *p;
	uint32_t n;

	link_up(l);
	p = l->p;
	p->noupdate = true;
	n = fill(l, 2000);
	for (int i = 0; i < 5; i++) {
		SEND(p, .mid = DATA);
		sdp_wait_credit(p, 2, WAIT);
	}
	sk_pattern(l->s, 3, 0, n);
}

/* The reader that reads gets it all, the writer never starves: no update but the module's. */
static void updates(struct link *l)
{
	struct peer *p;

	link_up(l);
	p = l->p;
	p->seed_out = 3;
	for (int i = 0; i < 500; i++) {
		sdp_wait_credit(p, 3, WAIT);
		sdp_data(p, 10);
		sk_pattern(l->s, 3, 10 * i, 10);
	}
	if (p->messages > 400)
		fail("%u updates for 500 messages", p->messages);
}

/* R31 */
static void idle(struct link *l)
{
	struct msg m;
	int n = 0;
	long end;

	link_up(l);
	for (int i = 0; i < 10; i++) {
		sdp_wait_credit(l->p, 3, WAIT);
		SEND(l->p, .mid = DATA, .data = "61");
		sk_read(l->s, "a");
		sk_write(l->s, "b");
		sdp_want_text(l->p, WAIT, "b");
	}
	for (end = now_ms() + 1000; sdp_next(l->p, end - now_ms(), &m) > 0;)
		if (++n > 20)
			fail("more than 20 messages between idle sides (R31)");
	for (end = now_ms() + 1500; sdp_next(l->p, end - now_ms(), &m) > 0;)
		fail("still talking after a second of idleness (R31)");
	if (l->p->gone)
		fail("connection ended: %s", l->p->why);
}

/* R30: empty Data messages wake nobody. */
static void empty_data(struct link *l)
{
	link_up(l);
	for (int i = 0; i < 50; i++) {
		sdp_wait_credit(l->p, 2, WAIT);
		SEND(l->p, .mid = DATA);
	}
	sk_quiet(l->s, SHORT);
	sdp_wait_credit(l->p, 3, WAIT);
	SEND(l->p, .mid = DATA, .data = "7a");
	sk_read(l->s, "z");
}

static void first_mseq_0(struct link *l)
{
	link_up(l);
	l->p->told[8191] = l->p->told[0];
	l->p->tx_seq--;
	l->p->held_ack = true;
	SEND(l->p, .mid = DATA, .data = "6e756c6c");
	sk_read(l->s, "null");
	SEND(l->p, .mid = DATA, .data = "6569");
	sk_read(l->s, "ei");
	sk_write(l->s, "n");
	sdp_want_text(l->p, WAIT, "n");
}

static void ignored(struct link *l)
{
	struct peer *p;

	link_up(l);
	p = l->p;
	SEND(p, .mid = DATA, .data = "61", .resv = true);
	SEND(p, .mid = DATA, .flags = REQ_PIPE, .data = "62");
	SEND(p, .mid = 0x45);
	sk_read(l->s, "ab");
	sdp_wait_credit(p, 3, WAIT);
	SEND(p, .mid = 0x7f, .data = "6e6f");
	sdp_wait_credit(p, 3, WAIT);
	SEND(p, .mid = 0x40, .data = "fill=0:100");
	sdp_wait_credit(p, 3, WAIT);
	SEND(p, .mid = SRC_AVAIL_CANCEL);
	sdp_wait_credit(p, 3, WAIT);
	SEND(p, .mid = DATA, .data = "63");
	sk_read(l->s, "c");
	sdp_wait_credit(p, 3, WAIT);
	SEND(p, .mid = CH_RCV_BUF_ACK, .ext = "00001000");
	sdp_wait_credit(p, 3, WAIT);
	SEND(p, .mid = SINK_CANCEL_ACK);
	sdp_wait_credit(p, 3, WAIT);
	SEND(p, .mid = SINK_AVAIL_CANCEL);
	sdp_wait_credit(p, 3, WAIT);
	SEND(p, .mid = DATA, .data = "64");
	sk_read(l->s, "d");
}

/* Nothing above is answered by anything but credit updates. */
static void cancel_idle(struct link *l)
{
	struct msg m;

	link_up(l);
	SEND(l->p, .mid = SRC_AVAIL_CANCEL);
	while (sdp_next(l->p, SHORT, &m) > 0)
		if (m.mid != DATA || m.payload)
			fail("message %02x answers a cancel with nothing outstanding (R54)", m.mid);
	SEND(l->p, .mid = DATA, .data = "61");
	sk_read(l->s, "a");
}

/* ---- modes ---- */

static void mode_buffered(struct link *l)
{
	link_up(l);
	SEND(l->p, .mid = DATA, .data = "61");
	SEND(l->p, .mid = MODE_CHANGE, .ext = "00000000");
	sk_read(l->s, "a");
	sdp_wait_credit(l->p, 3, WAIT);
	SEND(l->p, .mid = DATA, .data = "62");
	sk_read(l->s, "b");
	sk_write(l->s, "c");
	sdp_want_text(l->p, WAIT, "c");
}

/* R34: garbage in the reserved bits. Then back to Combined, and Pipelined again. */
static void mode_pipelined(struct link *l)
{
	static const char * const ext[] = { "2fffffff", "1a5a5a5a", "20000000" };

	link_up(l);
	for (int i = 0; i < 3; i++) {
		sdp_wait_credit(l->p, 3, WAIT);
		SEND(l->p, .mid = MODE_CHANGE, .ext = ext[i]);
		sdp_wait_credit(l->p, 3, WAIT);
		SEND(l->p, .mid = DATA, .data = "61");
		sk_read(l->s, "a");
	}
	sk_write(l->s, "c");
	sdp_want_text(l->p, WAIT, "c");
}

/* R99: whatever is written, a peer with MaxAdverts 1 sees Data only. */
static void data_only(struct link *l)
{
	static char buf[65536];
	uint32_t n = 0, sent = 0;
	struct msg m;

	link_up(l);
	while (n < sizeof(buf) * 4) {
		if (sent < sizeof(buf) * 4) {
			ssize_t k = send(l->s, buf, sizeof(buf) * 4 - sent < sizeof(buf) ?
					 sizeof(buf) * 4 - sent : sizeof(buf), MSG_DONTWAIT);

			sent += k > 0 ? k : 0;
		}
		if (sdp_next(l->p, 50, &m) <= 0)
			continue;
		if (m.mid != DATA)
			fail("message %02x, wanted Data only (R99)", m.mid);
		n += m.payload;
	}
}

/* ---- buffer sizes ---- */

static uint32_t act_size(const struct msg *m)
{
	return (uint32_t)m->data[16] << 24 | m->data[17] << 16 | m->data[18] << 8 | m->data[19];
}

static void no_second(struct peer *p, int mid)
{
	struct msg m;

	while (sdp_next(p, SHORT, &m) > 0)
		if (m.mid == mid)
			fail("a second message %02x", mid);
}

/* A larger size is told when the old buffers are consumed: go on sending. */
static struct msg want_ack(struct link *l)
{
	long end = now_ms() + WAIT;
	struct msg m;

	while (now_ms() < end) {
		if (sdp_credit(l->p) >= 3) {
			SEND(l->p, .mid = DATA, .data = "61");
			sk_read(l->s, "a");
		}
		if (sdp_next(l->p, 20, &m) > 0 && m.mid == CH_RCV_BUF_ACK)
			return m;
	}
	fail("ChRcvBuf is not answered (R91)%s", l->p->gone ? ": connection ended" : "");
}

/* T12, R91: one answer each; the actual size is never below what was granted, and payload of it is taken. */
static void ch_rcv_buf(struct link *l)
{
	static const char * const ask[] = { "00010010", "00000800", "00000025", "00001000", "7fffffff" };
	uint32_t size;
	struct msg m;

	link_up(l);
	size = l->p->rcvsz;
	for (int i = 0; i < 5; i++) {
		uint32_t want = strtoul(ask[i], NULL, 16);

		sdp_wait_credit(l->p, 3, WAIT);
		SEND(l->p, .mid = CH_RCV_BUF, .ext = ask[i]);
		m = want_ack(l);
		if (act_size(&m) < 37)
			fail("ActSz %u", act_size(&m));
		if (want > size && act_size(&m) < size)
			fail("asked for more than %u, ActSz %u", size, act_size(&m));
		if (want < size && (act_size(&m) < want || act_size(&m) > size))
			fail("asked for %u instead of %u, ActSz %u", want, size, act_size(&m));
		size = act_size(&m);
		no_second(l->p, CH_RCV_BUF_ACK);
		l->p->seed_out = 9;
		sdp_wait_credit(l->p, 3, WAIT);
		sdp_data(l->p, size - BSDH);
		sk_pattern(l->s, 9, l->p->pos_out - (size - BSDH), size - BSDH);
	}
}

/* ---- urgent data ---- */

static void want_oob(int s, const char *before, char c)
{
	struct pollfd pf = { s, POLLPRI, 0 };
	char got = 0;

	if (poll(&pf, 1, WAIT) != 1 || !(pf.revents & POLLPRI))
		fail("no POLLPRI");
	sk_read(s, before);
	if (recv(s, &got, 1, MSG_OOB) != 1 || got != c)
		fail("MSG_OOB: got '%c', %s", got, strerror(errno));
}

/* T9 */
static void oob_in(struct link *l)
{
	link_up(l);
	SEND(l->p, .mid = DATA, .flags = OOB_PRES | OOB_PEND, .data = "61626321");
	want_oob(l->s, "abc", '!');
	SEND(l->p, .mid = DATA, .data = "646566");
	sk_read(l->s, "def");
}

/* R77: the announcement raises SIGURG, as TCP's urgent pointer ahead of its byte does. */
static void oob_in_early(struct link *l)
{
	struct timespec t = { WAIT / 1000, 0 };
	sigset_t urg;

	link_up(l);
	sigemptyset(&urg);
	sigaddset(&urg, SIGURG);
	sigprocmask(SIG_BLOCK, &urg, NULL);
	if (fcntl(l->s, F_SETOWN, getpid()))
		fail("F_SETOWN: %s", strerror(errno));
	SEND(l->p, .mid = DATA, .flags = OOB_PEND, .data = "30313233343536373839");
	if (sigtimedwait(&urg, NULL, &t) != SIGURG)
		fail("no SIGURG for an OOB byte that is announced (R77)");
	sk_read(l->s, "0123456789");
	SEND(l->p, .mid = DATA, .flags = OOB_PRES, .data = "61626321");
	want_oob(l->s, "abc", '!');
}

/* Announced on a message without payload, as the protocol allows. */
static void oob_in_pend_alone(struct link *l)
{
	link_up(l);
	SEND(l->p, .mid = DATA, .flags = OOB_PEND);
	SEND(l->p, .mid = DATA, .flags = OOB_PRES, .data = "21");
	want_oob(l->s, "", '!');
	sdp_wait_credit(l->p, 3, WAIT);
	SEND(l->p, .mid = DATA, .data = "61");
	sk_read(l->s, "a");
}

static void oob_inline(struct link *l)
{
	int on = 1, at = 0;
	struct pollfd pf;

	link_up(l);
	if (setsockopt(l->s, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)))
		fail("SO_OOBINLINE: %s", strerror(errno));
	SEND(l->p, .mid = DATA, .flags = OOB_PRES | OOB_PEND, .data = "61626321");
	SEND(l->p, .mid = DATA, .data = "64");
	pf = (struct pollfd){ l->s, POLLPRI, 0 };
	if (poll(&pf, 1, WAIT) != 1)
		fail("no POLLPRI");
	sk_read(l->s, "abc");
	if (ioctl(l->s, SIOCATMARK, &at) || !at)
		fail("not at the mark after abc");
	sk_read(l->s, "!d");
}

/* R75, R76, R78: one PEND not after the PRES, the byte ends its message. */
static void oob_out(struct link *l)
{
	char text[64] = "";
	int pend = 0, pres = 0;
	struct msg m;

	link_up(l);
	sk_write(l->s, "abc");
	if (send(l->s, "d!", 2, MSG_OOB) != 2)
		fail("MSG_OOB: %s", strerror(errno));
	sk_write(l->s, "efg");
	while (strlen(text) < 8) {
		if (sdp_next(l->p, WAIT, &m) != 1)
			fail("got only \"%s\"", text);
		if (m.mid != DATA)
			continue;
		strncat(text, (char *)m.data + BSDH, m.payload);
		pend += !!(m.flags & OOB_PEND);
		pres += !!(m.flags & OOB_PRES);
		if ((m.flags & OOB_PRES) && (!pend || m.data[m.len - 1] != '!'))
			fail("OOB_PRES without PEND before, or not on the byte");
	}
	if (pend != 1 || pres != 1 || strcmp(text, "abcd!efg"))
		fail("%d PEND, %d PRES, text \"%s\"", pend, pres, text);
}

/* ---- solicited events (R95) ---- */

static void solicited_out(struct link *l)
{
	struct peer *p;

	if (l->role == 'c')
		l->ls = sk_listen(l);
	link_peer(l);
	p = l->p;
	peer_cmd(p, "arm solicited");
	link_hello(l);
	link_connect(l);
	link_answer(l);
	link_ready(l);
	nodelay(l->s);
	sk_write(l->s, "plain");
	usleep(SHORT * 1000);
	peer_silent(p, 0);
	if (p->solicited)
		fail("Data without OOB carries SE");
	if (send(l->s, "!", 1, MSG_OOB) != 1)
		fail("MSG_OOB: %s", strerror(errno));
	sdp_want_text(p, WAIT, "plain!");
	if (p->solicited != 1)
		fail("%u wake-ups by Data with OOB, wanted 1", p->solicited);
	SEND(p, .mid = SRC_AVAIL, .ext = "00010000""00001a2b""0000000000001000", .data = "61");
	sdp_want(p, WAIT, SEND_SM, 0);
	if (p->solicited != 2)
		fail("%u wake-ups, SendSm carries no SE", p->solicited);
}

/* Idle time costs nothing on the wire, and a dead peer is found. */
static void keepalive(struct link *l)
{
	int on = 1, one = 1;
	struct msg m;
	long end;

	link_up(l);
	if (setsockopt(l->s, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) ||
	    setsockopt(l->s, IPPROTO_TCP, TCP_KEEPIDLE, &one, sizeof(one)) ||
	    setsockopt(l->s, IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof(one)))
		fail("keepalive: %s", strerror(errno));
	for (end = now_ms() + 4000; sdp_next(l->p, end - now_ms(), &m) > 0;)
		if (m.payload || m.mid != DATA)
			fail("message %02x while idle", m.mid);
	if (l->p->gone)
		fail("keepalive killed the connection: %s", l->p->why);
	SEND(l->p, .mid = DATA, .data = "61");
	sk_read(l->s, "a");
	peer_cmd(l->p, "qp err");
	if (poll(&(struct pollfd){ l->s, POLLIN, 0 }, 1, 40000) != 1)
		fail("a dead peer is not noticed within 40 s");
	{
		char c;

		if (recv(l->s, &c, 1, MSG_DONTWAIT) >= 0)
			fail("dead peer: no error");
		if (errno != ETIMEDOUT && errno != ECONNRESET)
			fail("dead peer: %s", strerror(errno));
	}
}

/* A probe of ours is invisible. */
static void keepalive_in(struct link *l)
{
	link_up(l);
	for (int i = 0; i < 20; i++)
		peer_cmd(l->p, "rdma_write 0 0");
	peer_cmd(l->p, "flush");
	sk_quiet(l->s, 100);
	SEND(l->p, .mid = DATA, .data = "61");
	sk_read(l->s, "a");
}

/* Nobody but SDP's adverts opens the socket's memory. */
static void stray_rdma(struct link *l)
{
	struct msg m;

	link_up(l);
	peer_cmd(l->p, "rdma_write 0x1234 0x1000 00112233");
	while (!l->p->gone)
		if (!sdp_next(l->p, WAIT, &m))
			fail("RDMA WRITE with a made-up key was taken");
	peer_cmd(l->p, "close");
	sk_error(l->s, ECONNRESET);
}

const struct tcase cases_stream[] = {
	{ "T2-credits", t2, "cp", &fl_four, NULL, NULL },
	{ "starved", starved, "cp", &fl_four, NULL, NULL },
	{ "starved-2005", starved, "cp", &fl_2005, NULL, NULL },
	{ "starved-disconn", starved_disconn, "cp", &fl_four, NULL, NULL },
	{ "stalled-reader", stalled_reader, "cp", NULL, NULL, NULL },
	{ "unread-window", unread_window, "cp", NULL, NULL, NULL },
	{ "window-probe", window_probe, "c", NULL, NULL, NULL },
	{ "updates", updates, "cp", NULL, NULL, NULL },
	{ "idle-quiet", idle, "cp", NULL, NULL, NULL },
	{ "idle-quiet-four", idle, "cp", &fl_four, NULL, NULL },
	{ "empty-data", empty_data, "cp", NULL, NULL, NULL },
	{ "first-mseq-0", first_mseq_0, "cp", NULL, NULL, NULL },
	{ "ignored", ignored, "cp", NULL, NULL, NULL },
	{ "cancel-idle", cancel_idle, "cp", NULL, NULL, NULL },
	{ "mode-buffered", mode_buffered, "cp", NULL, NULL, NULL },
	{ "mode-pipelined", mode_pipelined, "cp", NULL, NULL, NULL },
	{ "data-only-ofed", data_only, "cp", &fl_ofed, NULL, NULL },
	{ "data-only-freebsd", data_only, "cp", &fl_freebsd, NULL, NULL },
	{ "T12-chrcvbuf", ch_rcv_buf, "cp", NULL, NULL, NULL },
	{ "T9-oob-in", oob_in, "cp", NULL, NULL, NULL },
	{ "T9-oob-in-early", oob_in_early, "cp", NULL, NULL, NULL },
	{ "oob-in-pend-alone", oob_in_pend_alone, "c", NULL, NULL, NULL },
	{ "oob-inline", oob_inline, "c", NULL, NULL, NULL },
	{ "T9-oob-out", oob_out, "cp", NULL, NULL, NULL },
	{ "solicited-out", solicited_out, "cp", NULL, NULL, NULL },
	{ "keepalive-in", keepalive_in, "cp", NULL, NULL, NULL },
	{ "keepalive", keepalive, "c", NULL, NULL, NULL },
	{ "stray-rdma", stray_rdma, "c", NULL, NULL, NULL },
	{ }
};
