"""The keys of every section and device model, for type checkers and editors.

Generated from the catalogue of parameters by `make generate`; the keys are in one file, however
long, because nobody writes or reads it as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar, overload

if TYPE_CHECKING:
    from typing import Literal, Unpack

    from peerlane.fabric.settings import (
        Count,
        Flag,
        Quantity,
        Rate,
        Ratio,
        Requests,
        Setting,
        Size,
        Text,
    )
    from peerlane.models.device import Device as Model
    from peerlane.models.loading import Library


class Links(TypedDict, total=False):
    """Keys of links, upstream."""

    generation: Text
    """Generation, 1 to 5; or the speed, '2.5 GT/s' to '32 GT/s', with '20 GT/s' and '25 GT/s'
    in CCIX's extended speed mode, which registers show as generation 4. (default 3)"""
    lanes: Text
    """Width: 1, 2, 4, 8, 12, 16 or 32 lanes. (default 16)"""
    delay: Quantity
    """Time of flight from one end to the other. (ns; default 1 ns)"""
    bit_error_rate: Ratio
    """Probability that a bit arrives wrong, in each direction. (default 0)"""
    sris: Flag
    """Whether the two ends have separate reference clocks with independent spread spectrum
    clocking (SRIS): SKP ordered sets come ten times as often, and Slot Clock Configuration
    is clear. (default false)"""
    spread_spectrum: Flag
    """Whether spread spectrum clocking modulates the reference clocks: the frequency falls by
    0.5 % and rises again, some 31,500 times a second. The link has the mean rate, a quarter
    of a percent below the nominal one. (default true)"""
    fails_at: Quantity
    """Time from the start of the run until the link fails, if ever; a failed link delivers
    nothing and does not come up again. A switch below the failed link is reset, and the
    links below this switch fail as well. A device below the failed link is not reset, and
    all that it sends is lost. (ns; default none)"""
    tc_vc_map: Text
    """Virtual channel of each traffic class, on both ends, such as 'TC0-5: VC0, TC6-7: VC1';
    'TC7: none' for a class that the link does not carry, whose packets are malformed. None
    leaves all classes on VC0. (default none)"""
    arbitration_weight: Count
    """Packets that this link may send in a row through an upper port that it shares with
    others (weighted round robin). (default 1)"""


class Upstream(Links, total=False):
    """Keys of upstream."""

    port: Count
    """The number of its downstream port, from 0. (default the next free one)"""
    socket: Count
    """The socket of the host above that the port belongs to. (default 0)"""
    quadrant: Count
    """The quadrant of the socket that the port belongs to. By default the linked ports of a
    socket, in order of their numbers, are in quadrants 0, 1 and so on, and again from 0.
    (default the next one in turn)"""


class Repeated(TypedDict, total=False):
    """Keys of all tables with names, and of lists."""

    each: Text
    """Repeats the table for each value of a variable, such as 'i = 0..511' (both ends count),
    or of several, such as 'p = 0..3, i = 0..63'. The name and the texts of the table have
    expressions of whole numbers in braces: 'ep{i}', 'sw{i / 64}', 'h{(i + 1) % 16}'. A text
    that is one expression alone is a number. (default one table)"""


class Port(Repeated, total=False):
    """Keys of hosts, io_ports, switches, devices."""

    max_payload_supported: Size
    """Largest payload that the function supports (Device Capabilities, Max_Payload_Size
    Supported). (B; default 512 B)"""
    ack_policy: Literal["at-once", "merged", "share", "limit"] | None
    """How soon an Ack is sent: at-once, one for each packet; merged, as soon as the wire is
    free, where a newer one replaces one that waits; share, by ack_limit_fraction and
    ack_packets; limit, by the specification's limit. (default share)"""
    ack_limit_fraction: Ratio
    """Delay of an Ack, as a fraction of the specification's ACK transmission latency limit, if
    the policy is share. (default 1)"""
    ack_packets: Count
    """Number of packets after which an Ack is sent without further delay, if the policy is
    share; 0 for no such number. (default 0)"""
    update_fc_policy: Literal["at-once", "merged", "share", "limit"] | None
    """How soon an UpdateFC is sent: at-once, one for each packet that leaves its buffer;
    merged, as soon as the wire is free, where a newer one replaces one that waits; share,
    by update_fc_share, update_fc_packets and update_fc_delay; limit, by the specification's
    guideline. It is always sent at once if the far end has too little credit for a packet.
    (default share)"""
    update_fc_share: Ratio
    """An UpdateFC is sent when the freed credit reaches this share of the buffer, if the
    policy is share; 0 sends one for each packet, as the policy merged does. (default 0)"""
    update_fc_packets: Count
    """Number of freed packets of a class after which an UpdateFC is sent, if the policy is
    share; 0 for no such number. (default 0)"""
    update_fc_delay: Quantity
    """Longest time from freeing credit to its UpdateFC, unless the policy is limit. (ns;
    default none)"""
    update_fc_refresh: Quantity
    """Time after which a limit is sent again, although nothing was freed. (ns; default 30 us)"""
    scaled_flow_control: Flag
    """Whether the port supports scaled flow control, with which it can announce buffers of
    more than 127 headers and 2047 data credits. It is used if both ends of the link support
    it. (default none)"""
    extended_vc_count: Count
    """Virtual channels of every port besides VC0 (Extended VC Count). Each has buffers of its
    own, of the sizes below. With one at least, the port has the Virtual Channel capability.
    (default 0)"""
    low_priority_vcs: Count
    """Channels that share the wire with VC0 by vc_arbitration (Low Priority Extended VC
    Count); the others have strict priority, the highest VC first. None for all. (default
    none)"""
    posted_headers: Count
    """Header credits for posted requests; 0 is infinite. (default none)"""
    posted_data: Size
    """Buffer for data of posted requests; 0 is infinite. (B; default none)"""
    nonposted_headers: Count
    """Header credits for non-posted requests; 0 is infinite. (default none)"""
    nonposted_data: Size
    """Buffer for data of non-posted requests; 0 is infinite. (B; default none)"""
    completion_headers: Count
    """Header credits for completions, unless the port has infinite credit for completions by
    rule; 0 is infinite. (default none)"""
    completion_data: Size
    """Buffer for data of completions, unless the port has infinite credit for completions by
    rule; 0 is infinite. (B; default none)"""
    replay_buffer: Size
    """Size of the replay buffer, which holds TLPs until they are acknowledged, with framing,
    sequence number and LCRC. A new TLP is sent only if it fits. (B; default none)"""
    receive_pipeline: Quantity
    """Time from the pins to the data link layer and the receive buffer, through the PHY and
    the pipeline behind it. It applies to DLLPs, too. (ns; default 0 ns)"""
    receive_pipeline_symbols: Count
    """Part of the receive pipeline in cycles of the link's symbol clock. None is 0 in switches
    and coherent hosts, whose latencies begin and end at the pins, and 46 in other hosts and
    in devices. (default none)"""
    transmit_pipeline: Quantity
    """Time from the data link layer to the pins, through the pipeline before the PHY and the
    PHY. It applies to DLLPs, too. (ns; default 0 ns)"""
    transmit_pipeline_symbols: Count
    """Part of the transmit pipeline in cycles of the link's symbol clock. None is 0 in
    switches and coherent hosts, whose latencies begin and end at the pins, and 48 in other
    hosts and in devices. (default none)"""
    replay_timer_factor: Ratio
    """The replay timer, as a multiple of the specification's limit. (default 2)"""
    skip_position: Ratio
    """Position of skip ordered sets within their permitted interval, from 0 (earliest) to 1
    (latest). (default 0.5)"""
    training_time: Quantity
    """Time that the port trains a link that was down, from the far end's first TS1 until its
    own TS2: Detect, Polling and Configuration, the change to the link's speed, and
    equalisation. (ns; default none)"""
    recovery_time: Quantity
    """Time that the port spends in Recovery, from the far end's first TS1 until its own last
    TS2. (ns; default none)"""
    l0s_exit_latency: Quantity
    """Time that the port's receiver needs to exit L0s (L0s Exit Latency in Link Capabilities).
    A port that has this time set supports ASPM L0s. (ns; default none)"""
    l0s_entry_time: Quantity
    """Time without packets after which the port's transmitter enters L0s, where software has
    enabled it. (ns; default 7 us)"""
    l1_exit_latency: Quantity
    """Time that the port needs from L1 to L0, including Recovery (L1 Exit Latency in Link
    Capabilities). A port that has this time set supports ASPM L1. (ns; default none)"""
    l1_entry_time: Quantity
    """Time without packets after which the upstream port of a device or switch requests L1,
    where software has enabled it. (ns; default 10 us)"""
    speed_change_time: Quantity
    """Time that a change of rate adds to Recovery, besides a second search for the bits of the
    far end: electrical idle, and equalisation. (ns; default 800 ns)"""
    max_payload: Size
    """Max payload size in Device Control, set after enumeration as `setpci` would; none keeps
    the choice of enumeration. (B; default none)"""
    max_payload_mismatch: Flag
    """Whether the max payload size of this node may intentionally differ from the size at the
    other end of a link. The end with the smaller size treats larger packets as malformed,
    so a difference is an error of the scenario if this is false. (default false)"""
    memory_enable: Flag
    """Memory Space Enable in the Command register, set after enumeration; without it, requests
    to the function's addresses, or to addresses below a port, are unsupported requests.
    (default true)"""
    ten_bit_tags: Flag
    """10-Bit Tag Requester Enable in Device Control 2, set after enumeration; none keeps the
    choice of enumeration. A device with more than 256 tags has the bit. (default none)"""
    relaxed_ordering_enable: Flag
    """Enable Relaxed Ordering in Device Control, set after enumeration; without it, requests
    do not have this attribute. For a host, it is set in its root ports, and their registers
    apply to the requests of its CPU. (default true)"""
    no_snoop_enable: Flag
    """Enable No Snoop in Device Control, set after enumeration; without it, requests do not
    have this attribute. (default true)"""
    id_ordering_enable: Flag
    """IDO Request Enable in Device Control 2, set after enumeration; without it, requests have
    no attribute of ID-based ordering. (default false)"""
    id_ordering_completion_enable: Flag
    """IDO Completion Enable in Device Control 2, set after enumeration: all completions of the
    node have the attribute of ID-based ordering. (default false)"""
    pasid_enable: Flag
    """PASID Enable in the PASID capability of a device, set after enumeration; none keeps the
    choice of enumeration. Without it, requests have no PASID prefix. (default none)"""
    vc_arbitration: Text
    """Arbitration among VC0 and the channels of its low-priority group, at every port: 'round-
    robin', or 'wrr-32', 'wrr-64' or 'wrr-128' with as many phases in vc_arbitration_table.
    None keeps the arbitration after reset. (default none)"""
    vc_arbitration_table: Text
    """The VC of each phase of a weighted arbitration, such as '0*24 1*8' or '(0 0 0 1)*8';
    each phase is one packet. (default none)"""
    port_arbitration: Text
    """Arbitration among the ports whose packets leave by one channel of a port, at every
    channel and every port besides those with a port_arbitration_above: 'round-robin', or
    'wrr-32' to 'wrr-256' with as many phases in port_arbitration_table. None keeps the
    arbitration after reset, which uses the weights of links. (default none)"""
    port_arbitration_table: Text
    """The port of each phase: 0 for the upstream port of a switch, and 1, 2 and so on for its
    downstream ports in order; 0, 1 and so on for the root ports of a host. Packets that the
    switch or host makes itself have one additional phase besides the table. (default none)"""
    port_arbitration_above: Text
    """Port arbitration at the port directly above this node, instead of the port_arbitration
    of the switch or host above. None: the port uses the port_arbitration of the switch or
    host. (default none)"""
    port_arbitration_table_above: Text
    """The port of each phase of port_arbitration_above, numbered as in port_arbitration_table.
    (default none)"""
    acs_egress_control: Flag
    """Whether the other downstream ports of the switch or host above block peer-to-peer
    requests for this node and for all below it: the bit of its port in their Egress Control
    Vectors, with P2P Egress Control in ACS Control. Such a request is an ACS Violation, or
    goes to the root if the port also redirects. (default false)"""
    slot: Literal["none", "hot-plug", "surprise"] | None
    """The kind of slot that the node is in, below the port above: 'none' for no hot plug;
    'hot-plug' for a slot with an attention button and a power controller; or 'surprise' if
    the node may also be removed without notice, so that Surprise Down is no error. (default
    none)"""
    vendor_id: Text
    """Vendor ID of every function, such as '0x10ee'; if none is written, the ID of a common
    product. (default none)"""
    device_id: Text
    """Device ID of every function; if none is written, the ID of a common product. (default
    none)"""
    class_code: Text
    """Class code of a device: base class, subclass and programming interface, such as
    '0x020000' for Ethernet. (default none)"""


class Node(Port, total=False):
    """Keys of hosts, switches, devices."""

    profile: Text
    """The profile that the keys of this section change. (default generic)"""


class Host(Node, total=False):
    """Keys of hosts."""

    ports: Count
    """Number of root ports. (default 8)"""
    sockets: Count
    """Number of sockets. Every two are connected directly. A link to a root port names the
    socket of the port; the CPU is on the first. (default 1)"""
    socket_latency: Quantity
    """Time from one socket to another, one way. (ns; default 30 ns)"""
    socket_bandwidth: Rate
    """Rate from one socket to another in each direction, for headers and payloads of packets.
    (GB/s; default 20.8 GB/s)"""
    quadrants: Count
    """Number of quadrants of each socket: parts of its I/O die whose root ports share one path
    to the rest of the host, such as the IIO stacks of Intel Xeon processors. A link to a
    root port names the quadrant of the port. (default 1)"""
    quadrant_bandwidth: Rate
    """Rate from each quadrant to the rest of the host, and from there to the quadrant, for
    headers and payloads of packets to and from memory, processors and root ports of other
    quadrants. Packets between root ports of one quadrant do not take this path. (GB/s;
    default none)"""
    quadrant_latency: Quantity
    """Additional time of a packet from a root port of one quadrant to a root port of another
    quadrant of the same socket. (ns; default 0 ns)"""
    quadrant_peer_bandwidth: Rate
    """Rate from each quadrant to each other quadrant of its socket, for headers and payloads
    of packets between root ports. (GB/s; default none)"""
    quadrant_peer_to_peer: Literal["none", "writes", "all"] | None
    """Requests between root ports of different quadrants of one socket that are forwarded, if
    peer_to_peer permits them, too. (default all)"""
    memory: Size
    """Size of the memory. In order of addresses, each socket has an equal share, in whole
    pages of 4 KiB. (B; default 1 GiB)"""
    memory_address_bits: Count
    """Location of the memory: 32 for address 0 (up to 3 GiB), 64 for address 4 GiB, for which
    requests need 16-byte headers. (default 64)"""
    latency: Quantity
    """Time from the last bit of a packet at a root port to the memory controller, and from the
    memory controller to a root port. (ns; default 100 ns)"""
    port_latency: Quantity
    """Part of the latency in the PHY and the pipeline of a root port; a packet holds its
    receive buffer during the rest. DLLPs pass the port, too. None in a coherent host: the
    latencies of its home agent begin and end at the pins. (ns; default none)"""
    port_clock: Quantity
    """Clock of the datapath behind each root port, in each direction. (MHz; default 1 GHz)"""
    port_datapath: Size
    """Bytes that the datapath of a root port transfers each cycle; '0 B' for no limit. A
    packet holds its receive buffer until its last beat has passed. (B; default 0 B)"""
    port_idle_cycles: Count
    """Idle cycles of the datapath of a root port between two packets. (default 0)"""
    ingest_bandwidth: Rate
    """Rate at which the memory system of each socket takes payloads of writes from root ports.
    (GB/s; default none)"""
    write_buffers: Count
    """Number of writes of each socket that may be on their way from root ports to memory
    outside of the receive buffers; 0 for none, so that a write holds its receive buffer
    until it is in memory. (default 0)"""
    writes_per_ownership: Count
    """Number of writes to a line that one ownership of the line by a root port serves; 0 if
    writes need no ownership. A write is visible once its root port owns its lines, and
    after the earlier writes of its port. (default 0)"""
    ownership_time: Quantity
    """Time from the last write to a line under one ownership to the first under the next: the
    line is given back, and requested again. (ns; default none)"""
    memory_read_latency: Quantity
    """Latency of a read in the memory, after its lines are served. (ns; default 80 ns)"""
    memory_read_jitter: Quantity
    """Largest random addition to the latency of a read, uniformly distributed. (ns; default 0
    ns)"""
    memory_bandwidth: Rate
    """Bandwidth of each socket's memory, reads and writes together. (GB/s; default 204.8 GB/s)"""
    memory_line: Size
    """Unit of memory accesses; a shorter write takes the time of a whole line. (B; default 64
    B)"""
    memory_partial_line: Quantity
    """Additional time of a write to a part of a line: the rest of the line must be read first.
    (ns; default 0 ns)"""
    read_completion_boundary: Size
    """Read Completion Boundary in Link Control: addresses at which a read may be divided into
    completions. (B; default 64 B)"""
    largest_completion: Size
    """Largest payload of a completion, if the max payload size allows it. (B; default 4 KiB)"""
    peer_latency: Quantity
    """Time from the last bit of a packet at a root port to its first bit at another root port.
    (ns; default 200 ns)"""
    peer_bandwidth: Rate
    """Rate of packets from one root port to another, with their headers; each pair of ports
    has it in each direction. (GB/s; default none)"""
    largest_peer_payload: Size
    """Largest payload of a packet between root ports, if the max payload size of the port that
    it leaves by allows it. A larger memory write is split at addresses that are multiples
    of it, a larger completion at read completion boundaries; a packet holds its receive
    buffer until its last part has left. Read requests pass whole. (B; default 4 KiB)"""
    peer_to_peer: Literal["none", "writes", "all"] | None
    """Requests between root ports that are forwarded: 'none', 'writes' (posted requests only),
    or 'all'. Others end in Unsupported Request at the root port that receives them.
    (default all)"""
    socket_peer_to_peer: Literal["none", "writes", "all"] | None
    """Requests between root ports of different sockets that are forwarded, if peer_to_peer
    permits them, too. (default all)"""
    socket_peer_bandwidth: Rate
    """Rate of packets to each root port from the root ports of all other sockets together,
    with their headers. (GB/s; default none)"""
    write_response_latency: Quantity
    """Time from the arrival of a posted write at its target, which is the memory of a socket
    or another root port, to its response at the root port that received it. A write waits
    until all earlier writes to other targets that it must not pass have their responses.
    None if writes wait for no response. (ns; default none)"""
    acs_source_validation: Flag
    """Whether root ports check the requesters of requests from below: Source Validation in ACS
    Control. A request whose requester is on none of the buses below the port is an ACS
    Violation. (default false)"""
    acs_translation_blocking: Flag
    """Whether root ports block memory requests from below with translated addresses, and
    translation requests: Translation Blocking in ACS Control. A request that is blocked is
    an ACS Violation. (default false)"""
    acs_redirect: Flag
    """P2P Request Redirect in ACS Control of root ports. Requests between root ports always
    pass the IOMMU and peer_to_peer, so it changes only what egress control does: a request
    that it would block passes. (default false)"""
    acs_upstream_forwarding: Flag
    """Whether root ports send packets back down that switches below have redirected: Upstream
    Forwarding in ACS Control. Without it requests end in Unsupported Request, and
    completions are unexpected. (default true)"""
    acs_direct_translated: Flag
    """Whether requests with translated addresses pass from one root port to another, whatever
    egress control says: Direct Translated P2P in ACS Control of root ports. (default false)"""
    ari_forwarding: Flag
    """Whether root ports pass on configuration requests for all 256 functions of a device with
    ARI: ARI Forwarding Supported in Device Capabilities 2. Firmware then enables it above
    devices with ARI; without it, more than 7 virtual functions take a bus number of their
    own. (default true)"""
    tlp_prefixes: Flag
    """Whether root ports receive packets with End-End TLP prefixes, such as PASID: End-End TLP
    Prefix Supported in Device Capabilities 2. Without it such a packet is malformed.
    (default false)"""
    write_combining_buffers: Count
    """Stores and other requests of the CPU that may be on their way to root ports. Each holds
    a buffer of its core until its last bit leaves the root port, so that a core stores at
    most this number of 64-byte lines in the time from core to root port. For several cores
    that store at the same time: the sum of their buffers. (default 16)"""
    tags: Count
    """Most outstanding non-posted requests of the CPU. (default 32)"""
    ten_bit_tag_completer: Flag
    """Whether completions repeat all ten bits of a tag: 10-Bit Tag Completer Supported in
    Device Capabilities 2 of the root ports. Without it, firmware enables 10-bit tags at no
    device below. (default true)"""
    completion_timeout: Quantity
    """Completion timeout of non-posted requests. Device Control 2 has the range of times that
    contains it. Software can select another range: the timeout is then the time of that
    range that is nearest to this one. For a time between two ranges, Device Control 2 has
    the longer range. Of several root ports the longest time counts for the requests of the
    processors. (ns; default 10 ms)"""
    tag_quarantine: Quantity
    """Time after its timeout in which the tag of a request is not used again, so that its late
    completion is unexpected instead of the answer to another request. (ns; default 50 ms)"""
    max_read_request: Size
    """Largest read request of the CPU. (B; default 64 B)"""
    cores: Count
    """Number of threads that can run at the same time; a thread keeps its core until it
    sleeps. (default 8)"""
    system_call: Quantity
    """Time of a system call, without the work of its driver. (ns; default 300 ns)"""
    page_pin: Quantity
    """Time to pin and unpin one page of a buffer. (ns; default 100 ns)"""
    register_write: Quantity
    """Time for which a store to a device blocks its core. (ns; default 100 ns)"""
    memory_write: Quantity
    """Time for which a store to memory blocks its core. (ns; default 2 ns)"""
    poll: Quantity
    """Time from the end of a write to memory until a polling program has seen it. (ns; default
    80 ns)"""
    interrupt_latency: Quantity
    """Time from the arrival of an interrupt until the waiting thread is ready to run. The
    thread uses no core while it waits. (ns; default 3 us)"""
    interrupt_masking: Flag
    """Whether a driver masks the MSI-X vector of an interrupt from the interrupt handler until
    the driver has served the device. All interrupts in this time are signalled as one.
    (default false)"""
    interrupt_timeout: Quantity
    """Time without an interrupt after which a driver that masks its interrupt vector checks
    its device: the last interrupt may have arrived before the data that it signals. (ns;
    default 30 s)"""
    first_bus: Count
    """Number of the first bus below the root ports that firmware assigns. The bus of the root
    ports is 0. (default 1)"""
    error_reporting: Flag
    """Whether firmware enables error messages of all functions of the host, and its operating
    system serves the interrupts of root ports for errors: it reads and clears the status of
    the functions that reported them. (default false)"""
    containment: Literal["none", "fatal", "non-fatal"] | None
    """The errors for which firmware enables Downstream Port Containment of all ports below the
    host that have it: 'none', 'fatal', or 'non-fatal' for both severities. The operating
    system then releases a port that has contained an error, and sets up again the devices
    below the port. (default none)"""
    hot_plug: Flag
    """Whether firmware enables the hot-plug interrupt of slots below the host, and its
    operating system sets up inserted cards, and turns the power of a slot off or on when
    its attention button is pressed. (default false)"""
    driver_recovery: Flag
    """Whether the services for errors, containment and slots notify the drivers of sg-dma,
    nvme, block-dma and accelerator of errors and resets of their devices, so that the
    drivers begin again. The service for errors then also resets the link above a function
    that reports a fatal error. (default false)"""
    bandwidth_notification: Flag
    """Whether firmware enables the interrupt of all ports below the host for the bandwidth of
    their links (Link Bandwidth Management Interrupt Enable), and its operating system reads
    and clears Link Bandwidth Management Status. (default false)"""
    attention_wait: Quantity
    """Time from a press of a slot's attention button until software turns the slot's power
    off. A second press in this time cancels the removal. (ns; default 5 s)"""
    link_up_wait: Quantity
    """Time from when the link below a port is up again until software makes the first
    configuration request to the functions below the port. (ns; default 100 ms)"""
    ecrc: Flag
    """Whether software enables the end-to-end CRC in all functions of the host that have it:
    they add a TLP digest of 4 bytes to each packet that they send, and check the digest of
    packets that they receive. (default false)"""
    aspm_l0s: Flag
    """Whether firmware enables ASPM L0s at the links below the host whose two ports support it
    (l0s_exit_latency). (default false)"""
    aspm_l1: Flag
    """Whether firmware enables ASPM L1 at the links below the host whose two ports support it
    (l1_exit_latency). (default false)"""
    timed_access: Quantity
    """Time to read the clock before and after a measured memory access. (ns; default 0 ns)"""
    clock_read: Quantity
    """Time for which a process reads the clock. (ns; default 25 ns)"""
    buffer_write_rate: Rate
    """Rate at which a process copies its own bytes to a buffer shared with a device. (GB/s;
    default 10 GB/s)"""
    buffer_read_rate: Rate
    """Rate at which a process copies bytes from a buffer shared with a device, after the
    device has written them. (GB/s; default 10 GB/s)"""
    opae_release: Text
    """Release that the OPAE C library reports to programs; 'none' for its own, 2.14.0. The
    library has the same functions in any case. (default none)"""
    failure_latency: Quantity
    """Time from a link failure until software removes the accelerator below the link from all
    lock queues. (ns; default 1 ms)"""
    thread_wake: Quantity
    """Time between the wake-ups of two threads that leave a barrier. (ns; default 2 us)"""
    coherent: Flag
    """Whether cores, and devices that can, cache lines of the memory. (default false)"""
    core_cache: Size
    """Size of each core's cache, which includes its first level. (B; default 1 MiB)"""
    core_cache_ways: Count
    """Ways of each core's cache. (default 8)"""
    core_cache_latency: Quantity
    """Latency of a load that hits in a core's cache. (ns; default 4231 ps)"""
    first_cache: Size
    """Size of each core's first-level data cache. (B; default 64 KiB)"""
    first_cache_ways: Count
    """Ways of the first-level data cache. (default 4)"""
    first_cache_latency: Quantity
    """Latency of a load that hits in the first-level data cache. (ns; default 1538 ps)"""
    core_requests: Count
    """Most outstanding lines of a core. (default 16)"""
    core_snoop_latency: Quantity
    """Time from a snoop to a core's response. (ns; default 15 ns)"""
    core_atomics: Literal["near", "far"] | None
    """Where cores execute atomic operations: 'near', in the core's cache after it has the
    line, or 'far', at the home agent unless the core holds the line alone. (default near)"""
    atomic_latency: Quantity
    """Additional time of an atomic operation on a line that the core holds, compared with a
    load. (ns; default 8 ns)"""
    core_distance: Quantity
    """Time from a core to the home agent. (ns; default 8 ns)"""
    port_distance: Quantity
    """Time from a root port to the home agent, for coherence messages. (ns; default 100 ns)"""
    home_latency: Quantity
    """Time that the home agent needs for its directory and for an answer. (ns; default 6 ns)"""
    system_cache: Size
    """Size of the system cache, which all agents share. (B; default 8 MiB)"""
    system_cache_ways: Count
    """Ways of the system cache. (default 16)"""
    system_cache_latency: Quantity
    """Latency of the system cache. (ns; default 10 ns)"""
    packet_header: Literal["optimized", "compatible"] | None
    """Packet header of coherence messages: 'optimized' or 'compatible'. (default optimized)"""
    message_packing: Flag
    """Whether several coherence messages go in one packet. (default true)"""
    largest_packet: Size
    """Largest payload of a packet of coherence messages. (B; default 256 B)"""
    iommu: Flag
    """Whether the host translates the addresses of all requests from below. Software maps
    every address to itself; without this, only devices with virtual addresses have theirs
    translated. (default false)"""
    iommu_page: Size
    """Largest page by which software maps the memory for `iommu`; other devices' BARs have the
    largest pages that fit. (default 4 KiB)"""
    iommu_mapped: Size
    """Bytes of the memory, from its beginning, that software maps for `iommu`; what is beyond
    is a fault. (B; default none)"""
    iommu_pasids: Text
    """The processes whose addresses devices may use, by PASID, each perhaps with the bytes of
    memory, from its beginning, that software maps for it; all of it, and the BARs of
    devices, where none are written: '1, 16-31, 7: 64 KiB'. Software maps every address to
    itself. The addresses of other processes, and those that are not mapped, are faults.
    Requests without a PASID prefix are translated only with `iommu`. (default none)"""
    iommu_requests: Count
    """Most requests from below whose translations are outstanding; later ones wait in the
    receive buffers of their root ports. 0 for as many as these buffers hold. (default 0)"""
    iotlb_entries: Count
    """Pages in the cache of translations (IOTLB), a power of two. (default 64)"""
    iotlb_ways: Count
    """Ways of the IOTLB, a power of two; as many as entries for a fully associative cache.
    (default 4)"""
    lookup_latency: Quantity
    """Latency of a lookup in the IOTLB. Lookups are pipelined. (ns; default 3 ns)"""
    walkers: Count
    """Page walks at the same time; each reads one descriptor after the other. (default 8)"""
    walk_latency: Quantity
    """Time from the IOMMU to the memory controller, and from the memory controller to the
    IOMMU, which each read of a descriptor takes. (ns; default none)"""
    walk_cache_entries: Count
    """Tables of the lower levels in the walk cache, at which walks can begin. (default 256)"""
    invalidate_after: Size
    """Bytes of translated requests of a function after which software invalidates, because it
    unmaps what the function has used: the size of a buffer (iommu.strict=1 on Linux), or of
    as many as are unmapped together. (B; default none)"""
    invalidation_scope: Literal["pages", "function"] | None
    """Translations that go after so many bytes: 'pages', translations of the pages that the
    function has used since the last time, or 'function', all of it, with the tables in the
    walk cache. (default pages)"""
    invalidation_interval: Quantity
    """Time from the first use of a translation to an invalidation of all translations of all
    functions, again and again. (ns; default none)"""
    invalidation_latency: Quantity
    """Time of an invalidation in the IOMMU, from its order or the end of the one before.
    Software waits for its end before it orders the next one for the function. (ns; default
    200 ns)"""
    request_latency: Quantity
    """Time of a translation request (ATS) in the agent before its lookup. (ns; default 0 ns)"""
    page_latency: Quantity
    """Time that software takes to make a page resident for a page request (PRI). (ns; default
    10 us)"""
    pretranslate: Flag
    """Whether the page after a used page is walked ahead while a walker is free. (default
    false)"""


class Switch(Node, Upstream, total=False):
    """Keys of switches."""

    ports: Count
    """Number of ports, with the upstream port. (default 64)"""
    latency: Quantity
    """Time from a packet's header at the ingress to its header at the egress, without
    contention, between links of one speed. From a slower to a faster link the header leaves
    later, so that the faster link does not run empty within the packet. With store-and-
    forward the time begins with the packet's last bit. (ns; default 150 ns)"""
    core_latency: Quantity
    """Part of the latency in which a packet is in the core and holds its ingress buffer. The
    PHYs and pipelines of the two ports have equal parts of the rest; DLLPs pass these, too.
    (ns; default none)"""
    cut_through: Flag
    """Whether a packet is forwarded as soon as its header has arrived (cut-through), or only
    when it is complete. (default true)"""
    store_for_faster_links: Flag
    """Whether a cut-through switch forwards a packet only when it is complete if the egress
    link is faster than the ingress link. (default false)"""
    output_queue: Size
    """Size of a queue for packets of one class from one port to one output, beside the receive
    buffers (virtual output queues); 0 is none. A packet moves there from the receive buffer
    as soon as it has space, so that packets for a slow output do not use up the credit of
    all others. (B; default 0 B)"""
    acs_source_validation: Flag
    """Whether downstream ports check the requesters of requests from below: Source Validation
    in ACS Control. A request whose requester is on none of the buses below the port is an
    ACS Violation. (default false)"""
    acs_translation_blocking: Flag
    """Whether downstream ports block memory requests from below with translated addresses, and
    translation requests: Translation Blocking in ACS Control. A request that is blocked is
    an ACS Violation. (default false)"""
    acs_redirect: Flag
    """Whether requests from one downstream port to another are redirected to the root: P2P
    Request Redirect in ACS Control of the downstream ports. A switch above needs
    acs_upstream_forwarding for redirected requests between ports of this one. (default
    false)"""
    acs_completion_redirect: Flag
    """Whether completions from one downstream port to another go to the root, except those
    with Relaxed Ordering: P2P Completion Redirect in ACS Control of the downstream ports.
    (default false)"""
    acs_upstream_forwarding: Flag
    """Whether packets from below that are routed back to the downstream port that they came in
    by go upstream: Upstream Forwarding in ACS Control of the downstream ports. They were
    redirected by a switch below; without it requests end in Unsupported Request, and
    completions are unexpected. (default false)"""
    acs_direct_translated: Flag
    """Whether requests with translated addresses go directly from one downstream port to
    another, whatever redirect and egress control say: Direct Translated P2P in ACS Control
    of the downstream ports. (default false)"""
    ari_forwarding: Flag
    """Whether downstream ports pass on configuration requests for all 256 functions of a
    device with ARI: ARI Forwarding Supported in Device Capabilities 2. Firmware then
    enables it above devices with ARI; without it, more than 7 virtual functions take a bus
    number of their own. (default true)"""
    atomic_routing: Flag
    """Whether ports pass on requests for atomic operations: AtomicOp Routing Supported in
    Device Capabilities 2. A switch without it takes one that it would have to pass on as an
    Unsupported Request, and firmware enables no AtomicOp requesters below it. (default
    true)"""
    atomic_egress_blocking: Flag
    """Whether the ports block requests for atomic operations at their egress: AtomicOp Egress
    Blocking in Device Control 2 of each port that routes them. A blocked request ends with
    the error AtomicOp Egress Blocked and the status Unsupported Request. (default false)"""
    tlp_prefixes: Flag
    """Whether ports receive packets with End-End TLP prefixes, such as PASID, and pass them
    on: End-End TLP Prefix Supported in Device Capabilities 2. Without it such a packet is
    malformed. (default false)"""
    tlp_prefix_blocking: Flag
    """Whether no port lets packets with End-End TLP prefixes out: End-End TLP Prefix Blocking
    in Device Control 2 of all ports. Such a packet ends with the error TLP Prefix Blocked.
    (default false)"""


class Device(Node, Upstream, total=False):
    """Keys of devices."""

    bar: Size
    """Size of BAR 0, a power of two; '0 B' for none. (B; default 64 KiB)"""
    bar_address_bits: Count
    """Address width of BAR 0 and of the virtual functions' BAR 0: 32 for below 4 GiB, 64 for
    any address; none for 64 if the BAR is larger than 256 MiB, otherwise 32. (default none)"""
    virtual_functions: Count
    """Number of virtual functions (SR-IOV). They are functions 1 and up of the device; more
    than 7 need ARI Forwarding at the port above, or else take the next bus number. Firmware
    enables them, as the driver of function 0 would; 0 for no SR-IOV. (default 0)"""
    virtual_bar: Size
    """Size of BAR 0 of each virtual function, a power of two. (B; default 4 KiB)"""
    msi_vectors: Count
    """Number of MSI vectors that each function requests. (default 1)"""
    msix_vectors: Count
    """Number of entries of the MSI-X table of each function; 0 for no MSI-X. Firmware then
    enables MSI-X instead of MSI, and drivers write the entries before they use the device.
    (default 0)"""
    msix_bar: Count
    """BAR with the MSI-X table and its pending bits. 0 places them at the end of BAR 0, and of
    each virtual function's BAR 0; another number selects a BAR that contains nothing else.
    (default 0)"""
    msix_table: Size
    """Offset of the MSI-X table in its BAR, a multiple of 8. With none, the table is at the
    beginning of a BAR of its own. In BAR 0, it is then at the beginning of the last 4 KiB
    blocks, as many as table and pending bits need. (B; default none)"""
    msix_pending: Size
    """Offset of the pending bits in the BAR of the MSI-X table, a multiple of 8. With none,
    they are 2 KiB after the beginning of the table, or, if the table has more than 128
    entries, at the first multiple of 4 KiB after its beginning that is behind the table.
    (B; default none)"""
    interrupt_traffic_class: Count
    """Traffic class of the messages of interrupts, MSI and MSI-X. Messages of another class
    than the data before them may overtake it. (default 0)"""
    write_payload: Size
    """Largest payload of the engine's memory writes, where it is less than Max_Payload_Size;
    none for Max_Payload_Size. (B; default none)"""
    max_read_request: Size
    """Max read request size in Device Control. (B; default 512 B)"""
    function_level_reset_time: Quantity
    """Time that a function level reset takes. During this time the function drops the packets
    that arrive. (ns; default 100 us)"""
    completion_timeout: Quantity
    """Completion timeout of non-posted requests. Device Control 2 has the range of times that
    contains it. If software selects another range, the timeout is the time of that range
    that is nearest to this value. If this value is between two ranges, Device Control 2 has
    the longer range. (ns; default 10 ms)"""
    tag_quarantine: Quantity
    """Time after the timeout of a non-posted request during which its tag is not used again,
    so that its late completion is unexpected instead of the answer to another request. (ns;
    default 50 ms)"""
    completion_buffer: Size
    """Size of the completion buffer of each function; none for no limit. A function has no
    more requests outstanding than fit into the buffer. A request occupies its space until
    its completions have reached the engine. (B; default none)"""
    completion_buffer_headers: Count
    """Number of completions for which the completion buffer of each function has space; none
    for no limit. A request occupies the space of as many completions as it may be divided
    into, at multiples of 64 bytes. (default none)"""
    ten_bit_tag_completer: Flag
    """Whether completions repeat all ten bits of a tag: 10-Bit Tag Completer Supported in
    Device Capabilities 2. Without it, firmware enables 10-bit tags at no device of the
    host, because each may send requests to this one. (default true)"""
    pasid_width: Count
    """Width in bits of the PASIDs that the functions can use: Max PASID Width in the PASID
    capability; none for no capability. The PASID of a request identifies the process whose
    addresses it uses. Firmware enables the capability if all ports up to the root port have
    `tlp_prefixes`. (default none)"""
    pasid_execute: Flag
    """Whether the functions can request permission to execute the data that they read: Execute
    Permission Supported. (default false)"""
    pasid_privileged: Flag
    """Whether the functions can send requests of privileged software: Privileged Mode
    Supported. (default false)"""
    implementation: Literal["model", "rtl"] | None
    """Engine behind the core: 'model', or 'rtl' for a circuit in SystemVerilog that takes the
    place of the model. None is 'rtl' for a device with a `circuit`, and 'model' for all
    others. The circuit's beats have the width of `datapath`, and its clock is `clock`.
    (default none)"""
    circuit: Text
    """Circuit of a library that --circuit loads, or of gateware/circuits.toml; none for the
    model's own circuit. Another circuit than the model's own receives the packets for the
    device's BARs, but no driver supports its registers. (default none)"""
    waves: Text
    """Times, from the beginning of the run, between which the circuit's signals are written to
    DEVICE.vcd in the current folder, such as '10 us..12 us'; of a circuit only. (default
    none)"""
    clock: Quantity
    """Clock of the datapath between engine and core. (MHz; default 250 MHz)"""
    datapath: Size
    """Bytes that the datapath takes from the engine each cycle, headers and payloads in whole
    beats; '0 B' for no limit. (B; default 0 B)"""
    idle_cycles: Count
    """Idle cycles of the datapath between two packets of the engine. (default 0)"""
    straddling: Size
    """Distance between the positions in a beat of the datapath at which a packet of the engine
    may begin if the previous packet ends in this beat; '0 B' if each packet begins with a
    beat. (B; default 0 B)"""
    receive_datapath: Size
    """Bytes that the datapath passes to the engine each cycle, headers and payloads in whole
    beats; '0 B' for no limit. A packet occupies the receive buffer until its last beat has
    passed. `datapath` is for sending only, as in the documents for device profiles. (B;
    default 0 B)"""
    receive_idle_cycles: Count
    """Idle cycles of the datapath between two packets for the engine. (default 0)"""
    receive_straddling: Size
    """Distance between the positions in a beat of the receive datapath at which a packet for
    the engine may begin if the previous packet ends in this beat; '0 B' if each packet
    begins with a beat. (B; default 0 B)"""
    send_latency: Quantity
    """Time from the engine's transfer of a packet to its first bit on the wire. The path is a
    pipeline: it does not limit the rate. (ns; default 0 ns)"""
    receive_latency: Quantity
    """Time from a packet's last bit on the wire to its arrival at the engine, besides its
    beats on the receive datapath. (ns; default 0 ns)"""
    read_latency: Quantity
    """Time from a read request's arrival at the engine to the data of its completions. (ns;
    default 100 ns)"""
    send_queue: Count
    """Largest number of requests that wait for the wire before the engine stops. Requests that
    pass the send path within `send_latency` do not count, and completions do not count.
    While completions wait, the limit is at most 8, or the number of completions if that is
    larger. (default 8)"""


class IoPort(Port, total=False):
    """Keys of io_ports."""

    controller: Text
    """Controller of the port; needed where there are several. (default none)"""
    processor: Count
    """Number of the port among all processors; none for the next free number. (default none)"""
    window_cycles: Count
    """Cycles of a request or an answer from PCI Express to the crossbar, and from the crossbar
    to PCI Express. (default 7)"""
    loads: Count
    """Most outstanding loads from the endpoint to hosts and to other endpoints. (default 32)"""
    tags: Count
    """Most outstanding loads to the endpoint, from hosts and from other endpoints, for each
    function. (default 32)"""
    completion_timeout: Quantity
    """Completion timeout of these loads. Device Control 2 has the range of times that contains
    it. Software can select another range: the timeout is then the time of that range that
    is nearest to this one. For a time between two ranges, Device Control 2 has the longer
    range. (ns; default 10 ms)"""
    tag_quarantine: Quantity
    """Time after its timeout in which the tag of a request is not used again, so that its late
    completion is unexpected instead of the answer to another request. (ns; default 50 ms)"""


class Profile(Repeated, total=False):
    """Keys of hosts, io_ports, switches, devices."""

    profile: Text
    """The profile that the keys of this section change. (default generic)"""
    max_payload_supported: Size
    """Largest payload that the function supports (Device Capabilities, Max_Payload_Size
    Supported). (B; default 512 B)"""
    ack_policy: Literal["at-once", "merged", "share", "limit"] | None
    """How soon an Ack is sent: at-once, one for each packet; merged, as soon as the wire is
    free, where a newer one replaces one that waits; share, by ack_limit_fraction and
    ack_packets; limit, by the specification's limit. (default share)"""
    ack_limit_fraction: Ratio
    """Delay of an Ack, as a fraction of the specification's ACK transmission latency limit, if
    the policy is share. (default 1)"""
    ack_packets: Count
    """Number of packets after which an Ack is sent without further delay, if the policy is
    share; 0 for no such number. (default 0)"""
    update_fc_policy: Literal["at-once", "merged", "share", "limit"] | None
    """How soon an UpdateFC is sent: at-once, one for each packet that leaves its buffer;
    merged, as soon as the wire is free, where a newer one replaces one that waits; share,
    by update_fc_share, update_fc_packets and update_fc_delay; limit, by the specification's
    guideline. It is always sent at once if the far end has too little credit for a packet.
    (default share)"""
    update_fc_share: Ratio
    """An UpdateFC is sent when the freed credit reaches this share of the buffer, if the
    policy is share; 0 sends one for each packet, as the policy merged does. (default 0)"""
    update_fc_packets: Count
    """Number of freed packets of a class after which an UpdateFC is sent, if the policy is
    share; 0 for no such number. (default 0)"""
    update_fc_delay: Quantity
    """Longest time from freeing credit to its UpdateFC, unless the policy is limit. (ns;
    default none)"""
    update_fc_refresh: Quantity
    """Time after which a limit is sent again, although nothing was freed. (ns; default 30 us)"""
    scaled_flow_control: Flag
    """Whether the port supports scaled flow control, with which it can announce buffers of
    more than 127 headers and 2047 data credits. It is used if both ends of the link support
    it. (default none)"""
    extended_vc_count: Count
    """Virtual channels of every port besides VC0 (Extended VC Count). Each has buffers of its
    own, of the sizes below. With one at least, the port has the Virtual Channel capability.
    (default 0)"""
    low_priority_vcs: Count
    """Channels that share the wire with VC0 by vc_arbitration (Low Priority Extended VC
    Count); the others have strict priority, the highest VC first. None for all. (default
    none)"""
    posted_headers: Count
    """Header credits for posted requests; 0 is infinite. (default none)"""
    posted_data: Size
    """Buffer for data of posted requests; 0 is infinite. (B; default none)"""
    nonposted_headers: Count
    """Header credits for non-posted requests; 0 is infinite. (default none)"""
    nonposted_data: Size
    """Buffer for data of non-posted requests; 0 is infinite. (B; default none)"""
    completion_headers: Count
    """Header credits for completions, unless the port has infinite credit for completions by
    rule; 0 is infinite. (default none)"""
    completion_data: Size
    """Buffer for data of completions, unless the port has infinite credit for completions by
    rule; 0 is infinite. (B; default none)"""
    replay_buffer: Size
    """Size of the replay buffer, which holds TLPs until they are acknowledged, with framing,
    sequence number and LCRC. A new TLP is sent only if it fits. (B; default none)"""
    receive_pipeline: Quantity
    """Time from the pins to the data link layer and the receive buffer, through the PHY and
    the pipeline behind it. It applies to DLLPs, too. (ns; default 0 ns)"""
    receive_pipeline_symbols: Count
    """Part of the receive pipeline in cycles of the link's symbol clock. None is 0 in switches
    and coherent hosts, whose latencies begin and end at the pins, and 46 in other hosts and
    in devices. (default none)"""
    transmit_pipeline: Quantity
    """Time from the data link layer to the pins, through the pipeline before the PHY and the
    PHY. It applies to DLLPs, too. (ns; default 0 ns)"""
    transmit_pipeline_symbols: Count
    """Part of the transmit pipeline in cycles of the link's symbol clock. None is 0 in
    switches and coherent hosts, whose latencies begin and end at the pins, and 48 in other
    hosts and in devices. (default none)"""
    replay_timer_factor: Ratio
    """The replay timer, as a multiple of the specification's limit. (default 2)"""
    skip_position: Ratio
    """Position of skip ordered sets within their permitted interval, from 0 (earliest) to 1
    (latest). (default 0.5)"""
    training_time: Quantity
    """Time that the port trains a link that was down, from the far end's first TS1 until its
    own TS2: Detect, Polling and Configuration, the change to the link's speed, and
    equalisation. (ns; default none)"""
    recovery_time: Quantity
    """Time that the port spends in Recovery, from the far end's first TS1 until its own last
    TS2. (ns; default none)"""
    l0s_exit_latency: Quantity
    """Time that the port's receiver needs to exit L0s (L0s Exit Latency in Link Capabilities).
    A port that has this time set supports ASPM L0s. (ns; default none)"""
    l0s_entry_time: Quantity
    """Time without packets after which the port's transmitter enters L0s, where software has
    enabled it. (ns; default 7 us)"""
    l1_exit_latency: Quantity
    """Time that the port needs from L1 to L0, including Recovery (L1 Exit Latency in Link
    Capabilities). A port that has this time set supports ASPM L1. (ns; default none)"""
    l1_entry_time: Quantity
    """Time without packets after which the upstream port of a device or switch requests L1,
    where software has enabled it. (ns; default 10 us)"""
    speed_change_time: Quantity
    """Time that a change of rate adds to Recovery, besides a second search for the bits of the
    far end: electrical idle, and equalisation. (ns; default 800 ns)"""
    max_payload: Size
    """Max payload size in Device Control, set after enumeration as `setpci` would; none keeps
    the choice of enumeration. (B; default none)"""
    max_payload_mismatch: Flag
    """Whether the max payload size of this node may intentionally differ from the size at the
    other end of a link. The end with the smaller size treats larger packets as malformed,
    so a difference is an error of the scenario if this is false. (default false)"""
    memory_enable: Flag
    """Memory Space Enable in the Command register, set after enumeration; without it, requests
    to the function's addresses, or to addresses below a port, are unsupported requests.
    (default true)"""
    ten_bit_tags: Flag
    """10-Bit Tag Requester Enable in Device Control 2, set after enumeration; none keeps the
    choice of enumeration. A device with more than 256 tags has the bit. (default none)"""
    relaxed_ordering_enable: Flag
    """Enable Relaxed Ordering in Device Control, set after enumeration; without it, requests
    do not have this attribute. For a host, it is set in its root ports, and their registers
    apply to the requests of its CPU. (default true)"""
    no_snoop_enable: Flag
    """Enable No Snoop in Device Control, set after enumeration; without it, requests do not
    have this attribute. (default true)"""
    id_ordering_enable: Flag
    """IDO Request Enable in Device Control 2, set after enumeration; without it, requests have
    no attribute of ID-based ordering. (default false)"""
    id_ordering_completion_enable: Flag
    """IDO Completion Enable in Device Control 2, set after enumeration: all completions of the
    node have the attribute of ID-based ordering. (default false)"""
    pasid_enable: Flag
    """PASID Enable in the PASID capability of a device, set after enumeration; none keeps the
    choice of enumeration. Without it, requests have no PASID prefix. (default none)"""
    vc_arbitration: Text
    """Arbitration among VC0 and the channels of its low-priority group, at every port: 'round-
    robin', or 'wrr-32', 'wrr-64' or 'wrr-128' with as many phases in vc_arbitration_table.
    None keeps the arbitration after reset. (default none)"""
    vc_arbitration_table: Text
    """The VC of each phase of a weighted arbitration, such as '0*24 1*8' or '(0 0 0 1)*8';
    each phase is one packet. (default none)"""
    port_arbitration: Text
    """Arbitration among the ports whose packets leave by one channel of a port, at every
    channel and every port besides those with a port_arbitration_above: 'round-robin', or
    'wrr-32' to 'wrr-256' with as many phases in port_arbitration_table. None keeps the
    arbitration after reset, which uses the weights of links. (default none)"""
    port_arbitration_table: Text
    """The port of each phase: 0 for the upstream port of a switch, and 1, 2 and so on for its
    downstream ports in order; 0, 1 and so on for the root ports of a host. Packets that the
    switch or host makes itself have one additional phase besides the table. (default none)"""
    port_arbitration_above: Text
    """Port arbitration at the port directly above this node, instead of the port_arbitration
    of the switch or host above. None: the port uses the port_arbitration of the switch or
    host. (default none)"""
    port_arbitration_table_above: Text
    """The port of each phase of port_arbitration_above, numbered as in port_arbitration_table.
    (default none)"""
    acs_egress_control: Flag
    """Whether the other downstream ports of the switch or host above block peer-to-peer
    requests for this node and for all below it: the bit of its port in their Egress Control
    Vectors, with P2P Egress Control in ACS Control. Such a request is an ACS Violation, or
    goes to the root if the port also redirects. (default false)"""
    slot: Literal["none", "hot-plug", "surprise"] | None
    """The kind of slot that the node is in, below the port above: 'none' for no hot plug;
    'hot-plug' for a slot with an attention button and a power controller; or 'surprise' if
    the node may also be removed without notice, so that Surprise Down is no error. (default
    none)"""
    vendor_id: Text
    """Vendor ID of every function, such as '0x10ee'; if none is written, the ID of a common
    product. (default none)"""
    device_id: Text
    """Device ID of every function; if none is written, the ID of a common product. (default
    none)"""
    class_code: Text
    """Class code of a device: base class, subclass and programming interface, such as
    '0x020000' for Ethernet. (default none)"""
    ports: Count
    """Number of ports, with the upstream port. (default 64)"""
    sockets: Count
    """Number of sockets. Every two are connected directly. A link to a root port names the
    socket of the port; the CPU is on the first. (default 1)"""
    socket_latency: Quantity
    """Time from one socket to another, one way. (ns; default 30 ns)"""
    socket_bandwidth: Rate
    """Rate from one socket to another in each direction, for headers and payloads of packets.
    (GB/s; default 20.8 GB/s)"""
    quadrants: Count
    """Number of quadrants of each socket: parts of its I/O die whose root ports share one path
    to the rest of the host, such as the IIO stacks of Intel Xeon processors. A link to a
    root port names the quadrant of the port. (default 1)"""
    quadrant_bandwidth: Rate
    """Rate from each quadrant to the rest of the host, and from there to the quadrant, for
    headers and payloads of packets to and from memory, processors and root ports of other
    quadrants. Packets between root ports of one quadrant do not take this path. (GB/s;
    default none)"""
    quadrant_latency: Quantity
    """Additional time of a packet from a root port of one quadrant to a root port of another
    quadrant of the same socket. (ns; default 0 ns)"""
    quadrant_peer_bandwidth: Rate
    """Rate from each quadrant to each other quadrant of its socket, for headers and payloads
    of packets between root ports. (GB/s; default none)"""
    quadrant_peer_to_peer: Literal["none", "writes", "all"] | None
    """Requests between root ports of different quadrants of one socket that are forwarded, if
    peer_to_peer permits them, too. (default all)"""
    memory: Size
    """Size of the memory. In order of addresses, each socket has an equal share, in whole
    pages of 4 KiB. (B; default 1 GiB)"""
    memory_address_bits: Count
    """Location of the memory: 32 for address 0 (up to 3 GiB), 64 for address 4 GiB, for which
    requests need 16-byte headers. (default 64)"""
    latency: Quantity
    """Time from a packet's header at the ingress to its header at the egress, without
    contention, between links of one speed. From a slower to a faster link the header leaves
    later, so that the faster link does not run empty within the packet. With store-and-
    forward the time begins with the packet's last bit. (ns; default 150 ns)"""
    port_latency: Quantity
    """Part of the latency in the PHY and the pipeline of a root port; a packet holds its
    receive buffer during the rest. DLLPs pass the port, too. None in a coherent host: the
    latencies of its home agent begin and end at the pins. (ns; default none)"""
    port_clock: Quantity
    """Clock of the datapath behind each root port, in each direction. (MHz; default 1 GHz)"""
    port_datapath: Size
    """Bytes that the datapath of a root port transfers each cycle; '0 B' for no limit. A
    packet holds its receive buffer until its last beat has passed. (B; default 0 B)"""
    port_idle_cycles: Count
    """Idle cycles of the datapath of a root port between two packets. (default 0)"""
    ingest_bandwidth: Rate
    """Rate at which the memory system of each socket takes payloads of writes from root ports.
    (GB/s; default none)"""
    write_buffers: Count
    """Number of writes of each socket that may be on their way from root ports to memory
    outside of the receive buffers; 0 for none, so that a write holds its receive buffer
    until it is in memory. (default 0)"""
    writes_per_ownership: Count
    """Number of writes to a line that one ownership of the line by a root port serves; 0 if
    writes need no ownership. A write is visible once its root port owns its lines, and
    after the earlier writes of its port. (default 0)"""
    ownership_time: Quantity
    """Time from the last write to a line under one ownership to the first under the next: the
    line is given back, and requested again. (ns; default none)"""
    memory_read_latency: Quantity
    """Latency of a read in the memory, after its lines are served. (ns; default 80 ns)"""
    memory_read_jitter: Quantity
    """Largest random addition to the latency of a read, uniformly distributed. (ns; default 0
    ns)"""
    memory_bandwidth: Rate
    """Bandwidth of each socket's memory, reads and writes together. (GB/s; default 204.8 GB/s)"""
    memory_line: Size
    """Unit of memory accesses; a shorter write takes the time of a whole line. (B; default 64
    B)"""
    memory_partial_line: Quantity
    """Additional time of a write to a part of a line: the rest of the line must be read first.
    (ns; default 0 ns)"""
    read_completion_boundary: Size
    """Read Completion Boundary in Link Control: addresses at which a read may be divided into
    completions. (B; default 64 B)"""
    largest_completion: Size
    """Largest payload of a completion, if the max payload size allows it. (B; default 4 KiB)"""
    peer_latency: Quantity
    """Time from the last bit of a packet at a root port to its first bit at another root port.
    (ns; default 200 ns)"""
    peer_bandwidth: Rate
    """Rate of packets from one root port to another, with their headers; each pair of ports
    has it in each direction. (GB/s; default none)"""
    largest_peer_payload: Size
    """Largest payload of a packet between root ports, if the max payload size of the port that
    it leaves by allows it. A larger memory write is split at addresses that are multiples
    of it, a larger completion at read completion boundaries; a packet holds its receive
    buffer until its last part has left. Read requests pass whole. (B; default 4 KiB)"""
    peer_to_peer: Literal["none", "writes", "all"] | None
    """Requests between root ports that are forwarded: 'none', 'writes' (posted requests only),
    or 'all'. Others end in Unsupported Request at the root port that receives them.
    (default all)"""
    socket_peer_to_peer: Literal["none", "writes", "all"] | None
    """Requests between root ports of different sockets that are forwarded, if peer_to_peer
    permits them, too. (default all)"""
    socket_peer_bandwidth: Rate
    """Rate of packets to each root port from the root ports of all other sockets together,
    with their headers. (GB/s; default none)"""
    write_response_latency: Quantity
    """Time from the arrival of a posted write at its target, which is the memory of a socket
    or another root port, to its response at the root port that received it. A write waits
    until all earlier writes to other targets that it must not pass have their responses.
    None if writes wait for no response. (ns; default none)"""
    acs_source_validation: Flag
    """Whether downstream ports check the requesters of requests from below: Source Validation
    in ACS Control. A request whose requester is on none of the buses below the port is an
    ACS Violation. (default false)"""
    acs_translation_blocking: Flag
    """Whether downstream ports block memory requests from below with translated addresses, and
    translation requests: Translation Blocking in ACS Control. A request that is blocked is
    an ACS Violation. (default false)"""
    acs_redirect: Flag
    """Whether requests from one downstream port to another are redirected to the root: P2P
    Request Redirect in ACS Control of the downstream ports. A switch above needs
    acs_upstream_forwarding for redirected requests between ports of this one. (default
    false)"""
    acs_upstream_forwarding: Flag
    """Whether packets from below that are routed back to the downstream port that they came in
    by go upstream: Upstream Forwarding in ACS Control of the downstream ports. They were
    redirected by a switch below; without it requests end in Unsupported Request, and
    completions are unexpected. (default false)"""
    acs_direct_translated: Flag
    """Whether requests with translated addresses go directly from one downstream port to
    another, whatever redirect and egress control say: Direct Translated P2P in ACS Control
    of the downstream ports. (default false)"""
    ari_forwarding: Flag
    """Whether downstream ports pass on configuration requests for all 256 functions of a
    device with ARI: ARI Forwarding Supported in Device Capabilities 2. Firmware then
    enables it above devices with ARI; without it, more than 7 virtual functions take a bus
    number of their own. (default true)"""
    tlp_prefixes: Flag
    """Whether ports receive packets with End-End TLP prefixes, such as PASID, and pass them
    on: End-End TLP Prefix Supported in Device Capabilities 2. Without it such a packet is
    malformed. (default false)"""
    write_combining_buffers: Count
    """Stores and other requests of the CPU that may be on their way to root ports. Each holds
    a buffer of its core until its last bit leaves the root port, so that a core stores at
    most this number of 64-byte lines in the time from core to root port. For several cores
    that store at the same time: the sum of their buffers. (default 16)"""
    tags: Count
    """Most outstanding non-posted requests of the CPU. (default 32)"""
    ten_bit_tag_completer: Flag
    """Whether completions repeat all ten bits of a tag: 10-Bit Tag Completer Supported in
    Device Capabilities 2. Without it, firmware enables 10-bit tags at no device of the
    host, because each may send requests to this one. (default true)"""
    completion_timeout: Quantity
    """Completion timeout of non-posted requests. Device Control 2 has the range of times that
    contains it. If software selects another range, the timeout is the time of that range
    that is nearest to this value. If this value is between two ranges, Device Control 2 has
    the longer range. (ns; default 10 ms)"""
    tag_quarantine: Quantity
    """Time after the timeout of a non-posted request during which its tag is not used again,
    so that its late completion is unexpected instead of the answer to another request. (ns;
    default 50 ms)"""
    max_read_request: Size
    """Max read request size in Device Control. (B; default 512 B)"""
    cores: Count
    """Number of threads that can run at the same time; a thread keeps its core until it
    sleeps. (default 8)"""
    system_call: Quantity
    """Time of a system call, without the work of its driver. (ns; default 300 ns)"""
    page_pin: Quantity
    """Time to pin and unpin one page of a buffer. (ns; default 100 ns)"""
    register_write: Quantity
    """Time for which a store to a device blocks its core. (ns; default 100 ns)"""
    memory_write: Quantity
    """Time for which a store to memory blocks its core. (ns; default 2 ns)"""
    poll: Quantity
    """Time from the end of a write to memory until a polling program has seen it. (ns; default
    80 ns)"""
    interrupt_latency: Quantity
    """Time from the arrival of an interrupt until the waiting thread is ready to run. The
    thread uses no core while it waits. (ns; default 3 us)"""
    interrupt_masking: Flag
    """Whether a driver masks the MSI-X vector of an interrupt from the interrupt handler until
    the driver has served the device. All interrupts in this time are signalled as one.
    (default false)"""
    interrupt_timeout: Quantity
    """Time without an interrupt after which a driver that masks its interrupt vector checks
    its device: the last interrupt may have arrived before the data that it signals. (ns;
    default 30 s)"""
    first_bus: Count
    """Number of the first bus below the root ports that firmware assigns. The bus of the root
    ports is 0. (default 1)"""
    error_reporting: Flag
    """Whether firmware enables error messages of all functions of the host, and its operating
    system serves the interrupts of root ports for errors: it reads and clears the status of
    the functions that reported them. (default false)"""
    containment: Literal["none", "fatal", "non-fatal"] | None
    """The errors for which firmware enables Downstream Port Containment of all ports below the
    host that have it: 'none', 'fatal', or 'non-fatal' for both severities. The operating
    system then releases a port that has contained an error, and sets up again the devices
    below the port. (default none)"""
    hot_plug: Flag
    """Whether firmware enables the hot-plug interrupt of slots below the host, and its
    operating system sets up inserted cards, and turns the power of a slot off or on when
    its attention button is pressed. (default false)"""
    driver_recovery: Flag
    """Whether the services for errors, containment and slots notify the drivers of sg-dma,
    nvme, block-dma and accelerator of errors and resets of their devices, so that the
    drivers begin again. The service for errors then also resets the link above a function
    that reports a fatal error. (default false)"""
    bandwidth_notification: Flag
    """Whether firmware enables the interrupt of all ports below the host for the bandwidth of
    their links (Link Bandwidth Management Interrupt Enable), and its operating system reads
    and clears Link Bandwidth Management Status. (default false)"""
    attention_wait: Quantity
    """Time from a press of a slot's attention button until software turns the slot's power
    off. A second press in this time cancels the removal. (ns; default 5 s)"""
    link_up_wait: Quantity
    """Time from when the link below a port is up again until software makes the first
    configuration request to the functions below the port. (ns; default 100 ms)"""
    ecrc: Flag
    """Whether software enables the end-to-end CRC in all functions of the host that have it:
    they add a TLP digest of 4 bytes to each packet that they send, and check the digest of
    packets that they receive. (default false)"""
    aspm_l0s: Flag
    """Whether firmware enables ASPM L0s at the links below the host whose two ports support it
    (l0s_exit_latency). (default false)"""
    aspm_l1: Flag
    """Whether firmware enables ASPM L1 at the links below the host whose two ports support it
    (l1_exit_latency). (default false)"""
    timed_access: Quantity
    """Time to read the clock before and after a measured memory access. (ns; default 0 ns)"""
    clock_read: Quantity
    """Time for which a process reads the clock. (ns; default 25 ns)"""
    buffer_write_rate: Rate
    """Rate at which a process copies its own bytes to a buffer shared with a device. (GB/s;
    default 10 GB/s)"""
    buffer_read_rate: Rate
    """Rate at which a process copies bytes from a buffer shared with a device, after the
    device has written them. (GB/s; default 10 GB/s)"""
    opae_release: Text
    """Release that the OPAE C library reports to programs; 'none' for its own, 2.14.0. The
    library has the same functions in any case. (default none)"""
    failure_latency: Quantity
    """Time from a link failure until software removes the accelerator below the link from all
    lock queues. (ns; default 1 ms)"""
    thread_wake: Quantity
    """Time between the wake-ups of two threads that leave a barrier. (ns; default 2 us)"""
    coherent: Flag
    """Whether cores, and devices that can, cache lines of the memory. (default false)"""
    core_cache: Size
    """Size of each core's cache, which includes its first level. (B; default 1 MiB)"""
    core_cache_ways: Count
    """Ways of each core's cache. (default 8)"""
    core_cache_latency: Quantity
    """Latency of a load that hits in a core's cache. (ns; default 4231 ps)"""
    first_cache: Size
    """Size of each core's first-level data cache. (B; default 64 KiB)"""
    first_cache_ways: Count
    """Ways of the first-level data cache. (default 4)"""
    first_cache_latency: Quantity
    """Latency of a load that hits in the first-level data cache. (ns; default 1538 ps)"""
    core_requests: Count
    """Most outstanding lines of a core. (default 16)"""
    core_snoop_latency: Quantity
    """Time from a snoop to a core's response. (ns; default 15 ns)"""
    core_atomics: Literal["near", "far"] | None
    """Where cores execute atomic operations: 'near', in the core's cache after it has the
    line, or 'far', at the home agent unless the core holds the line alone. (default near)"""
    atomic_latency: Quantity
    """Additional time of an atomic operation on a line that the core holds, compared with a
    load. (ns; default 8 ns)"""
    core_distance: Quantity
    """Time from a core to the home agent. (ns; default 8 ns)"""
    port_distance: Quantity
    """Time from a root port to the home agent, for coherence messages. (ns; default 100 ns)"""
    home_latency: Quantity
    """Time that the home agent needs for its directory and for an answer. (ns; default 6 ns)"""
    system_cache: Size
    """Size of the system cache, which all agents share. (B; default 8 MiB)"""
    system_cache_ways: Count
    """Ways of the system cache. (default 16)"""
    system_cache_latency: Quantity
    """Latency of the system cache. (ns; default 10 ns)"""
    packet_header: Literal["optimized", "compatible"] | None
    """Packet header of coherence messages: 'optimized' or 'compatible'. (default optimized)"""
    message_packing: Flag
    """Whether several coherence messages go in one packet. (default true)"""
    largest_packet: Size
    """Largest payload of a packet of coherence messages. (B; default 256 B)"""
    iommu: Flag
    """Whether the host translates the addresses of all requests from below. Software maps
    every address to itself; without this, only devices with virtual addresses have theirs
    translated. (default false)"""
    iommu_page: Size
    """Largest page by which software maps the memory for `iommu`; other devices' BARs have the
    largest pages that fit. (default 4 KiB)"""
    iommu_mapped: Size
    """Bytes of the memory, from its beginning, that software maps for `iommu`; what is beyond
    is a fault. (B; default none)"""
    iommu_pasids: Text
    """The processes whose addresses devices may use, by PASID, each perhaps with the bytes of
    memory, from its beginning, that software maps for it; all of it, and the BARs of
    devices, where none are written: '1, 16-31, 7: 64 KiB'. Software maps every address to
    itself. The addresses of other processes, and those that are not mapped, are faults.
    Requests without a PASID prefix are translated only with `iommu`. (default none)"""
    iommu_requests: Count
    """Most requests from below whose translations are outstanding; later ones wait in the
    receive buffers of their root ports. 0 for as many as these buffers hold. (default 0)"""
    iotlb_entries: Count
    """Pages in the cache of translations (IOTLB), a power of two. (default 64)"""
    iotlb_ways: Count
    """Ways of the IOTLB, a power of two; as many as entries for a fully associative cache.
    (default 4)"""
    lookup_latency: Quantity
    """Latency of a lookup in the IOTLB. Lookups are pipelined. (ns; default 3 ns)"""
    walkers: Count
    """Page walks at the same time; each reads one descriptor after the other. (default 8)"""
    walk_latency: Quantity
    """Time from the IOMMU to the memory controller, and from the memory controller to the
    IOMMU, which each read of a descriptor takes. (ns; default none)"""
    walk_cache_entries: Count
    """Tables of the lower levels in the walk cache, at which walks can begin. (default 256)"""
    invalidate_after: Size
    """Bytes of translated requests of a function after which software invalidates, because it
    unmaps what the function has used: the size of a buffer (iommu.strict=1 on Linux), or of
    as many as are unmapped together. (B; default none)"""
    invalidation_scope: Literal["pages", "function"] | None
    """Translations that go after so many bytes: 'pages', translations of the pages that the
    function has used since the last time, or 'function', all of it, with the tables in the
    walk cache. (default pages)"""
    invalidation_interval: Quantity
    """Time from the first use of a translation to an invalidation of all translations of all
    functions, again and again. (ns; default none)"""
    invalidation_latency: Quantity
    """Time of an invalidation in the IOMMU, from its order or the end of the one before.
    Software waits for its end before it orders the next one for the function. (ns; default
    200 ns)"""
    request_latency: Quantity
    """Time of a translation request (ATS) in the agent before its lookup. (ns; default 0 ns)"""
    page_latency: Quantity
    """Time that software takes to make a page resident for a page request (PRI). (ns; default
    10 us)"""
    pretranslate: Flag
    """Whether the page after a used page is walked ahead while a walker is free. (default
    false)"""
    core_latency: Quantity
    """Part of the latency in which a packet is in the core and holds its ingress buffer. The
    PHYs and pipelines of the two ports have equal parts of the rest; DLLPs pass these, too.
    (ns; default none)"""
    cut_through: Flag
    """Whether a packet is forwarded as soon as its header has arrived (cut-through), or only
    when it is complete. (default true)"""
    store_for_faster_links: Flag
    """Whether a cut-through switch forwards a packet only when it is complete if the egress
    link is faster than the ingress link. (default false)"""
    output_queue: Size
    """Size of a queue for packets of one class from one port to one output, beside the receive
    buffers (virtual output queues); 0 is none. A packet moves there from the receive buffer
    as soon as it has space, so that packets for a slow output do not use up the credit of
    all others. (B; default 0 B)"""
    acs_completion_redirect: Flag
    """Whether completions from one downstream port to another go to the root, except those
    with Relaxed Ordering: P2P Completion Redirect in ACS Control of the downstream ports.
    (default false)"""
    atomic_routing: Flag
    """Whether ports pass on requests for atomic operations: AtomicOp Routing Supported in
    Device Capabilities 2. A switch without it takes one that it would have to pass on as an
    Unsupported Request, and firmware enables no AtomicOp requesters below it. (default
    true)"""
    atomic_egress_blocking: Flag
    """Whether the ports block requests for atomic operations at their egress: AtomicOp Egress
    Blocking in Device Control 2 of each port that routes them. A blocked request ends with
    the error AtomicOp Egress Blocked and the status Unsupported Request. (default false)"""
    tlp_prefix_blocking: Flag
    """Whether no port lets packets with End-End TLP prefixes out: End-End TLP Prefix Blocking
    in Device Control 2 of all ports. Such a packet ends with the error TLP Prefix Blocked.
    (default false)"""
    bar: Size
    """Size of BAR 0, a power of two; '0 B' for none. (B; default 64 KiB)"""
    bar_address_bits: Count
    """Address width of BAR 0 and of the virtual functions' BAR 0: 32 for below 4 GiB, 64 for
    any address; none for 64 if the BAR is larger than 256 MiB, otherwise 32. (default none)"""
    virtual_functions: Count
    """Number of virtual functions (SR-IOV). They are functions 1 and up of the device; more
    than 7 need ARI Forwarding at the port above, or else take the next bus number. Firmware
    enables them, as the driver of function 0 would; 0 for no SR-IOV. (default 0)"""
    virtual_bar: Size
    """Size of BAR 0 of each virtual function, a power of two. (B; default 4 KiB)"""
    msi_vectors: Count
    """Number of MSI vectors that each function requests. (default 1)"""
    msix_vectors: Count
    """Number of entries of the MSI-X table of each function; 0 for no MSI-X. Firmware then
    enables MSI-X instead of MSI, and drivers write the entries before they use the device.
    (default 0)"""
    msix_bar: Count
    """BAR with the MSI-X table and its pending bits. 0 places them at the end of BAR 0, and of
    each virtual function's BAR 0; another number selects a BAR that contains nothing else.
    (default 0)"""
    msix_table: Size
    """Offset of the MSI-X table in its BAR, a multiple of 8. With none, the table is at the
    beginning of a BAR of its own. In BAR 0, it is then at the beginning of the last 4 KiB
    blocks, as many as table and pending bits need. (B; default none)"""
    msix_pending: Size
    """Offset of the pending bits in the BAR of the MSI-X table, a multiple of 8. With none,
    they are 2 KiB after the beginning of the table, or, if the table has more than 128
    entries, at the first multiple of 4 KiB after its beginning that is behind the table.
    (B; default none)"""
    interrupt_traffic_class: Count
    """Traffic class of the messages of interrupts, MSI and MSI-X. Messages of another class
    than the data before them may overtake it. (default 0)"""
    write_payload: Size
    """Largest payload of the engine's memory writes, where it is less than Max_Payload_Size;
    none for Max_Payload_Size. (B; default none)"""
    function_level_reset_time: Quantity
    """Time that a function level reset takes. During this time the function drops the packets
    that arrive. (ns; default 100 us)"""
    completion_buffer: Size
    """Size of the completion buffer of each function; none for no limit. A function has no
    more requests outstanding than fit into the buffer. A request occupies its space until
    its completions have reached the engine. (B; default none)"""
    completion_buffer_headers: Count
    """Number of completions for which the completion buffer of each function has space; none
    for no limit. A request occupies the space of as many completions as it may be divided
    into, at multiples of 64 bytes. (default none)"""
    pasid_width: Count
    """Width in bits of the PASIDs that the functions can use: Max PASID Width in the PASID
    capability; none for no capability. The PASID of a request identifies the process whose
    addresses it uses. Firmware enables the capability if all ports up to the root port have
    `tlp_prefixes`. (default none)"""
    pasid_execute: Flag
    """Whether the functions can request permission to execute the data that they read: Execute
    Permission Supported. (default false)"""
    pasid_privileged: Flag
    """Whether the functions can send requests of privileged software: Privileged Mode
    Supported. (default false)"""
    implementation: Literal["model", "rtl"] | None
    """Engine behind the core: 'model', or 'rtl' for a circuit in SystemVerilog that takes the
    place of the model. None is 'rtl' for a device with a `circuit`, and 'model' for all
    others. The circuit's beats have the width of `datapath`, and its clock is `clock`.
    (default none)"""
    circuit: Text
    """Circuit of a library that --circuit loads, or of gateware/circuits.toml; none for the
    model's own circuit. Another circuit than the model's own receives the packets for the
    device's BARs, but no driver supports its registers. (default none)"""
    waves: Text
    """Times, from the beginning of the run, between which the circuit's signals are written to
    DEVICE.vcd in the current folder, such as '10 us..12 us'; of a circuit only. (default
    none)"""
    clock: Quantity
    """Clock of the datapath between engine and core. (MHz; default 250 MHz)"""
    datapath: Size
    """Bytes that the datapath takes from the engine each cycle, headers and payloads in whole
    beats; '0 B' for no limit. (B; default 0 B)"""
    idle_cycles: Count
    """Idle cycles of the datapath between two packets of the engine. (default 0)"""
    straddling: Size
    """Distance between the positions in a beat of the datapath at which a packet of the engine
    may begin if the previous packet ends in this beat; '0 B' if each packet begins with a
    beat. (B; default 0 B)"""
    receive_datapath: Size
    """Bytes that the datapath passes to the engine each cycle, headers and payloads in whole
    beats; '0 B' for no limit. A packet occupies the receive buffer until its last beat has
    passed. `datapath` is for sending only, as in the documents for device profiles. (B;
    default 0 B)"""
    receive_idle_cycles: Count
    """Idle cycles of the datapath between two packets for the engine. (default 0)"""
    receive_straddling: Size
    """Distance between the positions in a beat of the receive datapath at which a packet for
    the engine may begin if the previous packet ends in this beat; '0 B' if each packet
    begins with a beat. (B; default 0 B)"""
    send_latency: Quantity
    """Time from the engine's transfer of a packet to its first bit on the wire. The path is a
    pipeline: it does not limit the rate. (ns; default 0 ns)"""
    receive_latency: Quantity
    """Time from a packet's last bit on the wire to its arrival at the engine, besides its
    beats on the receive datapath. (ns; default 0 ns)"""
    read_latency: Quantity
    """Time from a read request's arrival at the engine to the data of its completions. (ns;
    default 100 ns)"""
    send_queue: Count
    """Largest number of requests that wait for the wire before the engine stops. Requests that
    pass the send path within `send_latency` do not count, and completions do not count.
    While completions wait, the limit is at most 8, or the number of completions if that is
    larger. (default 8)"""


class Controller(Repeated, total=False):
    """Keys of controllers."""

    ports: Count
    """Number of ports, each for one network interface controller. (default 4)"""
    virtual_channels: Count
    """Virtual channels of each port for data. A packet waits in the channel with its output's
    number modulo this. (default 2)"""
    get_channel: Flag
    """Whether GETs have an additional virtual channel. Without it, GETs and PUTs can wait for
    each other. (default true)"""
    channel_buffer: Size
    """Size of the packet buffer at each port, for each virtual channel. (B; default 4 KiB)"""
    crossbar_clock: Quantity
    """Clock of the crossbar, which transfers 16 bytes per cycle at each port. (MHz; default
    250 MHz)"""
    processor_space: Size
    """Size of each processor's part of the global address space: others can access its memory
    and I/O below this address. (B; default 128 GiB)"""
    io_buffer: Size
    """Size of the buffer for loads and stores at each port, for each of posted requests, non-
    posted requests and completions. (B; default 8 KiB)"""
    cable_send_latency: Quantity
    """Time from the crossbar to the first bit on a cable. (ns; default 0 ns)"""
    cable_receive_latency: Quantity
    """Time from a packet's last bit on a cable to the crossbar. (ns; default 0 ns)"""
    crossbar_cycles: Count
    """Cycles from a packet's header at one port to its header at another port. (default 7)"""
    max_payload_supported: Size
    """Largest payload that the function supports (Device Capabilities, Max_Payload_Size
    Supported). (B; default 512 B)"""
    ack_policy: Literal["at-once", "merged", "share", "limit"] | None
    """How soon an Ack is sent: at-once, one for each packet; merged, as soon as the wire is
    free, where a newer one replaces one that waits; share, by ack_limit_fraction and
    ack_packets; limit, by the specification's limit. (default share)"""
    ack_limit_fraction: Ratio
    """Delay of an Ack, as a fraction of the specification's ACK transmission latency limit, if
    the policy is share. (default 1)"""
    ack_packets: Count
    """Number of packets after which an Ack is sent without further delay, if the policy is
    share; 0 for no such number. (default 0)"""
    update_fc_policy: Literal["at-once", "merged", "share", "limit"] | None
    """How soon an UpdateFC is sent: at-once, one for each packet that leaves its buffer;
    merged, as soon as the wire is free, where a newer one replaces one that waits; share,
    by update_fc_share, update_fc_packets and update_fc_delay; limit, by the specification's
    guideline. It is always sent at once if the far end has too little credit for a packet.
    (default share)"""
    update_fc_share: Ratio
    """An UpdateFC is sent when the freed credit reaches this share of the buffer, if the
    policy is share; 0 sends one for each packet, as the policy merged does. (default 0)"""
    update_fc_packets: Count
    """Number of freed packets of a class after which an UpdateFC is sent, if the policy is
    share; 0 for no such number. (default 0)"""
    update_fc_delay: Quantity
    """Longest time from freeing credit to its UpdateFC, unless the policy is limit. (ns;
    default none)"""
    update_fc_refresh: Quantity
    """Time after which a limit is sent again, although nothing was freed. (ns; default 30 us)"""
    scaled_flow_control: Flag
    """Whether the port supports scaled flow control, with which it can announce buffers of
    more than 127 headers and 2047 data credits. It is used if both ends of the link support
    it. (default none)"""
    extended_vc_count: Count
    """Virtual channels of every port besides VC0 (Extended VC Count). Each has buffers of its
    own, of the sizes below. With one at least, the port has the Virtual Channel capability.
    (default 0)"""
    low_priority_vcs: Count
    """Channels that share the wire with VC0 by vc_arbitration (Low Priority Extended VC
    Count); the others have strict priority, the highest VC first. None for all. (default
    none)"""
    posted_headers: Count
    """Header credits for posted requests; 0 is infinite. (default none)"""
    posted_data: Size
    """Buffer for data of posted requests; 0 is infinite. (B; default none)"""
    nonposted_headers: Count
    """Header credits for non-posted requests; 0 is infinite. (default none)"""
    nonposted_data: Size
    """Buffer for data of non-posted requests; 0 is infinite. (B; default none)"""
    completion_headers: Count
    """Header credits for completions, unless the port has infinite credit for completions by
    rule; 0 is infinite. (default none)"""
    completion_data: Size
    """Buffer for data of completions, unless the port has infinite credit for completions by
    rule; 0 is infinite. (B; default none)"""
    replay_buffer: Size
    """Size of the replay buffer, which holds TLPs until they are acknowledged, with framing,
    sequence number and LCRC. A new TLP is sent only if it fits. (B; default none)"""
    receive_pipeline: Quantity
    """Time from the pins to the data link layer and the receive buffer, through the PHY and
    the pipeline behind it. It applies to DLLPs, too. (ns; default 0 ns)"""
    receive_pipeline_symbols: Count
    """Part of the receive pipeline in cycles of the link's symbol clock. None is 0 in switches
    and coherent hosts, whose latencies begin and end at the pins, and 46 in other hosts and
    in devices. (default none)"""
    transmit_pipeline: Quantity
    """Time from the data link layer to the pins, through the pipeline before the PHY and the
    PHY. It applies to DLLPs, too. (ns; default 0 ns)"""
    transmit_pipeline_symbols: Count
    """Part of the transmit pipeline in cycles of the link's symbol clock. None is 0 in
    switches and coherent hosts, whose latencies begin and end at the pins, and 48 in other
    hosts and in devices. (default none)"""
    replay_timer_factor: Ratio
    """The replay timer, as a multiple of the specification's limit. (default 2)"""
    skip_position: Ratio
    """Position of skip ordered sets within their permitted interval, from 0 (earliest) to 1
    (latest). (default 0.5)"""
    training_time: Quantity
    """Time that the port trains a link that was down, from the far end's first TS1 until its
    own TS2: Detect, Polling and Configuration, the change to the link's speed, and
    equalisation. (ns; default none)"""
    recovery_time: Quantity
    """Time that the port spends in Recovery, from the far end's first TS1 until its own last
    TS2. (ns; default none)"""
    l0s_exit_latency: Quantity
    """Time that the port's receiver needs to exit L0s (L0s Exit Latency in Link Capabilities).
    A port that has this time set supports ASPM L0s. (ns; default none)"""
    l0s_entry_time: Quantity
    """Time without packets after which the port's transmitter enters L0s, where software has
    enabled it. (ns; default 7 us)"""
    l1_exit_latency: Quantity
    """Time that the port needs from L1 to L0, including Recovery (L1 Exit Latency in Link
    Capabilities). A port that has this time set supports ASPM L1. (ns; default none)"""
    l1_entry_time: Quantity
    """Time without packets after which the upstream port of a device or switch requests L1,
    where software has enabled it. (ns; default 10 us)"""
    speed_change_time: Quantity
    """Time that a change of rate adds to Recovery, besides a second search for the bits of the
    far end: electrical idle, and equalisation. (ns; default 800 ns)"""


class Cable(Repeated, total=False):
    """Keys of cables."""

    generation: Text
    """Generation, 1 to 5; or the speed, '2.5 GT/s' to '32 GT/s', with '20 GT/s' and '25 GT/s'
    in CCIX's extended speed mode, which registers show as generation 4. (default 3)"""
    lanes: Text
    """Width: 1, 2, 4, 8, 12, 16 or 32 lanes. (default 16)"""
    delay: Quantity
    """Time of flight from one end to the other. (ns; default 1 ns)"""
    bit_error_rate: Ratio
    """Probability that a bit arrives wrong, in each direction. (default 0)"""
    sris: Flag
    """Whether the two ends have separate reference clocks with independent spread spectrum
    clocking (SRIS): SKP ordered sets come ten times as often, and Slot Clock Configuration
    is clear. (default false)"""
    spread_spectrum: Flag
    """Whether spread spectrum clocking modulates the reference clocks: the frequency falls by
    0.5 % and rises again, some 31,500 times a second. The link has the mean rate, a quarter
    of a percent below the nominal one. (default true)"""
    fails_at: Quantity
    """Time from the start of the run until the link fails, if ever; a failed link delivers
    nothing and does not come up again. A switch below the failed link is reset, and the
    links below this switch fail as well. A device below the failed link is not reset, and
    all that it sends is lost. (ns; default none)"""
    tc_vc_map: Text
    """Virtual channel of each traffic class, on both ends, such as 'TC0-5: VC0, TC6-7: VC1';
    'TC7: none' for a class that the link does not carry, whose packets are malformed. None
    leaves all classes on VC0. (default none)"""
    arbitration_weight: Count
    """Packets that this link may send in a row through an upper port that it shares with
    others (weighted round robin). (default 1)"""


class Network(Repeated, total=False):
    """Keys of networks, fibres."""

    routing: Literal["dimension-order", "adaptive"] | None
    """'dimension-order'; or 'adaptive': any minimal path with free buffer space, or dimension
    order on separate channels if no minimal path has free space. Adaptive packets may
    overtake each other. (default dimension-order)"""
    dateline: Flag
    """Whether packets change their virtual channel at the end of a ring; without this, rings
    can deadlock. (default true)"""
    length: Quantity
    """Fibre length: light takes 4.9 ns per metre. (m; default 2 m)"""
    fibre_bit_error_rate: Ratio
    """Probability that a bit arrives wrong, in each direction. (default 0)"""
    severed_at: Quantity
    """Time from the beginning of the flows until the fibre is cut, if ever. (ns; default none)"""


class Fibre(Repeated, total=False):
    """Keys of fibres, networks."""

    length: Quantity
    """Fibre length: light takes 4.9 ns per metre. (m; default 2 m)"""
    fibre_bit_error_rate: Ratio
    """Probability that a bit arrives wrong, in each direction. (default 0)"""
    severed_at: Quantity
    """Time from the beginning of the flows until the fibre is cut, if ever. (ns; default none)"""


class Incident(Repeated, total=False):
    """Keys of incidents."""

    offset: Size
    """First byte that becomes poisoned: an offset in the memory of a host, or behind BAR 0 of
    a device. (B; default 0 B)"""
    size: Size
    """Number of bytes that become poisoned; with 0, the data of the next packets that the node
    sends becomes poisoned, instead of a memory. (B; default 0 B)"""
    count: Count
    """With size = 0, number of packets: memory writes and completions of a device, reads that
    a host answers. (default 1)"""
    function: Count
    """The function of the device: 0 for the physical one, 1 and more for its virtual
    functions. (default 0)"""
    wait: Quantity
    """Time from the insertion to the first configuration request of the host to the node. (ns;
    default 100 ms)"""
    restore: Flag
    """Whether the host then restores the registers of everything below to the values that its
    firmware has set. (default true)"""
    drivers: Flag
    """Whether the host notifies the drivers of the devices below of the reset: the drivers set
    the devices up again and repeat the transfers that were lost. (default false)"""
    generation: Text
    """The highest rate that still works, as a generation or as a speed; none for the highest
    rate of the link. (default none)"""
    lanes: Text
    """The number of lanes that still work; none for all lanes of the link. (default none)"""
    bus: Literal["above", "below"] | None
    """The bus that is reset: 'above' sets Secondary Bus Reset of the port above the node,
    which resets the node and everything below it; 'below' sets Secondary Bus Reset of the
    node's own upstream port, which resets everything below a switch. (default above)"""
    hold: Quantity
    """Time for which the host holds the bus in reset. (ns; default 2 ms)"""


class Flow(Repeated, total=False):
    """Keys of flows."""

    direction: Literal["write", "read", "both", "round-trip"] | None
    """Direction of the data: 'write', 'read', 'both' or 'round-trip'. (default write)"""
    size: Size
    """Bytes to move; one of size, count and duration is given. (B; default none)"""
    count: Count
    """Number of requests to make; one of size, count and duration is given. (default none)"""
    duration: Quantity
    """Time during which new requests are made; one of size, count and duration is given. (ns;
    default none)"""
    request_size: Size
    """Bytes of one request, which the engine sends as packets within max payload (writes) or
    max read request (reads); none for one packet, or 4 B (round trips). (B; default none)"""
    start: Quantity
    """Time of the first request. (ns; default 0 ns)"""
    interval: Quantity
    """Least time between requests; 0 for as fast as possible. (ns; default 0 ns)"""
    offset: Size
    """Offset of the first byte in the target; none for a place that no earlier flow uses, if
    there is enough space. (B; default none)"""
    window: Size
    """Bytes of the target that are used repeatedly; none to use each byte once, or 1 MiB with
    a duration. Without a window, all requests of a router use the same place. (B; default
    none)"""
    addresses: Literal["sequential", "random", "strided"] | None
    """Places in the window at which requests begin: 'sequential', each where the previous one
    ended; 'random'; or 'strided', each one stride after the beginning of the previous one.
    After the end of the window, requests continue at its start. (default sequential)"""
    stride: Size
    """Bytes from the beginning of one strided request to the beginning of the next. (B;
    default none)"""
    alignment: Size
    """Alignment of random requests: they begin at multiples of this size in the window. None
    for the size of a request; 1 B for any place. (B; default none)"""
    requests: Requests
    """Recorded requests, one a line: the time from the start of the flow on, the offset in the
    target, and the size, such as '0 ns, 0 B, 4 KiB'. Numbers without a unit are nanoseconds
    and bytes. A request is made at its time, or later if the requester is still busy; its
    latency begins at its time. Without times, each request is made as early as possible.
    None for requests of one size. (default none)"""
    socket: Count
    """The socket of the host whose memory is the target; offset and window then refer to the
    memory of this socket. None for the whole memory, beginning with the first socket.
    (default none)"""
    read_after_write: Flag
    """With direction = 'both': whether each read follows the write to the same place. The read
    is made after the write has been sent, and returns the written data. (default false)"""
    carries: Text
    """An earlier flow whose data this flow carries on: data that reached the engine through
    its FIFOs, or that was written to the blocks of the drive. None for data of its own.
    (default none)"""
    after: Text
    """Another flow whose system call must return before the system call of this flow is made.
    (default none)"""
    primitive: Literal["nap-immediate", "nap-indirect", "put", "get"] | None
    """Primitive of messages of a nic: 'nap-immediate', 'nap-indirect', 'put' or 'get'; none
    for 'put' (writes) or 'get' (reads). (default none)"""
    outstanding: Count
    """Maximum number of outstanding messages of a nic. (default none)"""
    smallest: Size
    """Smallest size of the messages of a nic. If it is given, sizes are random, evenly
    distributed from smallest to request_size; the flow has the bytes of count messages of
    request_size, and the latency is not measured. None: all messages have request_size. (B;
    default none)"""
    function: Count
    """The function of a nic whose queue pair sends the messages: 0 is the physical one; none
    for any that is free. (default none)"""
    relaxed_ordering: Flag
    """Whether requests have the attribute Relaxed Ordering, with which they may pass earlier
    writes. The requester sets it while Enable Relaxed Ordering in its Device Control is
    set. (default false)"""
    id_ordering: Flag
    """Whether requests have the attribute ID-based Ordering, with which they may pass earlier
    writes of other requesters. The requester sets it while IDO Request Enable in its Device
    Control 2 is set. (default false)"""
    no_snoop: Flag
    """Whether requests have the attribute No Snoop: the requester needs no coherence. The
    requester sets it while Enable No Snoop in its Device Control is set. (default false)"""
    traffic_class: Count
    """Traffic class of the requests. (default 0)"""
    pasid: Count
    """The process whose virtual addresses the requests have: the requests have a PASID prefix
    with this number. The requester sends the prefix while PASID Enable in its PASID
    capability is set, and the IOMMU of the host translates the addresses with the page
    table of the process. (default none)"""
    execute_requested: Flag
    """Whether the PASID prefix of reads requests permission to execute: Execute Requested.
    (default false)"""
    privileged_requested: Flag
    """Whether the PASID prefix says that privileged software makes the requests: Privileged
    Mode Requested. (default false)"""
    requester_id: Text
    """Requester ID of the requests of a dma device, such as '05:00.0', instead of the ID of
    its function, to model a faulty or malicious device. Completions are sent to the
    function with this ID. (default none)"""
    translated_addresses: Flag
    """Whether the requests of a dma device are marked as translated in their address type
    (AT), to model a device with a translation cache, or a malicious one. (default false)"""
    clock: Literal["arrival", "sender", "application"] | None
    """Clock of the rate: 'arrival', 'sender' or, where a driver moves the flow, 'application'.
    (default arrival)"""


class Traffic(Repeated, total=False):
    """Keys of traffic."""

    pattern: Literal["uniform", "transpose", "hot-spot", "neighbour", "tornado"] | None
    """Destinations of messages: 'uniform' (any node, itself included), 'transpose', 'hot-
    spot', 'neighbour' or 'tornado'. (default uniform)"""
    message: Size
    """Payload of one message. (B; default 256 B)"""
    arrivals: Literal["poisson", "even", "bernoulli"] | None
    """Arrival process of messages: 'poisson', 'even', or 'bernoulli', which makes a trial in
    each cycle of a fibre. (default poisson)"""
    hot_node: Count
    """The hot node of the pattern 'hot-spot', by its number in the network. (default 0)"""
    hot_share: Ratio
    """Share of the messages that go to the hot node in addition to its uniform share. (default
    0.2)"""
    start: Quantity
    """Time at which the first messages are offered. (ns; default 0 ns)"""
    duration: Quantity
    """Time for which messages are offered. (ns; default none)"""


class Collective(Repeated, total=False):
    """Keys of collectives."""

    algorithm: Literal["ring", "dimension-wise"] | None
    """Algorithm of an all-reduce: 'ring', around all nodes, or 'dimension-wise', around the
    rings of one dimension after the other. (default ring)"""
    size: Size
    """Bytes of each node's vector, or of each message to a neighbour. (B; default 4 KiB)"""
    iterations: Count
    """Number of exchanges, one after the other. (default 1)"""
    start: Quantity
    """Start time of the collective. (ns; default 0 ns)"""


class Schedule(Repeated, total=False):
    """Keys of schedules."""

    algorithm: Literal["ring", "one-shot", "two-shot", "islands"] | None
    """'ring', 'one-shot', 'two-shot' or 'islands'. The last two are for an all-reduce only.
    (default ring)"""
    size: Size
    """Bytes of the vector of each device. (B; default 1 MiB)"""
    chunk: Size
    """Largest part of a vector that is moved, signalled and reduced on its own, so that
    transfers and sums overlap. (B; default 512 KiB)"""
    by: Literal["push", "pull"] | None
    """'push', the source writes, or 'pull', the destination reads. (default push)"""
    engine: Literal["copy", "kernel"] | None
    """'kernel', loads and stores, or 'copy', the copy engines. (default kernel)"""
    island: Count
    """Number of devices in each island, in the order of `devices`; for the algorithm 'islands'
    only. (default 2)"""
    start: Quantity
    """Start time of the schedule. (ns; default 0 ns)"""


class Step(Repeated, total=False):
    """Keys of steps."""

    peer: Text
    """The other end of a push or a pull: a device of the schedule, or the host above. (default
    none)"""
    size: Size
    """Number of bytes; none for the whole vector of the schedule. (B; default none)"""
    offset: Size
    """Offset of the first byte in the vector of the device. (B; default 0 B)"""
    peer_offset: Size
    """Offset of the first byte in the vector of the peer; of a reduce or a copy, in the vector
    of the device itself. (B; default 0 B)"""
    engine: Literal["copy", "kernel"] | None
    """'kernel', loads and stores, or 'copy', a copy engine, for a push or a pull; none for the
    engine of the schedule. (default none)"""
    time: Quantity
    """The time of a compute step. (ns; default 0 ns)"""


class Buffer(Repeated, total=False):
    """Keys of buffers."""

    size: Size
    """Size of the buffer. (B; default 1 MiB)"""
    page: Size
    """Page size of the buffer for devices with virtual addresses; the buffer begins on a page.
    (default 4 KiB)"""
    present: Flag
    """Whether the pages are present before a device with virtual addresses requests them
    (PRI). (default true)"""
    in_system_cache: Flag
    """Whether the host's software wrote the buffer before the run, so that the system cache of
    the coherent host has its lines at the start. If the cache is too small, it has the last
    lines of the buffer. (default false)"""
    moves: Count
    """Number of times that the host's software moves the buffer, to another place in memory or
    back, while devices use it. During a move, devices drop their address translations of
    the buffer and wait; the first core copies the data. (default 0)"""
    move_interval: Quantity
    """Time from the beginning of the run to the first move, and from the end of each move to
    the next. (ns; default 50 us)"""
    rights: Literal["read-write", "read"] | None
    """Rights of devices with virtual addresses: 'read-write' or 'read'. (default read-write)"""


class Accesses(Repeated, total=False):
    """Keys of accesses."""

    kind: (
        Literal["read", "write", "atomic-store", "atomic-load", "atomic-swap", "atomic-compare"]
        | None
    )
    """Kind of access: 'read', 'write', 'atomic-store', 'atomic-load', 'atomic-swap' or
    'atomic-compare'. (default read)"""
    size: Size
    """Bytes of each access. An atomic operation has 4, 8 or 16; by a block-dma, only an
    atomic-compare can have 16. (B; default 64 B)"""
    count: Count
    """Number of measured accesses, on each core. (default 1000)"""
    warm_up: Count
    """Number of accesses before the measured ones. (default 0)"""
    order: Literal["sequential", "random", "local"] | None
    """Order of addresses: 'sequential', each where the previous access ended; 'random', at any
    multiple of the size in the buffer; or 'local', at the beginning. (default random)"""
    cores: Count
    """Number of cores of a host that make accesses at the same time. (default 1)"""
    first_core: Count
    """Number of the first core. (default 0)"""
    start: Quantity
    """Time of the first access. (ns; default 0 ns)"""
    interval: Quantity
    """Time from the end of each access to the beginning of the next. (ns; default 0 ns)"""
    turnaround: Quantity
    """Software time around each access (call, doorbell, interrupt or poll, return). It is
    added to the interval and lowers the rate, but is no part of the latency. (ns; default 0
    ns)"""
    driven: Literal["device", "program"] | None
    """What starts each access of a device: 'device', the device itself; or 'program', a
    program on the host, which writes the device's registers in a system call and waits for
    the end of the access. With 'program', rates include the time of the program. (default
    device)"""
    completion: Literal["poll", "interrupt"] | None
    """How the program detects the end of an access: 'poll', by reads of the status register,
    or 'interrupt'. (default poll)"""
    warm_translations: Flag
    """Whether an accelerator has the address translations of the buffer at the start, up to
    the capacity of its translation cache. (default false)"""


class Locks(Repeated, total=False):
    """Keys of locks, transactions."""

    buckets: Count
    """Number of buckets of the lock table, a power of two; each bucket has a cache line of its
    own. All work on the table must have the same number. (default 64)"""
    width: Count
    """Bits of a bucket: 64 for a queue of 4 owners, 128 for a queue of 8. All work on the
    table must have the same width. (default 64)"""
    count: Count
    """Number of requests or transactions, on each core. (default 1000)"""
    interval: Quantity
    """Time from the release of each lock to the next request. (ns; default 0 ns)"""
    random_intervals: Flag
    """Whether intervals are random, with an exponential distribution whose mean is `interval`,
    such as the think times of users. (default false)"""
    software: Quantity
    """Software time of each request or transaction before its first compare-and-swap: the hash
    and the call. (ns; default 20 ns)"""
    poll: Quantity
    """Time between two reads of a lock by an owner that waits for it, and time from a failed
    request to a full queue until the next request. (ns; default 100 ns)"""
    cores: Count
    """Number of cores of a host that do the work at the same time. (default 1)"""
    first_core: Count
    """Number of the first core. (default 0)"""
    start: Quantity
    """Time of the first request or transaction. (ns; default 0 ns)"""
    warm_translations: Flag
    """Whether an accelerator has the address translations of the buffers at the start, up to
    the capacity of its translation cache. (default false)"""
    records: Count
    """Number of record versions. Each request locks a random one; with 1, all requests lock
    the same one. (default 1024)"""
    hold: Quantity
    """Time from the grant of each lock to its release. (ns; default 0 ns)"""


class Transactions(Repeated, total=False):
    """Keys of transactions, locks."""

    buckets: Count
    """Number of buckets of the lock table, a power of two; each bucket has a cache line of its
    own. All work on the table must have the same number. (default 64)"""
    width: Count
    """Bits of a bucket: 64 for a queue of 4 owners, 128 for a queue of 8. All work on the
    table must have the same width. (default 64)"""
    count: Count
    """Number of requests or transactions, on each core. (default 1000)"""
    interval: Quantity
    """Time from the release of each lock to the next request. (ns; default 0 ns)"""
    random_intervals: Flag
    """Whether intervals are random, with an exponential distribution whose mean is `interval`,
    such as the think times of users. (default false)"""
    software: Quantity
    """Software time of each request or transaction before its first compare-and-swap: the hash
    and the call. (ns; default 20 ns)"""
    poll: Quantity
    """Time between two reads of a lock by an owner that waits for it, and time from a failed
    request to a full queue until the next request. (ns; default 100 ns)"""
    cores: Count
    """Number of cores of a host that do the work at the same time. (default 1)"""
    first_core: Count
    """Number of the first core. (default 0)"""
    start: Quantity
    """Time of the first request or transaction. (ns; default 0 ns)"""
    warm_translations: Flag
    """Whether an accelerator has the address translations of the buffers at the start, up to
    the capacity of its translation cache. (default false)"""
    rows: Count
    """Number of rows. Each row is a cache line with its current version. All work on the rows
    must have the same number. (default 1024)"""
    lock: Literal["row", "table"] | None
    """What each transaction locks: 'row', the row that it updates; or 'table', all rows. All
    work on the rows must have the same value. (default row)"""
    contention: Ratio
    """Share of transactions that update the first row. The other transactions update rows that
    no other core updates. (default 0)"""
    work: Quantity
    """Time from the read of the current version to the write of its successor. (ns; default
    100 ns)"""


class DmaDevice(Device, total=False):
    """Keys of devices, model dma."""

    tags: Count
    """Most outstanding non-posted requests. (default 32)"""
    request_latency: Quantity
    """Time from the begin of a request in the engine to its tag and its first packet. The
    engine begins requests early enough that this latency does not limit their rate. (ns;
    default 0 ns)"""
    store_and_forward: Rate
    """Rate at which the engine collects a whole request of a flow: a write before its first
    packet, a read after its last completion; none if the data of each packet is passed on
    at once. The engine collects any number of requests at the same time, so the rate adds a
    latency and does not limit the throughput. (GB/s; default none)"""
    request_interval: Quantity
    """Least time between two packets with requests of the engine. (ns; default 0 ns)"""


class GpuDevice(Device, total=False):
    """Keys of devices, model gpu."""

    memory: Size
    """Size of the memory. BAR 0 gives access to the whole memory; its size is the next power
    of two, and its address has 64 bits. Software can make it smaller (Resizable BAR). (B;
    default 16 GiB)"""
    memory_bandwidth: Rate
    """Rate of the memory, for reads and writes together. Reductions and local copies take it.
    (GB/s; default 1000 GB/s)"""
    copy_engines: Count
    """Number of copies that copy engines can make at the same time. Further copies of a
    schedule wait. Flows do not wait, because each flow stands for a program with a copy
    engine of its own. (default 2)"""
    copy_latency: Quantity
    """Time from the begin of a copy to its first request. (ns; default 1.5 us)"""
    copy_payload: Size
    """Largest payload of a write of a copy engine, if the max payload size permits it. (B;
    default 256 B)"""
    store_payload: Size
    """Largest payload of a store of a kernel, after stores of neighbouring threads have been
    combined, if the max payload size permits it. (B; default 128 B)"""
    load_size: Size
    """Largest request of a load of a kernel, after loads of neighbouring threads have been
    combined. (B; default 128 B)"""
    kernel_latency: Quantity
    """Time from the start of a kernel to its first load or store. (ns; default 2 us)"""
    poll_latency: Quantity
    """Time from the arrival of a flag in the memory to the next step of the kernel that polls
    the flag. (ns; default 500 ns)"""
    ingress_bandwidth: Rate
    """Rate at which the memory takes payloads of writes from other devices and from hosts;
    none for no limit. Data that the GPU has read is not limited. (GB/s; default none)"""
    tags: Count
    """Most outstanding non-posted requests. (default 256)"""


class BlockDmaDevice(Device, total=False):
    """Keys of devices, model block-dma."""

    tags: Count
    """Most outstanding non-posted requests. (default 32)"""
    start_latency: Quantity
    """Time from the start of a transfer to its first request: command decoding and request
    generation. (ns; default 100 ns)"""
    end_latency: Quantity
    """Time from the last data of a transfer, received or transmitted, to its end in the
    engine. (ns; default 40 ns)"""
    request_interval: Quantity
    """Least time between two requests of a transfer. (ns; default 0 ns)"""
    virtual_addresses: Flag
    """Whether the engine's addresses are virtual and translated by its host (IOMMU). The
    engine sends no translation requests. (default false)"""


class SgDmaDevice(Device, total=False):
    """Keys of devices, model sg-dma."""

    user: Literal["source-sink", "loopback", "matrix", "reflector"] | None
    """Circuit between the FIFOs: 'source-sink', 'loopback', 'matrix' or 'reflector'. (default
    source-sink)"""
    crossed: Flag
    """Whether the matrix is crossed: RX_FIFO feeds EP_TX_FIFO, and EP_RX_FIFO feeds TX_FIFO. A
    register changes it. (default false)"""
    fifo: Size
    """Size of each of the four FIFOs. The engine requests no more data than a FIFO has space
    for. (B; default 4 KiB)"""
    user_clock: Quantity
    """Clock of the user circuit, which fills or empties each FIFO by as many bytes each cycle
    as `datapath` has (8 B if that has no limit). With none, the circuit has the engine's
    clock, which is as fast as the link. A reflector uses no FIFO, and has no such limit.
    (MHz; default none)"""
    descriptors: Count
    """Number of descriptors in the engine's memory, for each direction. (default 2048)"""
    descriptor_fetch: Flag
    """Whether lists stay in host memory, and the engine fetches descriptors while it works.
    (default false)"""
    fetch_size: Size
    """Size of a fetch of descriptors. (B; default 512 B)"""
    descriptor_traffic_class: Count
    """Traffic class of fetches of descriptors. (default 0)"""
    descriptor_cycles: Count
    """Cycles from the end of the work on one descriptor to the first packet of the next one.
    If lists are fetched, cycles from the arrival of a descriptor to its first packet.
    (default 8)"""
    outstanding_reads: Count
    """Most outstanding read requests for data. (default 32)"""
    tags: Count
    """Most outstanding non-posted requests of any kind. (default 32)"""


class FpgaCardDevice(Device, total=False):
    """Keys of devices, model fpga-card."""

    afu: (
        Literal[
            "none",
            "nlb_mode_0",
            "nlb_mode_3",
            "nlb_mode_7",
            "he_lb",
            "he_mem",
            "dma_afu",
            "streaming_dma_afu",
        ]
        | None
    )
    """Unit in the slot: 'nlb_mode_0', 'nlb_mode_3', 'nlb_mode_7', 'he_lb', 'he_mem',
    'dma_afu', 'streaming_dma_afu' or 'none'. (default nlb_mode_0)"""
    slots: Count
    """Number of slots, each with a port. A slot for which a unit is set exists in any case.
    (default 1)"""
    afu_1: (
        Literal[
            "none",
            "nlb_mode_0",
            "nlb_mode_3",
            "nlb_mode_7",
            "he_lb",
            "he_mem",
            "dma_afu",
            "streaming_dma_afu",
        ]
        | None
    )
    """Unit in slot 1. (default none)"""
    afu_2: (
        Literal[
            "none",
            "nlb_mode_0",
            "nlb_mode_3",
            "nlb_mode_7",
            "he_lb",
            "he_mem",
            "dma_afu",
            "streaming_dma_afu",
        ]
        | None
    )
    """Unit in slot 2. (default none)"""
    afu_3: (
        Literal[
            "none",
            "nlb_mode_0",
            "nlb_mode_3",
            "nlb_mode_7",
            "he_lb",
            "he_mem",
            "dma_afu",
            "streaming_dma_afu",
        ]
        | None
    )
    """Unit in slot 3. (default none)"""
    afu_clock: Quantity
    """Clock of the accelerator functional units, which transfer 64 bytes each cycle, until
    software sets a user clock. (MHz; default 200 MHz)"""
    configuration_rate: Rate
    """Rate of partial reconfiguration, in bytes of the bitstream. (GB/s; default 100 MB/s)"""
    outstanding_reads: Count
    """Most outstanding reads of host memory, of 64 to 256 bytes. (default 64)"""
    waiting_writes: Count
    """Most writes of host memory, of 64 to 256 bytes, and interrupts that wait for the link.
    (default 16)"""
    tags: Count
    """Most outstanding non-posted requests. (default 64)"""
    memory: Size
    """Size of the card's memory, with all channels. (B; default 8 GiB)"""
    memory_channels: Count
    """Number of channels of the card's memory; each is a bank of addresses. (default 2)"""
    memory_bandwidth: Rate
    """Bandwidth of each channel. (GB/s; default 17066666667 B/s)"""
    memory_latency: Quantity
    """Latency of a read, after its transfer by the channel. (ns; default 150 ns)"""


class RouterDevice(Device, total=False):
    """Keys of devices, model router."""

    fibre_ports: Count
    """Number of optical ports. (default 4)"""
    router_clock: Quantity
    """Clock of the router's logic. (MHz; default 250 MHz)"""
    forward_cycles: Count
    """Cycles from a packet's arrival to its departure by a fibre or by PCI Express. (default
    13)"""
    deliver_cycles: Count
    """Cycles from a packet's arrival by a fibre to the router's own user logic. (default 13)"""
    queue_gap_cycles: Count
    """Cycles after the departure of a packet from its queue that the next packet needs to get
    its route and virtual channel; 0 if it gets both while the previous packet leaves.
    (default 0)"""
    local_width: Count
    """Number of packets that the crossbar transfers from the node, or to the node, in the time
    of one packet of a fibre. (default 2)"""
    injection_queues: Count
    """Queues for packets of the node, selected by their first fibre. With a local_width of 1
    they share a path into the crossbar; otherwise each has its own. (default 2)"""
    arbitration: Literal["round-robin", "transit-first", "oldest-first"] | None
    """Arbitration between waiting packets: 'transit-first' prefers packets in the network to
    packets of the node itself, which keeps the throughput of a full network; 'round-robin'
    serves the queues in turn; 'oldest-first' is fairest. (default transit-first)"""
    injection_buffer: Size
    """Size of each buffer for packets that wait to enter the network; a full buffer holds back
    PCI Express. (B; default 8 KiB)"""
    aperture: Size
    """Bytes of each node's memory in the window, a power of two. (B; default 1 MiB)"""
    optical_lanes: Count
    """Serial lanes of a port. (default 4)"""
    lane_rate: Quantity
    """Bit rate of one lane. (Gbit/s; default 10.3125 Gbit/s)"""
    virtual_channels: Count
    """Virtual channels of a port. (default 2)"""
    channel_buffer: Size
    """Size of the receive buffer of each virtual channel; with native flow control, of one
    buffer for all channels. (B; default none)"""
    flow_control: Literal["credits", "native"] | None
    """Flow control of the fibre: 'credits' for each virtual channel, or 'native' flow control
    that pauses the whole port. (default credits)"""
    packet_size: Size
    """Largest payload of a packet. (B; default 1536 B)"""
    reliable: Flag
    """Whether frames are numbered, acknowledged, and sent again after loss or damage. (default
    false)"""
    retransmission_buffer: Size
    """Size of the buffer for frames that are not acknowledged yet. (B; default none)"""
    core_latency: Quantity
    """Latency of both cores and transceivers, from the user logic of one end to that of the
    other. (ns; default 292 ns)"""
    clock_compensation: Flag
    """Whether the channel stops for clock compensation: 8 cycles in every 4,992. (default
    true)"""
    credit_cycles: Count
    """Cycles that a credit block takes on an idle wire; 0 if credit has a wire of its own. On
    a busy wire, credit is part of the next header. (default 1)"""
    loss_detection: Quantity
    """Time after which an end detects that its fibre is dark. (ns; default 1 us)"""


class NicDevice(Device, total=False):
    """Keys of devices, model nic."""

    controller: Text
    """Controller of the network interface; needed where there are several. (default none)"""
    processor: Count
    """Number among all processors, to which packets are addressed; none for the next free
    number. (default none)"""
    start_mode: Literal["doorbell", "descriptor"] | None
    """Start of messages: 'doorbell', the controller reads the descriptor from memory after one
    store of software, or 'descriptor', software stores the descriptor in the controller, 8
    bytes at a time, if it has 256 bytes or fewer. Each queue pair has a window of its own
    for it, so that software needs no lock. (default doorbell)"""
    arbiter: Literal["round-robin", "priority"] | None
    """Arbitration between doorbells: 'round-robin' over the functions, or 'priority' for
    functions with lower numbers first. (default round-robin)"""
    sharing: Literal["message", "packet"] | None
    """Sharing of the engine by functions: 'packet', a packet of each function in turn, so that
    none waits for another's long message, or 'message', one message after the other.
    (default packet)"""
    weights: Text
    """With sharing = 'packet', the number of packets that each function sends in its turn,
    physical function first: '4, 2' are 4, 2, and 1 for all others. (default 1)"""
    doorbell_fifo: Count
    """Most waiting doorbells of a function. (default 32)"""
    descriptors: Count
    """Most descriptors that are read at the same time. (default 4)"""
    messages: Count
    """Most messages whose data is read at the same time; with sharing = 'packet', the limit
    applies to each function. (default 8)"""
    reorder_buffer: Size
    """Size of the buffer for data that is requested and not packed yet. (B; default 32 KiB)"""
    read_request: Size
    """Largest read request, if the max read request size allows it. The register of a PCI
    Express function cannot be set below 128 bytes. (B; default 128 B)"""
    network_payload: Size
    """Largest payload of a packet to another controller. (B; default 128 B)"""
    tags: Count
    """Most outstanding non-posted requests, for descriptors, data and buffer addresses
    together. (default 32)"""
    doorbell_cycles: Count
    """Cycles from a doorbell to the read request for its descriptor. (default 7)"""
    parse_cycles: Count
    """Cycles from a descriptor's arrival to the begin of its work. (default 7)"""
    reorder_cycles: Count
    """Cycles from data's arrival until it is in order. (default 13)"""
    packetise_cycles: Count
    """Cycles to make a packet. (default 7)"""
    receive_cycles: Count
    """Cycles from a packet's arrival to its write requests. (default 7)"""
    handling_cycles: Count
    """Cycles that the receiver of completions needs for each completion besides its header and
    data. (default 1)"""
    nap_cycles: Count
    """Cycles from one packet of a NAP to the next; each packet has the engine to itself.
    (default 35)"""
    immediate_cycles: Count
    """Additional cycles for each 16 bytes of an immediate NAP's packets: its data leaves the
    descriptor at 64 bits per cycle. (default 1)"""
    event_cycles: Count
    """Cycles from the last write of a message to the write of its event. (default 13)"""
    get_queue: Count
    """Most waiting GETs of other processors; with sharing = 'packet', the limit applies to
    each function. (default 8)"""
    buffer_prefetch: Count
    """Number of buffer addresses that are prefetched for the NAPs of a queue pair. When half
    of them are used, more are read from memory. (default 16)"""
    receive_buffer: Size
    """Size of the receive buffer for packets from the crossbar, for each of its virtual
    channels. (B; default 4 KiB)"""
    window_cycles: Count
    """Cycles of a load, a store or an answer from PCI Express to the crossbar, and from the
    crossbar to PCI Express. (default 7)"""
    loads: Count
    """Most outstanding loads of this processor from other processors. (default 32)"""
    descriptor_traffic_class: Count
    """Traffic class of reads of descriptors and of buffer addresses, and of writes of events.
    (default 0)"""


class AcceleratorDevice(Device, total=False):
    """Keys of devices, model accelerator."""

    cache: Size
    """Size of the cache for lines of the host's memory. (B; default 128 KiB)"""
    cache_ways: Count
    """Ways of the cache. (default 4)"""
    cache_latency: Quantity
    """Latency of a write that hits. (ns; default 48 ns)"""
    data_latency: Quantity
    """Additional latency of a read, to read the data from the cache's memory and to transfer
    it through the port. (ns; default 16 ns)"""
    miss_latency: Quantity
    """Additional latency in the cache of an access that sends a request to the home agent.
    (ns; default 116 ns)"""
    snoop_latency: Quantity
    """Time from a snoop to its response. (ns; default 80 ns)"""
    second_cache: Size
    """Size of a second level, which includes the first; '0 B' for no second level. (B; default
    0 B)"""
    second_cache_ways: Count
    """Ways of the second level. (default 8)"""
    second_latency: Quantity
    """Additional latency of an access with its line only in the second level. (ns; default 40
    ns)"""
    port_clock: Quantity
    """Clock of the port for accesses. (MHz; default 250 MHz)"""
    port_width: Size
    """Bytes that the port transfers each cycle. (B; default 64 B)"""
    atomic_accesses: Count
    """Number of requests at the port, one after the other, for an atomic operation that
    returns a value: for example, one for its operands by the write channel and one for the
    value by the read channel. Each has the latency of the cache. An AtomicStore is one
    request. (default 2)"""
    whole_line_request: Literal["make-unique", "read-unique"] | None
    """Request for a line that is written whole and not held: 'make-unique', which moves no
    data, or 'read-unique'. (default make-unique)"""
    outstanding: Count
    """Most outstanding requests for lines; as many write-backs may be outstanding besides
    them. (default 64)"""
    virtual_addresses: Flag
    """Whether addresses are virtual, and translated by the host (ATS). (default false)"""
    translations: Count
    """Size of the translation cache in translations, a power of two. (default 256)"""
    translation_ways: Count
    """Ways of the translation cache. (default 4)"""
    translation_latency: Quantity
    """Additional latency of an access that misses the translation cache, besides the host's
    answer; half of it before the request, half after the answer. (ns; default 0 ns)"""
    translation_requests: Count
    """Most outstanding translation requests. (default 16)"""
    page_requests: Count
    """Most outstanding page requests (PRI). With 0 there are no page requests, and accesses to
    absent pages fail. (default 16)"""


class NvmeDevice(Device, total=False):
    """Keys of devices, model nvme."""

    block_size: Size
    """Size of a block. (B; default 512 B)"""
    capacity: Size
    """Size of the drive; whole blocks of it are used. (B; default 1 GiB)"""
    queue_entries: Count
    """Most entries of an I/O queue (MQES plus one). The driver of flows has queues of this
    length. (default 64)"""
    io_queues: Count
    """Most I/O submission queues, and most I/O completion queues. The driver of flows uses one
    of each, with the interrupt of the admin queues; with more, each has an interrupt of its
    own. (default 1)"""
    commands: Count
    """Most I/O commands in progress; fewer if their data could be more than 128 MiB. (default
    32)"""
    max_transfer: Size
    """Largest transfer of a command (MDTS). (B; default 128 KiB)"""
    ready_time: Quantity
    """Time from CC.EN to CSTS.RDY. (ns; default 0 ns)"""
    shutdown_time: Quantity
    """Time of a shutdown after the write cache is empty. (ns; default 100 us)"""
    temperature: Count
    """Composite temperature, in kelvin. (default 313)"""
    channels: Count
    """Number of channels of the media, which work in parallel. (default 8)"""
    dies: Count
    """Number of dies of each channel. They work in parallel and share the bandwidth of the
    channel. (default 4)"""
    stripe: Size
    """Number of consecutive bytes in one die. A die keeps the stripe that it has read last;
    another read of this stripe takes no time of the die. (B; default 16 KiB)"""
    media_read_latency: Quantity
    """Time from the begin of a read in a die to its data. (ns; default 60 us)"""
    media_write_latency: Quantity
    """Time from the last data of a write command to its end: the data is in the write cache.
    (ns; default 10 us)"""
    program_latency: Quantity
    """Time of a program operation, which writes a stripe, or a part of it, to a die. (ns;
    default 600 us)"""
    media_bandwidth: Rate
    """Bandwidth of the media, of all channels together. Reads and writes of a channel share
    its bandwidth. (GB/s; default 9.6 GB/s)"""
    write_cache: Size
    """Size of the volatile write cache; '0 B' for none. Reads of data in the cache take no
    time of the media. (B; default 64 MiB)"""
    tags: Count
    """Most outstanding non-posted requests. (default 32)"""
    descriptor_traffic_class: Count
    """Traffic class of reads of submission entries and lists of pages, and of writes of
    completion entries. (default 0)"""


class ReflectorDevice(Device, total=False):
    """Keys of devices, model reflector."""


Built_co = TypeVar("Built_co", covariant=True)


class AddDevice(Protocol[Built_co]):
    """`Fabric.device`, with the keys of each model."""

    @overload
    def __call__(
        self,
        name: str,
        to: str,
        *,
        model: Literal["dma"] | None = None,
        **settings: Unpack[DmaDevice],
    ) -> Built_co: ...

    @overload
    def __call__(
        self, name: str, to: str, *, model: Literal["gpu"], **settings: Unpack[GpuDevice]
    ) -> Built_co: ...

    @overload
    def __call__(
        self, name: str, to: str, *, model: Literal["block-dma"], **settings: Unpack[BlockDmaDevice]
    ) -> Built_co: ...

    @overload
    def __call__(
        self, name: str, to: str, *, model: Literal["sg-dma"], **settings: Unpack[SgDmaDevice]
    ) -> Built_co: ...

    @overload
    def __call__(
        self, name: str, to: str, *, model: Literal["fpga-card"], **settings: Unpack[FpgaCardDevice]
    ) -> Built_co: ...

    @overload
    def __call__(
        self, name: str, to: str, *, model: Literal["router"], **settings: Unpack[RouterDevice]
    ) -> Built_co: ...

    @overload
    def __call__(
        self, name: str, to: str, *, model: Literal["nic"], **settings: Unpack[NicDevice]
    ) -> Built_co: ...

    @overload
    def __call__(
        self,
        name: str,
        to: str,
        *,
        model: Literal["accelerator"],
        **settings: Unpack[AcceleratorDevice],
    ) -> Built_co: ...

    @overload
    def __call__(
        self, name: str, to: str, *, model: Literal["nvme"], **settings: Unpack[NvmeDevice]
    ) -> Built_co: ...

    @overload
    def __call__(
        self,
        name: str,
        to: str,
        *,
        model: Literal["reflector"],
        **settings: Unpack[ReflectorDevice],
    ) -> Built_co: ...

    @overload
    def __call__(
        self, name: str, to: str, *, model: type[Model] | Model | Library, **settings: Setting
    ) -> Built_co: ...
