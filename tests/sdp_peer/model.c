// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A stand-in for the module under test (peer_test -m): the protocol core in a process of its own, its messages sent by
 * /dev/sdp_peer, its user behind a TCP connection over lo. It proves the cases and the core before there is a module;
 * what the module adds (ports, backlog, keepalive, a reader that closed) it cannot show.
 * Built by make user MODEL=1 only: it follows the core's interface.
 */
#define _GNU_SOURCE
#include "peer_test.h"
#undef HELLO
#include "sdp_proto.h"

#include <arpa/inet.h>
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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <linux/sockios.h>
#include <unistd.h>

enum { BUFS = 8, SIZE = 8192, ROOM = 65536 };

struct chunk {
	struct chunk *next;
	uint32_t len, at;
	bool held, urgent;
	uint8_t data[];
};

static struct model {
	struct sdp_conn c;
	struct peer *p;
	int u, status;			/* TCP to the user, where connect()'s end goes */
	uint16_t port;
	bool up, shut, eof_told, dead, dreq, rst;
	uint8_t out[ROOM + 1];
	uint32_t outlen, oob;		/* oob: position of the urgent byte + 1 */
	struct chunk *in, **tail;
	struct { uint8_t mid; bool payload; } fifo[1024];
	unsigned int head, sent, payload_out;
} m = { .u = -1, .status = -1, .tail = &m.in };

static void say(int err)
{
	if (m.status >= 0 && write(m.status, &err, sizeof(err)) < 0)
		_exit(4);
	m.status = -1;
}

static void post(int n)
{
	if (!peer_try(m.p, "post %d %d", n, SIZE + 16))
		sdp_rx_posted(&m.c, n);
}

static struct sdp_params own(uint8_t major)
{
	struct sdp_params o = { .major = major, .minor = major, .ipv = 4, .max_adverts = 8, .bufs = BUFS,
				.rcv_size = SIZE, .des_rcv_size = SIZE, .port = htons(m.port) };

	inet_pton(AF_INET, opt_addr, o.src_ip + 12);
	inet_pton(AF_INET, opt_addr, o.dst_ip + 12);
	return o;
}

static void fresh(bool active)
{
	sdp_conn_init(&m.c);
	sdp_conn_start(&m.c, active, SIZE);
	post(BUFS);
	m.head = m.sent = m.payload_out = 0;
	m.dreq = false;
}

static void send_hello(uint8_t major, uint16_t port)
{
	struct sdp_params o = own(major);
	struct sdp_hello h;

	fresh(true);
	sdp_hello_build(&h, &o);
	peer_cmd(m.p, "connect %x %s rnr=0 cmto=14 cmretries=15", 0x10000 | port, hex_of((uint8_t *)&h, sizeof(h)));
}

static void on_req(const char *hex)
{
	struct sdp_params peer, o;
	struct sdp_hello_ack a;
	uint8_t h[HELLO_LEN];

	hex_bytes(hex, h, sizeof(h));
	o = own(2);
	if (sdp_hello_parse((void *)h, &peer) != SDP_V_NONE || memcmp(peer.dst_ip, o.dst_ip, 16) ||
	    memcmp(peer.src_ip, o.src_ip, 16)) {
		peer_try(m.p, "rej 28");
		return;
	}
	fresh(false);
	sdp_conn_peer(&m.c, &peer);
	o = own(peer.major);
	sdp_hello_ack_build(&a, &o);
	peer_try(m.p, "rep %s rnr=0", hex_of((uint8_t *)&a, sizeof(a)));
}

/* The user's side: connected to the listening socket of the test. */
static void come_up(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(m.port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int small = 4096, on = 1;

	if (m.up)
		return;
	m.up = true;
	if (m.u < 0) {
		m.u = socket(AF_INET, SOCK_STREAM, 0);
		setsockopt(m.u, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		if (connect(m.u, (struct sockaddr *)&sa, sizeof(sa)))
			fail("model: connect: %s", strerror(errno));
	}
	setsockopt(m.u, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
	setsockopt(m.u, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	fcntl(m.u, F_SETFL, O_NONBLOCK);
	say(0);
}

static void on_rep(const char *hex, uint8_t major)
{
	struct sdp_params peer;
	uint8_t a[HELLO_ACK_LEN];

	hex_bytes(hex, a, sizeof(a));
	if (sdp_hello_ack_parse((void *)a, major, &peer) != SDP_V_NONE) {
		peer_try(m.p, "rej 28");
		say(ECONNREFUSED);
		return;
	}
	sdp_conn_peer(&m.c, &peer);
	peer_try(m.p, "rtu");
	sdp_established(&m.c);
	come_up();
}

static void reset_user(void)
{
	struct linger lg = { 1, 0 };

	if (m.u < 0 || m.dead)
		return;
	m.dead = true;
	setsockopt(m.u, SOL_SOCKET, SO_LINGER, &lg, sizeof(lg));
	close(m.u);
	m.u = -1;
}

static void queue(const uint8_t *d, uint32_t n, bool held, bool urgent)
{
	struct chunk *k = malloc(sizeof(*k) + n);

	*k = (struct chunk){ .len = n, .held = held, .urgent = urgent };
	memcpy(k->data, d, n);
	*m.tail = k;
	m.tail = &k->next;
}

static void deliver(void)
{
	while (m.in && m.u >= 0) {
		struct chunk *k = m.in;
		uint32_t n = k->len - k->at;
		ssize_t w;

		if (k->urgent && n > 1)
			n--;
		w = send(m.u, k->data + k->at, n, MSG_NOSIGNAL | (k->urgent && n == 1 ? MSG_OOB : 0));
		if (w < 0)
			break;
		k->at += w;
		if (k->at < k->len)
			continue;
		m.in = k->next;
		if (!m.in)
			m.tail = &m.in;
		if (k->held) {
			post(1);
			m.c.actions |= SDP_ACT_PUSH;
		}
		free(k);
	}
	if (!m.in && m.c.rx_fin && !m.eof_told && m.u >= 0) {
		m.eof_told = true;
		shutdown(m.u, SHUT_WR);
	}
}

static void on_recv(char *ev)
{
	static uint8_t d[300 * 1024];
	struct sdp_rx rx;
	unsigned int len, crc;
	int at, rc;

	if (sscanf(ev, "recv %u %x %n", &len, &crc, &at) < 2)
		fail("model: %.60s", ev);
	hex_bytes(ev + at, d, sizeof(d));
	rc = sdp_rx(&m.c, d, len, &rx);
	if (rc) {
		if (rc == -EPROTO)
			fprintf(stderr, "model: %s\n", sdp_violation_name(m.c.violation));
		return;
	}
	if (m.c.state != SDP_SYN_RECV)
		come_up();
	if (rx.payload && rx.mid != 0)
		queue(d + rx.offset, rx.payload, true, rx.urgent);
	else
		post(1);
}

static void on_read(char *ev)
{
	static uint8_t d[300 * 1024];
	unsigned int len, crc;
	int at;

	if (sscanf(ev, "read ok %u %x %n", &len, &crc, &at) < 2) {
		sdp_transport_failed(&m.c, ECONNRESET);
		return;
	}
	hex_bytes(ev + at, d, sizeof(d));
	queue(d, len, false, false);
	sdp_read_done(&m.c, len);
}

static void on_sent(const char *ev)
{
	uint8_t mid = m.fifo[m.sent & 1023].mid;

	if (m.fifo[m.sent++ & 1023].payload)
		m.payload_out--;
	if (strcmp(ev, "sent ok"))
		sdp_transport_failed(&m.c, ECONNRESET);
	else
		sdp_tx_done(&m.c, mid);
}

static void pump(void)
{
	static char hex[2 * ROOM + 200];
	struct sdp_tx tx;

	for (;;) {
		uint32_t room = sdp_tx_room(&m.c), n = m.outlen < room ? m.outlen : room;
		struct sdp_tx_queue q = { .nodelay = true, .in_flight = m.payload_out };

		if (m.oob && n > m.oob)
			n = m.oob;
		q.payload = n;
		q.urgent = m.oob && n == m.oob;
		q.full = n == room || q.urgent;
		q.more = m.outlen > n;
		if (!sdp_tx_next(&m.c, &q, &tx))
			return;
		strcpy(hex, hex_of(tx.header, tx.header_len));
		if (tx.payload) {
			char *s = hex + strlen(hex);

			for (uint32_t i = 0; i < n; i++, s += 2)
				sprintf(s, "%02x", m.out[i]);
			memmove(m.out, m.out + n, m.outlen - n);
			m.outlen -= n;
			m.oob = m.oob > n ? m.oob - n : 0;
			m.payload_out++;
		}
		m.fifo[m.head & 1023].mid = tx.mid;
		m.fifo[m.head++ & 1023].payload = tx.payload;
		if (peer_try(m.p, "send %s%s", tx.solicited ? "se " : "", hex))
			sdp_transport_failed(&m.c, ECONNRESET);
	}
}

static void act(void)
{
	while (m.c.actions) {
		uint16_t a = m.c.actions;
		struct sdp_read rd;

		m.c.actions = 0;
		if (a & SDP_ACT_RESIZE)
			sdp_resize(&m.c, m.c.rcv_size);
		if (a & SDP_ACT_READ && sdp_read_next(&m.c, SIZE, &rd))
			peer_try(m.p, "rdma_read %#x %#llx %u", rd.rkey, (unsigned long long)rd.va, rd.len);
		if (a & SDP_ACT_FAIL) {
			if (m.c.err == EPIPE)
				deliver();
			else
				reset_user();
		}
		if (a & SDP_ACT_PUSH)
			pump();
		if (a & SDP_ACT_DISCONNECT) {
			peer_try(m.p, "flush");
			peer_try(m.p, "dreq");
		}
		deliver();
	}
}

/* Something of the user: bytes, an urgent one, the end, a reset. */
static void on_user(void)
{
	int at = 0;
	ssize_t n;

	if (m.oob || m.outlen >= ROOM / 2)
		return;
	ioctl(m.u, SIOCATMARK, &at);
	n = recv(m.u, m.out + m.outlen, at ? 1 : ROOM / 2 - m.outlen, 0);
	if (n > 0) {
		m.outlen += n;
		if (at)
			m.oob = m.outlen;
		m.c.actions |= SDP_ACT_PUSH;
	} else if (!n) {
		m.shut = true;
		sdp_shutdown(&m.c);
	} else if (errno != EAGAIN) {
		m.dead = true;
		close(m.u);
		m.u = -1;
		sdp_abort(&m.c, ECONNRESET);
	}
}

static bool starts(const char *ev, const char *name)
{
	return !strncmp(ev, name, strlen(name));
}

/* Returns true when a refused Hello is to be tried with the other version. */
static bool on_event(char *ev, uint8_t major)
{
	if (starts(ev, "req "))
		on_req(ev + 4);
	else if (starts(ev, "rep "))
		on_rep(ev + 4, major);
	else if (starts(ev, "recv "))
		on_recv(ev);
	else if (starts(ev, "sent"))
		on_sent(ev);
	else if (starts(ev, "read"))
		on_read(ev);
	else if (starts(ev, "dreq"))
		m.dreq = true;
	else if (starts(ev, "timewait"))
		sdp_timewait_over(&m.c);
	else if (starts(ev, "req-error"))
		say(ETIMEDOUT);
	if (starts(ev, "rtu")) {
		sdp_established(&m.c);
		come_up();
	}
	if (starts(ev, "rej ")) {
		peer_try(m.p, "close");
		if (m.status >= 0 && major == 2 && atoi(ev + 4) == 28)
			return true;
		say(ECONNREFUSED);
	}
	return false;
}

static void run_model(uint16_t port)
{
	uint8_t major = 2;
	long probe = now_ms();

	for (;;) {
		bool want = m.u >= 0 && m.up && !m.shut && !m.oob && m.outlen < ROOM / 2;
		struct pollfd pf[2] = { { m.p->fd, POLLIN, 0 },
					{ m.u, (want ? POLLIN : 0) | (m.in ? POLLOUT : 0), 0 } };
		bool watch = pf[1].events || m.shut;
		char *ev;

		poll(pf, watch ? 2 : 1, 200);
		while ((ev = peer_event(m.p, 0))) {
			if (on_event(ev, major)) {
				major = 1;
				send_hello(1, port);
			}
			act();
		}
		if (m.dreq) {
			peer_try(m.p, "poll");
			while ((ev = peer_event(m.p, 0)))
				on_event(ev, major);
			m.dreq = false;
			sdp_disconnected(&m.c);
			act();
		}
		if (pf[1].revents & (POLLIN | POLLHUP) && want)
			on_user();
		if (m.shut && m.u >= 0 && pf[1].revents & POLLERR) {
			m.dead = true;
			close(m.u);
			m.u = -1;
			sdp_abort(&m.c, ECONNRESET);
		}
		if (m.outlen && sdp_tx_starved(&m.c) && now_ms() - probe > 500) {
			probe = now_ms();
			sdp_probe(&m.c);
		}
		deliver();
		act();
	}
}

static void be_model(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	unsetenv("PEER_TRACE");
	model_process();
	m.p = peer_open();
	peer_cmd(m.p, "quiet 0");
	peer_cmd(m.p, "full 1");
}

void model_listen(uint16_t port)
{
	int ready[2];
	char c;

	if (pipe(ready))
		fail("model: pipe");
	if (!fork()) {
		be_model();
		m.port = port;
		peer_cmd(m.p, "bind %s 1", opt_dev);
		peer_cmd(m.p, "listen %x", 0x10000 | port);
		close(ready[0]);
		close(ready[1]);
		run_model(port);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) < 0)
		fail("model: not there");
	close(ready[0]);
}

/* The user's end, which is connected to the model whatever becomes of the SDP connection: that is told by *status. */
int model_connect(uint16_t port, int *status)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int ls = socket(AF_INET, SOCK_STREAM, 0), s = socket(AF_INET, SOCK_STREAM, 0), st[2];

	if (pipe(st) || bind(ls, (struct sockaddr *)&sa, sizeof(sa)) || listen(ls, 1) ||
	    getsockname(ls, (struct sockaddr *)&sa, &len) || connect(s, (struct sockaddr *)&sa, sizeof(sa)))
		fail("model: %s", strerror(errno));
	if (!fork()) {
		int small = 4096;

		be_model();
		close(s);
		m.u = accept(ls, (struct sockaddr *)&sa, &len);
		setsockopt(m.u, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		m.port = ntohs(sa.sin_port);
		m.status = st[1];
		peer_cmd(m.p, "resolve %s %s", opt_addr, opt_addr);
		send_hello(2, port);
		run_model(port);
	}
	close(ls);
	close(st[1]);
	*status = st[0];
	return s;
}
