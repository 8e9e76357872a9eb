// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA devices: which there are, which channels are on them, which addresses
 * they serve, and their removal.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/ip_fib.h>
#include <net/route.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "sdp.h"

/*
 * Protects sdp_devices, sdp_sock.listen_entry and sdp_sock.listen_ids. Taken
 * under the socket lock; the device's own lock may be taken inside.
 */
DEFINE_MUTEX(sdp_listen_mutex);
LIST_HEAD(sdp_devices);

/* ---- Devices ------------------------------------------------------------ */

static bool has_ib_cm(struct ib_device *ib)
{
	u32 port;

	rdma_for_each_port(ib, port)
		if (rdma_cap_ib_cm(ib, port))
			return true;
	return false;
}

static int add_device(struct ib_device *ib)
{
	struct sdp_device *device;
	int err;

	if (!has_ib_cm(ib)) {
		pr_info("%s has no InfiniBand connection manager, skipped\n",
			dev_name(&ib->dev));
		sdp_count_net(&init_net, DEVICES_SKIPPED);
		return -EOPNOTSUPP;
	}
	device = kzalloc(sizeof(*device), GFP_KERNEL);
	if (!device)
		return -ENOMEM;
	device->ib = ib;
	spin_lock_init(&device->lock);
	INIT_LIST_HEAD(&device->channels);
	init_waitqueue_head(&device->empty);
	xa_init_flags(&device->qps, XA_FLAGS_LOCK_BH);
	ib_set_client_data(ib, &sdp_client, device);

	mutex_lock(&sdp_listen_mutex);
	list_add_tail(&device->entry, &sdp_devices);
	err = sdp_listen_device(device);
	mutex_unlock(&sdp_listen_mutex);
	if (err)
		pr_warn("%s: some listeners could not be added: %d\n",
			dev_name(&ib->dev), err);
	return 0;
}

/* Tell every channel; return whether there is none. */
static bool no_channels(struct sdp_device *device)
{
	bool empty;

	spin_lock_bh(&device->lock);
	empty = list_empty(&device->channels);
	spin_unlock_bh(&device->lock);
	return empty;
}

/*
 * When this returns no CM id, QP or CQ of ours is left on the device: ib_cm
 * and the device's driver rely on it.
 */
static void remove_device(struct ib_device *ib, void *data)
{
	struct sdp_device *device = data;
	struct sdp_channel *ch;

	if (!device)
		return;
	mutex_lock(&sdp_listen_mutex);
	list_del(&device->entry);
	sdp_unlisten_device(device);
	mutex_unlock(&sdp_listen_mutex);

	spin_lock_bh(&device->lock);
	device->gone = true;
	list_for_each_entry(ch, &device->channels, device_entry)
		sdp_channel_event(ch, SDP_EV_GONE);
	spin_unlock_bh(&device->lock);
	wait_event(device->empty, no_channels(device));
	/* The last channel's waker may still hold the lock. */
	spin_lock_bh(&device->lock);
	spin_unlock_bh(&device->lock);

	sdp_count_net(&init_net, DEVICE_REMOVALS);
	xa_destroy(&device->qps);
	/* A REQ's handler may have found the device before. */
	ib_set_client_data(ib, &sdp_client, NULL);
	kfree_rcu(device, rcu);
}

struct ib_client sdp_client = {
	.name	= KBUILD_MODNAME,
	.add	= add_device,
	.remove	= remove_device,
};

/**
 * sdp_device_init - find the devices; part of module init
 *
 * Return: 0 or a negative errno.
 */
int sdp_device_init(void)
{
	return ib_register_client(&sdp_client);
}

/**
 * sdp_device_exit - give all devices up; part of module exit
 */
void sdp_device_exit(void)
{
	ib_unregister_client(&sdp_client);
}

/**
 * sdp_device_attach - put a channel on a device
 * @ch: without a device
 * @ib: cannot go away during the call
 *
 * Context: process. Return: 0, or -ENODEV if the device is being removed.
 */
int sdp_device_attach(struct sdp_channel *ch, struct ib_device *ib)
{
	struct sdp_device *device;
	int err = -ENODEV;

	rcu_read_lock();
	device = ib_get_client_data(ib, &sdp_client);
	if (!device)
		goto out;
	spin_lock_bh(&device->lock);
	if (!device->gone) {
		ch->device = device;
		list_add_tail(&ch->device_entry, &device->channels);
		err = 0;
	}
	spin_unlock_bh(&device->lock);
out:
	rcu_read_unlock();
	return err;
}

/**
 * sdp_device_detach - the channel has nothing on its device any more
 * @ch: the channel, may be without a device
 *
 * Context: process.
 */
void sdp_device_detach(struct sdp_channel *ch)
{
	struct sdp_device *device = ch->device;

	if (!device)
		return;
	spin_lock_bh(&device->lock);
	list_del_init(&ch->device_entry);
	ch->device = NULL;
	if (device->gone && list_empty(&device->channels))
		wake_up(&device->empty);
	spin_unlock_bh(&device->lock);
}

/* ---- Addresses ---------------------------------------------------------- */

static __be32 wire_ipv4(const u8 *ip)
{
	__be32 addr;

	memcpy(&addr, ip + 12, sizeof(addr));
	return addr;
}

static struct net_device *roce_netdev(const struct ib_gid_attr *attr)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(ndev))
		ndev = NULL;
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

/**
 * sdp_req_netdev - the netdev that a REQ came in on
 * @event: the REQ
 * @peer: its Hello
 *
 * Context: process. Return: the netdev, held, or NULL.
 */
struct net_device *sdp_req_netdev(const struct ib_cm_event *event,
				  const struct sdp_params *peer)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	struct ib_device *ib = req->listen_id->device;
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = wire_ipv4(peer->dst_ip),
	};

	if (rdma_protocol_roce(ib, req->port))
		return req->ppath_sgid_attr ?
		       roce_netdev(req->ppath_sgid_attr) : NULL;
	return ib_get_net_dev_by_params(ib, req->port,
					be16_to_cpu(req->primary_path->pkey),
					&req->primary_path->sgid,
					(struct sockaddr *)&addr);
}

/* Does the route to @remote, from @local, lead out of @ndev? */
static bool routes_through(struct net_device *ndev, __be32 local, __be32 remote)
{
	struct flowi4 fl4 = {
		.flowi4_oif	= ndev->ifindex,
		.daddr		= remote,
		.saddr		= local,
	};
	struct fib_result res;
	bool ok;

	rcu_read_lock();
	ok = !fib_lookup(dev_net(ndev), &fl4, &res, 0) &&
	     FIB_RES_DEV(res) == ndev;
	rcu_read_unlock();
	return ok;
}

static bool gid_is(const union ib_gid *gid, __be32 addr)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid) &&
	       !memcmp(gid->raw + 12, &addr, sizeof(addr));
}

/**
 * sdp_req_addresses_valid - may the peer use these addresses on this netdev?
 * @event: the REQ
 * @ndev: the netdev it came in on
 * @peer: its Hello
 *
 * DstIP has to be an address of the netdev, SrcIP has to route back through it,
 * and on RoCE the GIDs have to be the addresses.
 *
 * Context: process.
 */
bool sdp_req_addresses_valid(const struct ib_cm_event *event,
			     struct net_device *ndev,
			     const struct sdp_params *peer)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	__be32 local = wire_ipv4(peer->dst_ip);
	__be32 remote = wire_ipv4(peer->src_ip);

	if (ipv4_is_multicast(remote) || ipv4_is_lbcast(remote) ||
	    ipv4_is_zeronet(remote) || ipv4_is_loopback(remote) ||
	    ipv4_is_loopback(local) || ipv4_is_zeronet(local))
		return false;
	if (!(READ_ONCE(ndev->flags) & IFF_UP))
		return false;
	if (inet_addr_type_dev_table(dev_net(ndev), ndev, local) != RTN_LOCAL)
		return false;
	if (rdma_protocol_roce(req->listen_id->device, req->port) &&
	    (!gid_is(&req->primary_path->sgid, local) ||
	     !gid_is(&req->primary_path->dgid, remote)))
		return false;
	return routes_through(ndev, local, remote);
}

/**
 * sdp_req_loopback_net - whose loopback address is in this REQ's Hello?
 * @event: the REQ
 *
 * Only a QP of ours, on the device that the REQ came in on, may use loopback
 * names; it means its own namespace.
 *
 * Context: process. Return: the namespace, held by get_net(), or NULL.
 */
struct net *sdp_req_loopback_net(const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	struct ib_device *ib = req->listen_id->device;
	struct sdp_device *device;
	struct net *net = NULL;
	struct sdp_channel *ch;

	if (req->remote_ca_guid != ib->node_guid)
		return NULL;
	rcu_read_lock();
	device = ib_get_client_data(ib, &sdp_client);
	if (device) {
		xa_lock_bh(&device->qps);
		ch = xa_load(&device->qps, req->remote_qpn);
		if (ch)
			net = maybe_get_net(sock_net(ch->sk));
		xa_unlock_bh(&device->qps);
	}
	rcu_read_unlock();
	return net;
}

/* An address of a port's RoCE GIDs in @net. */
static bool pick_roce(struct net *net, struct ib_device *ib, u32 port,
		      __be32 *addr)
{
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	bool found = false;
	int i;

	for (i = 0; i < ib->port_data[port].immutable.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(ib, port, i);
		if (IS_ERR(attr))
			continue;
		if (ipv6_addr_v4mapped((struct in6_addr *)&attr->gid)) {
			ndev = roce_netdev(attr);
			found = ndev && net_eq(dev_net(ndev), net) &&
				ndev->flags & IFF_UP;
			dev_put(ndev);
			if (found)
				memcpy(addr, attr->gid.raw + 12, sizeof(*addr));
		}
		rdma_put_gid_attr(attr);
		if (found)
			break;
	}
	return found;
}

static bool pick_ipoib(struct net *net, __be32 *addr)
{
	struct net_device *ndev;
	bool found = false;

	rcu_read_lock();
	for_each_netdev_rcu(net, ndev) {
		if (ndev->type != ARPHRD_INFINIBAND || !netif_running(ndev) ||
		    !netif_carrier_ok(ndev))
			continue;
		*addr = inet_select_addr(ndev, 0, RT_SCOPE_UNIVERSE);
		found = *addr;
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

/**
 * sdp_pick_address - an address of this namespace that RDMA can reach
 * @net: the namespace
 * @addr: receives the address
 *
 * Context: process. Return: false if there is none.
 */
bool sdp_pick_address(struct net *net, __be32 *addr)
{
	struct sdp_device *device;
	bool found = false;
	u32 port;

	mutex_lock(&sdp_listen_mutex);
	list_for_each_entry(device, &sdp_devices, entry) {
		rdma_for_each_port(device->ib, port) {
			if (!rdma_protocol_roce(device->ib, port))
				continue;
			found = pick_roce(net, device->ib, port, addr);
			if (found)
				goto out;
		}
	}
out:
	mutex_unlock(&sdp_listen_mutex);
	return found || pick_ipoib(net, addr);
}
