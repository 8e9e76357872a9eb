// SPDX-License-Identifier: GPL-2.0
/*
 * Ports: their state, the cable, the tables that the data path looks into, and
 * what rdmavt asks about them.
 */
#include "ib_loop.h"

#define DEFAULT_GID_PREFIX 0xfe80000000000000ULL

/**
 * ilp_event - raise an asynchronous event of a port
 * @p: the port; its tables have to be up to date, consumers reread them
 * @type: the event
 */
void ilp_event(struct ilp_port *p, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = &p->dev->rdi.ibdev,
		.element.port_num = p->num,
		.event = type,
	};

	ib_dispatch_event(&ev);
}

static void set_port_link(struct ilp_port *p, bool up)
{
	unsigned long flags;
	bool was_active;

	spin_lock_irqsave(&p->lock, flags);
	was_active = p->state == IB_PORT_ACTIVE;
	WRITE_ONCE(p->state, up ? IB_PORT_INIT : IB_PORT_DOWN);
	WRITE_ONCE(p->phys, up ? IB_PORT_PHYS_STATE_LINK_UP :
				 IB_PORT_PHYS_STATE_POLLING);
	spin_unlock_irqrestore(&p->lock, flags);
	if (was_active)
		ilp_event(p, IB_EVENT_PORT_ERR);
}

/**
 * ilp_set_link - break the cable or mend it
 * @p: the port at one of its ends
 * @up: both ends train and wait for a subnet manager, or both are down
 */
void ilp_set_link(struct ilp_port *p, bool up)
{
	struct ilp_port *peer;

	rcu_read_lock();
	peer = rcu_dereference(p->peer);
	set_port_link(p, up && peer);
	if (peer)
		set_port_link(peer, up);
	rcu_read_unlock();
}

/**
 * ilp_port_has_lid - is this unicast LID one of the port's?
 * @p: the port
 * @lid: the LID
 */
bool ilp_port_has_lid(const struct ilp_port *p, u16 lid)
{
	u16 base = READ_ONCE(p->lid);

	return base && (lid & ~((1 << READ_ONCE(p->lmc)) - 1)) == base;
}

/**
 * ilp_linked - can a subnet management packet cross the cable?
 * @p: the port at this end
 * @peer: the port at the other end, or NULL
 */
bool ilp_linked(const struct ilp_port *p, const struct ilp_port *peer)
{
	return peer && READ_ONCE(p->phys) == IB_PORT_PHYS_STATE_LINK_UP &&
	       READ_ONCE(peer->phys) == IB_PORT_PHYS_STATE_LINK_UP;
}

/**
 * ilp_find_pkey - the first entry of the port's table in this partition
 * @p: the port
 * @pkey: full or limited member
 *
 * Return: its index, or -1.
 */
int ilp_find_pkey(const struct ilp_port *p, u16 pkey)
{
	int i;

	if (!(pkey & 0x7fff))
		return -1;
	for (i = 0; i < ILP_PKEYS; i++)
		if (!((READ_ONCE(p->pkey[i]) ^ pkey) & 0x7fff))
			return i;
	return -1;
}

/**
 * ilp_sent - count a message
 * @p: the port that it left through
 * @bytes: its payload
 */
void ilp_sent(struct ilp_port *p, u32 bytes)
{
	atomic64_inc(&p->count.xmit);
	atomic64_add(bytes, &p->count.xmit_bytes);
}

/**
 * ilp_received - count a message
 * @p: the port that it arrived at
 * @bytes: its payload
 */
void ilp_received(struct ilp_port *p, u32 bytes)
{
	atomic64_inc(&p->count.rcv);
	atomic64_add(bytes, &p->count.rcv_bytes);
}

/* ---- What rdmavt asks --------------------------------------------------- */

static int query_port(struct rvt_dev_info *rdi, u32 num, struct ib_port_attr *a)
{
	struct ilp_port *p = to_port(rdi->ports[num - 1]);
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	a->lid = p->lid;
	a->lmc = p->lmc;
	a->state = p->state;
	a->phys_state = p->phys;
	a->active_mtu = p->mtu;
	spin_unlock_irqrestore(&p->lock, flags);
	a->gid_tbl_len = ILP_GUIDS;
	a->max_mtu = ILP_MTU;
	a->max_vl_num = 1;
	a->active_width = IB_WIDTH_4X;
	a->active_speed = IB_SPEED_QDR;
	return 0;
}

static int shut_down_port(struct rvt_dev_info *rdi, u32 num)
{
	ilp_set_link(to_port(rdi->ports[num - 1]), false);
	return 0;
}

static void cap_mask_changed(struct rvt_dev_info *rdi, u32 num)
{
}

static int get_guid(struct rvt_dev_info *rdi, struct rvt_ibport *rvp, int idx,
		    __be64 *guid)
{
	if (idx < 0 || idx >= ILP_GUIDS)
		return -EINVAL;
	*guid = READ_ONCE(to_port(rvp)->guid[idx]);
	return 0;
}

/**
 * ilp_port_ops - fill in rdmavt's callbacks about ports
 * @f: the callbacks
 */
void ilp_port_ops(struct rvt_driver_provided *f)
{
	f->query_port_state = query_port;
	f->shut_down_port = shut_down_port;
	f->cap_mask_chg = cap_mask_changed;
	f->get_guid_be = get_guid;
}

/**
 * ilp_init_port - a port as it comes out of reset, with the cable plugged in
 * @d: its device
 * @i: from 0
 */
void ilp_init_port(struct ilp_dev *d, int i)
{
	struct ilp_port *p = &d->port[i];
	int k;

	p->dev = d;
	p->num = i + 1;
	spin_lock_init(&p->lock);
	spin_lock_init(&p->rvp.lock);
	p->rvp.mcast_tree = RB_ROOT;
	RCU_INIT_POINTER(p->rvp.qp[0], NULL);
	RCU_INIT_POINTER(p->rvp.qp[1], NULL);
	p->rvp.gid_prefix = cpu_to_be64(DEFAULT_GID_PREFIX);
	p->rvp.port_cap_flags = IB_PORT_SYS_IMAGE_GUID_SUP |
				IB_PORT_CLIENT_REG_SUP |
				IB_PORT_CAP_MASK_NOTICE_SUP;
	p->state = IB_PORT_INIT;
	p->phys = IB_PORT_PHYS_STATE_LINK_UP;
	p->mtu = IB_MTU_2048;
	p->vls = 1;
	p->guid[0] = cpu_to_be64(be64_to_cpu(d->node_guid) + i + 1);
	p->pkey[0] = IB_DEFAULT_PKEY_FULL;
	for (k = 0; k < ILP_VL_ARB; k++)
		p->vl_arb[k][1] = 64; /* the weight of VL 0 */
	rvt_init_port(&d->rdi, &p->rvp, i, p->pkey);
}
