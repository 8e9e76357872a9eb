// SPDX-License-Identifier: GPL-2.0
/*
 * ib_loop_test.ko: what a consumer in the kernel gets from ib_loop, work request
 * by work request. insmod runs the cases and prints `ok NAME` or `not ok NAME:
 * why` to the kernel's log; the module has nothing to do afterwards.
 *
 * The ports of ibl0 have to be ACTIVE. A case has a QP on port 1, which asks,
 * and one on port 2, which answers, both made for it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#define ORDER		8
#define LEN		(PAGE_SIZE << ORDER)
#define LOCAL		0x11	/* what the requester's memory is filled with */
#define REMOTE		0x22	/* and the responder's */
#define LATER		0x33	/* after its key was given up */
#define RACES		40
#define READS		8	/* posted in each */

/**
 * struct end - one end of a connection
 * @pd: protection domain, may be shared
 * @cq: of sends and receives
 * @qp: RC
 */
struct end {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
};

/**
 * struct mem - memory, and its registration for the other side
 * @page: LEN bytes
 * @addr: of them, as an adapter sees it
 * @mr: fast registration, or NULL
 */
struct mem {
	struct page *page;
	u64 addr;
	struct ib_mr *mr;
};

/* Which key a request is made with. */
enum which_key {
	KEY_GOOD,
	KEY_ZERO,	/* rdmavt: all of kernel memory */
	KEY_UNKNOWN,
	KEY_OLD,	/* the registration's, before it was renewed */
	KEY_INVALIDATED,
	KEY_OTHER_PD,
};

/**
 * struct access_case - one access to the responder's memory
 * @name: of the case
 * @op: what is tried
 * @key: with which key
 * @rights: of the registration
 * @qp_rights: of the responder's QP
 * @off: from the start of the registration; wraps around when negative
 * @len: how much
 * @want: status of the completion
 */
struct access_case {
	const char *name;
	enum ib_wr_opcode op;
	enum which_key key;
	int rights;
	int qp_rights;
	s64 off;
	u32 len;
	enum ib_wc_status want;
};

#define R	IB_ACCESS_REMOTE_READ
#define W	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE)
#define A	(IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE)
#define ALL	(R | W | A)
#define DENIED	IB_WC_REM_ACCESS_ERR
#define READ_	IB_WR_RDMA_READ
#define WRITE_	IB_WR_RDMA_WRITE
#define ADD	IB_WR_ATOMIC_FETCH_AND_ADD
#define SWAP	IB_WR_ATOMIC_CMP_AND_SWP

static const struct access_case accesses[] = {
	{ "read", READ_, KEY_GOOD, R, ALL, 0, LEN, IB_WC_SUCCESS },
	{ "write", WRITE_, KEY_GOOD, W, ALL, 0, LEN, IB_WC_SUCCESS },
	{ "add", ADD, KEY_GOOD, A, ALL, 8, 8, IB_WC_SUCCESS },
	{ "swap", SWAP, KEY_GOOD, A, ALL, 8, 8, IB_WC_SUCCESS },
	{ "read_key_0", READ_, KEY_ZERO, ALL, ALL, 0, 64, DENIED },
	{ "write_key_0", WRITE_, KEY_ZERO, ALL, ALL, 0, 64, DENIED },
	{ "add_key_0", ADD, KEY_ZERO, ALL, ALL, 0, 8, DENIED },
	{ "swap_key_0", SWAP, KEY_ZERO, ALL, ALL, 0, 8, DENIED },
	{ "read_unknown_key", READ_, KEY_UNKNOWN, ALL, ALL, 0, 64, DENIED },
	{ "write_unknown_key", WRITE_, KEY_UNKNOWN, ALL, ALL, 0, 64, DENIED },
	{ "add_unknown_key", ADD, KEY_UNKNOWN, ALL, ALL, 0, 8, DENIED },
	{ "read_old_key", READ_, KEY_OLD, ALL, ALL, 0, 64, DENIED },
	{ "write_old_key", WRITE_, KEY_OLD, ALL, ALL, 0, 64, DENIED },
	{ "read_invalidated", READ_, KEY_INVALIDATED, ALL, ALL, 0, 64, DENIED },
	{ "write_invalidated", WRITE_, KEY_INVALIDATED, ALL, ALL, 0, 64, DENIED },
	{ "read_other_pd", READ_, KEY_OTHER_PD, ALL, ALL, 0, 64, DENIED },
	{ "write_other_pd", WRITE_, KEY_OTHER_PD, ALL, ALL, 0, 64, DENIED },
	{ "read_before", READ_, KEY_GOOD, ALL, ALL, -1, 64, DENIED },
	{ "write_before", WRITE_, KEY_GOOD, ALL, ALL, -64, 64, DENIED },
	{ "read_past_end", READ_, KEY_GOOD, ALL, ALL, 1, LEN, DENIED },
	{ "write_past_end", WRITE_, KEY_GOOD, ALL, ALL, LEN - 63, 64, DENIED },
	{ "read_not_allowed", READ_, KEY_GOOD, W, ALL, 0, 64, DENIED },
	{ "write_not_allowed", WRITE_, KEY_GOOD, R, ALL, 0, 64, DENIED },
	{ "add_not_allowed", ADD, KEY_GOOD, R | W, ALL, 0, 8, DENIED },
	{ "read_not_on_qp", READ_, KEY_GOOD, ALL, W, 0, 64,
	  IB_WC_REM_INV_REQ_ERR },
	{ "write_not_on_qp", WRITE_, KEY_GOOD, ALL, R, 0, 64,
	  IB_WC_REM_INV_REQ_ERR },
	{ "add_unaligned", ADD, KEY_GOOD, ALL, ALL, 4, 8,
	  IB_WC_REM_INV_REQ_ERR },
};

static struct ib_device *ib;

/* ---- Setting up --------------------------------------------------------- */

static void close_end(struct end *e)
{
	if (e->qp)
		ib_destroy_qp(e->qp);
	if (e->cq)
		ib_free_cq(e->cq);
}

static int open_end(struct end *e, struct ib_pd *pd)
{
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 16, .max_recv_wr = 16,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
	};

	e->pd = pd;
	e->cq = ib_alloc_cq(ib, NULL, 64, 0, IB_POLL_DIRECT);
	if (IS_ERR(e->cq)) {
		e->cq = NULL;
		return -ENOMEM;
	}
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	e->qp = ib_create_qp(pd, &attr);
	if (IS_ERR(e->qp)) {
		e->qp = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int lid_of(u32 port, u16 *lid)
{
	struct ib_port_attr attr;
	int err = ib_query_port(ib, port, &attr);

	if (err)
		return err;
	*lid = attr.lid;
	return attr.state == IB_PORT_ACTIVE ? 0 : -ENETDOWN;
}

/* From RESET to RTS, towards another QP. */
static int connect_end(struct end *e, u32 port, u32 to_qpn, u32 to_port,
		       int rights)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = port,
		.qp_access_flags = rights,
	};
	u16 dlid;
	int err = lid_of(to_port, &dlid);

	err = err ?: ib_modify_qp(e->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
				  IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_2048;
	attr.dest_qp_num = to_qpn;
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 1;
	attr.ah_attr.type = rdma_ah_find_type(ib, port);
	rdma_ah_set_dlid(&attr.ah_attr, dlid);
	rdma_ah_set_port_num(&attr.ah_attr, port);
	err = err ?: ib_modify_qp(e->qp, &attr, IB_QP_STATE | IB_QP_AV |
				  IB_QP_PATH_MTU | IB_QP_DEST_QPN |
				  IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
				  IB_QP_MIN_RNR_TIMER);
	attr.qp_state = IB_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 3;
	attr.rnr_retry = 2;
	attr.max_rd_atomic = 4;
	return err ?: ib_modify_qp(e->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
				   IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
				   IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

/**
 * struct pair - a connection
 * @a: the asking end, on port 1
 * @b: the answering end, on port 2
 */
struct pair {
	struct end a, b;
};

static void close_pair(struct pair *p)
{
	close_end(&p->a);
	close_end(&p->b);
}

static int open_pair(struct pair *p, struct ib_pd *pd_a, struct ib_pd *pd_b,
		     int rights)
{
	int err;

	memset(p, 0, sizeof(*p));
	err = open_end(&p->a, pd_a);
	err = err ?: open_end(&p->b, pd_b);
	err = err ?: connect_end(&p->b, 2, p->a.qp->qp_num, 1, rights);
	return err ?: connect_end(&p->a, 1, p->b.qp->qp_num, 2, 0);
}

/* ---- Work requests ------------------------------------------------------ */

/* The status of the next completion, or -ETIMEDOUT. */
static int completion(struct end *e, struct ib_wc *wc)
{
	unsigned long end = jiffies + 5 * HZ;

	while (ib_poll_cq(e->cq, 1, wc) != 1) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		cond_resched();
	}
	return wc->status;
}

static int post(struct end *e, struct ib_send_wr *wr)
{
	struct ib_wc wc;
	int err;

	wr->send_flags |= IB_SEND_SIGNALED;
	err = ib_post_send(e->qp, wr, NULL);
	return err ?: completion(e, &wc);
}

static int register_mem(struct end *e, struct mem *m, int rights)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = m->mr,
		.access = rights,
	};

	ib_update_fast_reg_key(m->mr, ib_inc_rkey(m->mr->rkey));
	wr.key = m->mr->rkey;
	return post(e, &wr.wr);
}

static int invalidate(struct end *e, u32 rkey, int flags)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = rkey,
		.send_flags = flags,
	};

	return post(e, &wr);
}

static void free_mem(struct mem *m)
{
	if (m->mr)
		ib_dereg_mr(m->mr);
	if (m->page)
		__free_pages(m->page, ORDER);
}

static void fill(struct mem *m, u8 with)
{
	memset(page_address(m->page), with, LEN);
}

/* Registered memory has a mapping of its whole length. */
static int alloc_mem(struct mem *m, struct ib_pd *pd, u8 with)
{
	struct scatterlist sg;

	memset(m, 0, sizeof(*m));
	m->page = alloc_pages(GFP_KERNEL, ORDER);
	if (!m->page)
		return -ENOMEM;
	fill(m, with);
	sg_init_one(&sg, page_address(m->page), LEN);
	if (ib_dma_map_sg(ib, &sg, 1, DMA_BIDIRECTIONAL) != 1)
		return -EIO;
	m->addr = sg_dma_address(&sg);
	if (!pd)
		return 0;
	m->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 1 << ORDER);
	if (IS_ERR(m->mr)) {
		m->mr = NULL;
		return -ENOMEM;
	}
	return ib_map_mr_sg(m->mr, &sg, 1, NULL, PAGE_SIZE) == 1 ? 0 : -EIO;
}

static bool all_are(struct mem *m, u8 byte)
{
	return !memchr_inv(page_address(m->page), byte, LEN);
}

/* ---- Cases -------------------------------------------------------------- */

static void verdict(const char *name, int err, const char *why)
{
	if (!err && !why)
		pr_info("ok %s\n", name);
	else if (why)
		pr_info("not ok %s: %s (%d)\n", name, why, err);
	else
		pr_info("not ok %s: error %d\n", name, err);
}

/* Try an access; the status of its completion. */
static int try_access(const struct access_case *c, struct end *a,
		      struct mem *mem, u64 addr, u32 rkey)
{
	struct ib_sge sge = {
		.addr = mem->addr,
		.length = c->len,
		.lkey = a->pd->local_dma_lkey,
	};
	struct ib_rdma_wr rdma = {
		.wr = { .opcode = c->op, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = addr,
		.rkey = rkey,
	};
	struct ib_atomic_wr atomic = {
		.wr = { .opcode = c->op, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = addr,
		.compare_add = 1,
		.rkey = rkey,
	};

	if (c->op == ADD || c->op == SWAP)
		return post(a, &atomic.wr);
	return post(a, &rdma.wr);
}

/* Is the memory as it has to be after the access? */
static const char *check_memory(const struct access_case *c, struct mem *local,
				struct mem *remote)
{
	u64 word = 0x0101010101010101ULL * REMOTE;
	u64 *r = page_address(remote->page) + 8, *l = page_address(local->page);

	if (c->want != IB_WC_SUCCESS)
		return !all_are(local, LOCAL) ? "the requester's memory changed" :
		       !all_are(remote, REMOTE) ? "the responder's memory changed" :
		       NULL;
	if (c->op == READ_)
		return all_are(local, REMOTE) ? NULL : "wrong data was read";
	if (c->op == WRITE_)
		return all_are(remote, LOCAL) ? NULL : "wrong data was written";
	if (*l != word)
		return "the old value is wrong";
	return *r == (c->op == ADD ? word + 1 : word) ? NULL :
	       "the new value is wrong";
}

static u32 pick_key(enum which_key key, u32 rkey, u32 old)
{
	switch (key) {
	case KEY_ZERO:
		return 0;
	case KEY_UNKNOWN:
		return rkey ^ 0x40000000; /* another entry of the table */
	case KEY_OLD:
		return old;
	default:
		return rkey;
	}
}

/* The key's PD is the responder's, but for KEY_OTHER_PD. */
static void run_access(const struct access_case *c, struct ib_pd *pd_a,
		       struct ib_pd *pd_b)
{
	struct ib_pd *pd_mr = c->key == KEY_OTHER_PD ? pd_a : pd_b;
	struct mem local = {}, remote = {};
	const char *why = NULL;
	struct pair p;
	u32 old;
	int err;

	err = open_pair(&p, pd_a, pd_b, c->qp_rights);
	err = err ?: alloc_mem(&local, NULL, LOCAL);
	err = err ?: alloc_mem(&remote, pd_mr, REMOTE);
	if (err)
		goto out;
	err = register_mem(c->key == KEY_OTHER_PD ? &p.a : &p.b, &remote,
			   c->rights);
	old = remote.mr->rkey;
	if (c->key == KEY_OLD)
		err = err ?: invalidate(&p.b, old, 0) ?:
		      register_mem(&p.b, &remote, c->rights);
	if (c->key == KEY_INVALIDATED)
		err = err ?: invalidate(&p.b, old, 0);
	if (err) {
		why = "no registration";
		goto out;
	}
	err = try_access(c, &p.a, &local, remote.addr + c->off,
			 pick_key(c->key, remote.mr->rkey, old));
	if (err != c->want)
		why = err < 0 ? "no completion" : ib_wc_status_msg(err);
	else
		why = check_memory(c, &local, &remote);
	err = 0;
out:
	verdict(c->name, err, why);
	close_pair(&p);
	free_mem(&local);
	free_mem(&remote);
}

/**
 * struct race - READs through a key on one connection, its end on another
 * @p: carries the READs
 * @q: its answering end invalidates the key
 * @local: where the READs go
 * @remote: where they come from
 * @wr: a READ
 * @reads: posts the READs, on the first CPU; their send queue runs there, too
 * @end: invalidates the key, on the last CPU
 * @posted: @end may start
 * @delay: us until it does
 * @err: of @reads or @end
 */
struct race {
	struct pair p, q;
	struct mem local, remote;
	struct ib_rdma_wr wr;
	struct work_struct reads, end;
	bool posted;
	unsigned int delay;
	int err;
};

static void post_reads(struct work_struct *work)
{
	struct race *r = container_of(work, struct race, reads);
	int i, err = 0;

	for (i = 0; i < READS && !err; i++)
		err = ib_post_send(r->p.a.qp, &r->wr.wr, NULL);
	if (err)
		r->err = err;
	WRITE_ONCE(r->posted, true);
}

/*
 * After the completion the memory is the owner's again. Its end is changed
 * first, since a READ that is still at it gets there last.
 */
static void take_back(struct work_struct *work)
{
	struct race *r = container_of(work, struct race, end);
	int err;

	while (!READ_ONCE(r->posted))
		cond_resched();
	udelay(r->delay);
	err = invalidate(&r->q.b, r->wr.rkey, IB_SEND_FENCE);
	if (!err)
		memset(page_address(r->remote.page) + LEN - PAGE_SIZE, LATER,
		       PAGE_SIZE);
	else
		r->err = err;
}

static const char *race(struct race *r)
{
	struct ib_sge sge = { .addr = r->local.addr, .length = LEN,
			      .lkey = r->p.a.pd->local_dma_lkey };
	int i, status = IB_WC_SUCCESS;
	struct ib_wc wc;

	if (register_mem(&r->q.b, &r->remote, ALL))
		return "no registration";
	r->wr.wr.opcode = READ_;
	r->wr.wr.sg_list = &sge;
	r->wr.wr.num_sge = 1;
	r->wr.wr.send_flags = IB_SEND_SIGNALED;
	r->wr.remote_addr = r->remote.addr;
	r->wr.rkey = r->remote.mr->rkey;
	INIT_WORK(&r->reads, post_reads);
	INIT_WORK(&r->end, take_back);
	queue_work_on(cpumask_last(cpu_online_mask), system_wq, &r->end);
	queue_work_on(cpumask_first(cpu_online_mask), system_wq, &r->reads);
	flush_work(&r->reads);
	flush_work(&r->end);
	if (r->err)
		return "READs not posted, or not invalidated";
	for (i = 0; i < READS && status >= 0; i++)
		status = completion(&r->p.a, &wc);
	if (status < 0)
		return "a READ did not complete";
	return memchr(page_address(r->local.page) + LEN - PAGE_SIZE, LATER,
		      PAGE_SIZE) ?
	       "a READ saw memory after its key was invalidated" : NULL;
}

static void run_races(const char *name, struct ib_pd *pd_a, struct ib_pd *pd_b)
{
	const char *why = NULL;
	struct race *r;
	int i, err = 0;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		err = -ENOMEM;
	for (i = 0; i < RACES && !err && !why; i++) {
		memset(r, 0, sizeof(*r));
		r->delay = i * 37;
		err = open_pair(&r->p, pd_a, pd_b, ALL);
		err = err ?: open_pair(&r->q, pd_a, pd_b, ALL);
		err = err ?: alloc_mem(&r->local, NULL, LOCAL);
		err = err ?: alloc_mem(&r->remote, pd_b, REMOTE);
		if (!err)
			why = race(r);
		close_pair(&r->p);
		close_pair(&r->q);
		free_mem(&r->local);
		free_mem(&r->remote);
	}
	verdict(name, err, why);
	kfree(r);
}

static void run_rnr(const char *name, struct ib_pd *pd)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct pair p;
	int err;

	err = open_pair(&p, pd, pd, 0);
	err = err ?: post(&p.a, &wr);
	close_pair(&p);
	if (err == IB_WC_RNR_RETRY_EXC_ERR)
		verdict(name, 0, NULL);
	else
		verdict(name, err, "not the status of a missing receive");
}

static int __init ib_loop_test_init(void)
{
	struct ib_pd *pd_a, *pd_b;
	int i, err = 0;

	ib = ib_device_get_by_name("ibl0", RDMA_DRIVER_UNKNOWN);
	if (!ib)
		return -ENODEV;
	pd_a = ib_alloc_pd(ib, 0);
	pd_b = ib_alloc_pd(ib, 0);
	if (IS_ERR(pd_a) || IS_ERR(pd_b)) {
		err = -ENOMEM;
		goto out;
	}
	for (i = 0; i < ARRAY_SIZE(accesses); i++)
		run_access(&accesses[i], pd_a, pd_b);
	run_races("invalidation_waits_for_copy", pd_a, pd_b);
	run_rnr("rnr_retries_run_out", pd_a);
	pr_info("done\n");
out:
	if (!IS_ERR(pd_b))
		ib_dealloc_pd(pd_b);
	if (!IS_ERR(pd_a))
		ib_dealloc_pd(pd_a);
	ib_device_put(ib);
	return err;
}

static void __exit ib_loop_test_exit(void)
{
}

module_init(ib_loop_test_init);
module_exit(ib_loop_test_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of ib_loop from inside the kernel");
