/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of ib_loop.ko share; main.c explains the model. */
#ifndef IB_LOOP_H
#define IB_LOOP_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_hdrs.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/rdma_vt.h>
#include <rdma/rdmavt_cq.h>
#include <rdma/rdmavt_mr.h>
#include <rdma/rdmavt_qp.h>

#define ILP_MAX_DEVICES	2
#define ILP_MAX_PORTS	2
#define ILP_GUIDS	8
#define ILP_PKEYS	RVT_MAX_PKEY_VALUES
#define ILP_VL_ARB	4	/* tables of VL arbitration */
#define ILP_MTU		IB_MTU_4096
#define ILP_RD_ATOMIC	16	/* RDMA READs and atomics outstanding */
#define ILP_KEY_LOCKS	256
#define ILP_VENDOR_PART	0x1b01

#define ILP_LID_PERMISSIVE	0xffff
#define ILP_LID_MULTICAST	0xc000	/* the first one */

struct ilp_dev;
struct pci_dev;
struct platform_device;

/**
 * struct ilp_counters - what perfquery shows of a port
 * @xmit: messages sent
 * @rcv: messages received
 * @xmit_bytes: payload sent
 * @rcv_bytes: payload received
 * @drops: datagrams that nobody took
 */
struct ilp_counters {
	atomic64_t xmit, rcv, xmit_bytes, rcv_bytes, drops;
};

/**
 * struct ilp_port - one port
 * @rvp: rdmavt's part
 * @peer: the port at the other end of the cable; NULL once its device is gone
 * @dev: the device that it is a port of
 * @num: from 1
 * @lock: of all below up to @vl_arb, and of @rvp's fields that PortInfo holds;
 *	a leaf. The data path reads single fields without it.
 * @lid: 0 before a subnet manager gave one
 * @lmc: this many low bits of a LID are the port's own
 * @state: enum ib_port_state
 * @phys: enum ib_port_phys_state
 * @mtu: of the link, as the subnet manager set it
 * @vls: operational VLs, stored for the subnet manager only
 * @enforce: PEI, PEO, FPI, FPO; stored only
 * @hoq: VLStallCount and HOQLife; stored only
 * @errs: thresholds of errors; stored only
 * @guid: GUIDInfo, [0] is the port's GUID
 * @pkey: the P_Key table, host byte order
 * @sl2vl: stored only
 * @vl_arb: stored only
 * @count: counters
 */
struct ilp_port {
	struct rvt_ibport rvp;
	struct ilp_port __rcu *peer;
	struct ilp_dev *dev;
	u8 num;
	spinlock_t lock; /* see above */
	u16 lid;
	u8 lmc;
	u8 state;
	u8 phys;
	u8 mtu;
	u8 vls;
	u8 enforce;
	u8 hoq;
	u8 errs;
	__be64 guid[ILP_GUIDS];
	u16 pkey[ILP_PKEYS];
	u8 sl2vl[8];
	u8 vl_arb[ILP_VL_ARB][IB_SMP_DATA_SIZE];
	struct ilp_counters count;
};

/**
 * struct ilp_dev - one adapter
 * @rdi: rdmavt's part; first, rvt_alloc_device() allocates the whole
 * @port: its ports, @nports of them
 * @nports: 2, or 1 of each of two adapters
 * @wq: runs the send queues
 * @parent: what the adapter hangs off in sysfs; IPoIB reads it
 * @pdev: rdmavt logs through a PCI device, this is none
 * @node_guid: of the adapter
 * @key_lock: hashed by memory key, held while memory behind a remote key is
 *	copied; invalidating a key waits for it
 */
struct ilp_dev {
	struct rvt_dev_info rdi;
	struct ilp_port port[ILP_MAX_PORTS];
	int nports;
	struct workqueue_struct *wq;
	struct platform_device *parent;
	struct pci_dev *pdev;
	__be64 node_guid;
	spinlock_t key_lock[ILP_KEY_LOCKS]; /* see above */
};

/**
 * struct ilp_qp - what a QP has beside rdmavt's part
 * @qp: rdmavt's part
 * @work: runs the send queue; delayed for a retry
 */
struct ilp_qp {
	struct rvt_qp *qp;
	struct delayed_work work;
};

/**
 * enum ilp_answer - what a responder says to a request, as on the wire
 * @ILP_ACK: done
 * @ILP_LOST: nothing; the requester times out
 * @ILP_RNR: no receive is posted
 * @ILP_NAK_INVALID: not allowed on this QP, or longer than the receive
 * @ILP_NAK_ACCESS: the key does not allow it
 * @ILP_NAK_OP: the responder has a problem of its own
 */
enum ilp_answer {
	ILP_ACK,
	ILP_LOST,
	ILP_RNR,
	ILP_NAK_INVALID,
	ILP_NAK_ACCESS,
	ILP_NAK_OP,
};

/**
 * struct ilp_request - a work request of a connected QP, seen by the responder
 * @sqp: the requester; none of its locks is held
 * @dqp: the responder; its r_lock is held
 * @wqe: the work request
 * @mem: the requester's memory
 */
struct ilp_request {
	struct rvt_qp *sqp;
	struct rvt_qp *dqp;
	struct rvt_swqe *wqe;
	struct rvt_sge_state mem;
};

static inline struct ilp_dev *to_ilp(struct ib_device *ibdev)
{
	return container_of(ib_to_rvt(ibdev), struct ilp_dev, rdi);
}

static inline struct ilp_port *to_port(struct rvt_ibport *rvp)
{
	return container_of(rvp, struct ilp_port, rvp);
}

static inline struct ilp_port *qp_port(struct rvt_qp *qp)
{
	return &to_ilp(qp->ibqp.device)->port[qp->port_num - 1];
}

static inline bool ilp_active(const struct ilp_port *p)
{
	return READ_ONCE(p->state) == IB_PORT_ACTIVE;
}

/* main.c */
void ilp_call_devices(void (*fn)(struct ilp_dev *d, u64 arg), u64 arg);
void ilp_remove(unsigned int unit);

/* device.c */
struct ilp_dev *ilp_alloc(unsigned int unit, int nports);
void ilp_free(struct ilp_dev *d);

/* port.c */
void ilp_init_port(struct ilp_dev *d, int i);
void ilp_set_link(struct ilp_port *p, bool up);
void ilp_event(struct ilp_port *p, enum ib_event_type type);
bool ilp_port_has_lid(const struct ilp_port *p, u16 lid);
bool ilp_linked(const struct ilp_port *p, const struct ilp_port *peer);
int ilp_find_pkey(const struct ilp_port *p, u16 pkey);
void ilp_sent(struct ilp_port *p, u32 bytes);
void ilp_received(struct ilp_port *p, u32 bytes);
void ilp_port_ops(struct rvt_driver_provided *f);

/* smp.c, mad.c */
int ilp_smp(struct ilp_dev *d, struct ilp_port *in, const struct ib_smp *req,
	    struct ib_smp *rsp);
int ilp_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		    const struct ib_wc *wc, const struct ib_grh *grh,
		    const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index);

/* qp.c */
bool ilp_schedule(struct rvt_qp *qp);
void ilp_retry(struct rvt_qp *qp, unsigned long delay);
void ilp_qp_event(struct rvt_qp *qp, enum ib_event_type type);
void ilp_qp_error(struct rvt_qp *qp, enum ib_wc_status err);
void ilp_copy(struct rvt_qp *qp, struct rvt_sge_state *dst, bool put_dst,
	      struct rvt_sge_state *src, bool put_src, u32 len);
void ilp_wqe_memory(struct rvt_swqe *wqe, struct rvt_sge_state *ss);
void ilp_qp_ops(struct rvt_driver_provided *f);

/* ud.c, rc.c, responder.c: the data path */
void ilp_ud_send(struct rvt_qp *qp);
void ilp_rc_send(struct rvt_qp *qp);
enum ilp_answer ilp_respond(struct ilp_request *rq);

/* mr.c */
void ilp_mr_init(struct ilp_dev *d);
spinlock_t *ilp_key_lock(struct rvt_qp *qp, u32 rkey);
bool ilp_rkey_ok(struct rvt_qp *qp, struct rvt_sge *sge, u32 len, u64 addr,
		 u32 rkey, int access);
int ilp_invalidate(struct rvt_qp *qp, u32 rkey, bool done);

/* fault.c */
bool ilp_lose_datagram(void);
bool ilp_lose_message(void);
bool ilp_stalled(struct rvt_qp *qp);
unsigned long ilp_send_delay(void);

#endif
