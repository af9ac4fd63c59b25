//! Built-in profiles of switches: the parameters of their ports and of the switch that documents state.
//!
//! The source of a value is a document, or the registers that a part shows. A switch for which fewer than three values have a source has no
//! profile.

use link::Profile;

/// All built-in profiles of switches.
pub fn switch_profiles() -> &'static [Profile] {
    PROFILES
}

link::profiles! {
    "microchip-switchtec-pfx-g4": "Microchip Switchtec PFX switch, up to 16 GT/s: what its configuration space says; not its latency, its number of ports or its buffers." {
        max_payload_supported = "512 B", from "configuration space of 11f8:4036 (PM40036, PFX 36xG4): MaxPayload 512 bytes";
        ari_forwarding = "true", from "configuration space of 11f8:4036 (PM40036, PFX 36xG4): ARIFwd+";
        extended_vc_count = "0", from "configuration space of 11f8:4036 (PM40036, PFX 36xG4): no Virtual Channel capability";
        l1_exit_latency = "64 us", from "configuration space of 11f8:4036 (PM40036, PFX 36xG4): Exit Latency L1 <64us";
    }
    "plx-pex-8796": "PLX PEX 8796 switch, up to 8 GT/s, 96 lanes: what its product brief says; not its buffers." {
        ports = "24", from "PLX, PEX 8796 product brief: 96-lane, 24-port switch";
        latency = "150 ns", from "PLX, PEX 8796 product brief: packet cut-thru with a maximum latency of 150 ns, x16 to x16";
        cut_through = "true", from "PLX, PEX 8796 product brief: packet cut-thru";
        max_payload_supported = "2048 B", from "PLX, PEX 8796 product brief: 2KB Max Payload Size";
    }
}

#[cfg(test)]
mod tests {
    use link::PortParameters;

    use super::*;
    use crate::SwitchParameters;

    #[test]
    fn every_profile_sets_only_what_a_port_or_a_switch_has() {
        for profile in switch_profiles() {
            let mut port = PortParameters::default();
            let mut switch = SwitchParameters::default();
            profile.apply(&mut port);
            profile.apply(&mut switch);
            assert_eq!(
                profile.unknown(&[&port, &switch]),
                [""; 0],
                "{}",
                profile.name
            );
        }
    }
}
