"""The benchmark task on ns-3: datagrams instead of posted writes, over three nodes in a row.

The middle node forwards the datagrams. The wires have the rate of Gen3 x16, and the sender does not
exceed this rate. ns-3 has no credits and no Acks, and its payload is zeros, so that ns-3 does less
work for a packet than Peerlane. As a program, this module writes its result as JSON.
"""

from __future__ import annotations

import json
import sys
import time

from ns import ns

from peerlane.benchmark.peers.measured import PAYLOAD, measured

RATE = "126Gbps"
"""The rate of Gen3 x16: 8 GT/s on each lane, 128b/130b."""
OVERHEAD = 30
"""The bytes of a datagram in addition to its payload: UDP, IPv4 and PPP headers."""
PORT = 9


def run(tlps: int) -> float:
    """Moves all datagrams, counts their bytes, and returns the wall time in seconds."""
    nodes = ns.NodeContainer()
    nodes.Create(3)
    wire = ns.PointToPointHelper()
    wire.SetDeviceAttribute("DataRate", ns.StringValue(RATE))
    wire.SetChannelAttribute("Delay", ns.StringValue("1ns"))
    ns.InternetStackHelper().Install(nodes)
    addresses = ns.Ipv4AddressHelper()
    for number in range(2):
        pair = wire.Install(nodes.Get(number), nodes.Get(number + 1))
        addresses.SetBase(ns.Ipv4Address(f"10.1.{number}.0"), ns.Ipv4Mask("255.255.255.0"))
        interfaces = addresses.Assign(pair)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    target = ns.InetSocketAddress(interfaces.GetAddress(1), PORT).ConvertTo()
    sinks = ns.PacketSinkHelper("ns3::UdpSocketFactory", target).Install(nodes.Get(2))
    sender = ns.OnOffHelper("ns3::UdpSocketFactory", target)
    sender.SetConstantRate(ns.DataRate(f"{126 * PAYLOAD // (PAYLOAD + OVERHEAD)}Gbps"), PAYLOAD)
    sender.SetAttribute("MaxBytes", ns.UintegerValue(tlps * PAYLOAD))
    sender.Install(nodes.Get(0))
    begin = time.perf_counter()
    ns.Simulator.Run()
    wall = time.perf_counter() - begin
    got = sinks.Get(0).GetTotalRx()
    assert got == tlps * PAYLOAD, f"{got} bytes arrived"  # noqa: S101 - the job's own check
    return wall


if __name__ == "__main__":
    count = int(sys.argv[1])
    print(json.dumps(measured("ns3", count, run(count))))
