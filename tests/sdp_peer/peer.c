// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* See peer.h. */
#define _GNU_SOURCE
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE (300 * 1024)

const struct flavour fl_2005 = { "2005", 0x11, 63, 4096, 255, 7 };
const struct flavour fl_ofed = { "ofed", 0x22, 9, 32784, 1, 0 };
const struct flavour fl_freebsd = { "freebsd", 0x22, 64, 32768, 1, 0 };
const struct flavour fl_new = { "new", 0x22, 16, 8192, 8, 0 };
const struct flavour fl_four = { "four", 0x22, 4, 4096, 1, 0 };

long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- bytes ---- */

uint8_t pat_byte(uint8_t seed, uint32_t i)
{
	return seed + i * 131 + (i >> 8) * 17 + (i >> 16) * 29;
}

uint32_t crc32_more(uint32_t crc, const uint8_t *p, size_t n)
{
	static uint32_t tab[256];

	if (!tab[1])
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int k = 0; k < 8; k++)
				c = c & 1 ? (c >> 1) ^ 0xedb88320 : c >> 1;
			tab[i] = c;
		}
	crc = ~crc;
	while (n--)
		crc = tab[(crc ^ *p++) & 255] ^ (crc >> 8);
	return ~crc;
}

static uint32_t crc32_pat(uint32_t crc, uint8_t seed, uint32_t pos, uint32_t n)
{
	uint8_t buf[1024];

	while (n) {
		uint32_t k = n < sizeof(buf) ? n : sizeof(buf);

		for (uint32_t i = 0; i < k; i++)
			buf[i] = pat_byte(seed, pos + i);
		crc = crc32_more(crc, buf, k);
		pos += k;
		n -= k;
	}
	return crc;
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

size_t hex_bytes(const char *hex, uint8_t *out, size_t room)
{
	size_t n = 0;

	for (; nibble(hex[0]) >= 0 && nibble(hex[1]) >= 0 && n < room; hex += 2)
		out[n++] = nibble(hex[0]) << 4 | nibble(hex[1]);
	return n;
}

const char *hex_match(const char *hex, const char *pat)
{
	const char *h = hex;

	for (; *pat; pat++) {
		if (*pat == ' ')
			continue;
		if (nibble(*h) < 0 || (*pat != '.' && *pat != *h))
			return h;
		h++;
	}
	return nibble(*h) < 0 ? NULL : h;
}

size_t bytes_len(const char *w)
{
	size_t sum = 0;

	while (*w) {
		size_t n = strcspn(w, " ");
		unsigned int a, b, len;

		if (sscanf(w, "fill=%i:%i", (int *)&a, (int *)&len) == 2 ||
		    sscanf(w, "pat=%i:%i:%i", (int *)&a, (int *)&b, (int *)&len) == 3)
			sum += len;
		else
			sum += n / 2;
		w += n + strspn(w + n, " ");
	}
	return sum;
}

/* ---- the device ---- */

struct peer *peer_open(void)
{
	struct peer *p = calloc(1, sizeof(*p));

	p->fd = open("/dev/sdp_peer", O_RDWR | O_CLOEXEC);
	if (p->fd < 0)
		fail("/dev/sdp_peer: %s", strerror(errno));
	p->buf = malloc(LINE);
	peer_cmd(p, "quiet 1");
	return p;
}

void peer_close(struct peer *p)
{
	close(p->fd);
	free(p->buf);
	free(p);
}

static int vtry(struct peer *p, const char *fmt, va_list ap)
{
	char *s;
	int n = vasprintf(&s, fmt, ap), rc;

	rc = write(p->fd, s, n) < 0 ? -errno : 0;
	if (getenv("PEER_TRACE"))
		fprintf(stderr, "%5ld %p> %.200s%s%s\n", now_ms() % 100000, (void *)p, s,
			rc ? " -> " : "", rc ? strerror(-rc) : "");
	free(s);
	return rc;
}

int peer_try(struct peer *p, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = vtry(p, fmt, ap);
	va_end(ap);
	return rc;
}

void peer_cmd(struct peer *p, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = vtry(p, fmt, ap);
	va_end(ap);
	if (rc) {
		char *s;

		va_start(ap, fmt);
		if (vasprintf(&s, fmt, ap) < 0)
			s = NULL;
		va_end(ap);
		fail("peer: %.60s: %s%s%s", s, strerror(-rc), p->gone ? ", connection ended: " : "", p->why);
	}
}

static char *read_event(struct peer *p, int ms)
{
	struct pollfd pf = { p->fd, POLLIN, 0 };
	ssize_t n;

	if (poll(&pf, 1, ms < 0 ? 0 : ms) <= 0)
		return NULL;
	n = read(p->fd, p->buf, LINE - 1);
	if (n < 1)
		fail("peer: read: %s", strerror(errno));
	p->buf[n - 1] = 0;
	if (getenv("PEER_TRACE"))
		fprintf(stderr, "%5ld %p< %.200s\n", now_ms() % 100000, (void *)p, p->buf);
	return p->buf;
}

char *peer_event(struct peer *p, int ms)
{
	if (!p->nlater)
		return read_event(p, ms);
	free(p->buf);
	p->buf = p->later[0];
	memmove(p->later, p->later + 1, --p->nlater * sizeof(*p->later));
	return p->buf;
}

/* A message that came while something else was waited for. */
static void keep_for_later(struct peer *p)
{
	if (p->nlater == sizeof(p->later) / sizeof(*p->later))
		fail("test: too many messages nobody looked at");
	p->later[p->nlater++] = p->buf;
	p->buf = malloc(LINE);
}

static bool is(const char *ev, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(ev, name, n) && (!ev[n] || ev[n] == ' ');
}

static void ended(struct peer *p, const char *ev)
{
	if (!p->gone)
		snprintf(p->why, sizeof(p->why), "%.100s", ev);
	p->gone = true;
}

/* Notes what any event means; true if nobody waits for this kind. */
static bool noise(struct peer *p, const char *ev)
{
	if (is(ev, "solicited")) {
		p->solicited = atoi(ev + 10);
		return true;
	}
	if (is(ev, "mra") || is(ev, "est") || is(ev, "sent ok") || is(ev, "write ok"))
		return true;
	if (is(ev, "rtu"))
		p->rtu = true;
	if (is(ev, "drep"))
		p->drep = true;
	if (is(ev, "timewait"))
		p->timewait = true;
	if (is(ev, "dreq"))
		p->dreq = true;
	if (is(ev, "dreq") || is(ev, "sent") || is(ev, "read") || is(ev, "write") || is(ev, "recv-error") ||
	    is(ev, "devgone") || is(ev, "qp-event"))
		if (!is(ev, "read ok"))
			ended(p, ev);
	return is(ev, "recv-error") || is(ev, "qp-event") || is(ev, "timewait");
}

char *peer_want(struct peer *p, int ms, const char *name)
{
	long end = now_ms() + ms;
	char *ev;

	while ((ev = read_event(p, end - now_ms()))) {
		bool n = noise(p, ev);

		if (is(ev, "recv") && strcmp(name, "recv")) {
			keep_for_later(p);
			continue;
		}
		if (is(ev, name))
			return ev + strlen(name) + (ev[strlen(name)] == ' ');
		if (!n)
			fail("peer: wanted %s, got %.120s", name, ev);
	}
	fail("peer: no %s within %d ms", name, ms);
}

void peer_want_hex(struct peer *p, int ms, const char *name, const char *pat)
{
	char *hex = peer_want(p, ms, name);
	const char *at = hex_match(hex, pat);

	if (at)
		fail("%s differs at byte %d: %.32s", name, (int)(at - hex) / 2, at);
}

void peer_silent(struct peer *p, int ms)
{
	long end = now_ms() + ms;
	char *ev;

	while ((ev = peer_event(p, end - now_ms())))
		if (!noise(p, ev))
			fail("peer: wanted silence, got %.120s", ev);
}

/* ---- messages ---- */

static uint32_t be32(const uint8_t *d)
{
	return (uint32_t)d[0] << 24 | d[1] << 16 | d[2] << 8 | d[3];
}

/* Length of the extended header, -1 if no such message may come in the stream. */
static int ext_len(uint8_t mid)
{
	switch (mid) {
	case DISCONN: case ABORT_CONN: case SEND_SM: case SRC_AVAIL_CANCEL: case SINK_AVAIL_CANCEL:
	case SINK_CANCEL_ACK: case SUSP_COMM_ACK: case DATA:
		return 0;
	case RDMA_WR_COMPL: case RDMA_RD_COMPL: case MODE_CHANGE: case CH_RCV_BUF: case CH_RCV_BUF_ACK:
		return 4;
	case SUSP_COMM:
		return 8;
	case SRC_AVAIL:
		return 16;
	case SINK_AVAIL:
		return 20;
	}
	return -1;
}

/* Chapter 10. */
static bool se_of(const struct tx *t)
{
	switch (t->mid) {
	case ABORT_CONN: case SUSP_COMM: case SUSP_COMM_ACK: case SEND_SM: case SRC_AVAIL_CANCEL:
	case SINK_AVAIL_CANCEL: case SINK_CANCEL_ACK: case RDMA_WR_COMPL: case RDMA_RD_COMPL:
		return true;
	}
	return t->mid == DATA && (t->flags & (OOB_PRES | OOB_PEND));
}

void sdp_start(struct peer *p, const struct flavour *f, uint16_t bufs, uint32_t rcvsz)
{
	p->f = f;
	p->rcvsz = rcvsz;
	p->tx_seq = p->rx_seq = 0;
	p->received = 0;
	p->heard = (struct told){ 0, bufs };
	p->told[0] = (struct told){ 0, f->bufs };
	p->gone = p->eof = false;
}

/* 16 bytes more than promised: a message that is too long is then seen, and not only its effect. */
void sdp_post(struct peer *p, unsigned int n)
{
	peer_cmd(p, "post %u %u", n, p->f->size + 16);
	p->posted += n;
}

int sdp_credit(const struct peer *p)
{
	return p->heard.bufs - (p->tx_seq - p->heard.ack);
}

void sdp_send(struct peer *p, struct tx t)
{
	const char *ext = t.ext ? t.ext : "", *data = t.data ? t.data : "";
	uint32_t ack = p->rx_seq, len;
	uint16_t bufs = p->posted - p->received;
	int need = *data || t.mid == SRC_AVAIL ? 3 : 2, c = sdp_credit(p);

	if (t.raw) {
		peer_cmd(p, "send %s", t.raw);
		return;
	}
	if (!*data && c == 1 && (int)(bufs + ack - p->told[p->tx_seq & 8191].bufs -
				     p->told[p->tx_seq & 8191].ack) > 0)
		need = 1;
	if (c < need && !t.overrun)
		fail("test: %d credits left for message %02x", c, t.mid);
	if (!t.again)
		p->tx_seq++;
	bufs += t.bufs_off;
	ack += t.ack_off;
	len = BSDH + strlen(ext) / 2 + bytes_len(data) + t.len_off;
	p->told[p->tx_seq & 8191] = (struct told){ ack, bufs };
	peer_cmd(p, "send %s%02x%02x%04x%08x%08x%08x %s %s", se_of(&t) ? "se " : "", t.mid,
		 t.flags | (t.resv ? 0xf8 : 0), bufs, len, p->tx_seq + t.seq_off, ack, ext, data);
}

void sdp_data(struct peer *p, uint32_t n)
{
	char words[64];

	snprintf(words, sizeof(words), "pat=%u:%u:%u", p->seed_out, p->pos_out, n);
	sdp_send(p, (struct tx){ .mid = DATA, .data = words });
	p->pos_out += n;
}

/* ---- the checker ---- */

static void parse(struct peer *p, char *ev, struct msg *m)
{
	static uint8_t data[LINE / 2];
	int at = 0;

	memset(m, 0, sizeof(*m));
	if (sscanf(ev, "recv %u %x %n", &m->bytes, &m->crc, &at) < 2 || !at)
		fail("peer: cannot read %.60s", ev);
	if (strstr(ev + at, "inv="))
		fail("SEND with invalidate without our asking (R97)");
	m->data = data;
	m->shown = hex_bytes(ev + at, data, sizeof(data));
	if (m->bytes < BSDH)
		fail("message of %u bytes (R15)", m->bytes);
	m->mid = data[0];
	m->flags = data[1];
	m->bufs = data[2] << 8 | data[3];
	m->len = be32(data + 4);
	m->seq = be32(data + 8);
	m->ack = be32(data + 12);
	(void)p;
}

static void check_format(struct peer *p, struct msg *m)
{
	int ext = ext_len(m->mid);

	if (m->len != m->bytes)
		fail("message %02x: Len %u, SEND of %u bytes (R15)", m->mid, m->len, m->bytes);
	if (m->bytes > p->f->size)
		fail("message %02x of %u bytes, our S is %u (R32)", m->mid, m->bytes, p->f->size);
	if (ext < 0)
		fail("message id %02x in the stream (R21)", m->mid);
	if (m->len < BSDH + (unsigned int)ext)
		fail("message %02x: Len %u is too short", m->mid, m->len);
	m->ext = ext;
	m->payload = m->len - BSDH - ext;
	if (m->payload && m->mid != DATA && m->mid != SRC_AVAIL && m->mid != SINK_AVAIL)
		fail("message %02x with %u bytes of payload", m->mid, m->payload);
	if (m->flags & 0xf8)
		fail("message %02x: flags %02x (R16)", m->mid, m->flags);
	if ((m->flags & OOB_PRES) && (m->mid != DATA || !m->payload))
		fail("OOB_PRES in message %02x with %u bytes (R17)", m->mid, m->payload);
	if ((m->flags & REQ_PIPE) && m->mid != RDMA_RD_COMPL && m->mid != RDMA_WR_COMPL)
		fail("REQ_PIPE in message %02x (R17)", m->mid);
}

static void check_sequence(struct peer *p, const struct msg *m)
{
	if (m->seq != p->rx_seq + 1)
		fail("MSeq %u after %u (R18)", m->seq, p->rx_seq);
	if ((int32_t)(m->ack - p->tx_seq) > 0)
		fail("MSeqAck %u, we sent only up to %u (R19)", m->ack, p->tx_seq);
	if ((int32_t)(m->ack - p->heard.ack) < 0)
		fail("MSeqAck went back from %u to %u (R19)", p->heard.ack, m->ack);
}

/*
 * What the sender knew of our buffers when it sent this is told by its MSeqAck. Posted = Bufs + MSeqAck of the
 * other side (its messages' numbers start at 1) can only rise.
 */
static void check_credit(struct peer *p, const struct msg *m)
{
	const struct told *t = &p->told[m->ack & 8191];
	int credit = t->bufs - (m->seq - 1 - t->ack);
	int news = m->bufs + m->ack - p->heard.bufs - p->heard.ack;

	if (news < 0 && !p->held_ack)
		fail("credit taken back: Bufs %u at MSeqAck %u after %u at %u (3.3)", m->bufs, m->ack,
		     p->heard.bufs, p->heard.ack);
	if (credit <= 0)
		fail("message %02x at credit %d (R23)", m->mid, credit);
	if (m->payload && credit < 3)
		fail("%u bytes of payload at credit %d (R25)", m->payload, credit);
	if (m->mid == SRC_AVAIL && m->payload && credit < 3)
		fail("SrcAvail at credit %d (R25)", credit);
	if (credit == 1 && news <= 0)
		fail("message %02x at credit 1 conveys nothing (R24)", m->mid);
}

static void check_pattern(struct peer *p, const struct msg *m)
{
	uint32_t crc = crc32_more(0, m->data, BSDH + m->ext);

	crc = crc32_pat(crc, p->seed_in, p->pos_in, m->payload);
	if (crc != m->crc)
		fail("payload at stream position %u, %u bytes, is not what was written", p->pos_in, m->payload);
}

static void check(struct peer *p, struct msg *m)
{
	check_format(p, m);
	check_sequence(p, m);
	check_credit(p, m);
	if (p->eof && (m->payload || m->mid == SRC_AVAIL || m->mid == RDMA_WR_COMPL || m->mid == DISCONN))
		fail("message %02x with %u bytes after DisConn (R79)", m->mid, m->payload);
	if (m->payload && p->pattern)
		check_pattern(p, m);
	p->pos_in += m->payload;
	p->rx_seq = m->seq;
	p->heard = (struct told){ m->ack, m->bufs };
	p->received++;
	p->messages++;
	if (m->mid == DISCONN)
		p->eof = true;
	if (m->mid == SEND_SM)
		p->sendsms++;
}

/* The recommended policy of 3.6. */
static void maybe_update(struct peer *p)
{
	const struct told *t = &p->told[p->tx_seq & 8191];
	int posted = p->posted - p->received;
	int believed = t->bufs - (p->rx_seq - t->ack);
	int step = p->f->bufs / 2 > 2 ? p->f->bufs / 2 : 2;

	if (posted <= believed)
		return;
	if (believed > 2 && posted - believed < step)
		return;
	if (sdp_credit(p) < 1)
		return;
	sdp_send(p, (struct tx){ .mid = DATA });
	p->updates++;
}

/* What the kinds of peers do with a ChRcvBuf: refuse. OFED and FreeBSD speak of payload sizes. */
static void refuse_size(struct peer *p)
{
	bool payload_only = p->f->ver == 0x22 && p->f->adverts == 1;
	char ext[16];

	p->refused = true;
	snprintf(ext, sizeof(ext), "%08x", p->f->size - (payload_only ? BSDH : 0));
	sdp_send(p, (struct tx){ .mid = CH_RCV_BUF_ACK, .ext = ext });
}

int sdp_next(struct peer *p, int ms, struct msg *m)
{
	long end = now_ms() + ms;
	char *ev;

	while ((ev = peer_event(p, end - now_ms()))) {
		bool n = noise(p, ev);

		if (is(ev, "recv")) {
			parse(p, ev, m);
			check(p, m);
			if (!p->norepost && !p->gone)
				sdp_post(p, 1);
			if (m->mid == CH_RCV_BUF && p->asked++)
				fail("ChRcvBuf again before or after it was refused (R91, R92)");
			if (p->asked && !p->refused && !p->gone && sdp_credit(p) >= 2)
				refuse_size(p);
			if (m->mid == CH_RCV_BUF)
				continue;
			if (!p->norepost && !p->noupdate && !p->gone)
				maybe_update(p);
			return 1;
		}
		if (p->gone) {
			/* messages may have come ahead of what ended it */
			peer_try(p, "poll");
			end = 0;
			continue;
		}
		if (n || is(ev, "rtu") || is(ev, "drep"))
			continue;
		fail("peer: wanted a message, got %.120s", ev);
	}
	return p->gone ? -1 : 0;
}

struct msg sdp_want(struct peer *p, int ms, enum mid mid, uint32_t payload)
{
	long end = now_ms() + ms;
	struct msg m;
	int rc;

	for (;;) {
		rc = sdp_next(p, end - now_ms(), &m);
		if (!rc)
			fail("no message %02x within %d ms", mid, ms);
		if (rc < 0)
			fail("wanted message %02x, connection ended: %s", mid, p->why);
		if (m.mid == DATA && !m.payload && !m.flags && !(mid == DATA && !payload))
			continue;
		if (m.mid != mid || m.payload != payload)
			fail("wanted message %02x with %u bytes, got %02x with %u", mid, payload, m.mid, m.payload);
		return m;
	}
}

/* Payload that may be cut into messages as the sender likes. */
void sdp_want_text(struct peer *p, int ms, const char *text)
{
	long end = now_ms() + ms;
	struct msg m;

	while (*text) {
		int rc = sdp_next(p, end - now_ms(), &m);

		if (rc <= 0)
			fail("wanted \"%.40s\", %s", text, rc ? p->why : "nothing came");
		if (m.mid != DATA)
			fail("wanted \"%.40s\", got message %02x", text, m.mid);
		if (m.payload > strlen(text) ||
		    crc32_more(crc32_more(0, m.data, BSDH), (const uint8_t *)text, m.payload) != m.crc)
			fail("wanted \"%.40s\", got %u other bytes", text, m.payload);
		text += m.payload;
	}
}

void sdp_wait_credit(struct peer *p, int n, int ms)
{
	long end = now_ms() + ms;
	struct msg m;

	while (sdp_credit(p) < n) {
		int rc = sdp_next(p, end - now_ms(), &m);

		if (rc <= 0)
			fail("credit stays %d, wanted %d: %s", sdp_credit(p), n, rc ? p->why : "no update came");
	}
}

/* Messages before it are checked. */
void sdp_want_dreq(struct peer *p, int ms)
{
	long end = now_ms() + ms;
	struct msg m;
	char *ev;

	while (!p->dreq && (ev = peer_event(p, end - now_ms()))) {
		noise(p, ev);
		if (is(ev, "recv")) {
			parse(p, ev, &m);
			check(p, &m);
			if (m.mid == ABORT_CONN)
				fail("AbortConn without a DisConn before (R85)");
		}
	}
	if (!p->dreq)
		fail("no DREQ within %d ms%s%s", ms, p->gone ? ", but " : "", p->why);
}
