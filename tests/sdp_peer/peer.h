/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The user side of /dev/sdp_peer. Two layers:
 *  peer_*  commands and events of the module, see the head of sdp_peer.c
 *  sdp_*   SDP messages: what is sent is built here (every field can be bent), what is received goes
 *          through a checker of the protocol's rules R15-R32 that shares nothing with the module under test
 *
 * Every function that finds something wrong ends the case by fail(); a case runs in a process of its own.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mid {
	HELLO = 0x00, HELLO_ACK = 0x01, DISCONN = 0x02, ABORT_CONN = 0x03, SEND_SM = 0x04, RDMA_WR_COMPL = 0x05,
	RDMA_RD_COMPL = 0x06, MODE_CHANGE = 0x07, SRC_AVAIL_CANCEL = 0x08, SINK_AVAIL_CANCEL = 0x09,
	SINK_CANCEL_ACK = 0x0a, CH_RCV_BUF = 0x0b, CH_RCV_BUF_ACK = 0x0c, SUSP_COMM = 0x0d, SUSP_COMM_ACK = 0x0e,
	SINK_AVAIL = 0xfd, SRC_AVAIL = 0xfe, DATA = 0xff,
};
enum { OOB_PRES = 1, OOB_PEND = 2, REQ_PIPE = 4 };
enum { BSDH = 16, HELLO_LEN = 92, HELLO_ACK_LEN = 196, SHOWN = 64 };

/* How a kind of peer sets its connections up (chapter 11). */
struct flavour {
	const char *name;
	uint8_t ver;
	uint16_t bufs;
	uint32_t size;
	uint8_t adverts;
	int rnr;
};
extern const struct flavour fl_2005, fl_ofed, fl_freebsd, fl_new, fl_four;

struct msg {
	uint8_t mid, flags;
	uint16_t bufs;
	uint32_t len, seq, ack;
	uint32_t ext;		/* length of the extended header */
	uint32_t payload;
	uint32_t bytes, crc;	/* of the SEND */
	uint8_t *data;		/* its first bytes: all of them, or SHOWN */
	size_t shown;
};

/* A message to send. Zero means the honest value. */
struct tx {
	uint8_t mid, flags;
	const char *ext;	/* hex */
	const char *data;	/* BYTES */
	int seq_off, len_off, ack_off;
	int bufs_off;
	bool overrun;		/* never mind the credits */
	bool resv;		/* reserved flag bits set */
	const char *raw;	/* BYTES instead of a message; takes no MSeq */
	bool again;		/* MSeq of the previous message */
};

struct told { uint32_t ack; uint16_t bufs; };

struct peer {
	int fd;
	char *buf;		/* the event that was read last */
	char *later[512];	/* messages for later */
	unsigned int nlater;
	bool gone;		/* the connection ended */
	bool dreq, drep, timewait, rtu;
	char why[128];		/* what ended it */

	/* the SDP session */
	const struct flavour *f;
	uint32_t rcvsz;		/* of the other side */
	uint32_t tx_seq, rx_seq;
	uint32_t posted, received;
	struct told told[8192];	/* what each of my messages said, by MSeq */
	struct told heard;	/* what the other side's last one said */
	bool norepost, noupdate;	/* keep consumed buffers; send no credit updates by myself */
	bool held_ack;		/* R55 allows it now */
	bool eof;		/* its DisConn came */
	bool pattern;		/* payload must be the pattern of the stream */
	uint8_t seed_in, seed_out;
	uint32_t pos_in, pos_out;
	unsigned int updates, messages, solicited, sendsms;
	unsigned int asked;	/* ChRcvBufs that came */
	bool refused;		/* and were answered */
};

void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
long now_ms(void);
uint8_t pat_byte(uint8_t seed, uint32_t i);
uint32_t crc32_more(uint32_t crc, const uint8_t *p, size_t n);
size_t hex_bytes(const char *hex, uint8_t *out, size_t room);
/* '.' in the pattern is any digit, blanks are ignored; NULL if it fits, else where it differs */
const char *hex_match(const char *hex, const char *pattern);
size_t bytes_len(const char *words);

struct peer *peer_open(void);
void peer_close(struct peer *p);
int peer_try(struct peer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void peer_cmd(struct peer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *peer_event(struct peer *p, int ms);
/*
 * The next event of this kind; messages before it are kept, anything but noise fails. Returns the words behind its
 * name.
 */
char *peer_want(struct peer *p, int ms, const char *name);
void peer_want_hex(struct peer *p, int ms, const char *name, const char *pattern);
/* No event but noise for so long. */
void peer_silent(struct peer *p, int ms);

void sdp_start(struct peer *p, const struct flavour *f, uint16_t bufs, uint32_t rcvsz);
void sdp_post(struct peer *p, unsigned int n);
int sdp_credit(const struct peer *p);
void sdp_send(struct peer *p, struct tx t);
#define SEND(p, ...) sdp_send(p, (struct tx){ __VA_ARGS__ })
/* n bytes of the stream's pattern in one Data message */
void sdp_data(struct peer *p, uint32_t n);
/*
 * The next message: 1, or 0 after ms, or -1 when the connection is at its end. Checked, and the buffer reposted. A
 * ChRcvBuf is refused and not shown.
 */
int sdp_next(struct peer *p, int ms, struct msg *m);
/* The next message that is no credit update must be this. */
struct msg sdp_want(struct peer *p, int ms, enum mid mid, uint32_t payload);
void sdp_want_text(struct peer *p, int ms, const char *text);
void sdp_wait_credit(struct peer *p, int n, int ms);
void sdp_want_dreq(struct peer *p, int ms);

#endif
