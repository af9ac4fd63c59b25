//! Recorded requests of a flow: the text of their key, and what the plan needs to know of them.

use std::sync::Arc;

use kernel::{Bytes, Quantity, Span, Value};
use transaction::{Addresses, RecordedRequest};

use super::FlowPlan;

/// The requests of a flow, in the order in which they are made. There is at least one, and all or none of them have a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording(Arc<[RecordedRequest]>);

impl Recording {
    /// The end of the bytes that the requests use, counted from the beginning of the flow's region.
    pub(super) fn end(&self) -> u64 {
        let ends = self.0.iter().map(|one| one.offset + one.bytes);
        ends.max().unwrap_or(0)
    }

    /// The bytes of all requests together.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|one| one.bytes).sum()
    }

    /// The bytes of the largest request.
    pub(super) fn largest(&self) -> u64 {
        self.0.iter().map(|one| one.bytes).max().unwrap_or(0)
    }

    /// Whether the requests have times.
    pub(super) fn has_times(&self) -> bool {
        self.0[0].time.is_some()
    }

    /// The longest time from one request to the next.
    pub(super) fn longest_gap(&self) -> Span {
        let times = self.0.iter().map(|one| one.time.unwrap_or_default());
        let mut before = Span::ZERO;
        let gaps = times.map(|time| {
            let gap = Span::from_fs(time.as_fs() - before.as_fs());
            before = time;
            gap
        });
        gaps.max().unwrap_or_default()
    }

    fn of(text: &str) -> Result<Self, String> {
        let lines = text.lines().map(str::trim);
        let mut requests: Vec<RecordedRequest> = Vec::new();
        for (line, number) in lines.zip(1..).filter(|(line, _)| !line.is_empty()) {
            let wrong = |message: String| format!("line {number}, {line:?}: {message}");
            let request = request(line).map_err(wrong)?;
            if let Some(before) = requests.last() {
                if before.time.is_some() != request.time.is_some() {
                    return Err(wrong("either every request has a time, or none".to_owned()));
                }
                if request.time < before.time {
                    let message = "it is earlier than the request above; sort the requests by time";
                    return Err(wrong(message.to_owned()));
                }
            }
            requests.push(request);
        }
        let total: Option<u64> = requests
            .iter()
            .try_fold(0_u64, |sum, one| sum.checked_add(one.bytes));
        if total.is_none() {
            return Err("the requests have more than 16 EiB together".to_owned());
        }
        if requests.is_empty() {
            return Err(
                "there are no requests; write one on each line, such as \"0 ns, 0 B, 4 KiB\""
                    .to_owned(),
            );
        }
        Ok(Self(requests.into()))
    }
}

/// One request as text: its time, if it has one, its offset and its size.
fn request(line: &str) -> Result<RecordedRequest, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let (time, offset, bytes) = match fields[..] {
        [time, offset, bytes] => (Some(time), offset, bytes),
        [offset, bytes] => (None, offset, bytes),
        _ => {
            return Err(
                "this is no request; write its time, offset and size, such as \"0 ns, 0 B, 4 KiB\""
                    .to_owned(),
            );
        }
    };
    let request = RecordedRequest {
        time: time.map(time_of).transpose()?,
        offset: bytes_of(offset)?,
        bytes: bytes_of(bytes)?,
    };
    if request.bytes == 0 {
        return Err("0 B moves nothing; write 1 B at least".to_owned());
    }
    if request.offset.checked_add(request.bytes).is_none() {
        return Err("it ends beyond the last address".to_owned());
    }
    Ok(request)
}

/// A time with a unit, or a number of nanoseconds.
fn time_of(field: &str) -> Result<Span, String> {
    match field.parse::<f64>() {
        Ok(_) => Span::read(&Value::Text(&format!("{field} ns"))),
        Err(_) => Span::read(&Value::Text(field)),
    }
}

/// A size with a unit, or a number of bytes, which may be hexadecimal.
fn bytes_of(field: &str) -> Result<u64, String> {
    let hexadecimal = field.strip_prefix("0x");
    let number = match hexadecimal {
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => field.parse().ok(),
    };
    number.map_or_else(
        || Bytes::read(&Value::Text(field)).map(|Bytes(bytes)| bytes),
        Ok,
    )
}

impl Quantity for Recording {
    fn read(value: &Value<'_>) -> Result<Self, String> {
        match value {
            Value::Text(text) => Self::of(text),
            _ => Err(format!(
                "{value} are no requests; write one on each line, such as \"0 ns, 0 B, 4 KiB\""
            )),
        }
    }

    fn show(&self) -> String {
        let line = |one: &RecordedRequest| {
            let place = format!("{}, {}", one.offset, one.bytes);
            match one.time {
                Some(time) => format!("{}, {place}", time.show()),
                None => place,
            }
        };
        self.0.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl FlowPlan {
    /// The recorded requests of a flow that has them.
    pub(super) fn recorded(&self) -> Addresses {
        let recording = self.parameters.requests.as_ref();
        let Recording(requests) = recording.expect("the places of the flow are recorded");
        Addresses::Recorded(requests.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Recording, String> {
        Recording::read(&Value::Text(text))
    }

    #[test]
    fn numbers_without_a_unit_are_nanoseconds_and_bytes() {
        let with_units = read("0 ns, 0 B, 4 KiB\n1.5 us, 8 KiB, 512 B\n");
        let bare = read("\n0, 0, 4096\n 1500,0x2000, 512");
        assert_eq!(with_units, bare);
        let recording = bare.expect("two requests");
        assert_eq!(
            (recording.end(), recording.bytes(), recording.largest()),
            (8704, 4608, 4096)
        );
        assert_eq!(recording.longest_gap(), Span::from_ns(1500));
        assert_eq!(read(&recording.show()), Ok(recording));
        let unpaced = read("0, 64\n64, 64").expect("two requests");
        assert_eq!(unpaced.longest_gap(), Span::ZERO);
        assert_eq!(read(&unpaced.show()), Ok(unpaced));
    }

    #[test]
    fn a_line_that_is_no_request_is_named() {
        for (text, wanted) in [
            ("", "there are no requests"),
            ("0, 0, 64\nx, 0, 64", "line 2, \"x, 0, 64\": "),
            ("0, 64\n0", "line 2, \"0\": this is no request"),
            (
                "0, 0, 64\n\n0, 64",
                "line 3, \"0, 64\": either every request",
            ),
            ("2, 0, 64\n1, 0, 64", "line 2, \"1, 0, 64\": it is earlier"),
            ("0, 0, 0", "line 1, \"0, 0, 0\": 0 B moves nothing"),
            (
                "0, 0xffffffffffffffff, 1",
                "it ends beyond the last address",
            ),
            ("0, 0, -1", "line 1"),
            ("0, 0x+5, 1", "line 1"),
        ] {
            let message = read(text).expect_err("it is refused");
            assert!(message.contains(wanted), "{message}");
        }
    }
}
