// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two cores back to back over an in-order wire, driven at random, with a
 * checker that knows only the bytes that fly and the buffers that are posted.
 */
#include <stdio.h>
#include <string.h>

#include "peer.h"

#define WIRE	256
#define BUFFERS	256
#define MSGS	512
#define SIZE	256		/* largest message here */

struct flying {
	u8 header[SDP_HEADER_MAX];
	u32 header_len;
	u32 payload;
	u32 offset;		/* in the sender's stream */
};

/* What an onlooker knows about one direction. */
struct checker {
	u32 mseq;		/* last sent */
	u32 credit;		/* of the sender, by R22 */
	u32 told;		/* Bufs last sent */
	u32 told_at;		/* messages it had received then */
	u32 received;		/* messages the sender has received */
	u32 last_mseq;		/* last received by the sender */
	bool fin;
};

struct end {
	struct sdp_conn conn;
	struct checker check;
	/* The stream out: messages queued, and those posted but not done. */
	u32 queue[MSGS];
	bool queue_urgent[MSGS];
	u32 head, tail;
	u32 written, sent;
	u8 posted_mid[WIRE];
	u32 post_head, post_tail;
	u32 payload_posted;
	bool nodelay, cork;
	/* The stream in. */
	u32 taken;		/* bytes arrived */
	u32 unread;		/* buffers held */
	u32 urgent_sent, urgent_seen;
	u32 urgent_at[MSGS];
	/* Receive buffers: their sizes, in order. */
	u32 buffer[BUFFERS];
	u32 buf_head, buf_tail;
	u32 unposted;		/* consumed by control messages */
	struct flying wire[WIRE];	/* towards the other end */
	u32 wire_head, wire_tail;
	u32 messages, updates;
};

struct pair {
	struct end end[2];
	u64 seed;
	bool resize;
	u32 probes;
};

static u8 stream_byte(const struct end *end, u32 offset)
{
	return (offset * 2654435761U >> 13) + (end->conn.active ? 77 : 0);
}

/* Buffers are posted in the size that was decided on last. */
static void post(struct end *end, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		CHECK(end->buf_tail - end->buf_head < BUFFERS);
		end->buffer[end->buf_tail++ % BUFFERS] =
			end->conn.rcv_limit;
	}
	sdp_rx_posted(&end->conn, n);
}

static void pair_up(struct pair *pair, const u32 buffers[2], u64 seed)
{
	struct sdp_params params[2] = { peer_full, peer_full };

	memset(pair, 0, sizeof(*pair));
	pair->seed = seed;
	for (int i = 0; i < 2; i++) {
		struct end *end = &pair->end[i];
		u32 size = SDP_MIN_RCV_SIZE + random_below(&pair->seed, 64);

		sdp_conn_init(&end->conn);
		sdp_conn_start(&end->conn, i == 0, size);
		post(end, buffers[i]);
		params[i].bufs = buffers[i];
		params[i].rcv_size = size;
		end->check.told = buffers[i];
	}
	for (int i = 0; i < 2; i++) {
		struct end *end = &pair->end[i];

		sdp_conn_peer(&end->conn, &params[!i]);
		end->check.credit = buffers[!i];
		sdp_established(&end->conn);
	}
}

/* R15..R29, R32, R79, by what is on the wire. */
static void check_sent(struct pair *pair, struct end *end,
		       const struct flying *msg)
{
	struct end *other = &pair->end[end == &pair->end[0]];
	struct checker *check = &end->check;
	u32 len = get_be32(msg->header + 4);
	u32 bufs = msg->header[2] << 8 | msg->header[3];
	u32 known = check->told - (check->received - check->told_at);

	CHECK_EQ(len, msg->header_len + msg->payload);
	CHECK_EQ(get_be32(msg->header + 8), check->mseq + 1);
	CHECK_EQ(get_be32(msg->header + 12), check->last_mseq);
	CHECK_EQ(bufs, end->buf_tail - end->buf_head);
	CHECK(bufs >= known);
	CHECK(check->credit >= 1);
	if (check->credit == 1)
		CHECK(bufs > known);
	if (msg->payload)
		CHECK(check->credit >= 3);
	CHECK(!check->fin || !msg->payload);
	CHECK(!check->fin || msg->header[0] != SDP_MID_DISCONN);
	CHECK(len <= other->conn.rcv_limit);
	CHECK((msg->header[1] & ~3) == 0);
	if (msg->header[0] == SDP_MID_DISCONN) {
		check->fin = true;
		CHECK_EQ(end->sent, end->written);
	}
	check->mseq++;
	check->credit--;
	check->told = bufs;
	check->told_at = check->received;
}

static void check_received(struct end *end, const struct flying *msg)
{
	struct checker *check = &end->check;
	u32 bufs = msg->header[2] << 8 | msg->header[3];

	check->last_mseq = get_be32(msg->header + 8);
	check->received++;
	check->credit = bufs - (check->mseq - get_be32(msg->header + 12));
	CHECK(check->credit <= 0xffff);
}

static bool push_one(struct pair *pair, struct end *end)
{
	u32 at = end->head % MSGS;
	struct sdp_tx_queue queue = {
		.nodelay = end->nodelay, .cork = end->cork,
		.in_flight = end->payload_posted > 0,
	};
	struct flying *msg;
	struct sdp_tx tx;

	if (end->head != end->tail) {
		queue.payload = end->queue[at];
		queue.full = queue.payload == sdp_tx_room(&end->conn);
		queue.more = end->tail - end->head > 1;
		queue.urgent = end->queue_urgent[at];
	}
	if (end->wire_tail - end->wire_head == WIRE ||
	    end->post_tail - end->post_head == WIRE)
		return false;
	/* Buffers of control messages are posted before the next message. */
	post(end, end->unposted);
	end->unposted = 0;
	if (!sdp_tx_next(&end->conn, &queue, &tx))
		return false;
	CHECK(end->conn.credit + 1 == end->check.credit);
	msg = &end->wire[end->wire_tail++ % WIRE];
	memcpy(msg->header, tx.header, tx.header_len);
	msg->header_len = tx.header_len;
	msg->payload = tx.payload ? queue.payload : 0;
	msg->offset = end->sent;
	CHECK_EQ(tx.solicited, tx.payload && queue.urgent);
	if (tx.payload) {
		end->head++;
		end->payload_posted++;
		end->sent += queue.payload;
		if (queue.urgent) {
			CHECK_EQ(msg->header[1], 3);
			end->urgent_at[end->urgent_sent++ % MSGS] =
				end->sent - 1;
		}
	}
	check_sent(pair, end, msg);
	end->posted_mid[end->post_tail++ % WIRE] = tx.mid;
	end->messages++;
	end->updates += tx.mid == SDP_MID_DATA && !tx.payload;
	return true;
}

static void push(struct pair *pair, struct end *end)
{
	while (push_one(pair, end))
		;
}

static void act(struct pair *pair, struct end *end)
{
	struct sdp_conn *conn = &end->conn;
	u32 size;

	if (conn->actions & SDP_ACT_RESIZE) {
		size = conn->rcv_size;
		if (pair->resize && random_below(&pair->seed, 2))
			size += random_below(&pair->seed, 40);
		sdp_resize(conn, size);
	}
	CHECK(!(conn->actions & SDP_ACT_FAIL));
	CHECK_EQ(conn->violation, SDP_V_NONE);
	CHECK_EQ(conn->illegal, 0);
}

static bool deliver(struct pair *pair, struct end *from)
{
	struct end *to = &pair->end[from == &pair->end[0]];
	struct flying *msg;
	u8 bytes[SIZE + SDP_HEADER_MAX];
	struct sdp_rx rx;
	u32 len;

	if (from->wire_head == from->wire_tail)
		return false;
	msg = &from->wire[from->wire_head++ % WIRE];
	len = msg->header_len + msg->payload;
	CHECK(len <= SIZE);
	memcpy(bytes, msg->header, msg->header_len);
	for (u32 i = 0; i < msg->payload; i++)
		bytes[msg->header_len + i] =
			stream_byte(from, msg->offset + i);
	/* The buffer exists, and is long enough (R29, R32, R91). */
	CHECK(to->buf_head != to->buf_tail);
	CHECK(to->buffer[to->buf_head++ % BUFFERS] >= len);
	CHECK_EQ(sdp_rx(&to->conn, bytes, len, &rx), 0);
	check_received(to, msg);
	CHECK_EQ(to->conn.credit, to->check.credit);
	if (rx.payload) {
		CHECK_EQ(rx.offset + rx.payload, len);
		for (u32 i = 0; i < rx.payload; i++)
			CHECK_EQ(bytes[rx.offset + i],
				 stream_byte(from, to->taken + i));
		to->taken += rx.payload;
		to->unread++;
		if (rx.urgent)
			CHECK_EQ(from->urgent_at[to->urgent_seen++ % MSGS],
				 to->taken - 1);
	} else {
		to->unposted++;
	}
	act(pair, to);
	return true;
}

static bool complete(struct end *end)
{
	u8 mid;

	if (end->post_head == end->post_tail)
		return false;
	mid = end->posted_mid[end->post_head++ % WIRE];
	/* Of Data the core wants nothing; Nagle's bit is ours. */
	if (mid == SDP_MID_DATA && end->payload_posted)
		end->payload_posted--;
	sdp_tx_done(&end->conn, mid);
	return true;
}

static void read_all(struct end *end, u32 n)
{
	n = n < end->unread ? n : end->unread;
	end->unread -= n;
	post(end, n);
}

/* The user writes: the last message is filled up if it is not closed. */
static void write_some(struct end *end, u32 bytes, bool urgent)
{
	u32 room = sdp_tx_room(&end->conn), last, n;

	if (end->conn.fin_wanted || room > SIZE - 16)
		return;
	while (bytes && end->tail - end->head < MSGS) {
		last = (end->tail - 1) % MSGS;
		n = 0;
		if (end->tail != end->head && !end->queue_urgent[last])
			n = room - end->queue[last];
		if (!n) {
			last = end->tail++ % MSGS;
			end->queue[last] = 0;
			end->queue_urgent[last] = false;
			n = room;
		}
		n = n < bytes ? n : bytes;
		end->queue[last] += n;
		end->written += n;
		bytes -= n;
		end->queue_urgent[last] = urgent && !bytes;
	}
}

static void settle(struct pair *pair)
{
	bool busy;

	do {
		busy = false;
		for (int i = 0; i < 2; i++) {
			push(pair, &pair->end[i]);
			busy |= deliver(pair, &pair->end[i]);
			busy |= complete(&pair->end[i]);
		}
		CHECK(pair->end[0].messages + pair->end[1].messages < 200000);
	} while (busy);
}

/* Everything read until nothing moves; the persist timer only if @probe. */
static void drain(struct pair *pair, bool probe)
{
	u32 before;

	for (int i = 0; i < 2; i++)
		pair->end[i].cork = false;
	do {
		before = pair->end[0].messages + pair->end[1].messages;
		for (int i = 0; i < 2; i++)
			read_all(&pair->end[i], ~0U);
		settle(pair);
		for (int i = 0; probe && i < 2; i++) {
			struct end *end = &pair->end[i];

			if (end->head == end->tail || end->unread ||
			    pair->end[!i].unread)
				continue;
			CHECK(sdp_tx_starved(&end->conn));
			sdp_probe(&end->conn);
			pair->probes++;
		}
		settle(pair);
	} while (pair->end[0].unread || pair->end[1].unread ||
		 pair->end[0].messages + pair->end[1].messages != before);
}

static void check_drained(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		struct end *end = &pair->end[i], *other = &pair->end[!i];

		CHECK_EQ(end->head, end->tail);
		CHECK_EQ(end->sent, end->written);
		CHECK_EQ(other->taken, end->written);
		CHECK_EQ(other->urgent_seen, end->urgent_sent);
		CHECK_EQ(end->conn.pnd, other->conn.nd);	/* R66 */
		CHECK_EQ(end->conn.violation, SDP_V_NONE);
		if (end->conn.state == SDP_ESTABLISHED)
			CHECK(end->conn.granted >= 2);
	}
}

static void close_pair(struct pair *pair)
{
	int first = random_below(&pair->seed, 2);

	for (int i = 0; i < 2; i++) {
		sdp_shutdown(&pair->end[first ^ i].conn);
		if (random_below(&pair->seed, 2))
			drain(pair, true);
	}
	drain(pair, true);
	for (int i = 0; i < 2; i++) {
		struct sdp_conn *conn = &pair->end[i].conn;

		CHECK(pair->end[i].check.fin);
		CHECK(conn->rx_fin && conn->fin_done);
		CHECK(conn->state == SDP_TIME_WAIT ||
		      conn->state == SDP_LAST_ACK);
		CHECK_EQ(!!(conn->actions & SDP_ACT_DISCONNECT),
			 conn->state == SDP_TIME_WAIT);
	}
	CHECK(pair->end[0].conn.state == SDP_TIME_WAIT ||
	      pair->end[1].conn.state == SDP_TIME_WAIT);
	for (int i = 0; i < 2; i++) {
		sdp_disconnected(&pair->end[i].conn);
		CHECK_EQ(pair->end[i].conn.err, 0);
	}
}

static void random_step(struct pair *pair, struct end *end)
{
	u64 *seed = &pair->seed;

	switch (random_below(seed, 20)) {
	case 0 ... 3:
		write_some(end, 1 + random_below(seed, 100), false);
		break;
	case 4:
		write_some(end, 1 + random_below(seed, 100), true);
		break;
	case 5 ... 8:
		push_one(pair, end);
		break;
	case 9 ... 12:
		deliver(pair, end);
		break;
	case 13 ... 14:
		complete(end);
		break;
	case 15 ... 16:
		read_all(end, 1 + random_below(seed, 6));
		break;
	case 17:
		end->nodelay = random_below(seed, 2);
		end->cork = !random_below(seed, 4);
		break;
	case 18:
		if (!random_below(seed, 8))
			sdp_grow_peer(&end->conn);
		sdp_probe(&end->conn);
		break;
	case 19:
		if (!random_below(seed, 60))
			sdp_shutdown(&end->conn);
		break;
	}
	act(pair, end);
}

static void schedules(u32 low, u32 high, u32 runs, bool resize)
{
	static struct pair pair;

	for (u64 seed = 1; seed <= runs; seed++) {
		u64 dice = seed * 77;
		u32 buffers[2] = {
			low + random_below(&dice, high - low + 1),
			low + random_below(&dice, high - low + 1),
		};
		u32 steps = 50 + random_below(&dice, 1500);

		pair_up(&pair, buffers, seed);
		pair.resize = resize;
		while (steps--)
			random_step(&pair,
				    &pair.end[random_below(&pair.seed, 2)]);
		/* From four buffers on no probe is needed to get going. */
		drain(&pair, low < 4);
		check_drained(&pair);
		close_pair(&pair);
		check_drained(&pair);
	}
}

static void random_three(void)
{
	schedules(3, 3, 2000, false);
}

static void random_four(void)
{
	schedules(4, 5, 2000, false);
}

static void random_mixed(void)
{
	schedules(4, 64, 2000, false);
}

static void random_resize(void)
{
	schedules(4, 20, 2000, true);
}

static void random_three_mixed(void)
{
	schedules(3, 9, 1000, true);
}

/* R31: after a bulk in both directions the two ends fall silent. */
static void quiet(void)
{
	static const u32 sizes[] = { 3, 4, 8, 64 };
	static struct pair pair;

	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 4; k++) {
			const u32 buffers[2] = { sizes[i], sizes[k] };

			pair_up(&pair, buffers, 99);
			settle(&pair);
			CHECK_EQ(pair.end[0].messages, 0);
			CHECK_EQ(pair.end[1].messages, 0);
			for (int n = 0; n < 200; n++) {
				write_some(&pair.end[0], 50, false);
				write_some(&pair.end[1], 50, false);
			}
			drain(&pair, buffers[0] < 4 || buffers[1] < 4);
			check_drained(&pair);
			/* An update at a time, and not for every message. */
			for (int e = 0; e < 2; e++) {
				u32 data = pair.end[e].messages -
					   pair.end[e].updates;

				CHECK(pair.end[e].updates <= 3 * data);
			}
			close_pair(&pair);
		}
	}
}

/* Both readers stalled: what is left moves nothing; then all of it moves. */
static void stalled(void)
{
	static const u32 sizes[] = { 3, 4, 8, 64 };
	static struct pair pair;

	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 4; k++) {
			const u32 buffers[2] = { sizes[i], sizes[k] };
			u32 before;

			pair_up(&pair, buffers, 7);
			for (int n = 0; n < 100; n++) {
				write_some(&pair.end[0], 90, false);
				write_some(&pair.end[1], 90, false);
			}
			settle(&pair);
			for (int e = 0; e < 2; e++) {
				CHECK(pair.end[e].head != pair.end[e].tail);
				CHECK_EQ(pair.end[e].unread,
					 buffers[e] - 2);
				CHECK(sdp_tx_starved(&pair.end[e].conn));
			}
			/* The persist timers find nothing to ask. */
			before = pair.end[0].messages + pair.end[1].messages;
			for (int n = 0; n < 10; n++) {
				sdp_probe(&pair.end[n & 1].conn);
				settle(&pair);
			}
			CHECK(pair.end[0].messages + pair.end[1].messages <=
			      before + 10);
			/* Each reader takes one: bounded, too. */
			for (int e = 0; e < 2; e++)
				read_all(&pair.end[e], 1);
			before = pair.end[0].messages + pair.end[1].messages;
			settle(&pair);
			CHECK(pair.end[0].messages + pair.end[1].messages <=
			      before + 12);
			drain(&pair, buffers[0] < 4 || buffers[1] < 4);
			check_drained(&pair);
		}
	}
}

/* ... and a control message starts no chain of updates that never ends. */
static void stalled_control(void)
{
	const u32 buffers[2] = { 16, 16 };
	static struct pair pair;
	u32 before;

	pair_up(&pair, buffers, 3);
	for (int n = 0; n < 100; n++) {
		write_some(&pair.end[0], 90, false);
		write_some(&pair.end[1], 90, false);
	}
	settle(&pair);
	before = pair.end[0].messages + pair.end[1].messages;
	sdp_grow_peer(&pair.end[0].conn);
	settle(&pair);
	CHECK(pair.end[0].messages + pair.end[1].messages <= before + 4);
	CHECK(sdp_update_deferred(&pair.end[0].conn) ||
	      sdp_update_deferred(&pair.end[1].conn));
	/* The timer brings the credits, one message each time. */
	for (int n = 0; n < 8; n++) {
		before = pair.end[0].messages + pair.end[1].messages;
		for (int i = 0; i < 2; i++)
			if (sdp_update_deferred(&pair.end[i].conn))
				sdp_probe(&pair.end[i].conn);
		settle(&pair);
		CHECK_EQ(pair.end[0].messages + pair.end[1].messages,
			 before + 1);
	}
	drain(&pair, false);
	check_drained(&pair);
}

/* R28: one reader stalled, the other direction flows. */
static void one_stalled(void)
{
	const u32 buffers[2] = { 8, 8 };
	static struct pair pair;

	pair_up(&pair, buffers, 5);
	write_some(&pair.end[0], 5000, false);
	settle(&pair);
	CHECK(pair.end[0].head != pair.end[0].tail);
	write_some(&pair.end[1], 5000, false);
	for (int n = 0; n < 1000; n++) {
		settle(&pair);
		read_all(&pair.end[0], ~0U);
	}
	CHECK_EQ(pair.end[0].taken, 5000);
	CHECK_EQ(pair.end[1].unread, 6);
	drain(&pair, false);
	check_drained(&pair);
}

const struct test pair_tests[] = {
	{ "pair: 3, 4, 8 and 64 buffers until quiet (R31)", quiet },
	{ "pair: both readers stalled, probes, then drained", stalled },
	{ "pair: both readers stalled, a control message", stalled_control },
	{ "pair: one reader stalled (R28)", one_stalled },
	{ "pair: 2000 random schedules, 3 buffers", random_three },
	{ "pair: 2000 random schedules, 4 and 5 buffers", random_four },
	{ "pair: 2000 random schedules, 4 to 64 buffers", random_mixed },
	{ "pair: 2000 random schedules with ChRcvBuf", random_resize },
	{ "pair: 1000 random schedules, 3 to 9 buffers", random_three_mixed },
	{ }
};
