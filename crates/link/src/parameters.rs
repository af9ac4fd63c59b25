//! Parameters of PCI Express ports, and named profiles of them.

use kernel::{Bytes, Parameters, Span, Value};
use protocol::Generation;

use crate::policy::{AckRule, DllpPolicy, UpdateRule};

kernel::parameters! {
    /// A port: its buffers, acknowledgement and flow control.
    pub struct PortParameters {
        /// Largest payload that the function supports (Device Capabilities, Max_Payload_Size Supported).
        max_payload_supported: Bytes = Bytes(512),
            among [Bytes(128), Bytes(256), Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)],
            lifts "payload" to ["256 B", "512 B", "1024 B"], ranges ["256 B", "512 B"], from "common among switches and FPGA cores; root ports of servers support 256 or 512 B, and a path has the least of its ports";
        /// How soon an Ack is sent: at-once, one for each packet; merged, as soon as the wire is free, where a newer one replaces one that
        /// waits; share, by ack_limit_fraction and ack_packets; limit, by the specification's limit.
        ack_policy: DllpPolicy = DllpPolicy::Share, from "PCIe Base 3.6.3.1: the limit itself, by the number below";
        /// Delay of an Ack, as a fraction of the specification's ACK transmission latency limit, if the policy is share.
        ack_limit_fraction: f64 = 1.0, within 0.0..=1.0, from "PCIe Base 3.6.3.1: the limit itself";
        /// Number of packets after which an Ack is sent without further delay, if the policy is share; 0 for no such number.
        ack_packets: u32 = 0, within 0..=1024, from "our choice: the delay alone";
        /// How soon an UpdateFC is sent: at-once, one for each packet that leaves its buffer; merged, as soon as the wire is free, where a
        /// newer one replaces one that waits; share, by update_fc_share, update_fc_packets and update_fc_delay; limit, by the
        /// specification's guideline. It is always sent at once if the far end has too little credit for a packet.
        update_fc_policy: DllpPolicy = DllpPolicy::Share, from "our choice: by the numbers, which are one for each packet, as merged";
        /// An UpdateFC is sent when the freed credit reaches this share of the buffer, if the policy is share; 0 sends one for each packet, as
        /// the policy merged does.
        update_fc_share: f64 = 0.0, within 0.0..=1.0, from "Xilinx UG197 1.5, Flow Control: normally after each packet is received; PLX PEX 8532 data book 1.6, 8.4.5.3: typically one for each incoming TLP";
        /// Number of freed packets of a class after which an UpdateFC is sent, if the policy is share; 0 for no such number.
        update_fc_packets: u32 = 0, within 0..=2032, from "our choice: the share and the delay alone";
        /// Longest time from freeing credit to its UpdateFC, unless the policy is limit.
        update_fc_delay: Option<Span> = None, within None..=Some(Span::from_us(1_000_000)), from "PCIe Base 2.6.1.2: the guideline for the link's rate and width and the max payload size";
        /// Time after which a limit is sent again, although nothing was freed.
        update_fc_refresh: Span = Span::from_us(30), within Span::from_us(1)..=Span::from_us(1_000_000), from "PCIe Base 2.6.1.2: 30 us to 45 us; 120 us to 180 us with Extended Synch";
        /// Whether the port supports scaled flow control, with which it can announce buffers of more than 127 headers and 2047 data
        /// credits. It is used if both ends of the link support it.
        scaled_flow_control: Option<bool> = None, from "PCIe Base 3.4.2: from 16 GT/s on, where downstream ports must support it";
        /// Virtual channels of every port besides VC0 (Extended VC Count). Each has buffers of its own, of the sizes below. With one at
        /// least, the port has the Virtual Channel capability.
        extended_vc_count: u32 = 0, within 0..=7, from "PCIe Base 7.9.1.2: most devices have VC0 alone";
        /// Channels that share the wire with VC0 by vc_arbitration (Low Priority Extended VC Count); the others have strict
        /// priority, the highest VC first. None for all.
        low_priority_vcs: Option<u32> = None, within None..=Some(7), from "our choice: all, so that no channel starves";
        /// Header credits for posted requests; 0 is infinite.
        posted_headers: Option<u32> = None, within None..=Some(2032), lifts "credit posted headers" times [16] most "2032" to ["2032"], from "computed: what the link carries during the loop of its credit, a header for every 32 bytes on the wire; 64 at least";
        /// Buffer for data of posted requests; 0 is infinite.
        posted_data: Option<Bytes> = None, within None..=Some(Bytes(32752 * 16)), lifts "credit posted data" times [16] most "256 KiB" to ["256 KiB"], from "computed: what the link carries during the loop of its credit, through the pipelines of both ports, the cable and the receiver; 16 KiB at least";
        /// Header credits for non-posted requests; 0 is infinite.
        nonposted_headers: Option<u32> = None, within None..=Some(2032), lifts "credit non-posted headers" times [16] most "2032" to ["2032"], from "computed: what the link carries during the loop of its credit, a header for every 32 bytes on the wire; 64 at least";
        /// Buffer for data of non-posted requests; 0 is infinite.
        nonposted_data: Option<Bytes> = None, within None..=Some(Bytes(32752 * 16)), lifts "credit non-posted data" times [16] most "256 KiB" to ["256 KiB"], from "computed: a data credit for each header; 1 KiB at least";
        /// Header credits for completions, unless the port has infinite credit for completions by rule; 0 is infinite.
        completion_headers: Option<u32> = None, within None..=Some(2032), lifts "credit completion headers" times [16] most "2032" to ["2032"], from "computed: what the link carries during the loop of its credit, a header for every 32 bytes on the wire; 64 at least";
        /// Buffer for data of completions, unless the port has infinite credit for completions by rule; 0 is infinite.
        completion_data: Option<Bytes> = None, within None..=Some(Bytes(32752 * 16)), lifts "credit completion data" times [16] most "256 KiB" to ["256 KiB"], from "computed: what the link carries during the loop of its credit, through the pipelines of both ports, the cable and the receiver; 16 KiB at least";
        /// Size of the replay buffer, which holds TLPs until they are acknowledged, with framing, sequence number and LCRC. A new TLP is
        /// sent only if it fits.
        replay_buffer: Option<Bytes> = None, lifts "replay-buffer" times [16, 256, 4096] to ["1 MiB"], from "computed: what the link carries until an Ack at the latency limit is back; 32 KiB at least";
        /// Time from the pins to the data link layer and the receive buffer, through the PHY and the pipeline behind it. It applies
        /// to DLLPs, too.
        receive_pipeline: Span = Span::ZERO, within Span::ZERO..=Span::from_us(10), from "our choice: in the latency of the device";
        /// Part of the receive pipeline in cycles of the link's symbol clock. None is 0 in switches and coherent hosts, whose latencies begin
        /// and end at the pins, and 46 in other hosts and in devices.
        receive_pipeline_symbols: Option<u32> = None, within None..=Some(1000), from "46: Microchip PolarFire transceiver, data path latency with 8b/10b and 40 bits, as for PIPE: 314 unit intervals; AMD PG051, receive path of a MAC: 15 cycles of a symbol clock";
        /// Time from the data link layer to the pins, through the pipeline before the PHY and the PHY. It applies to DLLPs, too.
        transmit_pipeline: Span = Span::ZERO, within Span::ZERO..=Span::from_us(10), from "our choice: in the latency of the device";
        /// Part of the transmit pipeline in cycles of the link's symbol clock. None is 0 in switches and coherent hosts, whose latencies begin
        /// and end at the pins, and 48 in other hosts and in devices.
        transmit_pipeline_symbols: Option<u32> = None, within None..=Some(1000), from "48: Microchip PolarFire transceiver, data path latency with 8b/10b and 40 bits, as for PIPE: 404 unit intervals; AMD PG051, transmit path of a MAC: 8 cycles of a symbol clock";
        /// The replay timer, as a multiple of the specification's limit.
        replay_timer_factor: f64 = 2.0, within 1.0..=2.0, from "PCIe Base 3.6.2.1: -0 % / +100 %";
        /// Position of skip ordered sets within their permitted interval, from 0 (earliest) to 1 (latest).
        skip_position: f64 = 0.5, within 0.0..=1.0, from "our choice: the middle";
        /// Time that the port trains a link that was down, from the far end's first TS1 until its own TS2: Detect, Polling and
        /// Configuration, the change to the link's speed, and equalisation.
        training_time: Option<Span> = None, within Some(Span::from_us(1))..=Some(Span::from_us(1_000_000)), from "PCIe Base 4.2.6.2 and 4.2.6.3, least ordered sets at 2.5 GT/s: 1024 TS1 and 16 TS2 in Polling, 8 TS1 and 16 TS2 in Configuration, 68 us; equalisation from 8 GT/s on may take 100 ms more (4.2.6.4.2)";
        /// Time that the port spends in Recovery, from the far end's first TS1 until its own last TS2.
        recovery_time: Option<Span> = None, within Some(Span::ZERO)..=Some(Span::from_us(100_000)), from "PCIe Base 4.2.6.4, least ordered sets at the link's rate: 8 TS1 in Recovery.RcvrLock, 16 TS2 in Recovery.RcvrCfg, 16 idle symbols in Recovery.Idle";
        /// Time that the port's receiver needs to exit L0s (L0s Exit Latency in Link Capabilities). A port that has this time set
        /// supports ASPM L0s.
        l0s_exit_latency: Option<Span> = None, within None..=Some(Span::from_us(100)), from "our choice: no ASPM, as servers are configured";
        /// Time without packets after which the port's transmitter enters L0s, where software has enabled it.
        l0s_entry_time: Span = Span::from_us(7), within Span::from_ns(100)..=Span::from_us(7), from "PCIe Base 5.4.1.1.1: at most 7 us";
        /// Time that the port needs from L1 to L0, including Recovery (L1 Exit Latency in Link Capabilities). A port that has this time
        /// set supports ASPM L1.
        l1_exit_latency: Option<Span> = None, within None..=Some(Span::from_us(1000)), from "our choice: no ASPM, as servers are configured";
        /// Time without packets after which the upstream port of a device or switch requests L1, where software has enabled it.
        l1_entry_time: Span = Span::from_us(10), within Span::from_ns(100)..=Span::from_us(1000), from "our choice: the least time from a refusal to the next request, PCIe Base 5.4.1.2.1";
        /// Time that a change of rate adds to Recovery, besides a second search for the bits of the far end: electrical idle, and
        /// equalisation.
        speed_change_time: Span = Span::from_ns(800), within Span::from_ns(800)..=Span::from_us(100_000), from "PCIe Base 4.2.6.4.4: electrical idle of at least 800 ns; equalisation at 8 GT/s and more may take 100 ms more (4.2.6.4.2)";
    }
}

impl PortParameters {
    /// Whether the port offers scaled flow control on a link of this rate (PCIe Base 3.4.2: required from 16 GT/s on).
    pub fn offers_scaled_flow_control(&self, generation: Generation) -> bool {
        self.scaled_flow_control
            .unwrap_or(generation >= Generation::Gen4)
    }

    /// Adds the usual pipelines between the pins and the data link layer to the port, unless the parameters set other pipelines.
    pub fn add_usual_pipelines(&mut self) {
        self.receive_pipeline_symbols.get_or_insert(RECEIVE_SYMBOLS);
        self.transmit_pipeline_symbols
            .get_or_insert(TRANSMIT_SYMBOLS);
    }

    pub(crate) fn ack_rule(&self) -> AckRule {
        self.ack_policy
            .ack_rule(self.ack_limit_fraction, self.ack_packets)
    }

    pub(crate) fn update_rule(&self) -> UpdateRule {
        self.update_fc_policy
            .update_rule(self.update_fc_share, self.update_fc_packets)
    }

    /// The longest time from when credit is freed until its UpdateFC is sent, if it differs from the guideline of the specification.
    pub(crate) fn update_delay(&self) -> Option<Span> {
        self.update_fc_delay
            .filter(|_| self.update_fc_policy != DllpPolicy::Limit)
    }

    /// The duration of training from Detect on.
    pub(crate) fn training_time(&self) -> Span {
        let least = symbols(Generation::Gen1, 16 * (1024 + 16 + 8 + 16));
        self.training_time.unwrap_or(least)
    }

    /// Time from the pins to the data link layer.
    pub fn receive_pipeline(&self, generation: Generation) -> Span {
        self.receive_pipeline + symbols(generation, self.receive_pipeline_symbols.unwrap_or(0))
    }

    /// Time from the data link layer to the pins.
    pub fn transmit_pipeline(&self, generation: Generation) -> Span {
        self.transmit_pipeline + symbols(generation, self.transmit_pipeline_symbols.unwrap_or(0))
    }
}

/// The usual delays of the pipelines of a port, in cycles of the symbol clock.
const RECEIVE_SYMBOLS: u32 = 46;
const TRANSMIT_SYMBOLS: u32 = 48;

/// The time of `count` cycles of a link's symbol clock.
pub(crate) fn symbols(generation: Generation, count: u32) -> Span {
    Span::from_fs(generation.lane_byte_fs_x64() * u64::from(count) / 64)
}

/// A named set of port parameters.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// The name of the profile in scenarios.
    pub name: &'static str,
    /// The devices that the profile describes.
    pub help: &'static str,
    /// The settings: parameter, value as in a scenario, and source of the value.
    pub settings: &'static [(&'static str, &'static str, &'static str)],
}

/// All built-in profiles, which every scenario may use.
pub fn profiles() -> &'static [Profile] {
    PROFILES
}

impl Profile {
    /// Applies the settings of the profile to `parameters`. Settings that `parameters` do not have are ignored.
    ///
    /// # Panics
    ///
    /// Panics if a value of the profile is not valid for its parameter.
    pub fn apply(&self, parameters: &mut dyn Parameters) {
        for (key, text, _) in self.settings {
            let known = parameters.set(key, &Value::written(text));
            known.unwrap_or_else(|why| panic!("profile {} sets {key}: {why}", self.name));
        }
    }

    /// The keys of the profile's settings that none of `parameters` has.
    pub fn unknown(&self, parameters: &[&dyn Parameters]) -> Vec<&'static str> {
        let has = |key: &str| parameters.iter().any(|one| one.keys().contains(&key));
        let keys = self.settings.iter().map(|(key, ..)| *key);
        keys.filter(|key| !has(key)).collect()
    }
}

/// Declares built-in profiles, as `PROFILES`. Each profile has a name, a description of its devices, and settings. Each setting has a value
/// as in a scenario, and the source of the value.
#[macro_export]
macro_rules! profiles {
    ($($name:literal: $help:literal { $($key:ident = $value:literal, from $source:literal;)* })+) => {
        const PROFILES: &[$crate::Profile] = &[$($crate::Profile {
            name: $name,
            help: $help,
            settings: &[$((stringify!($key), $value, $source)),*],
        }),+];
    };
}

profiles! {
    "generic": "The defaults of every port parameter." {}
    "xilinx-7-series": "Integrated block for PCI Express of Xilinx 7-series FPGAs." {
        max_payload_supported = "512 B", from "the authors of rosta state 512 B; the core goes to 1024 B";
        update_fc_share = "0", from "Xilinx UG197 1.5, Flow Control: UpdateFC normally after each packet is received; of the Virtex-5 block, which the 7 series descends from";
        posted_headers = "32", from "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_PH 32";
        posted_data = "6992 B", from "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_PD 437";
        nonposted_headers = "12", from "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_NPH 12";
        nonposted_data = "384 B", from "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_NPD 24";
        completion_headers = "36", from "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_CH 36";
        completion_data = "7376 B", from "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_CD 461";
        replay_buffer = "16080 B", from "the core as generated for 512-byte payloads: VC0_TX_LASTPACKET 29, so 30 packets of 512 bytes and their frames";
    }
    "xilinx-ultrascale-plus": "Integrated block for PCI Express of AMD UltraScale+ FPGAs, up to 16 GT/s." {
        max_payload_supported = "1024 B", from "AMD PG213, Completion Space: capability max payload sizes to 1024 bytes";
        completion_headers = "128", from "AMD PG213, table Receiver-Buffer Completion Space, performance level Extreme: CPH 128";
        completion_data = "32768 B", from "AMD PG213, table Receiver-Buffer Completion Space, performance level Extreme: CPD 32,768 B";
    }
    "intel-h-tile": "L- and H-tile hard IP for PCI Express of Intel Stratix 10 FPGAs, up to 8 GT/s." {
        posted_headers = "127", from "Intel 683111, table Flow Control Credit Allocation: posted headers 127 credits";
        posted_data = "12000 B", from "Intel 683111, table Flow Control Credit Allocation: posted data 750 credits";
        nonposted_headers = "115", from "Intel 683111, table Flow Control Credit Allocation: non-posted headers 115 credits";
        nonposted_data = "3680 B", from "Intel 683111, table Flow Control Credit Allocation: non-posted data 230 credits";
        completion_headers = "770", from "Intel 683111, table Flow Control Credit Allocation: completion headers 770 credits";
        completion_data = "40000 B", from "Intel 683111, table Flow Control Credit Allocation: completion data 2500 credits";
    }
    "intel-p-tile": "P-tile hard IP for PCI Express of Intel FPGAs, port 0, up to 16 GT/s; its completion buffer." {
        completion_headers = "1144", from "Intel 790711, P-Tile Completion Buffer Size: port 0 header depth 1144";
        completion_data = "46208 B", from "Intel 790711, P-Tile Completion Buffer Size: port 0 data depth 1444 of 256 bits";
    }
    "intel-gts": "GTS hard IP for PCI Express of Intel Agilex 5 FPGAs, 16 GT/s x4." {
        posted_headers = "224", from "Intel 813754, table Credit Advertised: 127 without scaled flow control, 56 with factor 4";
        posted_data = "7104 B", from "Intel 813754, table Credit Advertised: posted data 444";
        nonposted_headers = "224", from "Intel 813754, table Credit Advertised: 127 without scaled flow control, 56 with factor 4";
        nonposted_data = "1792 B", from "Intel 813754, table Credit Advertised: non-posted data 112";
        completion_headers = "286", from "Intel 813754, table Completion Buffer Size: port 0 header depth 286";
        completion_data = "13840 B", from "Intel 813754, table Completion Buffer Size: port 0 data depth 1730 of 64 bits";
    }
    "intel-r-tile": "R-tile hard IP for PCI Express of Intel FPGAs, port 0, up to 32 GT/s." {
        posted_headers = "784", from "Intel 683501, table Credits Advertised: port 0 posted headers 784";
        posted_data = "23296 B", from "Intel 683501, table Credits Advertised: port 0 posted data 1456";
        nonposted_headers = "784", from "Intel 683501, table Credits Advertised: port 0 non-posted headers 784";
        nonposted_data = "6272 B", from "Intel 683501, table Credits Advertised: port 0 non-posted data 392";
        completion_headers = "1024", from "Intel 790711, R-Tile Completion Buffer Size: port 0 header depth 1024";
        completion_data = "65536 B", from "Intel 790711, R-Tile Completion Buffer Size: port 0 data depth 2048 of 256 bits";
    }
    "plx": "PCI Express Gen3 switches of PLX Technology." {
        max_payload_supported = "512 B", from "the authors of rosta state 512 B";
        update_fc_share = "0", from "PLX PEX 8532 data book 1.6, 8.4.5.3, of an older switch: typically one UpdateFC for each incoming TLP";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_sets_only_what_a_port_has() {
        for profile in profiles() {
            let mut port = PortParameters::default();
            profile.apply(&mut port);
            assert_eq!(profile.unknown(&[&port]), [""; 0], "{}", profile.name);
        }
    }
}
