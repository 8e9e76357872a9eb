// SPDX-License-Identifier: GPL-2.0
/*
 * Subnet management: the attributes of node and ports that a subnet manager
 * reads and sets. M_Keys are stored and not checked.
 */
#include "ib_loop.h"

#define NODE_TYPE_CA	1
#define PHYS_POLLING	2
#define PHYS_DISABLED	3
#define WIDTHS		3	/* 1X and 4X */
#define SPEEDS		7	/* SDR, DDR and QDR */
#define SMP_BAD_VALUE	IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE
#define REREGISTER	0x80

/**
 * struct smp_access - one Get or Set
 * @d: the adapter
 * @in: the port that it arrived at
 * @mod: the attribute modifier
 * @set: it is a Set
 * @req: what is to be set
 * @rsp: the answer's data; zero to start with
 */
struct smp_access {
	struct ilp_dev *d;
	struct ilp_port *in;
	u32 mod;
	bool set;
	const u8 *req;
	u8 *rsp;
};

static u16 node_desc(const struct smp_access *a)
{
	memcpy(a->rsp, a->d->rdi.ibdev.node_desc, IB_SMP_DATA_SIZE);
	return 0;
}

static u16 node_info(const struct smp_access *a)
{
	struct ib_node_info *ni = (void *)a->rsp;

	ni->base_version = IB_MGMT_BASE_VERSION;
	ni->class_version = 1;
	ni->node_type = NODE_TYPE_CA;
	ni->num_ports = a->d->nports;
	ni->sys_guid = a->d->node_guid;
	ni->node_guid = a->d->node_guid;
	ni->port_guid = a->in->guid[0];
	ni->partition_cap = cpu_to_be16(ILP_PKEYS);
	ni->device_id = cpu_to_be16(ILP_VENDOR_PART);
	ni->revision = cpu_to_be32(1);
	ni->local_port_num = a->in->num;
	ni->vendor_id[2] = 1;
	return 0;
}

/* ---- PortInfo ----------------------------------------------------------- */

static void get_port_info(struct ilp_port *p, struct ilp_port *in,
			  struct ib_port_info *pi)
{
	struct rvt_ibport *r = &p->rvp;

	spin_lock_irq(&p->lock);
	pi->mkey = r->mkey;
	pi->gid_prefix = r->gid_prefix;
	pi->lid = cpu_to_be16(p->lid);
	pi->sm_lid = cpu_to_be16(r->sm_lid);
	pi->cap_mask = cpu_to_be32(r->port_cap_flags);
	pi->mkey_lease_period = cpu_to_be16(r->mkey_lease_period);
	pi->local_port_num = in->num;
	pi->link_width_enabled = WIDTHS;
	pi->link_width_supported = WIDTHS;
	pi->link_width_active = IB_WIDTH_4X;
	pi->linkspeed_portstate = SPEEDS << 4 | p->state;
	pi->portphysstate_linkdown = p->phys << 4 | PHYS_POLLING;
	pi->mkeyprot_resv_lmc = r->mkeyprot << 6 | p->lmc;
	pi->linkspeedactive_enabled = IB_SPEED_QDR << 4 | SPEEDS;
	pi->neighbormtu_mastersmsl = p->mtu << 4 | r->sm_sl;
	pi->vlcap_inittype = 1 << 4; /* VL 0 only */
	pi->vl_high_limit = r->vl_high_limit;
	pi->vl_arb_high_cap = 8;
	pi->vl_arb_low_cap = 8;
	pi->inittypereply_mtucap = ILP_MTU;
	pi->vlstallcnt_hoqlife = p->hoq;
	pi->operationalvl_pei_peo_fpi_fpo = p->vls << 4 | p->enforce;
	pi->mkey_violations = cpu_to_be16(r->mkey_violations);
	pi->pkey_violations = cpu_to_be16(r->pkey_violations);
	pi->qkey_violations = cpu_to_be16(r->qkey_violations);
	pi->guid_cap = ILP_GUIDS;
	pi->clientrereg_resv_subnetto = r->subnet_timeout;
	pi->resv_resptimevalue = 16;
	pi->localphyerrors_overrunerrors = p->errs;
	spin_unlock_irq(&p->lock);
}

/* What a Set of PortInfo changed, for the events. */
enum {
	LID_CHANGED	= BIT(0),
	SM_CHANGED	= BIT(1),
	GID_CHANGED	= BIT(2),
	ACTIVATED	= BIT(3),
};

/* Everything but the states; with the port's lock. */
static unsigned int store_port_info(struct ilp_port *p,
				    const struct ib_port_info *pi)
{
	u8 lmc = pi->mkeyprot_resv_lmc & 7, mtu = pi->neighbormtu_mastersmsl >> 4;
	u8 sm_sl = pi->neighbormtu_mastersmsl & 15;
	u16 lid = be16_to_cpu(pi->lid), sm_lid = be16_to_cpu(pi->sm_lid);
	struct rvt_ibport *r = &p->rvp;
	unsigned int changed = 0;

	if (lid && (lid != p->lid || lmc != p->lmc))
		changed |= LID_CHANGED;
	if (sm_lid != r->sm_lid || sm_sl != r->sm_sl)
		changed |= SM_CHANGED;
	if (pi->gid_prefix != r->gid_prefix)
		changed |= GID_CHANGED;
	r->mkey = pi->mkey;
	r->gid_prefix = pi->gid_prefix;
	r->mkey_lease_period = be16_to_cpu(pi->mkey_lease_period);
	r->mkeyprot = pi->mkeyprot_resv_lmc >> 6;
	if (lid) {
		WRITE_ONCE(p->lmc, lmc);
		WRITE_ONCE(p->lid, lid);
	}
	r->sm_lid = sm_lid;
	r->sm_sl = sm_sl;
	r->vl_high_limit = pi->vl_high_limit;
	r->subnet_timeout = pi->clientrereg_resv_subnetto & 31;
	if (mtu)
		p->mtu = min_t(u8, mtu, ILP_MTU);
	p->hoq = pi->vlstallcnt_hoqlife;
	if (pi->operationalvl_pei_peo_fpi_fpo >> 4)
		p->vls = pi->operationalvl_pei_peo_fpi_fpo >> 4;
	p->enforce = pi->operationalvl_pei_peo_fpi_fpo & 15;
	p->errs = pi->localphyerrors_overrunerrors;
	return changed;
}

/*
 * The states that a subnet manager may ask for; with the port's lock. DOWN is
 * not done here: it concerns both ends of the cable.
 */
static u16 store_state(struct ilp_port *p, u8 state, unsigned int *changed)
{
	switch (state) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		return 0;
	case IB_PORT_ARMED:
		if (p->state != IB_PORT_INIT && p->state != IB_PORT_ARMED)
			return SMP_BAD_VALUE;
		WRITE_ONCE(p->state, IB_PORT_ARMED);
		return 0;
	case IB_PORT_ACTIVE:
		if (p->state == IB_PORT_ACTIVE)
			return 0;
		if (p->state != IB_PORT_ARMED)
			return SMP_BAD_VALUE;
		WRITE_ONCE(p->state, IB_PORT_ACTIVE);
		*changed |= ACTIVATED;
		return 0;
	default:
		return SMP_BAD_VALUE;
	}
}

static u16 set_port_info(struct ilp_port *p, const struct ib_port_info *pi)
{
	u8 state = pi->linkspeed_portstate & 15;
	unsigned int changed;
	u16 status;

	if (be16_to_cpu(pi->lid) >= ILP_LID_MULTICAST ||
	    be16_to_cpu(pi->sm_lid) >= ILP_LID_MULTICAST)
		return SMP_BAD_VALUE;
	spin_lock_irq(&p->lock);
	changed = store_port_info(p, pi);
	status = store_state(p, state, &changed);
	spin_unlock_irq(&p->lock);
	/* Unless it is disabled the link trains again: the cable is there. */
	if (state == IB_PORT_DOWN)
		ilp_set_link(p, pi->portphysstate_linkdown >> 4 != PHYS_DISABLED);

	if (changed & GID_CHANGED)
		ilp_event(p, IB_EVENT_GID_CHANGE);
	if (changed & LID_CHANGED)
		ilp_event(p, IB_EVENT_LID_CHANGE);
	if (changed & SM_CHANGED)
		ilp_event(p, IB_EVENT_SM_CHANGE);
	if (changed & ACTIVATED)
		ilp_event(p, IB_EVENT_PORT_ACTIVE);
	if (pi->clientrereg_resv_subnetto & REREGISTER)
		ilp_event(p, IB_EVENT_CLIENT_REREGISTER);
	return status;
}

static u16 port_info(const struct smp_access *a)
{
	const struct ib_port_info *req = (const void *)a->req;
	struct ib_port_info *rsp = (void *)a->rsp;
	struct ilp_port *p = a->in;
	u8 num = a->mod;
	u16 status = 0;

	if (num > a->d->nports)
		return SMP_BAD_VALUE;
	if (num)
		p = &a->d->port[num - 1];
	if (a->set)
		status = set_port_info(p, req);
	get_port_info(p, a->in, rsp);
	if (a->set) /* echoing it acknowledges it */
		rsp->clientrereg_resv_subnetto |=
			req->clientrereg_resv_subnetto & REREGISTER;
	return status;
}

/* ---- Tables ------------------------------------------------------------- */

static u16 guid_info(const struct smp_access *a)
{
	const __be64 *req = (const void *)a->req;
	struct ilp_port *p = a->in;
	int i;

	if (a->mod)
		return SMP_BAD_VALUE; /* there is one block */
	if (a->set) {
		for (i = 1; i < ILP_GUIDS; i++) /* 0 is read-only */
			WRITE_ONCE(p->guid[i], req[i]);
		ilp_event(p, IB_EVENT_GID_CHANGE);
	}
	memcpy(a->rsp, p->guid, sizeof(p->guid));
	return 0;
}

static u16 pkey_table(const struct smp_access *a)
{
	const __be16 *req = (const void *)a->req;
	__be16 *rsp = (__be16 *)a->rsp;
	struct ilp_port *p = a->in;
	bool changed = false;
	int i;

	if (a->mod & 0xffff)
		return SMP_BAD_VALUE; /* there is one block */
	if (a->set) {
		for (i = 0; i < ILP_PKEYS; i++) {
			changed |= p->pkey[i] != be16_to_cpu(req[i]);
			WRITE_ONCE(p->pkey[i], be16_to_cpu(req[i]));
		}
		if (changed)
			ilp_event(p, IB_EVENT_PKEY_CHANGE);
	}
	for (i = 0; i < ILP_PKEYS; i++)
		rsp[i] = cpu_to_be16(p->pkey[i]);
	return 0;
}

static u16 stored(const struct smp_access *a, u8 *table, size_t size)
{
	if (a->set)
		memcpy(table, a->req, size);
	memcpy(a->rsp, table, size);
	return 0;
}

static u16 vl_arbitration(const struct smp_access *a)
{
	u32 i = a->mod >> 16;

	if (!i || i > ILP_VL_ARB)
		return SMP_BAD_VALUE;
	return stored(a, a->in->vl_arb[i - 1], IB_SMP_DATA_SIZE);
}

static u16 access_attribute(const struct smp_access *a, __be16 attr_id)
{
	switch (attr_id) {
	case IB_SMP_ATTR_NODE_DESC:
		return node_desc(a);
	case IB_SMP_ATTR_NODE_INFO:
		return node_info(a);
	case IB_SMP_ATTR_PORT_INFO:
		return port_info(a);
	case IB_SMP_ATTR_GUID_INFO:
		return guid_info(a);
	case IB_SMP_ATTR_PKEY_TABLE:
		return pkey_table(a);
	case IB_SMP_ATTR_SL_TO_VL_TABLE:
		return stored(a, a->in->sl2vl, sizeof(a->in->sl2vl));
	case IB_SMP_ATTR_VL_ARB_TABLE:
		return vl_arbitration(a);
	default:
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}
}

/**
 * ilp_smp - answer a subnet management packet
 * @d: the adapter
 * @in: the port that it arrived at
 * @req: the packet
 * @rsp: receives the answer
 *
 * Return: flags of enum ib_mad_result.
 */
int ilp_smp(struct ilp_dev *d, struct ilp_port *in, const struct ib_smp *req,
	    struct ib_smp *rsp)
{
	struct smp_access a = {
		.d = d,
		.in = in,
		.mod = be32_to_cpu(req->attr_mod),
		.set = req->method == IB_MGMT_METHOD_SET,
		.req = req->data,
		.rsp = rsp->data,
	};
	u16 status;

	/* Traps, answers and SMInfo are for the agents above. */
	if ((req->method != IB_MGMT_METHOD_GET && !a.set) ||
	    req->attr_id == IB_SMP_ATTR_SM_INFO)
		return IB_MAD_RESULT_SUCCESS;
	*rsp = *req;
	memset(rsp->data, 0, sizeof(rsp->data));
	rsp->method = IB_MGMT_METHOD_GET_RESP;
	if (req->class_version != 1)
		status = IB_MGMT_MAD_STATUS_BAD_VERSION;
	else
		status = access_attribute(&a, req->attr_id);
	rsp->status |= cpu_to_be16(status);
	if (req->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		rsp->status |= IB_SMP_DIRECTION;
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
