//! The processes of a host whose addresses devices may use, in the format of scenarios.

use kernel::{Bytes, Quantity, Value};
use protocol::Pasid;

/// The processes with page tables, in the order of their numbers. Each has the number of bytes of memory that it has mapped, or none if it
/// has mapped the whole memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes(pub Vec<(Pasid, Option<Bytes>)>);

impl Processes {
    /// The maximum number of processes. It limits the size of their page tables.
    const MOST: usize = 1024;

    /// The processes of an entry, for example "7", "16-31" or "7: 64 KiB".
    fn entry(text: &str) -> Option<(std::ops::RangeInclusive<u32>, Option<Bytes>)> {
        let (numbers, mapped) = match text.split_once(':') {
            Some((numbers, size)) => {
                let size = Bytes::read(&Value::Text(size.trim())).ok();
                (numbers, Some(size.filter(|Bytes(size)| *size > 0)?))
            }
            None => (text, None),
        };
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        let number = |text: &str| text.trim().parse().ok();
        let (first, last): (u32, u32) = number(first).zip(number(last))?;
        (first <= last).then_some((first..=last, mapped))
    }
}

impl Quantity for Processes {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        let wrong = |entry: &str| {
            format!("{entry} names no processes; write PASIDs such as \"1, 16-31, 7: 64 KiB\"")
        };
        let text = match value {
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => (*text).to_owned(),
            _ => return Err(wrong(&value.to_string())),
        };
        let mut processes = Vec::new();
        for part in text.split(',') {
            let entry = Self::entry(part).ok_or_else(|| wrong(&format!("{:?}", part.trim())))?;
            let (numbers, mapped) = entry;
            if *numbers.end() >> Pasid::MAX_WIDTH != 0 {
                let (last, most) = (numbers.end(), (1 << Pasid::MAX_WIDTH) - 1);
                return Err(format!(
                    "{last} has more than {} bits; write PASIDs from 0 to {most}",
                    Pasid::MAX_WIDTH
                ));
            }
            if processes.len() + (numbers.end() - numbers.start()) as usize >= Self::MOST {
                let most = Self::MOST;
                return Err(format!("these are more than {most} processes; write fewer"));
            }
            processes.extend(numbers.filter_map(Pasid::new).map(|pasid| (pasid, mapped)));
        }
        processes.sort_by_key(|(pasid, _)| pasid.number());
        if let Some(pair) = processes.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let number = pair[0].0.number();
            return Err(format!("PASID {number} is written twice; write it once"));
        }
        Ok(Self(processes))
    }

    fn show(&self) -> String {
        let entries = self.0.iter().map(|(pasid, mapped)| match mapped {
            Some(mapped) => format!("{}: {}", pasid.number(), mapped.show()),
            None => pasid.number().to_string(),
        });
        entries.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_shown_as_they_are_read() {
        let read = |text: &str| Processes::read(&Value::Text(text));
        for (text, shown) in [
            ("7", "7"),
            ("9, 1-3", "1, 2, 3, 9"),
            ("7: 64 KiB, 0", "0, 7: 64 KiB"),
        ] {
            let processes = read(text).expect("a list of processes");
            let text = processes.show();
            assert_eq!(text, shown);
            assert_eq!(read(&text), Ok(processes));
        }
        assert_eq!(Processes::read(&Value::Integer(3)), read("3"));
    }

    #[test]
    fn wrong_processes_are_told() {
        for (text, told) in [
            ("", "\"\" names no processes"),
            ("x", "\"x\" names no processes"),
            ("3-1", "\"3-1\" names no processes"),
            ("1: 0 B", "names no processes"),
            ("1048576", "more than 20 bits"),
            ("0-1024", "more than 1024 processes"),
            ("1, 0-3", "PASID 1 is written twice"),
        ] {
            let wrong = Processes::read(&Value::Text(text)).expect_err(text);
            assert!(wrong.contains(told), "{wrong}");
        }
    }
}
