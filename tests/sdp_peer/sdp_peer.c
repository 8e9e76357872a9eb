// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * sdp_peer: sends and answers scripted bytes over InfiniBand CM connections.
 *
 * It knows nothing about SDP. A test program writes every byte of the private
 * data and of every message itself and sees every byte that comes back, so
 * that the wire behaviour of a module under test is judged from outside.
 *
 * An open file of /dev/sdp_peer is an endpoint: at most one listener, one
 * connection and one RC queue pair. One write() is one command; its error is
 * the command's. One read() returns one event, a line of text; it blocks
 * unless O_NONBLOCK, and poll() works.
 *
 * Commands (HEX is bytes in hexadecimal, numbers are C numbers):
 *   bind DEV PORT         use this device and port
 *   resolve SRC DST       find device, port and path between two IPv4
 *                         addresses in the caller's network namespace
 *   listen SID, unlisten  SID in hexadecimal
 *   drop N                drop the next N requests, no answer (-1: all)
 *   post N SIZE           post N receive buffers, each of its own pages.
 *                         Makes the QP if there is none yet
 *   arm next|solicited    what wakes the receive queue; before the QP is made
 *   connect SID HEX [rnr=N retry=N rd=N init=N cmto=N cmretries=N flow=N]
 *                         send a REQ. rnr and retry are what the other side
 *                         may do towards us; cmto the CM response timeouts
 *   rep HEX [rnr=N rd=N init=N flow=N selfrnr=N]
 *                         QP to RTS, then answer the REQ
 *   rts [rd=N init=N selfrnr=N]
 *                         QP to RTS after a REP, without an RTU
 *   rtu [...]             QP to RTS if it isn't, then send the RTU
 *   est                   tell the CM that a message came before the RTU
 *   rej REASON [HEX]      refuse a REQ or a REP; ends the connection
 *   dreq, drep            disconnect; answer
 *   auto-drep 0|1         answer a DREQ by itself (default 1)
 *   qp err                QP to the error state
 *   send [se] [inv=RKEY] BYTES
 *   rdma_read RKEY VA LEN
 *   rdma_write RKEY VA [BYTES]     no BYTES: a probe of length zero
 *                         BYTES: HEX, fill=BYTE:LEN, pat=SEED:OFF:LEN, in any
 *                         number and order. Byte i of a pattern is
 *                         SEED + i * 131 + (i >> 8) * 17 + (i >> 16) * 29
 *   flush                 wait until everything sent is completed
 *   mr N SIZE r|w|rw      register buffer N (0..15); the QP must be in RTS
 *   unmr N
 *   mem N OFF LEN         ask for bytes of buffer N
 *   setmem N OFF BYTES
 *   poll                  look into the receive queue now
 *   full 0|1              print whole messages, not 64 bytes (default 0)
 *   quiet 0|1             no "sent ok" events (default 0)
 *   stat                  ask for the number of posted work requests
 *   close                 end connection and QP; the listener stays
 *
 * Events:
 *   req HEX sid=.. rnr=.. retry=.. rd=.. init=.. flow=.. cmto=..
 *   req-dropped HEX, req-busy HEX
 *   rep HEX rnr=.. rd=.. init=.. flow=..
 *   rtu, est, rej REASON, dreq, drep, timewait, mra
 *   req-error, rep-error, dreq-error STATUS      the CM gave up
 *   recv LEN CRC HEX [inv=RKEY]    CRC: crc32 of all LEN bytes
 *   recv-error STATUS
 *   sent ok|STATUS, write ok|STATUS
 *   read ok LEN CRC HEX, read STATUS
 *   solicited N           wake-ups so far when armed for solicited
 *   mr N rkey=.. va=.. len=..
 *   mem N OFF LEN CRC HEX
 *   stat recv=.. send=.. mr=..
 *   qp-event NAME
 *   devgone               the device left; everything on it is freed
 *
 * Locks: peers_lock > peer.mutex > devs_lock, poll_lock; peer.lock innermost.
 * CM and QP handlers take only peer.lock: destroying an id or a QP waits for
 * its handler.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/crc32.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define PEER_SQ		256
#define PEER_RQ		512
#define PEER_CQ		1024
#define PEER_MRS	16
#define PEER_SHOW	64
#define PEER_MAX_MSG	SZ_1M
#define PEER_MAX_MR	SZ_2M
#define PEER_MAX_CMD	SZ_512K
#define PEER_ARGS	24
#define PEER_WAIT	(10 * HZ)

struct peer_event {
	struct list_head list;
	size_t len;
	char text[];
};

enum peer_op { PEER_RECV, PEER_SEND, PEER_READ, PEER_WRITE, PEER_REG };

/* One posted work request and its memory; its address is the wr_id. */
struct peer_wr {
	struct list_head list;
	enum peer_op op;
	struct page *pages;
	unsigned int order;
	unsigned int len;
	u64 dma;
	enum dma_data_direction dir;
	int mr;
};

struct peer_mr {
	struct ib_mr *mr;
	void *buf;
	struct sg_table sgt;
	unsigned int len;
};

/* What the options of connect, rep, rts and rtu say. */
struct peer_opts {
	u8 rnr, retry, rd, init, cmto, cmretries, flow;
	int selfrnr;
};

struct peer {
	struct list_head list;		/* peers_lock */
	struct mutex mutex;		/* one command at a time */
	struct mutex poll_lock;		/* keeps completions in order */
	wait_queue_head_t wait;

	spinlock_t lock;		/* the next six; any context */
	struct list_head events;
	struct list_head wrs;
	struct ib_cm_id *cm_id;
	int sends;
	int drop;
	bool auto_drep;

	/* mutex */
	struct ib_device *dev;
	u32 port;
	u16 pkey;
	bool resolved;
	struct sa_path_rec path, path_in, path_out;
	bool has_in, has_out;
	const struct ib_gid_attr *sgid_attr;
	struct ib_cm_id *listen_id;
	struct ib_pd *pd;
	struct ib_cq *scq, *rcq;
	struct ib_qp *qp;
	bool rts;
	struct peer_mr mrs[PEER_MRS];

	bool full, quiet, solicited;	/* single words, read without a lock */
	bool dying;
	bool lost;			/* an event: no memory */
	atomic_t wakeups;
	struct work_struct swork, rwork;
};

/* A device that is there; removal takes it out before it looks for users. */
struct peer_dev {
	struct list_head list;
	struct ib_device *dev;
};

static LIST_HEAD(peers);
static DEFINE_MUTEX(peers_lock);
static LIST_HEAD(devs);
static DEFINE_MUTEX(devs_lock);

/* ---- events ---- */

static void peer_queue(struct peer *p, struct peer_event *ev)
{
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	list_add_tail(&ev->list, &p->events);
	spin_unlock_irqrestore(&p->lock, flags);
	wake_up_interruptible(&p->wait);
}

/*
 * An event line: @name, @hexlen bytes of @hex and the words of @fmt, which
 * come first if @fmt starts with '<'.
 */
static __printf(5, 6) void peer_say(struct peer *p, const char *name,
				    const void *hex, size_t hexlen,
				    const char *fmt, ...)
{
	struct peer_event *ev;
	gfp_t gfp = hexlen > 1024 ? GFP_KERNEL : GFP_ATOMIC;
	size_t room = strlen(name) + 2 * hexlen + 256;
	va_list ap;
	char *s;

	ev = kvmalloc(sizeof(*ev) + room, gfp);
	if (!ev) {
		WRITE_ONCE(p->lost, true);
		return;
	}
	s = ev->text + sprintf(ev->text, "%s", name);
	va_start(ap, fmt);
	if (fmt[0] == '<') {
		s += vsnprintf(s, 200, fmt + 1, ap);
		if (hexlen) {
			*s++ = ' ';
			s = bin2hex(s, hex, hexlen);
		}
	} else {
		if (hexlen) {
			*s++ = ' ';
			s = bin2hex(s, hex, hexlen);
		}
		s += vsnprintf(s, 200, fmt, ap);
	}
	va_end(ap);
	*s++ = '\n';
	ev->len = s - ev->text;
	peer_queue(p, ev);
}

/* ---- bytes ---- */

static u8 peer_pattern(u8 seed, u32 i)
{
	return seed + i * 131 + (i >> 8) * 17 + (i >> 16) * 29;
}

/* Parse one BYTES word; returns its length, writes to @dst if there is one. */
static long peer_bytes_word(const char *w, u8 *dst)
{
	unsigned int a, b, len;
	size_t n;

	if (sscanf(w, "fill=%i:%i", &a, &len) == 2) {
		if (len > PEER_MAX_MSG)
			return -EMSGSIZE;
		if (dst)
			memset(dst, a, len);
		return len;
	}
	if (sscanf(w, "pat=%i:%i:%i", &a, &b, &len) == 3) {
		if (len > PEER_MAX_MSG)
			return -EMSGSIZE;
		for (n = 0; dst && n < len; n++)
			dst[n] = peer_pattern(a, b + n);
		return len;
	}
	n = strlen(w);
	if (n & 1)
		return -EINVAL;
	if (dst && hex2bin(dst, w, n / 2))
		return -EINVAL;
	return n / 2;
}

static long peer_bytes(char **argv, int argc, u8 *dst)
{
	long n, sum = 0;
	int i;

	for (i = 0; i < argc; i++) {
		n = peer_bytes_word(argv[i], dst ? dst + sum : NULL);
		if (n < 0)
			return n;
		sum += n;
		if (sum > PEER_MAX_MSG)
			return -EMSGSIZE;
	}
	return sum;
}

static bool peer_opt(const char *word, const char *key, int *val)
{
	size_t n = strlen(key);

	return !strncmp(word, key, n) && word[n] == '=' &&
	       !kstrtoint(word + n + 1, 0, val);
}

/* Take options out of the words; what remains is returned as the new argc. */
static int peer_opts(char **argv, int argc, struct peer_opts *o)
{
	int i, n = 0, v;

	*o = (struct peer_opts){ .rnr = 0, .retry = 7, .rd = 4, .init = 4,
		.cmto = 20, .cmretries = 7, .flow = 1, .selfrnr = -1 };
	for (i = 0; i < argc; i++) {
		if (peer_opt(argv[i], "rnr", &v))
			o->rnr = v;
		else if (peer_opt(argv[i], "retry", &v))
			o->retry = v;
		else if (peer_opt(argv[i], "rd", &v))
			o->rd = v;
		else if (peer_opt(argv[i], "init", &v))
			o->init = v;
		else if (peer_opt(argv[i], "cmto", &v))
			o->cmto = v;
		else if (peer_opt(argv[i], "cmretries", &v))
			o->cmretries = v;
		else if (peer_opt(argv[i], "flow", &v))
			o->flow = v;
		else if (peer_opt(argv[i], "selfrnr", &v))
			o->selfrnr = v;
		else
			argv[n++] = argv[i];
	}
	return n;
}

/* ---- work requests ---- */

static void peer_free_wr(struct peer *p, struct peer_wr *wr)
{
	if (wr->pages) {
		ib_dma_unmap_page(p->dev, wr->dma, PAGE_SIZE << wr->order,
				  wr->dir);
		__free_pages(wr->pages, wr->order);
	}
	kfree(wr);
}

static struct peer_wr *peer_new_wr(struct peer *p, enum peer_op op, size_t len,
				   enum dma_data_direction dir)
{
	struct peer_wr *wr = kzalloc(sizeof(*wr), GFP_KERNEL);

	if (!wr)
		return ERR_PTR(-ENOMEM);
	wr->op = op;
	wr->len = len;
	wr->dir = dir;
	wr->mr = -1;
	INIT_LIST_HEAD(&wr->list);
	if (!len)
		return wr;
	wr->order = get_order(len);
	wr->pages = alloc_pages(GFP_KERNEL | __GFP_NOWARN, wr->order);
	if (!wr->pages) {
		kfree(wr);
		return ERR_PTR(-ENOMEM);
	}
	wr->dma = ib_dma_map_page(p->dev, wr->pages, 0, PAGE_SIZE << wr->order,
				  dir);
	if (ib_dma_mapping_error(p->dev, wr->dma)) {
		__free_pages(wr->pages, wr->order);
		kfree(wr);
		return ERR_PTR(-EIO);
	}
	return wr;
}

/* The CPU wrote the memory after it was mapped. */
static void peer_sync(struct peer *p, struct peer_wr *wr)
{
	if (wr->pages)
		ib_dma_sync_single_for_device(p->dev, wr->dma,
					      PAGE_SIZE << wr->order, wr->dir);
}

static void peer_track(struct peer *p, struct peer_wr *wr)
{
	spin_lock_irq(&p->lock);
	list_add_tail(&wr->list, &p->wrs);
	if (wr->op != PEER_RECV)
		p->sends++;
	spin_unlock_irq(&p->lock);
}

static void peer_untrack(struct peer *p, struct peer_wr *wr)
{
	spin_lock_irq(&p->lock);
	list_del_init(&wr->list);
	if (wr->op != PEER_RECV)
		p->sends--;
	spin_unlock_irq(&p->lock);
	wake_up_interruptible(&p->wait);
}

static int peer_post_send(struct peer *p, struct peer_wr *wr,
			  struct ib_send_wr *swr)
{
	int rc;

	swr->wr_id = (uintptr_t)wr;
	swr->send_flags |= IB_SEND_SIGNALED;
	peer_track(p, wr);
	rc = ib_post_send(p->qp, swr, NULL);
	if (rc) {
		peer_untrack(p, wr);
		peer_free_wr(p, wr);
	}
	return rc;
}

static const char *peer_status(enum ib_wc_status st)
{
	return st == IB_WC_SUCCESS ? "ok" : ib_wc_status_msg(st);
}

static void peer_done_recv(struct peer *p, struct peer_wr *wr,
			   const struct ib_wc *wc)
{
	void *data = page_address(wr->pages);
	u32 len = wc->byte_len;
	char inv[24] = "";

	if (wc->status != IB_WC_SUCCESS) {
		peer_say(p, "recv-error", NULL, 0, " %s",
			 peer_status(wc->status));
		return;
	}
	ib_dma_sync_single_for_cpu(p->dev, wr->dma, PAGE_SIZE << wr->order,
				   wr->dir);
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		snprintf(inv, sizeof(inv), "inv=0x%x ",
			 wc->ex.invalidate_rkey);
	peer_say(p, "recv", data,
		 p->full ? len : min_t(u32, len, PEER_SHOW),
		 "< %u %08x%s%s", len, ~crc32_le(~0, data, len),
		 inv[0] ? " " : "", inv);
}

static void peer_done_read(struct peer *p, struct peer_wr *wr)
{
	void *data = page_address(wr->pages);

	ib_dma_sync_single_for_cpu(p->dev, wr->dma, PAGE_SIZE << wr->order,
				   wr->dir);
	peer_say(p, "read ok", data,
		 p->full ? wr->len : min_t(u32, wr->len, PEER_SHOW),
		 "< %u %08x", wr->len, ~crc32_le(~0, data, wr->len));
}

static void peer_done_send(struct peer *p, struct peer_wr *wr,
			   const struct ib_wc *wc)
{
	static const char * const names[] = { "recv", "sent", "read", "write",
					      "mr" };
	struct peer_mr *mr;

	if (wc->status != IB_WC_SUCCESS) {
		peer_say(p, names[wr->op], NULL, 0, " %s",
			 peer_status(wc->status));
		return;
	}
	switch (wr->op) {
	case PEER_READ:
		peer_done_read(p, wr);
		break;
	case PEER_REG:
		mr = &p->mrs[wr->mr];
		peer_say(p, "mr", NULL, 0, " %d rkey=0x%x va=0x%llx len=%u",
			 wr->mr, mr->mr->rkey, mr->mr->iova, mr->len);
		break;
	default:
		if (!p->quiet)
			peer_say(p, names[wr->op], NULL, 0, " ok");
	}
}

static void peer_poll_cq(struct peer *p, struct ib_cq *cq,
			 enum ib_cq_notify_flags arm)
{
	struct peer_wr *wr;
	struct ib_wc wc;

	mutex_lock(&p->poll_lock);
	do {
		while (!READ_ONCE(p->dying) && ib_poll_cq(cq, 1, &wc) > 0) {
			wr = (struct peer_wr *)(uintptr_t)wc.wr_id;
			if (wr->op == PEER_RECV)
				peer_done_recv(p, wr, &wc);
			else
				peer_done_send(p, wr, &wc);
			peer_untrack(p, wr);
			peer_free_wr(p, wr);
		}
	} while (!READ_ONCE(p->dying) &&
		 ib_req_notify_cq(cq, arm | IB_CQ_REPORT_MISSED_EVENTS) > 0);
	mutex_unlock(&p->poll_lock);
}

static enum ib_cq_notify_flags peer_arm(const struct peer *p)
{
	return p->solicited ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP;
}

static void peer_swork(struct work_struct *work)
{
	struct peer *p = container_of(work, struct peer, swork);

	peer_poll_cq(p, p->scq, IB_CQ_NEXT_COMP);
}

static void peer_rwork(struct work_struct *work)
{
	struct peer *p = container_of(work, struct peer, rwork);

	if (p->solicited)
		peer_say(p, "solicited", NULL, 0, " %d",
			 atomic_read(&p->wakeups));
	peer_poll_cq(p, p->rcq, peer_arm(p));
}

/* May come in any context, with locks of the driver held. */
static void peer_send_comp(struct ib_cq *cq, void *ctx)
{
	struct peer *p = ctx;

	if (!READ_ONCE(p->dying))
		queue_work(system_unbound_wq, &p->swork);
}

static void peer_recv_comp(struct ib_cq *cq, void *ctx)
{
	struct peer *p = ctx;

	atomic_inc(&p->wakeups);
	if (!READ_ONCE(p->dying))
		queue_work(system_unbound_wq, &p->rwork);
}

/* ---- queue pair ---- */

static void peer_qp_event(struct ib_event *ev, void *ctx)
{
	peer_say(ctx, "qp-event", NULL, 0, " %s", ib_event_msg(ev->event));
}

static int peer_qp_to_init(struct peer *p)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = p->port,
		.qp_access_flags = IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE,
	};

	if (ib_find_cached_pkey(p->dev, p->port, p->pkey, &attr.pkey_index))
		return -EADDRNOTAVAIL;
	return ib_modify_qp(p->qp, &attr, IB_QP_STATE | IB_QP_PORT |
			    IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS);
}

static void peer_put_mr(struct peer *p, struct peer_mr *mr)
{
	if (!IS_ERR_OR_NULL(mr->mr))
		ib_dereg_mr(mr->mr);
	ib_dma_unmap_sgtable_attrs(p->dev, &mr->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&mr->sgt);
	vfree(mr->buf);
	memset(mr, 0, sizeof(*mr));
}

static void peer_free_qp(struct peer *p)
{
	struct peer_wr *wr, *tmp;
	int i;

	WRITE_ONCE(p->dying, true);
	if (p->qp)
		ib_destroy_qp(p->qp);
	p->qp = NULL;
	p->rts = false;
	cancel_work_sync(&p->swork);
	cancel_work_sync(&p->rwork);
	if (p->scq)
		ib_destroy_cq(p->scq);
	if (p->rcq)
		ib_destroy_cq(p->rcq);
	p->scq = NULL;
	p->rcq = NULL;
	cancel_work_sync(&p->swork);
	cancel_work_sync(&p->rwork);
	list_for_each_entry_safe(wr, tmp, &p->wrs, list) {
		list_del(&wr->list);
		peer_free_wr(p, wr);
	}
	p->sends = 0;
	for (i = 0; i < PEER_MRS; i++)
		if (p->mrs[i].mr)
			peer_put_mr(p, &p->mrs[i]);
	if (p->pd)
		ib_dealloc_pd(p->pd);
	p->pd = NULL;
}

static int peer_make_qp(struct peer *p)
{
	struct ib_qp_init_attr init = {
		.event_handler = peer_qp_event,
		.qp_context = p,
		.cap = {
			.max_send_wr = PEER_SQ,
			.max_recv_wr = PEER_RQ,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_cq_init_attr cqa = { .cqe = PEER_CQ };
	int rc;

	if (p->qp)
		return 0;
	if (!p->dev)
		return -ENODEV;
	WRITE_ONCE(p->dying, false);
	atomic_set(&p->wakeups, 0);
	p->pd = ib_alloc_pd(p->dev, 0);
	if (IS_ERR(p->pd)) {
		rc = PTR_ERR(p->pd);
		p->pd = NULL;
		return rc;
	}
	p->scq = ib_create_cq(p->dev, peer_send_comp, NULL, p, &cqa);
	if (IS_ERR(p->scq)) {
		rc = PTR_ERR(p->scq);
		p->scq = NULL;
		goto fail;
	}
	p->rcq = ib_create_cq(p->dev, peer_recv_comp, NULL, p, &cqa);
	if (IS_ERR(p->rcq)) {
		rc = PTR_ERR(p->rcq);
		p->rcq = NULL;
		goto fail;
	}
	ib_req_notify_cq(p->scq, IB_CQ_NEXT_COMP);
	ib_req_notify_cq(p->rcq, peer_arm(p));
	init.send_cq = p->scq;
	init.recv_cq = p->rcq;
	p->qp = ib_create_qp(p->pd, &init);
	if (IS_ERR(p->qp)) {
		rc = PTR_ERR(p->qp);
		p->qp = NULL;
		goto fail;
	}
	rc = peer_qp_to_init(p);
	if (!rc)
		return 0;
fail:
	peer_free_qp(p);
	return rc;
}

/*
 * @psn: where our receiving starts. The CM knows it only after our REQ or REP
 * is sent (the starting PSN of either is the sender's receive PSN).
 */
static int peer_to_rts(struct peer *p, struct ib_cm_id *id,
		       const struct peer_opts *o, int psn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int mask, rc;

	if (p->rts)
		return 0;
	rc = ib_cm_init_qp_attr(id, &attr, &mask);
	if (rc)
		return rc;
	if (psn >= 0)
		attr.rq_psn = psn;
	attr.min_rnr_timer = IB_RNR_TIMER_000_64;
	attr.max_dest_rd_atomic = min_t(int, o->rd,
					p->dev->attrs.max_qp_rd_atom);
	rc = ib_modify_qp(p->qp, &attr, mask);
	if (rc)
		return rc;

	attr = (struct ib_qp_attr){ .qp_state = IB_QPS_RTS };
	rc = ib_cm_init_qp_attr(id, &attr, &mask);
	if (rc)
		return rc;
	attr.max_rd_atomic = min_t(int, o->init,
				   p->dev->attrs.max_qp_init_rd_atom);
	if (o->selfrnr >= 0)
		attr.rnr_retry = o->selfrnr;
	rc = ib_modify_qp(p->qp, &attr, mask);
	if (!rc)
		p->rts = true;
	return rc;
}

static int peer_qp_error(struct peer *p)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return p->qp ? ib_modify_qp(p->qp, &attr, IB_QP_STATE) : -ENOTCONN;
}

/* ---- connection manager ---- */

static struct ib_cm_id *peer_id(struct peer *p)
{
	struct ib_cm_id *id;

	spin_lock_irq(&p->lock);
	id = p->cm_id;
	spin_unlock_irq(&p->lock);
	return id;
}

static int peer_cm_req(struct peer *p, struct ib_cm_id *id,
		       const struct ib_cm_event *ev)
{
	const struct ib_cm_req_event_param *r = &ev->param.req_rcvd;
	const char *name = "req";

	spin_lock_irq(&p->lock);
	if (p->drop) {
		name = "req-dropped";
		if (p->drop > 0)
			p->drop--;
	} else if (p->cm_id) {
		name = "req-busy";
	} else {
		p->cm_id = id;
	}
	spin_unlock_irq(&p->lock);
	peer_say(p, name, ev->private_data, IB_CM_REQ_PRIVATE_DATA_SIZE,
		 " sid=0x%llx rnr=%u retry=%u rd=%u init=%u flow=%u cmto=%u",
		 be64_to_cpu(id->service_id), r->rnr_retry_count,
		 r->retry_count, r->responder_resources, r->initiator_depth,
		 r->flow_control, r->remote_cm_response_timeout);
	/* the one way to let a REQ go without an answer */
	return strcmp(name, "req") ? -ENOMEM : 0;
}

static void peer_cm_rep(struct peer *p, const struct ib_cm_event *ev)
{
	const struct ib_cm_rep_event_param *r = &ev->param.rep_rcvd;

	peer_say(p, "rep", ev->private_data, IB_CM_REP_PRIVATE_DATA_SIZE,
		 " rnr=%u rd=%u init=%u flow=%u", r->rnr_retry_count,
		 r->responder_resources, r->initiator_depth, r->flow_control);
}

static void peer_cm_error(struct peer *p, const char *name,
			  const struct ib_cm_event *ev)
{
	peer_say(p, name, NULL, 0, " %s", peer_status(ev->param.send_status));
}

static int peer_cm_handler(struct ib_cm_id *id, const struct ib_cm_event *ev)
{
	struct peer *p = id->context;

	switch (ev->event) {
	case IB_CM_REQ_RECEIVED:
		return peer_cm_req(p, id, ev);
	case IB_CM_REP_RECEIVED:
		peer_cm_rep(p, ev);
		break;
	case IB_CM_RTU_RECEIVED:
		peer_say(p, "rtu", NULL, 0, "%s", "");
		break;
	case IB_CM_USER_ESTABLISHED:
		peer_say(p, "est", NULL, 0, "%s", "");
		break;
	case IB_CM_REJ_RECEIVED:
		peer_say(p, "rej", NULL, 0, " %d",
			 ev->param.rej_rcvd.reason);
		break;
	case IB_CM_DREQ_RECEIVED:
		if (READ_ONCE(p->auto_drep))
			ib_send_cm_drep(id, NULL, 0);
		peer_say(p, "dreq", NULL, 0, "%s", "");
		break;
	case IB_CM_DREP_RECEIVED:
		peer_say(p, "drep", NULL, 0, "%s", "");
		break;
	case IB_CM_TIMEWAIT_EXIT:
		peer_say(p, "timewait", NULL, 0, "%s", "");
		break;
	case IB_CM_MRA_RECEIVED:
		peer_say(p, "mra", NULL, 0, "%s", "");
		break;
	case IB_CM_REQ_ERROR:
		peer_cm_error(p, "req-error", ev);
		break;
	case IB_CM_REP_ERROR:
		peer_cm_error(p, "rep-error", ev);
		break;
	case IB_CM_DREQ_ERROR:
		peer_cm_error(p, "dreq-error", ev);
		break;
	default:
		peer_say(p, "cm-event", NULL, 0, " %d", ev->event);
	}
	return 0;
}

/* End the connection; destroying its id tells the other side. */
static void peer_close_conn(struct peer *p)
{
	struct ib_cm_id *id;

	spin_lock_irq(&p->lock);
	id = p->cm_id;
	p->cm_id = NULL;
	spin_unlock_irq(&p->lock);
	if (id)
		ib_destroy_cm_id(id);
	peer_free_qp(p);
}

static void peer_unlisten(struct peer *p)
{
	if (p->listen_id)
		ib_destroy_cm_id(p->listen_id);
	p->listen_id = NULL;
}

/* Let go of the device. */
static void peer_reset(struct peer *p)
{
	peer_unlisten(p);
	peer_close_conn(p);
	if (p->sgid_attr)
		rdma_put_gid_attr(p->sgid_attr);
	p->sgid_attr = NULL;
	p->resolved = false;
	p->dev = NULL;
}

/* Make @dev ours, if it isn't on its way out. */
static int peer_set_dev(struct peer *p, const char *name,
			const struct ib_device *dev, u32 port)
{
	struct peer_dev *d;
	int rc = -ENODEV;

	mutex_lock(&devs_lock);
	list_for_each_entry(d, &devs, list) {
		if (dev ? d->dev != dev : strcmp(dev_name(&d->dev->dev), name))
			continue;
		if (!rdma_is_port_valid(d->dev, port)) {
			rc = -EINVAL;
			break;
		}
		if (!rdma_cap_ib_cm(d->dev, port)) {
			rc = -EPROTONOSUPPORT;
			break;
		}
		p->dev = d->dev;
		p->port = port;
		rc = 0;
		break;
	}
	mutex_unlock(&devs_lock);
	return rc;
}

/* ---- resolving ---- */

struct peer_resolve {
	struct completion done;
	enum rdma_cm_event_type event;
	int status;
};

static int peer_resolve_handler(struct rdma_cm_id *id,
				struct rdma_cm_event *ev)
{
	struct peer_resolve *r = id->context;

	r->event = ev->event;
	r->status = ev->status;
	complete(&r->done);
	return 0;
}

static int peer_resolve_wait(struct peer_resolve *r, int rc,
			     enum rdma_cm_event_type want)
{
	if (rc)
		return rc;
	if (!wait_for_completion_timeout(&r->done, PEER_WAIT))
		return -ETIMEDOUT;
	reinit_completion(&r->done);
	if (r->event == want)
		return 0;
	return r->status < 0 ? r->status : -EHOSTUNREACH;
}

static int peer_keep_route(struct peer *p, struct rdma_cm_id *id)
{
	struct rdma_route *rt = &id->route;
	int rc;

	rc = peer_set_dev(p, NULL, id->device, id->port_num);
	if (rc)
		return rc;
	p->path = rt->path_rec[0];
	p->has_in = rt->path_rec_inbound;
	if (p->has_in)
		p->path_in = *rt->path_rec_inbound;
	p->has_out = rt->path_rec_outbound;
	if (p->has_out)
		p->path_out = *rt->path_rec_outbound;
	p->sgid_attr = rt->addr.dev_addr.sgid_attr;
	if (p->sgid_attr)
		rdma_hold_gid_attr(p->sgid_attr);
	p->pkey = be16_to_cpu(p->path.pkey);
	p->resolved = true;
	return 0;
}

static int peer_cmd_resolve(struct peer *p, char **argv, int argc)
{
	struct sockaddr_in src = { .sin_family = AF_INET };
	struct sockaddr_in dst = { .sin_family = AF_INET };
	struct peer_resolve r = {};
	struct rdma_cm_id *id;
	int rc;

	if (argc != 2 ||
	    !in4_pton(argv[0], -1, (u8 *)&src.sin_addr, -1, NULL) ||
	    !in4_pton(argv[1], -1, (u8 *)&dst.sin_addr, -1, NULL))
		return -EINVAL;
	if (p->resolved || peer_id(p))
		return -EISCONN;
	init_completion(&r.done);
	id = rdma_create_id(current->nsproxy->net_ns, peer_resolve_handler, &r,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	rc = rdma_resolve_addr(id, (struct sockaddr *)&src,
			       (struct sockaddr *)&dst, 2000);
	rc = peer_resolve_wait(&r, rc, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (!rc) {
		rc = rdma_resolve_route(id, 2000);
		rc = peer_resolve_wait(&r, rc, RDMA_CM_EVENT_ROUTE_RESOLVED);
	}
	if (!rc && p->dev && p->dev != id->device)
		rc = -EXDEV;
	if (!rc)
		rc = peer_keep_route(p, id);
	rdma_destroy_id(id);
	return rc;
}

/* ---- commands ---- */

static int peer_cmd_bind(struct peer *p, char **argv, int argc)
{
	u32 port;

	if (argc != 2 || kstrtou32(argv[1], 0, &port))
		return -EINVAL;
	if (p->dev)
		return -EISCONN;
	return peer_set_dev(p, argv[0], NULL, port);
}

static int peer_cmd_listen(struct peer *p, char **argv, int argc)
{
	struct ib_cm_id *id;
	u64 sid;
	int rc;

	if (argc != 1 || kstrtou64(argv[0], 16, &sid))
		return -EINVAL;
	if (!p->dev)
		return -ENODEV;
	if (p->listen_id)
		return -EISCONN;
	id = ib_create_cm_id(p->dev, peer_cm_handler, p);
	if (IS_ERR(id))
		return PTR_ERR(id);
	rc = ib_cm_listen(id, cpu_to_be64(sid));
	if (rc)
		ib_destroy_cm_id(id);
	else
		p->listen_id = id;
	return rc;
}

static int peer_cmd_unlisten(struct peer *p, char **argv, int argc)
{
	peer_unlisten(p);
	return 0;
}

static int peer_cmd_drop(struct peer *p, char **argv, int argc)
{
	int n;

	if (argc != 1 || kstrtoint(argv[0], 0, &n))
		return -EINVAL;
	spin_lock_irq(&p->lock);
	p->drop = n;
	spin_unlock_irq(&p->lock);
	return 0;
}

static int peer_cmd_post(struct peer *p, char **argv, int argc)
{
	struct ib_recv_wr rwr = { .num_sge = 1 };
	struct peer_wr *wr;
	struct ib_sge sge;
	u32 n, size;
	int rc;

	if (argc != 2 || kstrtou32(argv[0], 0, &n) ||
	    kstrtou32(argv[1], 0, &size) || !size || size > PEER_MAX_MSG)
		return -EINVAL;
	rc = peer_make_qp(p);
	for (; !rc && n; n--) {
		wr = peer_new_wr(p, PEER_RECV, size, DMA_FROM_DEVICE);
		if (IS_ERR(wr))
			return PTR_ERR(wr);
		sge = (struct ib_sge){ wr->dma, size, p->pd->local_dma_lkey };
		rwr.wr_id = (uintptr_t)wr;
		rwr.sg_list = &sge;
		peer_track(p, wr);
		rc = ib_post_recv(p->qp, &rwr, NULL);
		if (rc) {
			peer_untrack(p, wr);
			peer_free_wr(p, wr);
		}
	}
	return rc;
}

static int peer_cmd_arm(struct peer *p, char **argv, int argc)
{
	if (argc != 1)
		return -EINVAL;
	if (!strcmp(argv[0], "next"))
		p->solicited = false;
	else if (!strcmp(argv[0], "solicited"))
		p->solicited = true;
	else
		return -EINVAL;
	return 0;
}

static int peer_cmd_connect(struct peer *p, char **argv, int argc)
{
	u8 data[IB_CM_REQ_PRIVATE_DATA_SIZE] = {};
	struct ib_cm_req_param req = {};
	struct ib_cm_id *id;
	struct peer_opts o;
	u64 sid;
	long len;
	int rc;

	argc = peer_opts(argv, argc, &o);
	if (argc < 1 || kstrtou64(argv[0], 16, &sid))
		return -EINVAL;
	len = peer_bytes(argv + 1, argc - 1, NULL);
	if (len < 0 || len > sizeof(data))
		return -EMSGSIZE;
	if (peer_bytes(argv + 1, argc - 1, data) < 0)
		return -EINVAL;
	if (!p->resolved)
		return -EDESTADDRREQ;
	if (peer_id(p))
		return -EISCONN;
	rc = peer_make_qp(p);
	if (rc)
		return rc;
	id = ib_create_cm_id(p->dev, peer_cm_handler, p);
	if (IS_ERR(id))
		return PTR_ERR(id);

	req.primary_path = &p->path;
	req.primary_path_inbound = p->has_in ? &p->path_in : NULL;
	req.primary_path_outbound = p->has_out ? &p->path_out : NULL;
	req.ppath_sgid_attr = p->sgid_attr;
	req.service_id = cpu_to_be64(sid);
	req.qp_num = p->qp->qp_num;
	req.qp_type = IB_QPT_RC;
	req.starting_psn = get_random_u32() & 0xffffff;
	req.private_data = data;
	req.private_data_len = len;
	req.responder_resources = o.rd;
	req.initiator_depth = o.init;
	req.remote_cm_response_timeout = o.cmto;
	req.local_cm_response_timeout = o.cmto;
	req.flow_control = o.flow;
	req.retry_count = o.retry;
	req.rnr_retry_count = o.rnr;
	req.max_cm_retries = o.cmretries;
	rc = ib_send_cm_req(id, &req);
	if (rc) {
		ib_destroy_cm_id(id);
		return rc;
	}
	spin_lock_irq(&p->lock);
	p->cm_id = id;
	spin_unlock_irq(&p->lock);
	return 0;
}

static int peer_cmd_rep(struct peer *p, char **argv, int argc)
{
	u8 data[IB_CM_REP_PRIVATE_DATA_SIZE] = {};
	struct ib_cm_rep_param rep = {};
	struct ib_cm_id *id = peer_id(p);
	int psn = get_random_u32() & 0xffffff;
	struct peer_opts o;
	long len;
	int rc;

	argc = peer_opts(argv, argc, &o);
	len = peer_bytes(argv, argc, NULL);
	if (len < 0 || len > sizeof(data))
		return -EMSGSIZE;
	if (peer_bytes(argv, argc, data) < 0)
		return -EINVAL;
	if (!id)
		return -ENOTCONN;
	rc = peer_make_qp(p);
	if (!rc)
		rc = peer_to_rts(p, id, &o, psn);
	if (rc)
		return rc;
	rep.qp_num = p->qp->qp_num;
	rep.starting_psn = psn;
	rep.private_data = data;
	rep.private_data_len = len;
	rep.responder_resources = o.rd;
	rep.initiator_depth = o.init;
	rep.flow_control = o.flow;
	rep.rnr_retry_count = o.rnr;
	return ib_send_cm_rep(id, &rep);
}

static int peer_cmd_rts(struct peer *p, char **argv, int argc)
{
	struct ib_cm_id *id = peer_id(p);
	struct peer_opts o;

	if (peer_opts(argv, argc, &o))
		return -EINVAL;
	if (!id || !p->qp)
		return -ENOTCONN;
	return peer_to_rts(p, id, &o, -1);
}

static int peer_cmd_rtu(struct peer *p, char **argv, int argc)
{
	int rc = peer_cmd_rts(p, argv, argc);

	return rc ?: ib_send_cm_rtu(peer_id(p), NULL, 0);
}

static int peer_cmd_est(struct peer *p, char **argv, int argc)
{
	struct ib_cm_id *id = peer_id(p);

	return id ? ib_cm_notify(id, IB_EVENT_COMM_EST) : -ENOTCONN;
}

static int peer_cmd_rej(struct peer *p, char **argv, int argc)
{
	u8 data[IB_CM_REJ_PRIVATE_DATA_SIZE] = {};
	struct ib_cm_id *id = peer_id(p);
	int reason, rc;
	long len;

	if (argc < 1 || kstrtoint(argv[0], 0, &reason))
		return -EINVAL;
	len = peer_bytes(argv + 1, argc - 1, NULL);
	if (len < 0 || len > sizeof(data))
		return -EMSGSIZE;
	if (peer_bytes(argv + 1, argc - 1, data) < 0)
		return -EINVAL;
	if (!id)
		return -ENOTCONN;
	rc = ib_send_cm_rej(id, reason, NULL, 0, data, len);
	peer_close_conn(p);
	return rc;
}

static int peer_cmd_dreq(struct peer *p, char **argv, int argc)
{
	struct ib_cm_id *id = peer_id(p);

	return id ? ib_send_cm_dreq(id, NULL, 0) : -ENOTCONN;
}

static int peer_cmd_drep(struct peer *p, char **argv, int argc)
{
	struct ib_cm_id *id = peer_id(p);

	return id ? ib_send_cm_drep(id, NULL, 0) : -ENOTCONN;
}

static int peer_cmd_auto_drep(struct peer *p, char **argv, int argc)
{
	bool on;

	if (argc != 1 || kstrtobool(argv[0], &on))
		return -EINVAL;
	WRITE_ONCE(p->auto_drep, on);
	return 0;
}

static int peer_cmd_qp(struct peer *p, char **argv, int argc)
{
	if (argc != 1 || strcmp(argv[0], "err"))
		return -EINVAL;
	return peer_qp_error(p);
}

/* A work request that carries BYTES. */
static struct peer_wr *peer_bytes_wr(struct peer *p, enum peer_op op,
				     char **argv, int argc)
{
	long len = peer_bytes(argv, argc, NULL);
	struct peer_wr *wr;

	if (len < 0)
		return ERR_PTR(len);
	wr = peer_new_wr(p, op, len, DMA_TO_DEVICE);
	if (IS_ERR(wr) || !len)
		return wr;
	if (peer_bytes(argv, argc, page_address(wr->pages)) < 0) {
		peer_free_wr(p, wr);
		return ERR_PTR(-EINVAL);
	}
	peer_sync(p, wr);
	return wr;
}

static int peer_cmd_send(struct peer *p, char **argv, int argc)
{
	struct ib_send_wr swr = { .opcode = IB_WR_SEND };
	struct peer_wr *wr;
	struct ib_sge sge;
	u32 rkey;

	if (argc && !strcmp(argv[0], "se")) {
		swr.send_flags = IB_SEND_SOLICITED;
		argv++;
		argc--;
	}
	if (argc && sscanf(argv[0], "inv=%i", &rkey) == 1) {
		swr.opcode = IB_WR_SEND_WITH_INV;
		swr.ex.invalidate_rkey = rkey;
		argv++;
		argc--;
	}
	if (!p->rts)
		return -ENOTCONN;
	wr = peer_bytes_wr(p, PEER_SEND, argv, argc);
	if (IS_ERR(wr))
		return PTR_ERR(wr);
	sge = (struct ib_sge){ wr->dma, wr->len, p->pd->local_dma_lkey };
	swr.sg_list = &sge;
	swr.num_sge = wr->len ? 1 : 0;
	return peer_post_send(p, wr, &swr);
}

static int peer_rdma(struct peer *p, struct peer_wr *wr, enum ib_wr_opcode op,
		     char **argv)
{
	struct ib_rdma_wr rwr = { .wr = { .opcode = op } };
	struct ib_sge sge;

	if (IS_ERR(wr))
		return PTR_ERR(wr);
	if (kstrtou32(argv[0], 0, &rwr.rkey) ||
	    kstrtou64(argv[1], 0, &rwr.remote_addr)) {
		peer_free_wr(p, wr);
		return -EINVAL;
	}
	sge = (struct ib_sge){ wr->dma, wr->len, p->pd->local_dma_lkey };
	rwr.wr.sg_list = &sge;
	rwr.wr.num_sge = wr->len ? 1 : 0;
	return peer_post_send(p, wr, &rwr.wr);
}

static int peer_cmd_read(struct peer *p, char **argv, int argc)
{
	u32 len;

	if (argc != 3 || kstrtou32(argv[2], 0, &len) || !len ||
	    len > PEER_MAX_MSG)
		return -EINVAL;
	if (!p->rts)
		return -ENOTCONN;
	return peer_rdma(p, peer_new_wr(p, PEER_READ, len, DMA_FROM_DEVICE),
			 IB_WR_RDMA_READ, argv);
}

static int peer_cmd_write(struct peer *p, char **argv, int argc)
{
	if (argc < 2)
		return -EINVAL;
	if (!p->rts)
		return -ENOTCONN;
	return peer_rdma(p, peer_bytes_wr(p, PEER_WRITE, argv + 2, argc - 2),
			 IB_WR_RDMA_WRITE, argv);
}

static int peer_cmd_flush(struct peer *p, char **argv, int argc)
{
	long left;

	left = wait_event_interruptible_timeout(p->wait, !READ_ONCE(p->sends),
						PEER_WAIT);
	return left > 0 ? 0 : left ?: -ETIMEDOUT;
}

/* ---- registered buffers ---- */

static struct peer_mr *peer_mr(struct peer *p, const char *word, bool used)
{
	u32 n;

	if (kstrtou32(word, 0, &n) || n >= PEER_MRS)
		return ERR_PTR(-EINVAL);
	if (!p->mrs[n].mr == used)
		return ERR_PTR(used ? -ENOENT : -EEXIST);
	return &p->mrs[n];
}

static int peer_map_buf(struct peer *p, struct peer_mr *mr, u32 size)
{
	unsigned int i, pages = DIV_ROUND_UP(size, PAGE_SIZE);
	struct scatterlist *sg;
	int rc;

	mr->buf = vzalloc(pages * PAGE_SIZE);
	if (!mr->buf)
		return -ENOMEM;
	rc = sg_alloc_table(&mr->sgt, pages, GFP_KERNEL);
	if (rc)
		goto free;
	for_each_sgtable_sg(&mr->sgt, sg, i)
		sg_set_page(sg, vmalloc_to_page(mr->buf + i * PAGE_SIZE),
			    PAGE_SIZE, 0);
	rc = ib_dma_map_sgtable_attrs(p->dev, &mr->sgt, DMA_BIDIRECTIONAL, 0);
	if (rc)
		goto free_sg;
	mr->len = size;
	return 0;
free_sg:
	sg_free_table(&mr->sgt);
free:
	vfree(mr->buf);
	memset(mr, 0, sizeof(*mr));
	return rc;
}

static int peer_cmd_mr(struct peer *p, char **argv, int argc)
{
	struct ib_reg_wr reg = { .wr = { .opcode = IB_WR_REG_MR } };
	struct peer_mr *mr;
	struct peer_wr *wr;
	u32 size;
	int rc;

	if (argc != 3 || kstrtou32(argv[1], 0, &size) || !size ||
	    size > PEER_MAX_MR)
		return -EINVAL;
	mr = peer_mr(p, argv[0], false);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	if (!p->rts)
		return -ENOTCONN;
	rc = peer_map_buf(p, mr, size);
	if (rc)
		return rc;
	mr->mr = ib_alloc_mr(p->pd, IB_MR_TYPE_MEM_REG, mr->sgt.nents);
	if (IS_ERR(mr->mr)) {
		rc = PTR_ERR(mr->mr);
		goto fail;
	}
	rc = ib_map_mr_sg(mr->mr, mr->sgt.sgl, mr->sgt.nents, NULL, PAGE_SIZE);
	if (rc != mr->sgt.nents) {
		rc = rc < 0 ? rc : -EINVAL;
		goto fail;
	}
	ib_update_fast_reg_key(mr->mr, ib_inc_rkey(mr->mr->rkey) & 0xff);
	wr = peer_new_wr(p, PEER_REG, 0, DMA_NONE);
	if (IS_ERR(wr)) {
		rc = PTR_ERR(wr);
		goto fail;
	}
	wr->mr = mr - p->mrs;
	reg.mr = mr->mr;
	reg.key = mr->mr->rkey;
	reg.access = IB_ACCESS_LOCAL_WRITE;
	if (strchr(argv[2], 'r'))
		reg.access |= IB_ACCESS_REMOTE_READ;
	if (strchr(argv[2], 'w'))
		reg.access |= IB_ACCESS_REMOTE_WRITE;
	rc = peer_post_send(p, wr, &reg.wr);
	if (!rc)
		return 0;
fail:
	peer_put_mr(p, mr);
	return rc;
}

static int peer_cmd_unmr(struct peer *p, char **argv, int argc)
{
	struct peer_mr *mr;

	if (argc != 1)
		return -EINVAL;
	mr = peer_mr(p, argv[0], true);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	if (READ_ONCE(p->sends))
		return -EBUSY;
	peer_put_mr(p, mr);
	return 0;
}

static int peer_cmd_mem(struct peer *p, char **argv, int argc)
{
	struct peer_mr *mr;
	u32 off, len;

	if (argc != 3 || kstrtou32(argv[1], 0, &off) ||
	    kstrtou32(argv[2], 0, &len))
		return -EINVAL;
	mr = peer_mr(p, argv[0], true);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	if (off > mr->len || len > mr->len - off)
		return -ERANGE;
	peer_say(p, "mem", mr->buf + off,
		 p->full ? len : min_t(u32, len, PEER_SHOW),
		 "< %d %u %u %08x", (int)(mr - p->mrs), off, len,
		 ~crc32_le(~0, mr->buf + off, len));
	return 0;
}

static int peer_cmd_setmem(struct peer *p, char **argv, int argc)
{
	struct peer_mr *mr;
	long len;
	u32 off;

	if (argc < 2 || kstrtou32(argv[1], 0, &off))
		return -EINVAL;
	mr = peer_mr(p, argv[0], true);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	len = peer_bytes(argv + 2, argc - 2, NULL);
	if (len < 0)
		return len;
	if (off > mr->len || len > mr->len - off)
		return -ERANGE;
	len = peer_bytes(argv + 2, argc - 2, mr->buf + off);
	return len < 0 ? len : 0;
}

/* ---- the rest ---- */

static int peer_cmd_poll(struct peer *p, char **argv, int argc)
{
	if (!p->rcq)
		return -ENOTCONN;
	peer_poll_cq(p, p->rcq, peer_arm(p));
	return 0;
}

static int peer_cmd_full(struct peer *p, char **argv, int argc)
{
	return argc == 1 ? kstrtobool(argv[0], &p->full) : -EINVAL;
}

static int peer_cmd_quiet(struct peer *p, char **argv, int argc)
{
	return argc == 1 ? kstrtobool(argv[0], &p->quiet) : -EINVAL;
}

static int peer_cmd_stat(struct peer *p, char **argv, int argc)
{
	int n = 0, sends, mrs = 0, i;
	struct peer_wr *wr;

	spin_lock_irq(&p->lock);
	list_for_each_entry(wr, &p->wrs, list)
		n += wr->op == PEER_RECV;
	sends = p->sends;
	spin_unlock_irq(&p->lock);
	for (i = 0; i < PEER_MRS; i++)
		mrs += !!p->mrs[i].mr;
	peer_say(p, "stat", NULL, 0, " recv=%d send=%d mr=%d", n, sends, mrs);
	return 0;
}

static int peer_cmd_close(struct peer *p, char **argv, int argc)
{
	peer_close_conn(p);
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(struct peer *p, char **argv, int argc);
} peer_cmds[] = {
	{ "send", peer_cmd_send },
	{ "post", peer_cmd_post },
	{ "bind", peer_cmd_bind },
	{ "resolve", peer_cmd_resolve },
	{ "listen", peer_cmd_listen },
	{ "unlisten", peer_cmd_unlisten },
	{ "drop", peer_cmd_drop },
	{ "arm", peer_cmd_arm },
	{ "connect", peer_cmd_connect },
	{ "rep", peer_cmd_rep },
	{ "rts", peer_cmd_rts },
	{ "rtu", peer_cmd_rtu },
	{ "est", peer_cmd_est },
	{ "rej", peer_cmd_rej },
	{ "dreq", peer_cmd_dreq },
	{ "drep", peer_cmd_drep },
	{ "auto-drep", peer_cmd_auto_drep },
	{ "qp", peer_cmd_qp },
	{ "rdma_read", peer_cmd_read },
	{ "rdma_write", peer_cmd_write },
	{ "flush", peer_cmd_flush },
	{ "mr", peer_cmd_mr },
	{ "unmr", peer_cmd_unmr },
	{ "mem", peer_cmd_mem },
	{ "setmem", peer_cmd_setmem },
	{ "poll", peer_cmd_poll },
	{ "full", peer_cmd_full },
	{ "quiet", peer_cmd_quiet },
	{ "stat", peer_cmd_stat },
	{ "close", peer_cmd_close },
};

static int peer_command(struct peer *p, char *line)
{
	char *argv[PEER_ARGS];
	int argc = 0, i, rc;
	char *word;

	line = strim(line);
	while ((word = strsep(&line, " \t"))) {
		if (!*word)
			continue;
		if (argc == PEER_ARGS)
			return -E2BIG;
		argv[argc++] = word;
	}
	if (!argc)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(peer_cmds); i++) {
		if (strcmp(argv[0], peer_cmds[i].name))
			continue;
		if (mutex_lock_interruptible(&p->mutex))
			return -EINTR;
		rc = peer_cmds[i].fn(p, argv + 1, argc - 1);
		mutex_unlock(&p->mutex);
		return rc;
	}
	return -EOPNOTSUPP;
}

/* ---- the device file ---- */

static ssize_t peer_fop_write(struct file *file, const char __user *buf,
			      size_t len, loff_t *ppos)
{
	char *line;
	int rc;

	if (len > PEER_MAX_CMD)
		return -EMSGSIZE;
	line = kvmalloc(len + 1, GFP_KERNEL);
	if (!line)
		return -ENOMEM;
	if (copy_from_user(line, buf, len)) {
		kvfree(line);
		return -EFAULT;
	}
	line[len] = 0;
	rc = peer_command(file->private_data, line);
	kvfree(line);
	return rc < 0 ? rc : len;
}

static struct peer_event *peer_next(struct peer *p)
{
	struct peer_event *ev;

	spin_lock_irq(&p->lock);
	ev = list_first_entry_or_null(&p->events, struct peer_event, list);
	if (ev)
		list_del(&ev->list);
	spin_unlock_irq(&p->lock);
	return ev;
}

static ssize_t peer_fop_read(struct file *file, char __user *buf, size_t len,
			     loff_t *ppos)
{
	struct peer *p = file->private_data;
	struct peer_event *ev;
	ssize_t rc;

	if (READ_ONCE(p->lost))
		return -ENOMEM;
	ev = peer_next(p);
	if (!ev && (file->f_flags & O_NONBLOCK))
		return -EAGAIN;
	if (!ev) {
		rc = wait_event_interruptible(p->wait, (ev = peer_next(p)));
		if (rc)
			return rc;
	}
	rc = ev->len;
	if (ev->len > len)
		rc = -EMSGSIZE;
	else if (copy_to_user(buf, ev->text, ev->len))
		rc = -EFAULT;
	kvfree(ev);
	return rc;
}

static __poll_t peer_fop_poll(struct file *file, poll_table *wait)
{
	struct peer *p = file->private_data;
	__poll_t mask = EPOLLOUT | EPOLLWRNORM;

	poll_wait(file, &p->wait, wait);
	spin_lock_irq(&p->lock);
	if (!list_empty(&p->events))
		mask |= EPOLLIN | EPOLLRDNORM;
	spin_unlock_irq(&p->lock);
	return mask;
}

static int peer_fop_open(struct inode *inode, struct file *file)
{
	struct peer *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	mutex_init(&p->mutex);
	mutex_init(&p->poll_lock);
	spin_lock_init(&p->lock);
	init_waitqueue_head(&p->wait);
	INIT_LIST_HEAD(&p->events);
	INIT_LIST_HEAD(&p->wrs);
	INIT_WORK(&p->swork, peer_swork);
	INIT_WORK(&p->rwork, peer_rwork);
	p->auto_drep = true;
	p->pkey = 0xffff;
	mutex_lock(&peers_lock);
	list_add(&p->list, &peers);
	mutex_unlock(&peers_lock);
	file->private_data = p;
	return nonseekable_open(inode, file);
}

/* Off the list only when nothing of a device is held: removal looks there. */
static int peer_fop_release(struct inode *inode, struct file *file)
{
	struct peer *p = file->private_data;
	struct peer_event *ev;

	mutex_lock(&p->mutex);
	peer_reset(p);
	mutex_unlock(&p->mutex);
	mutex_lock(&peers_lock);
	list_del(&p->list);
	mutex_unlock(&peers_lock);
	while ((ev = peer_next(p)))
		kvfree(ev);
	kfree(p);
	return 0;
}

static const struct file_operations peer_fops = {
	.owner = THIS_MODULE,
	.open = peer_fop_open,
	.release = peer_fop_release,
	.read = peer_fop_read,
	.write = peer_fop_write,
	.poll = peer_fop_poll,
};

static struct miscdevice peer_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "sdp_peer",
	.fops = &peer_fops,
	.mode = 0600,
};

/* ---- devices ---- */

static int peer_add_dev(struct ib_device *dev)
{
	struct peer_dev *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return -ENOMEM;
	d->dev = dev;
	mutex_lock(&devs_lock);
	list_add(&d->list, &devs);
	mutex_unlock(&devs_lock);
	return 0;
}

static void peer_remove_dev(struct ib_device *dev, void *client_data)
{
	struct peer_dev *d, *tmp;
	struct peer *p;

	mutex_lock(&devs_lock);
	list_for_each_entry_safe(d, tmp, &devs, list) {
		if (d->dev != dev)
			continue;
		list_del(&d->list);
		kfree(d);
	}
	mutex_unlock(&devs_lock);

	mutex_lock(&peers_lock);
	list_for_each_entry(p, &peers, list) {
		mutex_lock(&p->mutex);
		if (p->dev == dev) {
			peer_reset(p);
			peer_say(p, "devgone", NULL, 0, "%s", "");
		}
		mutex_unlock(&p->mutex);
	}
	mutex_unlock(&peers_lock);
}

static struct ib_client peer_client = {
	.name = "sdp_peer",
	.add = peer_add_dev,
	.remove = peer_remove_dev,
};

static int __init peer_init(void)
{
	int rc = ib_register_client(&peer_client);

	if (rc)
		return rc;
	rc = misc_register(&peer_misc);
	if (rc)
		ib_unregister_client(&peer_client);
	return rc;
}

static void __exit peer_exit(void)
{
	misc_deregister(&peer_misc);
	ib_unregister_client(&peer_client);
}

module_init(peer_init);
module_exit(peer_exit);

MODULE_DESCRIPTION("Scripted bytes over InfiniBand CM connections, for tests");
MODULE_LICENSE("Dual BSD/GPL");
