// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Violations (8.6): each ends the connection, the peer sees a DREQ and no SDP message, the socket ECONNRESET, and the
 * counter rises. Credits are processed before.
 */
#include "peer_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ADV "00010000 00001a2b 0000000000001000"	/* Len, R_Key, VA of a SrcAvail */

struct bad {
	struct tx t[4];
};

static void squeeze(const char *in, char *out)
{
	for (; *in; in++)
		if (*in != ' ')
			*out++ = *in;
	*out = 0;
}

static void bad(struct link *l)
{
	const struct bad *b = l->tc->arg;
	bool disconn = false;
	char ext[100];

	link_up(l);
	stats_before(l);
	for (int i = 0; i < 4 && (b->t[i].mid || b->t[i].raw || b->t[i].resv); i++) {
		struct tx t = b->t[i];

		if (t.ext) {
			squeeze(t.ext, ext);
			t.ext = ext;
		}
		t.resv = false;	/* in a row it only says: there is a message, its MID is 0 */
		disconn |= t.mid == DISCONN;
		sdp_send(l->p, t);
	}
	sdp_want_dreq(l->p, WAIT);
	if (!disconn)
		sk_error(l->s, ECONNRESET);
	else if (send(l->s, "x", 1, MSG_NOSIGNAL) >= 0)
		fail("send() after the connection was aborted");
	stats_after(l);
}

/* One message more than there are buffers for, and nobody reads. */
static void overrun(struct link *l)
{
	struct msg m;
	long end = now_ms() + 20000;

	link_up(l);
	l->p->noupdate = true;
	while (now_ms() < end && !l->p->gone) {
		while (sdp_credit(l->p) >= 3)
			SEND(l->p, .mid = DATA, .data = "fill=1:4000");
		if (!sdp_next(l->p, 500, &m))
			break;
	}
	if (sdp_credit(l->p) > 2)
		fail("credit never ran out");
	for (int i = sdp_credit(l->p) + 1; i > 0 && !l->p->gone; i--)
		SEND(l->p, .mid = DATA, .data = "01", .overrun = true);
	/* the module notices, or the adapter does: RNR NAK, and our own QP is dead */
	for (end = now_ms() + WAIT; !l->p->gone && now_ms() < end;)
		sdp_next(l->p, 100, &m);
	if (!l->p->gone)
		fail("nothing happened");
	peer_cmd(l->p, "close");
	for (;;) {
		char buf[4096];
		ssize_t n = recv(l->s, buf, sizeof(buf), 0);

		if (n > 0)
			continue;
		if (!n || errno != ECONNRESET)
			fail("socket: wanted ECONNRESET, got %s", n ? strerror(errno) : "EOF");
		break;
	}
}

#define B(...) (&(const struct bad){ { __VA_ARGS__ } })
#define BAD(name, rule, ...) { "bad-" name, bad, "cp", NULL, "Violation" rule, B(__VA_ARGS__) }
#define BADC(name, rule, ...) { "bad-" name, bad, "c", NULL, "Violation" rule, B(__VA_ARGS__) }
#define M(...) { __VA_ARGS__ }
#define MODE(x) { .mid = MODE_CHANGE, .ext = x "000000" }

const struct tcase cases_bad[] = {
	BAD("mseq-gap", "R18", M(.mid = DATA, .data = "61", .seq_off = 1)),
	BADC("mseq-gap-control", "R18", M(.mid = MODE_CHANGE, .ext = "20000000", .seq_off = 1)),
	BADC("mseq-back", "R18", M(.mid = DATA), M(.mid = DATA, .again = true)),
	BADC("mseq-far", "R18", M(.mid = DATA, .data = "61", .seq_off = 0x40000000)),
	BAD("len-more", "R15", M(.mid = DATA, .data = "61", .len_off = 1)),
	BADC("len-less", "R15", M(.mid = DATA, .data = "6161", .len_off = -1)),
	BADC("len-15", "R15", M(.mid = DATA, .len_off = -1)),
	BADC("len-huge", "R15", M(.mid = DATA, .data = "61", .len_off = 0x7fffff00)),
	BAD("short", "R15", M(.raw = "ff")),
	BADC("empty-send", "R15", M(.raw = "fill=0:0")),
	BADC("15-bytes", "R15", M(.raw = "fill=0:15")),
	BADC("mid-0f", "R21", M(.mid = 0x0f)),
	BADC("mid-10", "R21", M(.mid = 0x10)),
	BADC("mid-3f", "R21", M(.mid = 0x3f)),
	BADC("mid-80", "R21", M(.mid = 0x80)),
	BADC("mid-fc", "R21", M(.mid = 0xfc)),
	BADC("hello", "R21", M(.mid = HELLO, .resv = true)),
	BADC("helloack", "R21", M(.mid = HELLO_ACK)),
	BAD("mseqack-beyond", "R20", M(.mid = DATA, .data = "61", .ack_off = 1)),
	BADC("data-after-disconn", "R88", M(.mid = DISCONN), M(.mid = DATA, .data = "61")),
	BADC("disconn-twice", "R88", M(.mid = DISCONN), M(.mid = DISCONN)),
	BADC("srcavail-after-disconn", "R88", M(.mid = DISCONN), M(.mid = SRC_AVAIL, .ext = ADV, .data = "61")),
	BADC("mode-combined-again", "R34", MODE("10")),
	BADC("mode-leave-buffered-by-us", "R34", MODE("90")),
	BADC("mode-reserved-3", "R34", MODE("30")),
	BADC("mode-reserved-7", "R34", MODE("70")),
	BADC("mode-their-buffered", "R34", MODE("80")),
	BADC("mode-their-pipelined", "R34", MODE("a0")),
	BADC("mode-pipelined-again", "R34", MODE("20"), MODE("20")),
	BADC("mode-buffered-again", "R34", MODE("00"), MODE("00")),
	BADC("mode-buffered-pipelined", "R34", MODE("00"), MODE("20")),
	BADC("mode-buffered-combined", "R34", MODE("00"), MODE("10")),
	BADC("mode-pipelined-buffered", "R34", MODE("20"), MODE("00")),
	BADC("srcavail-buffered", "R37", MODE("00"), M(.mid = SRC_AVAIL, .ext = ADV, .data = "61")),
	BAD("srcavail-bare-combined", "R41", M(.mid = SRC_AVAIL, .ext = ADV)),
	BADC("srcavail-payload-pipelined", "R43", MODE("20"), M(.mid = SRC_AVAIL, .ext = ADV, .data = "61")),
	BADC("srcavail-len-0", "R41", M(.mid = SRC_AVAIL, .ext = "00000000 00001a2b 0000000000001000", .data = "61")),
	BADC("srcavail-len-payload", "R41", M(.mid = SRC_AVAIL, .ext = "00000001 00001a2b 0000000000001000", .data = "61")),
	BADC("srcavail-len-over", "R41", M(.mid = SRC_AVAIL, .ext = "80000001 00001a2b 0000000000001000", .data = "61")),
	BADC("srcavail-len-0-pipelined", "R41", MODE("20"), M(.mid = SRC_AVAIL, .ext = "00000000 00001a2b 0000000000001000")),
	BADC("srcavail-short", "R15", M(.mid = SRC_AVAIL, .ext = "00010000 00001a2b")),
	BAD("sinkavail-combined", "R60", M(.mid = SINK_AVAIL, .ext = "00020000 00001a2b 0000000000001000 00000000")),
	BADC("sinkavail-our-pipelined", "R60", MODE("20"),
	     M(.mid = SINK_AVAIL, .ext = "00020000 00001a2b 0000000000001000 00000000")),
	BADC("sinkavail-len-0", "R60", M(.mid = SINK_AVAIL, .ext = "00000000 00001a2b 0000000000001000 00000000")),
	BADC("rdmawrcompl-combined", "R67", M(.mid = RDMA_WR_COMPL, .ext = "00000010")),
	BADC("disconn-payload", "R15", M(.mid = DISCONN, .data = "61")),
	BADC("sendsm-payload", "R15", M(.mid = SEND_SM, .data = "61")),
	BADC("cancel-payload", "R15", M(.mid = SRC_AVAIL_CANCEL, .data = "61")),
	BADC("modechange-short", "R15", M(.mid = MODE_CHANGE)),
	BADC("modechange-long", "R15", M(.mid = MODE_CHANGE, .ext = "2000000000000000")),
	BADC("rdmardcompl-short", "R15", M(.mid = RDMA_RD_COMPL, .ext = "0000")),
	BADC("chrcvbuf-short", "R15", M(.mid = CH_RCV_BUF)),
	BADC("chrcvbuf-long", "R15", M(.mid = CH_RCV_BUF, .ext = "0001001000")),
	BADC("suspcomm-short", "R15", M(.mid = SUSP_COMM, .ext = "00000000")),
	BAD("suspcomm", "R94", M(.mid = SUSP_COMM, .ext = "000000000001138a")),
	{ "bad-credit-overrun", overrun, "cp", NULL, NULL, NULL },
	{ }
};
