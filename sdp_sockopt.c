// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Socket options of level IPPROTO_TCP, and the ioctls. What SDP does not do is
 * refused with ENOPROTOOPT; nothing is accepted without effect.
 */
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/inet_common.h>
#include <net/tcp_states.h>

#include <asm/ioctls.h>

#include "sdp.h"
#include "sdp_compat.h"

/* TCP's bounds. */
#define KEEP_IDLE_MAX	32767
#define KEEP_INTVL_MAX	32767
#define KEEP_CNT_MAX	127

static int set_keepalive_option(struct sock *sk, int optname, int val)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	switch (optname) {
	case TCP_KEEPIDLE:
		if (val < 1 || val > KEEP_IDLE_MAX)
			return -EINVAL;
		ssk->keep_idle = val * HZ;
		if (sock_flag(sk, SOCK_KEEPOPEN))
			sdp_keepalive(sk, 1);
		return 0;
	case TCP_KEEPINTVL:
		if (val < 1 || val > KEEP_INTVL_MAX)
			return -EINVAL;
		ssk->keep_intvl = val * HZ;
		return 0;
	default:
		if (val < 1 || val > KEEP_CNT_MAX)
			return -EINVAL;
		ssk->keep_cnt = val;
		return 0;
	}
}

static int sdp_set(struct sock *sk, int optname, int val)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	switch (optname) {
	case TCP_NODELAY:
		ssk->nodelay = val;
		if (val)
			sdp_push(sk);
		return 0;
	case TCP_CORK:
		ssk->cork = val;
		if (!val) {
			ssk->more = false;
			sdp_push(sk);
		}
		return 0;
	default:
		return set_keepalive_option(sk, optname, val);
	}
}

static bool option_known(int optname)
{
	switch (optname) {
	case TCP_NODELAY:
	case TCP_CORK:
	case TCP_KEEPIDLE:
	case TCP_KEEPINTVL:
	case TCP_KEEPCNT:
		return true;
	default:
		return false;
	}
}

/**
 * sdp_setsockopt - struct proto's setsockopt
 * @sk: the socket
 * @level: IPPROTO_TCP; others are unknown
 * @optname: the option
 * @optval: its value
 * @optlen: bytes there
 *
 * Context: process. Return: 0 or TCP's errno.
 */
int sdp_setsockopt(struct sock *sk, int level, int optname, sockptr_t optval,
		   unsigned int optlen)
{
	int val, err;

	if (level != SOL_TCP || !option_known(optname))
		return -ENOPROTOOPT;
	if (optlen < sizeof(int))
		return -EINVAL;
	if (copy_from_sockptr(&val, optval, sizeof(val)))
		return -EFAULT;
	lock_sock(sk);
	err = sdp_set(sk, optname, val);
	release_sock(sk);
	return err;
}

static int sdp_get(struct sock *sk, int optname, int *val)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	switch (optname) {
	case TCP_NODELAY:
		*val = ssk->nodelay;
		return 0;
	case TCP_CORK:
		*val = ssk->cork;
		return 0;
	case TCP_MAXSEG:
		*val = ssk->channel && ssk->conn.peer_rcv_size ?
		       sdp_tx_room(&ssk->conn) :
		       SDP_RX_START - sizeof(struct sdp_bsdh);
		return 0;
	case TCP_KEEPIDLE:
		*val = ssk->keep_idle / HZ;
		return 0;
	case TCP_KEEPINTVL:
		*val = ssk->keep_intvl / HZ;
		return 0;
	case TCP_KEEPCNT:
		*val = ssk->keep_cnt;
		return 0;
	case SDP_LAST_BIND_ERR:
		*val = ssk->last_bind_err;
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

/**
 * sdp_getsockopt - struct proto's getsockopt
 * @sk: the socket
 * @level: IPPROTO_TCP; others are unknown
 * @optname: the option
 * @optval: where to
 * @optlen: bytes there, then bytes written
 *
 * Context: process. Return: 0 or TCP's errno.
 */
int sdp_getsockopt(struct sock *sk, int level, int optname,
		   char __user *optval, int __user *optlen)
{
	int val, len, err;

	if (level != SOL_TCP)
		return -ENOPROTOOPT;
	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	len = min_t(unsigned int, len, sizeof(int));
	lock_sock(sk);
	err = sdp_get(sk, optname, &val);
	release_sock(sk);
	if (err)
		return err;
	if (put_user(len, optlen) || copy_to_user(optval, &val, len))
		return -EFAULT;
	return 0;
}

/* Bytes that may be read now, up to the urgent byte. */
static int unread(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	u32 all = ssk->rcv_seq - ssk->copied_seq;
	u32 mark = ssk->urg_seq - ssk->copied_seq;

	if ((1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV))
		return 0;
	if (sock_flag(sk, SOCK_URGINLINE) || !ssk->urg_data || mark >= all)
		return all;
	return mark;
}

static int queued(struct sock *sk, bool unsent_only)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	if ((1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV))
		return 0;
	if (unsent_only)
		return ssk->write_seq - ssk->unsent_seq;
	sdp_channel_poll_sends(sk);
	sdp_act(sk);
	return ssk->write_seq - ssk->unacked_seq;
}

/**
 * sdp_sock_ioctl - struct proto_ops' ioctl
 * @sock: the socket
 * @cmd: SIOCINQ, SIOCOUTQ, SIOCOUTQNSD, SIOCATMARK, or one of AF_INET's
 * @arg: where the answer goes
 *
 * Context: process. Return: 0 or TCP's errno.
 */
int sdp_sock_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct sock *sk = sock->sk;
	int answer;

	if (cmd != SIOCINQ && cmd != SIOCOUTQ && cmd != SIOCOUTQNSD &&
	    cmd != SIOCATMARK)
		return inet_ioctl(sock, cmd, arg);

	lock_sock(sk);
	if (cmd == SIOCATMARK)
		answer = sdp_sk(sk)->urg_data &&
			 sdp_sk(sk)->urg_seq == sdp_sk(sk)->copied_seq;
	else if (sk->sk_state == TCP_LISTEN)
		answer = -EINVAL;
	else if (cmd == SIOCINQ)
		answer = unread(sk);
	else
		answer = queued(sk, cmd == SIOCOUTQNSD);
	release_sock(sk);
	if (answer < 0)
		return answer;
	return put_user(answer, (int __user *)arg);
}
