// SPDX-License-Identifier: GPL-2.0
/* Management datagrams for the adapter itself, and the port counters. */
#include <rdma/ib_pma.h>

#include "ib_loop.h"

static __be32 count32(const atomic64_t *v, int div)
{
	/* these counters stay at their maximum */
	return cpu_to_be32(min_t(u64, atomic64_read(v) / div, U32_MAX));
}

static void get_class_info(u8 *data)
{
	struct ib_class_port_info *ci = (void *)data;

	memset(data, 0, sizeof(*ci));
	ci->base_version = IB_MGMT_BASE_VERSION;
	ci->class_version = 1;
	ci->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
}

static void get_counters(struct ilp_counters *n, u8 *data)
{
	struct ib_pma_portcounters *c = (void *)data;
	u8 port = c->port_select;

	memset(c, 0, sizeof(*c));
	c->port_select = port;
	c->port_xmit_packets = count32(&n->xmit, 1);
	c->port_rcv_packets = count32(&n->rcv, 1);
	c->port_xmit_data = count32(&n->xmit_bytes, 4);
	c->port_rcv_data = count32(&n->rcv_bytes, 4);
	c->port_rcv_errors = cpu_to_be16(min_t(u64, atomic64_read(&n->drops),
					       U16_MAX));
}

static void get_counters_ext(struct ilp_counters *n, u8 *data)
{
	struct ib_pma_portcounters_ext *c = (void *)data;
	u8 port = c->port_select;

	memset(c, 0, sizeof(*c));
	c->port_select = port;
	c->port_xmit_packets = cpu_to_be64(atomic64_read(&n->xmit));
	c->port_rcv_packets = cpu_to_be64(atomic64_read(&n->rcv));
	c->port_xmit_data = cpu_to_be64(atomic64_read(&n->xmit_bytes) / 4);
	c->port_rcv_data = cpu_to_be64(atomic64_read(&n->rcv_bytes) / 4);
}

/* Set of a counter clears it; all of them, whatever is selected. */
static void clear_counters(struct ilp_counters *n)
{
	atomic64_set(&n->xmit, 0);
	atomic64_set(&n->rcv, 0);
	atomic64_set(&n->xmit_bytes, 0);
	atomic64_set(&n->rcv_bytes, 0);
	atomic64_set(&n->drops, 0);
}

static int performance(struct ilp_dev *d, struct ilp_port *in,
		       const struct ib_mad *req, struct ib_mad *rsp)
{
	u8 *data = ((struct ib_pma_mad *)rsp)->data;
	bool set = req->mad_hdr.method == IB_MGMT_METHOD_SET;
	u8 port = ((const struct ib_pma_mad *)req)->data[1]; /* PortSelect */
	struct ilp_counters *n = &in->count;
	u16 status = 0;

	if (req->mad_hdr.method != IB_MGMT_METHOD_GET && !set)
		return IB_MAD_RESULT_SUCCESS; /* for the agents above */
	*rsp = *req;
	rsp->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	switch (req->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		get_class_info(data);
		break;
	case IB_PMA_PORT_COUNTERS:
	case IB_PMA_PORT_COUNTERS_EXT:
		if (!port || port > d->nports) {
			status = IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
			break;
		}
		n = &d->port[port - 1].count;
		if (set)
			clear_counters(n);
		if (req->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS)
			get_counters(n, data);
		else
			get_counters_ext(n, data);
		break;
	default:
		status = IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}
	rsp->mad_hdr.status = cpu_to_be16(status);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

/**
 * ilp_process_mad - answer a management datagram that is for the adapter
 * @ibdev: the adapter
 * @flags: unused, there is no M_Key to be ignored
 * @port_num: the port that it arrived at
 * @wc: unused
 * @grh: unused
 * @in: the datagram
 * @out: receives the answer
 * @out_size: unused, an answer has the size of @in
 * @out_pkey_index: unused, an answer goes back in the partition of @in
 *
 * Return: IB_MAD_RESULT_SUCCESS leaves it to the agents above.
 */
int ilp_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		    const struct ib_wc *wc, const struct ib_grh *grh,
		    const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index)
{
	struct ilp_dev *d = to_ilp(ibdev);
	struct ilp_port *p = &d->port[port_num - 1];

	switch (in->mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
		return ilp_smp(d, p, (const struct ib_smp *)in,
			       (struct ib_smp *)out);
	case IB_MGMT_CLASS_PERF_MGMT:
		return performance(d, p, in, out);
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}
