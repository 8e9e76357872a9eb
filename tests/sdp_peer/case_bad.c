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
		sdp_send(l->p, t);
	}
	sdp_want_dreq(l->p, WAIT);
	sk_error(l->s, ECONNRESET);
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
#define BAD(name, ...) { "bad-" name, bad, "cp", NULL, NULL, B(__VA_ARGS__) }
#define BADC(name, ...) { "bad-" name, bad, "c", NULL, NULL, B(__VA_ARGS__) }
#define M(...) { __VA_ARGS__ }
#define MODE(x) { .mid = MODE_CHANGE, .ext = x "000000" }

const struct tcase cases_bad[] = {
	BAD("mseq-gap", M(.mid = DATA, .data = "61", .seq_off = 1)),
	BADC("mseq-gap-control", M(.mid = MODE_CHANGE, .ext = "20000000", .seq_off = 1)),
	BADC("mseq-back", M(.mid = DATA), M(.mid = DATA, .again = true)),
	BADC("mseq-far", M(.mid = DATA, .data = "61", .seq_off = 0x40000000)),
	BAD("len-more", M(.mid = DATA, .data = "61", .len_off = 1)),
	BADC("len-less", M(.mid = DATA, .data = "6161", .len_off = -1)),
	BADC("len-15", M(.mid = DATA, .len_off = -1)),
	BADC("len-huge", M(.mid = DATA, .data = "61", .len_off = 0x7fffff00)),
	BAD("short", M(.raw = "ff")),
	BADC("empty-send", M(.raw = "fill=0:0")),
	BADC("15-bytes", M(.raw = "fill=0:15")),
	BADC("mid-0f", M(.mid = 0x0f)),
	BADC("mid-10", M(.mid = 0x10)),
	BADC("mid-3f", M(.mid = 0x3f)),
	BADC("mid-80", M(.mid = 0x80)),
	BADC("mid-fc", M(.mid = 0xfc)),
	BADC("hello", M(.mid = HELLO, .resv = true)),
	BADC("helloack", M(.mid = HELLO_ACK)),
	BAD("mseqack-beyond", M(.mid = DATA, .data = "61", .ack_off = 1)),
	BADC("data-after-disconn", M(.mid = DISCONN), M(.mid = DATA, .data = "61")),
	BADC("disconn-twice", M(.mid = DISCONN), M(.mid = DISCONN)),
	BADC("srcavail-after-disconn", M(.mid = DISCONN), M(.mid = SRC_AVAIL, .ext = ADV, .data = "61")),
	BADC("mode-combined-again", MODE("10")),
	BADC("mode-leave-buffered-by-us", MODE("90")),
	BADC("mode-reserved-3", MODE("30")),
	BADC("mode-reserved-7", MODE("70")),
	BADC("mode-their-buffered", MODE("80")),
	BADC("mode-their-pipelined", MODE("a0")),
	BADC("mode-pipelined-again", MODE("20"), MODE("20")),
	BADC("mode-buffered-again", MODE("00"), MODE("00")),
	BADC("mode-buffered-pipelined", MODE("00"), MODE("20")),
	BADC("mode-buffered-combined", MODE("00"), MODE("10")),
	BADC("mode-pipelined-buffered", MODE("20"), MODE("00")),
	BADC("srcavail-buffered", MODE("00"), M(.mid = SRC_AVAIL, .ext = ADV, .data = "61")),
	BAD("srcavail-bare-combined", M(.mid = SRC_AVAIL, .ext = ADV)),
	BADC("srcavail-payload-pipelined", MODE("20"), M(.mid = SRC_AVAIL, .ext = ADV, .data = "61")),
	BADC("srcavail-len-0", M(.mid = SRC_AVAIL, .ext = "00000000 00001a2b 0000000000001000", .data = "61")),
	BADC("srcavail-len-payload", M(.mid = SRC_AVAIL, .ext = "00000001 00001a2b 0000000000001000", .data = "61")),
	BADC("srcavail-len-over", M(.mid = SRC_AVAIL, .ext = "80000001 00001a2b 0000000000001000", .data = "61")),
	BADC("srcavail-len-0-pipelined", MODE("20"), M(.mid = SRC_AVAIL, .ext = "00000000 00001a2b 0000000000001000")),
	BADC("srcavail-short", M(.mid = SRC_AVAIL, .ext = "00010000 00001a2b")),
	BAD("sinkavail-combined", M(.mid = SINK_AVAIL, .ext = "00020000 00001a2b 0000000000001000 00000000")),
	BADC("sinkavail-our-pipelined", MODE("20"),
	     M(.mid = SINK_AVAIL, .ext = "00020000 00001a2b 0000000000001000 00000000")),
	BADC("sinkavail-len-0", M(.mid = SINK_AVAIL, .ext = "00000000 00001a2b 0000000000001000 00000000")),
	BADC("rdmawrcompl-combined", M(.mid = RDMA_WR_COMPL, .ext = "00000010")),
	BADC("disconn-payload", M(.mid = DISCONN, .data = "61")),
	BADC("sendsm-payload", M(.mid = SEND_SM, .data = "61")),
	BADC("cancel-payload", M(.mid = SRC_AVAIL_CANCEL, .data = "61")),
	BADC("modechange-short", M(.mid = MODE_CHANGE)),
	BADC("modechange-long", M(.mid = MODE_CHANGE, .ext = "2000000000000000")),
	BADC("rdmardcompl-short", M(.mid = RDMA_RD_COMPL, .ext = "0000")),
	BADC("chrcvbuf-short", M(.mid = CH_RCV_BUF)),
	BADC("chrcvbuf-long", M(.mid = CH_RCV_BUF, .ext = "0001001000")),
	BADC("suspcomm-short", M(.mid = SUSP_COMM, .ext = "00000000")),
	BAD("suspcomm", M(.mid = SUSP_COMM, .ext = "000000000001138a")),
	{ "bad-credit-overrun", overrun, "cp", NULL, NULL, NULL },
	{ }
};
