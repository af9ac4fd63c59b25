//! Virtual channels in scenarios: the map of traffic classes, arbitration, and tables of phases.

use kernel::{Quantity, Value};
use protocol::MOST_CHANNELS;

/// The virtual channel of each traffic class; none for a class that the port does not carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassMap(pub [Option<u8>; MOST_CHANNELS]);

impl ClassMap {
    /// The traffic classes that map to the channel `id`, one bit for each class.
    pub fn classes_of(&self, id: u8) -> u8 {
        let classes = (0..).zip(self.0);
        classes.fold(0, |classes, (class, channel)| {
            classes | u8::from(channel == Some(id)) << class
        })
    }

    /// The highest VC ID that a class maps to.
    pub fn highest(&self) -> u8 {
        self.0.iter().flatten().copied().max().unwrap_or(0)
    }

    /// Reads one entry, such as "TC0-5: VC0", and adds its channel to the list of each class in it.
    fn add(map: &mut [Vec<Option<u8>>; MOST_CHANNELS], entry: &str) -> Result<(), String> {
        let wrong = || {
            format!(
                "{:?} is no entry of a map; write entries such as \"TC0-5: VC0, TC6: VC1, TC7: none\"",
                entry.trim()
            )
        };
        let (classes, channel) = entry.split_once(':').ok_or_else(wrong)?;
        let (first, last) = match classes.trim().strip_prefix("TC").ok_or_else(wrong)? {
            one if !one.contains('-') => (one, one),
            range => range.split_once('-').ok_or_else(wrong)?,
        };
        let number = |text: &str| text.trim().parse::<u8>().ok().filter(|number| *number < 8);
        let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
        let channel = match channel.trim() {
            "none" => None,
            name => Some(name.strip_prefix("VC").and_then(number).ok_or_else(wrong)?),
        };
        if first > last {
            return Err(wrong());
        }
        for class in first..=last {
            if class == 0 && channel != Some(0) {
                return Err("TC0 is always on VC0 (PCIe Base 7.9.1.8); write \"TC0: VC0\"".into());
            }
            let place = &mut map[usize::from(class)];
            if place.iter().any(|before| *before != channel) {
                return Err(format!(
                    "TC{class} maps to two channels; write it once, with one channel"
                ));
            }
            place.push(channel);
        }
        Ok(())
    }
}

impl Quantity for ClassMap {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        let Value::Text(text) = value else {
            return Err(format!(
                "{value} is not a map of traffic classes; write \"TC0-5: VC0, TC6-7: VC1\""
            ));
        };
        let mut map: [Vec<Option<u8>>; MOST_CHANNELS] = Default::default();
        for entry in text.split(',') {
            Self::add(&mut map, entry)?;
        }
        if let Some(class) = map.iter().position(Vec::is_empty) {
            return Err(format!(
                "TC{class} maps to no channel; write \"TC{class}: VC0\", or \"TC{class}: none\" if the link does not carry it"
            ));
        }
        Ok(Self(map.map(|channels| channels[0])))
    }

    fn show(&self) -> String {
        let mut entries = Vec::new();
        let mut first = 0;
        for class in 1..=MOST_CHANNELS {
            if class < MOST_CHANNELS && self.0[class] == self.0[first] {
                continue;
            }
            let channel = self.0[first].map_or("none".to_owned(), |id| format!("VC{id}"));
            let last = class - 1;
            entries.push(if first == last {
                format!("TC{first}: {channel}")
            } else {
                format!("TC{first}-{last}: {channel}")
            });
            first = class;
        }
        entries.join(", ")
    }
}

/// A kind of arbitration, from the first `KINDS` entries of the list: its value in the register field that selects it, and its number of phases,
/// which is 0 for round robin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnArbitration<const KINDS: usize>((u8, usize));

/// Arbitration among the virtual channels of the low-priority group: VC Arbitration Select (PCIe Base 7.9.1.4).
pub type VcArbitration = TurnArbitration<4>;

/// Arbitration among the ports whose packets leave by one virtual channel of another port: Port Arbitration Select (PCIe Base 7.9.1.8).
pub type PortArbitration = TurnArbitration<5>;

/// The kinds of arbitration, by their names. Value 0 is the arbitration that is fixed in hardware, which is round robin in this model.
const ARBITRATIONS: [(&str, (u8, usize)); 5] = [
    ("round-robin", (0, 0)),
    ("wrr-32", (1, 32)),
    ("wrr-64", (2, 64)),
    ("wrr-128", (3, 128)),
    ("wrr-256", (5, 256)),
];

impl<const KINDS: usize> TurnArbitration<KINDS> {
    /// The value of the register field that selects this arbitration, and its number of phases.
    pub fn select(self) -> (u8, usize) {
        self.0
    }
}

impl<const KINDS: usize> Quantity for TurnArbitration<KINDS> {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        kernel::choice(value, &ARBITRATIONS[..KINDS]).map(Self)
    }

    fn show(&self) -> String {
        let found = ARBITRATIONS.iter().find(|(_, known)| *known == self.0);
        found.map_or_else(String::new, |(name, _)| (*name).to_owned())
    }
}

/// The phases of an arbitration table, such as "(0 0 0 1)*8" or "0*24 1*8".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseTable(pub Vec<u8>);

impl PhaseTable {
    /// Reads phases up to the end of `text`, or up to a closing bracket; returns them with the rest of the text.
    fn phases(mut text: &str) -> Option<(Vec<u8>, &str)> {
        let mut phases = Vec::new();
        loop {
            text = text.trim_start();
            if text.is_empty() || text.starts_with(')') {
                return Some((phases, text));
            }
            let (group, rest) = if let Some(inside) = text.strip_prefix('(') {
                let (group, rest) = Self::phases(inside)?;
                (group, rest.strip_prefix(')')?)
            } else {
                let (number, rest) = Self::number(text)?;
                (vec![u8::try_from(number).ok()?], rest)
            };
            let (times, rest) = match rest.strip_prefix('*') {
                Some(rest) => Self::number(rest)?,
                None => (1, rest),
            };
            if times.checked_mul(group.len())? > MOST_PHASES {
                return None;
            }
            phases.extend(group.repeat(times));
            text = rest;
        }
    }

    fn number(text: &str) -> Option<(usize, &str)> {
        let end = text.find(|letter: char| !letter.is_ascii_digit());
        let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
        Some((digits.parse().ok()?, rest))
    }
}

/// The maximum number of phases that is read. No arbitration has so many.
const MOST_PHASES: usize = 4096;

impl Quantity for PhaseTable {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{value} is no table of phases; write \"0*24 1*8\" or \"(0 0 0 1)*8\" for 32 phases"
            )
        };
        let Value::Text(text) = value else {
            return Err(wrong());
        };
        match Self::phases(text) {
            Some((phases, "")) if phases.len() <= MOST_PHASES => Ok(Self(phases)),
            _ => Err(wrong()),
        }
    }

    fn show(&self) -> String {
        let runs = self.0.chunk_by(|one, next| one == next);
        let shown = runs.map(|run| match run.len() {
            1 => run[0].to_string(),
            times => format!("{}*{times}", run[0]),
        });
        shown.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_shown_as_it_is_read() {
        for text in [
            "TC0-7: VC0",
            "TC0-5: VC0, TC6-7: VC1",
            "TC0: VC0, TC1: VC3, TC2-6: none, TC7: VC1",
        ] {
            let map = ClassMap::read(&Value::Text(text)).expect("a whole map");
            assert_eq!(map.show(), text);
        }
    }

    #[test]
    fn channels_take_turns_in_up_to_128_phases_and_ports_in_256() {
        let value = |text| Value::Text(text);
        for (name, phases) in [("round-robin", 0), ("wrr-32", 32), ("wrr-128", 128)] {
            let channels = VcArbitration::read(&value(name)).expect("a kind");
            let ports = PortArbitration::read(&value(name)).expect("a kind");
            assert_eq!(
                (channels.select(), channels.show()),
                (ports.select(), name.to_owned())
            );
            assert_eq!(ports.select().1, phases);
        }
        let longest = PortArbitration::read(&value("wrr-256")).map(PortArbitration::select);
        assert_eq!(longest, Ok((5, 256)));
        let wrong = VcArbitration::read(&value("wrr-256")).expect_err("ports alone have it");
        assert!(wrong.ends_with("\"wrr-64\" or \"wrr-128\""), "{wrong}");
    }

    #[test]
    fn phases_are_counted_and_groups_repeated() {
        let read = |text| PhaseTable::read(&Value::Text(text)).map(|table| table.0);
        assert_eq!(read("0*3 1"), Ok(vec![0, 0, 0, 1]));
        assert_eq!(
            read("(0 (1 2)*2)*2"),
            Ok(vec![0, 1, 2, 1, 2, 0, 1, 2, 1, 2])
        );
        for wrong in ["(0 1", "0)", "x", "0*", "0 *3", "9999", "0*99999999999"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(PhaseTable(vec![0, 0, 1]).show(), "0*2 1");
    }
}
