//! Link parameters: speed, width, delay and errors of a link.

use kernel::{Quantity, Span, Time, Value};
use protocol::Generation;

use super::ClassMap;

/// Link speed, written as a generation or as a transfer rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(pub Generation);

impl Quantity for Speed {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        let found = match value {
            Value::Integer(number) => u8::try_from(*number).ok().and_then(Generation::from_number),
            Value::Text(text) => SPEEDS
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(text.trim()))
                .map(|(_, generation)| *generation),
            _ => None,
        };
        found.map(Self).ok_or_else(|| {
            format!("there is no generation {value}; write 1 to 5 or a speed from \"2.5 GT/s\" to \"32 GT/s\"")
        })
    }

    fn show(&self) -> String {
        match self.0 {
            Generation::Gen4At20 | Generation::Gen4At25 => {
                format!("{} GT/s", self.0.gigatransfers())
            }
            plain => plain.number().to_string(),
        }
    }
}

const SPEEDS: [(&str, Generation); 7] = [
    ("2.5 GT/s", Generation::Gen1),
    ("5 GT/s", Generation::Gen2),
    ("8 GT/s", Generation::Gen3),
    ("16 GT/s", Generation::Gen4),
    ("20 GT/s", Generation::Gen4At20),
    ("25 GT/s", Generation::Gen4At25),
    ("32 GT/s", Generation::Gen5),
];

/// Link width, written as a number or with an x, as in "x4".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes(pub u8);

impl Quantity for Lanes {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        let number = match value {
            Value::Integer(number) => u8::try_from(*number).ok(),
            Value::Text(text) => text.trim().strip_prefix('x').and_then(|n| n.parse().ok()),
            _ => None,
        };
        let exists = number.filter(|n| protocol::lanes_exist(*n));
        exists.map(Self).ok_or_else(|| {
            format!("there is no link of {value} lanes; write 1, 2, 4, 8, 12, 16 or 32")
        })
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

kernel::parameters! {
    /// Parameters of a link; `[links]` sets them for all links, an `upstream` table for one.
    pub struct LinkParameters {
        /// Generation, 1 to 5; or the speed, "2.5 GT/s" to "32 GT/s", with "20 GT/s" and "25 GT/s" in CCIX's extended
        /// speed mode, which registers show as generation 4.
        generation: Speed = Speed(Generation::Gen3), lifts "wire" to ["2", "3", "4", "5"], from "a common choice";
        /// Width: 1, 2, 4, 8, 12, 16 or 32 lanes.
        lanes: Lanes = Lanes(16), lifts "wire" times [2, 4, 8, 16] most "16", from "a common choice";
        /// Time of flight from one end to the other.
        delay: Span = Span::from_ns(1), from "some 15 cm of board trace";
        /// Probability that a bit arrives wrong, in each direction.
        bit_error_rate: f64 = 0.0, within 0.0..=0.5, from "a link without errors";
        /// Whether the two ends have separate reference clocks with independent spread spectrum clocking (SRIS): SKP ordered sets come
        /// ten times as often, and Slot Clock Configuration is clear.
        sris: bool = false, from "PCIe Card Electromechanical 2.1: connectors carry the reference clock of the board";
        /// Whether spread spectrum clocking modulates the reference clocks: the frequency falls by 0.5 % and rises again, some 31,500 times a second.
        /// The link has the mean rate, a quarter of a percent below the nominal one.
        spread_spectrum: bool = true, ranges ["false", "true"], from "our choice: on, as boards have it against electromagnetic emissions; PCIe Card Electromechanical 2.1.3 permits 0 to -0.5 %";
        /// Time from the start of the run until the link fails, if ever; a failed link delivers nothing and does not come up again. A switch below
        /// the failed link is reset, and the links below this switch fail as well. A device below the failed link is not reset, and all that it sends
        /// is lost.
        fails_at: Option<Span> = None, from "it holds";
        /// Virtual channel of each traffic class, on both ends, such as "TC0-5: VC0, TC6-7: VC1"; "TC7: none" for a class that the link
        /// does not carry, whose packets are malformed. None leaves all classes on VC0.
        tc_vc_map: Option<ClassMap> = None, from "PCIe Base 7.9.1.8: after reset VC0 has all classes";
        /// Packets that this link may send in a row through an upper port that it shares with others (weighted round robin).
        arbitration_weight: u32 = 1, within 1..=128, from "PCIe Base 6.3.3.4: round robin is the default";
    }
}

impl LinkParameters {
    /// The time at which the link fails; never, if the scenario writes none.
    pub fn failure(&self) -> Time {
        self.fails_at
            .map_or(Time::NEVER, |after| Time::ZERO + after)
    }
}
