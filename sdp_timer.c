// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A socket's two timers. sk_timer: keepalive, the end of half-open children,
 * and the end of a close that the peer does not answer. tx_timer: what TCP_CORK
 * holds back, a peer that gives no credits, a READ that found no memory.
 *
 * Each pending timer holds a reference to the socket (sk_reset_timer).
 */
#include <net/tcp_states.h>

#include "sdp.h"
#include "sdp_compat.h"

#define TIMER_BUSY	(HZ / 20)	/* try again when the user has the lock */

static void keepalive_expired(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	unsigned long idle = jiffies - ssk->last_active;

	if (!sock_flag(sk, SOCK_KEEPOPEN) ||
	    (1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN | TCPF_SYN_SENT |
				   TCPF_TIME_WAIT))
		return;
	sdp_channel_poll_sends(sk);	/* an answer may be waiting there */
	sdp_act(sk);
	if (sk->sk_state == TCP_CLOSE)
		return;
	if (ssk->keep_posted) {
		if (ssk->keep_sent >= ssk->keep_cnt) {
			sdp_count(sk, RESET_TIMEOUT);
			sdp_abort(&ssk->conn, ETIMEDOUT);
			sdp_act(sk);
			return;
		}
		ssk->keep_sent++;
		sk_reset_timer(sk, &sk->sk_timer, jiffies + ssk->keep_intvl);
		return;
	}
	if (idle < ssk->keep_idle) {
		sk_reset_timer(sk, &sk->sk_timer,
			       jiffies + ssk->keep_idle - idle);
		return;
	}
	if (sdp_channel_tx_room(ssk->channel)) {
		ssk->keep_posted = true;
		ssk->keep_sent = 1;
		sdp_count(sk, KEEPALIVES);
		sdp_channel_post_keepalive(sk);
	}
	sk_reset_timer(sk, &sk->sk_timer, jiffies + ssk->keep_intvl);
}

/**
 * sdp_keepalive_done - the peer's adapter answered a probe
 * @sk: the socket
 *
 * Context: socket lock, process or softirq.
 */
void sdp_keepalive_done(struct sock *sk)
{
	sdp_sk(sk)->keep_posted = false;
	sdp_sk(sk)->keep_sent = 0;
	sdp_sk(sk)->last_active = jiffies;
}

static void sk_timer_expired(struct timer_list *timer)
{
	struct sock *sk = from_timer(sk, timer, sk_timer);
	struct sdp_sock *ssk = sdp_sk(sk);

	bh_lock_sock(sk);
	if (sock_owned_by_user(sk)) {
		sk_reset_timer(sk, &sk->sk_timer, jiffies + TIMER_BUSY);
	} else if (sk->sk_state == TCP_SYN_RECV) {
		sdp_count(sk, HALF_OPEN_EXPIRED);
		sdp_abort(&ssk->conn, ETIMEDOUT);
		sdp_act(sk);
	} else if (sock_flag(sk, SOCK_DEAD) || ssk->conn.abort_pending) {
		if (sk->sk_state != TCP_TIME_WAIT)
			sdp_count(sk, RESET_TIMEOUT);
		sdp_close_timeout(&ssk->conn);
		sdp_act(sk);
	} else {
		keepalive_expired(sk);
	}
	bh_unlock_sock(sk);
	sock_put(sk);
}

/**
 * sdp_close_timer_start - end the half-open or closing connection in time
 * @sk: in SYN_RECV, or without a user
 * @timeout: jiffies
 *
 * Context: socket lock, process or softirq.
 */
void sdp_close_timer_start(struct sock *sk, unsigned long timeout)
{
	sk_reset_timer(sk, &sk->sk_timer, jiffies + timeout);
}

/**
 * sdp_keepalive - SO_KEEPALIVE was switched, or the connection established
 * @sk: the socket
 * @on: probe
 *
 * Context: socket lock, process or softirq.
 */
void sdp_keepalive(struct sock *sk, int on)
{
	if ((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN | TCPF_SYN_SENT |
				   TCPF_SYN_RECV))
		return;
	if (on)
		sk_reset_timer(sk, &sk->sk_timer,
			       jiffies + sdp_sk(sk)->keep_idle);
	else
		sk_stop_timer(sk, &sk->sk_timer);
}

static bool corked(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	return (ssk->cork || ssk->more) && !sdp_tx_starved(&ssk->conn);
}

/* Buffers that the device refused. */
static bool receives_wait(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	return !skb_queue_empty(&ssk->rx_free) && ssk->channel &&
	       ssk->channel->qp && sdp_channel_rx_room(ssk->channel);
}

/**
 * sdp_tx_timer_update - after a push: what is left may need the timer
 * @sk: the socket
 *
 * Context: socket lock, process or softirq.
 */
void sdp_tx_timer_update(struct sock *sk)
{
	bool queued = !skb_queue_empty(&sk->sk_write_queue);
	struct sdp_sock *ssk = sdp_sk(sk);
	unsigned long delay;
	bool probe;

	probe = (queued && sdp_tx_starved(&ssk->conn)) ||
		sdp_update_deferred(&ssk->conn);
	if (!probe)
		ssk->tx_backoff = 0;
	if (probe)
		delay = min_t(unsigned long, SDP_PROBE_MIN << ssk->tx_backoff,
			      SDP_PROBE_MAX);
	else if ((queued && corked(sk)) || sdp_read_due(&ssk->conn) ||
		 receives_wait(sk))
		delay = SDP_CORK_TIMEOUT;
	else
		delay = 0;
	if (delay && !timer_pending(&ssk->tx_timer))
		sk_reset_timer(sk, &ssk->tx_timer, jiffies + delay);
	else if (!delay && timer_pending(&ssk->tx_timer))
		sk_stop_timer(sk, &ssk->tx_timer);
}

static void tx_timer_work(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	bool queued = !skb_queue_empty(&sk->sk_write_queue);

	if (!ssk->channel || sk->sk_state == TCP_CLOSE)
		return;
	if ((queued && sdp_tx_starved(&ssk->conn)) ||
	    sdp_update_deferred(&ssk->conn)) {
		if (ssk->tx_backoff < 7)
			ssk->tx_backoff++;
		sdp_count(sk, CREDIT_PROBES);
		sdp_probe(&ssk->conn);
	} else if (queued) {
		ssk->push_now = true;
	}
	sdp_post_receives(sk, GFP_ATOMIC);
	sdp_serve_src_avail(sk);
	sdp_push(sk);
}

static void tx_timer_expired(struct timer_list *timer)
{
	struct sdp_sock *ssk = from_timer(ssk, timer, tx_timer);
	struct sock *sk = (struct sock *)ssk;

	bh_lock_sock(sk);
	if (sock_owned_by_user(sk))
		sk_reset_timer(sk, &ssk->tx_timer, jiffies + TIMER_BUSY);
	else
		tx_timer_work(sk);
	bh_unlock_sock(sk);
	sock_put(sk);
}

/**
 * sdp_timers_init - part of the constructor
 * @sk: the socket
 */
void sdp_timers_init(struct sock *sk)
{
	timer_setup(&sk->sk_timer, sk_timer_expired, 0);
	timer_setup(&sdp_sk(sk)->tx_timer, tx_timer_expired, 0);
}

/**
 * sdp_timers_stop - the connection is over
 * @sk: the socket
 *
 * Context: socket lock, process or softirq.
 */
void sdp_timers_stop(struct sock *sk)
{
	sk_stop_timer(sk, &sk->sk_timer);
	sk_stop_timer(sk, &sdp_sk(sk)->tx_timer);
}
