// SPDX-License-Identifier: GPL-2.0
/* The adapter as a whole: what it says of itself, and rdmavt's parameters. */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/random.h>
#include <linux/utsname.h>

#include "ib_loop.h"

#define CONNECTED	(BIT(IB_QPT_RC) | BIT(IB_QPT_UC))
#define ANY_QP		(CONNECTED | BIT(IB_QPT_UD) | BIT(IB_QPT_SMI) | \
			 BIT(IB_QPT_GSI))
#define MAX_QPS		131072
#define MAX_SGES	96
#define MAX_WRS		16383
#define LKEY_BITS	18	/* registrations, as a power of 2 */
#define QP_BUCKETS	32768
#define FAST_REG_PAGES	4096

/* What may be posted where, and the size that rdmavt copies. */
static const struct rvt_operation_params operations[RVT_OPERATION_MAX] = {
	[IB_WR_RDMA_WRITE] = { sizeof(struct ib_rdma_wr), CONNECTED },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { sizeof(struct ib_rdma_wr), CONNECTED },
	[IB_WR_RDMA_READ] = { sizeof(struct ib_rdma_wr), BIT(IB_QPT_RC),
			      RVT_OPERATION_ATOMIC },
	[IB_WR_ATOMIC_CMP_AND_SWP] = {
		sizeof(struct ib_atomic_wr), BIT(IB_QPT_RC),
		RVT_OPERATION_ATOMIC | RVT_OPERATION_ATOMIC_SGE },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = {
		sizeof(struct ib_atomic_wr), BIT(IB_QPT_RC),
		RVT_OPERATION_ATOMIC | RVT_OPERATION_ATOMIC_SGE },
	[IB_WR_SEND] = { sizeof(struct ib_send_wr), ANY_QP },
	[IB_WR_SEND_WITH_IMM] = { sizeof(struct ib_send_wr), ANY_QP },
	[IB_WR_SEND_WITH_INV] = { sizeof(struct ib_send_wr), BIT(IB_QPT_RC) },
	[IB_WR_REG_MR] = { sizeof(struct ib_reg_wr), CONNECTED,
			   RVT_OPERATION_LOCAL },
	[IB_WR_LOCAL_INV] = { sizeof(struct ib_send_wr), CONNECTED,
			      RVT_OPERATION_LOCAL },
};

static const enum ib_wc_opcode completions[] = {
	[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
	[IB_WR_SEND] = IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
	[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP] = IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD] = IB_WC_FETCH_ADD,
	[IB_WR_SEND_WITH_INV] = IB_WC_SEND,
	[IB_WR_LOCAL_INV] = IB_WC_LOCAL_INV,
	[IB_WR_REG_MR] = IB_WC_REG_MR,
};

/* ---- What the core and rdmavt ask --------------------------------------- */

static void get_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "1.0");
}

static int modify_device(struct ib_device *ibdev, int mask,
			 struct ib_device_modify *m)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, m->node_desc, IB_DEVICE_NODE_DESC_MAX);
	return 0;
}

static struct pci_dev *get_pci_dev(struct rvt_dev_info *rdi)
{
	return container_of(rdi, struct ilp_dev, rdi)->pdev;
}

static void notify_new_ah(struct ib_device *ibdev, struct rdma_ah_attr *attr,
			  struct rvt_ah *ah)
{
	ah->log_pmtu = ilog2(ib_mtu_enum_to_int(ILP_MTU));
}

static int comp_vect_cpu(struct rvt_dev_info *rdi, int vector)
{
	return cpumask_first(cpu_online_mask);
}

static const struct attribute_group *no_port_groups[] = { NULL };

static const struct ib_device_ops device_ops = {
	.owner = THIS_MODULE,
	/* rdmavt's user ABI; this id picks a provider of rdma-core for it */
	.driver_id = RDMA_DRIVER_HFI1,
	.port_groups = no_port_groups,
	.process_mad = ilp_process_mad,
	.modify_device = modify_device,
	/*
	 * No disassociate_ucontext: rdmavt's mmap release reads the user
	 * context after it is gone. Without it the core waits for user space.
	 */
	.get_dev_fw_str = get_fw_str,
};

/* ---- Setup -------------------------------------------------------------- */

static void set_attributes(struct ilp_dev *d)
{
	struct ib_device_attr *a = &d->rdi.dparms.props;

	a->device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR |
			      IB_DEVICE_BAD_QKEY_CNTR |
			      IB_DEVICE_SHUTDOWN_PORT |
			      IB_DEVICE_SYS_IMAGE_GUID |
			      IB_DEVICE_RC_RNR_NAK_GEN |
			      IB_DEVICE_PORT_ACTIVE_EVENT |
			      IB_DEVICE_SRQ_RESIZE |
			      IB_DEVICE_MEM_MGT_EXTENSIONS;
	a->vendor_id = 1;
	a->vendor_part_id = ILP_VENDOR_PART;
	a->hw_ver = 1;
	a->sys_image_guid = d->node_guid;
	a->page_size_cap = PAGE_SIZE;
	a->max_mr_size = U64_MAX;
	a->max_fast_reg_page_list_len = FAST_REG_PAGES;
	a->max_mr = (1 << LKEY_BITS) - 1;
	a->max_pd = MAX_QPS;
	a->max_ah = MAX_QPS;
	a->max_qp = MAX_QPS;
	a->max_qp_wr = MAX_WRS;
	a->max_send_sge = MAX_SGES;
	a->max_recv_sge = MAX_SGES;
	a->max_sge_rd = MAX_SGES;
	a->max_cq = 2 * MAX_QPS;
	a->max_cqe = 0x2ffff;
	a->max_qp_rd_atom = ILP_RD_ATOMIC;
	a->max_qp_init_rd_atom = ILP_RD_ATOMIC;
	a->max_srq = 1024;
	a->max_srq_wr = 0x1ffff;
	a->max_srq_sge = MAX_SGES;
	a->atomic_cap = IB_ATOMIC_GLOB;
	a->max_pkeys = ILP_PKEYS;
	a->max_mcast_grp = 16384;
	a->max_mcast_qp_attach = 16;
	a->max_total_mcast_qp_attach = a->max_mcast_grp *
				       a->max_mcast_qp_attach;
}

static void set_parameters(struct ilp_dev *d)
{
	struct rvt_driver_params *p = &d->rdi.dparms;

	p->lkey_table_size = LKEY_BITS;
	p->qp_table_size = QP_BUCKETS;
	p->qpn_start = 1;
	p->qpn_inc = 1;
	p->qos_shift = 1;
	p->qpn_res_start = RVT_KDETH_QP_BASE;
	p->qpn_res_end = RVT_KDETH_QP_BASE;
	p->psn_mask = 0xffffff;
	p->psn_shift = 8;
	p->psn_modify_mask = 0xffffff;
	p->nports = d->nports;
	p->npkeys = ILP_PKEYS;
	p->node = first_online_node;
	p->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	p->max_mad_size = IB_MGMT_MAD_SIZE;
	p->max_rdma_atomic = ILP_RD_ATOMIC;
	p->sge_copy_mode = RVT_SGE_COPY_MEMCPY;
}

static void set_callbacks(struct ilp_dev *d)
{
	struct rvt_driver_provided *f = &d->rdi.driver_f;

	d->rdi.post_parms = operations;
	d->rdi.wc_opcode = completions;
	f->get_pci_dev = get_pci_dev;
	f->notify_new_ah = notify_new_ah;
	f->comp_vect_cpu_lookup = comp_vect_cpu;
	ilp_port_ops(f);
	ilp_qp_ops(f);
}

static void set_identity(struct ilp_dev *d, unsigned int unit)
{
	struct ib_device *ibdev = &d->rdi.ibdev;

	/* locally administered; the ports' GUIDs follow the node's */
	d->node_guid = cpu_to_be64(0x0200000000000000ULL |
				   (get_random_u32() & ~0xfU));
	rvt_set_ibdev_name(&d->rdi, "%s%d", "ibl", unit);
	ibdev->node_guid = d->node_guid;
	ibdev->phys_port_cnt = d->nports;
	ibdev->dev.parent = &d->parent->dev;
	ibdev->num_comp_vectors = num_possible_cpus();
	snprintf(ibdev->node_desc, sizeof(ibdev->node_desc),
		 "%.32s ib_loop%u", init_utsname()->nodename, unit);
	ib_set_device_ops(ibdev, &device_ops);
}

/**
 * ilp_free - undo ilp_alloc()
 * @d: not registered, or not any more
 */
void ilp_free(struct ilp_dev *d)
{
	if (d->wq)
		destroy_workqueue(d->wq);
	if (!IS_ERR_OR_NULL(d->parent))
		platform_device_unregister(d->parent);
	kfree(d->pdev);
	rvt_dealloc_device(&d->rdi);
}

/**
 * ilp_alloc - an adapter that is ready to be registered
 * @unit: its number
 * @nports: how many ports it has
 *
 * Return: the adapter, or NULL.
 */
struct ilp_dev *ilp_alloc(unsigned int unit, int nports)
{
	struct rvt_dev_info *rdi;
	struct ilp_dev *d;
	int i;

	rdi = rvt_alloc_device(sizeof(*d), nports);
	if (!rdi)
		return NULL;
	d = container_of(rdi, struct ilp_dev, rdi);
	d->nports = nports;
	d->pdev = kzalloc(sizeof(*d->pdev), GFP_KERNEL);
	d->wq = alloc_workqueue("ib_loop%u", WQ_HIGHPRI | WQ_MEM_RECLAIM, 0,
				unit);
	d->parent = platform_device_register_simple("ib_loop", unit, NULL, 0);
	if (!d->pdev || !d->wq || IS_ERR(d->parent)) {
		ilp_free(d);
		return NULL;
	}
	d->pdev->dev.init_name = "ib_loop";
	set_identity(d, unit);
	set_attributes(d);
	set_parameters(d);
	set_callbacks(d);
	ilp_mr_init(d);
	for (i = 0; i < nports; i++)
		ilp_init_port(d, i);
	return d;
}
