//! Parameters of PCI Express ports, and named profiles of them.

use kernel::{Bytes, Parameters, Span, Value};

kernel::parameters! {
    /// A port: its buffers, acknowledgement and flow control.
    pub struct PortParameters {
        /// Largest payload that the function supports (Device Capabilities, Max_Payload_Size Supported).
        max_payload_supported: Bytes = Bytes(512),
            among [Bytes(128), Bytes(256), Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)],
            from "common among switches and FPGA cores";
        /// Delay of an Ack, as a fraction of the specification's ACK transmission latency limit.
        ack_limit_fraction: f64 = 1.0, within 0.0..=1.0, from "PCIe Base 3.6.3.1: the limit itself";
        /// An UpdateFC is sent at once when the freed credit reaches this share of the buffer; 0 sends one for each packet.
        update_fc_share: f64 = 0.25, within 0.0..=1.0, from "our choice: a quarter of the buffer";
        /// Longest time until freed credit is announced by an UpdateFC.
        update_fc_interval: Span = Span::from_us(30), within Span::from_ns(100)..=Span::from_us(1_000_000), from "PCIe Base 2.6.1.2: 30 us";
        /// Header credits for posted requests; 0 is infinite.
        posted_headers: u32 = 64, within 0..=127, from "typical of switch ports";
        /// Buffer for data of posted requests; 0 is infinite.
        posted_data: Bytes = Bytes(16 * 1024), within Bytes(0)..=Bytes(32752), from "typical of switch ports";
        /// Header credits for non-posted requests; 0 is infinite.
        nonposted_headers: u32 = 64, within 0..=127, from "typical of switch ports";
        /// Buffer for data of non-posted requests; 0 is infinite.
        nonposted_data: Bytes = Bytes(1024), within Bytes(0)..=Bytes(32752), from "typical of switch ports";
        /// Header credits for completions, unless the port has infinite credit for completions by rule.
        completion_headers: u32 = 64, within 0..=127, from "typical of switch ports";
        /// Buffer for data of completions, unless the port has infinite credit for completions by rule.
        completion_data: Bytes = Bytes(16 * 1024), within Bytes(0)..=Bytes(32752), from "typical of switch ports";
        /// Size of the replay buffer; no new packet is sent while it is full.
        replay_buffer: Bytes = Bytes(32 * 1024), from "typical of switch ports";
        /// The replay timer, as a multiple of the specification's limit.
        replay_timer_factor: f64 = 2.0, within 1.0..=2.0, from "PCIe Base 3.6.2.1: -0 % / +100 %";
        /// Position of skip ordered sets within their permitted interval, from 0 (earliest) to 1 (latest).
        skip_position: f64 = 0.5, within 0.0..=1.0, from "our choice: the middle";
    }
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

/// Returns the parameters of the built-in profile called `name`.
pub fn builtin(name: &str) -> Option<PortParameters> {
    let profile = PROFILES.iter().find(|profile| profile.name == name)?;
    let mut parameters = PortParameters::default();
    for (key, text, _) in profile.settings {
        let known = parameters.set(key, &Value::written(text));
        assert_eq!(known, Ok(true), "profile {name} sets {key}");
    }
    Some(parameters)
}

const PROFILES: &[Profile] = &[
    Profile {
        name: "generic",
        help: "The defaults of every port parameter.",
        settings: &[],
    },
    Profile {
        name: "xilinx-7-series",
        help: "Integrated block for PCI Express of Xilinx 7-series FPGAs.",
        settings: &[
            (
                "max_payload_supported",
                "512 B",
                "the authors of rosta state 512 B; the core goes to 1024 B",
            ),
            (
                "update_fc_share",
                "0",
                "our choice: credit is returned when the user logic takes each packet",
            ),
            (
                "posted_headers",
                "32",
                "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_PH 32",
            ),
            (
                "posted_data",
                "6992 B",
                "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_PD 437",
            ),
            (
                "nonposted_headers",
                "12",
                "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_NPH 12",
            ),
            (
                "nonposted_data",
                "384 B",
                "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_NPD 24",
            ),
            (
                "completion_headers",
                "36",
                "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_CH 36",
            ),
            (
                "completion_data",
                "7376 B",
                "the core as generated for 512-byte payloads: VC0_TOTAL_CREDITS_CD 461",
            ),
            (
                "replay_buffer",
                "16080 B",
                "the core as generated for 512-byte payloads: VC0_TX_LASTPACKET 29, so 30 packets of 512 bytes and their frames",
            ),
        ],
    },
    Profile {
        name: "plx",
        help: "PCI Express Gen3 switches of PLX Technology.",
        settings: &[
            (
                "max_payload_supported",
                "512 B",
                "the authors of rosta state 512 B",
            ),
            (
                "update_fc_share",
                "0.25",
                "our choice: a quarter of the buffer",
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_sets_only_what_a_port_has() {
        for profile in profiles() {
            assert!(builtin(profile.name).is_some(), "{}", profile.name);
        }
        assert!(builtin("no such profile").is_none());
    }
}
