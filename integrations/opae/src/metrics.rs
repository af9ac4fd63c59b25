//! Metrics: the performance counters of a device, and the counters that an accelerator has in a metrics block.
//!
//! The metrics of a device are its attributes below `dperf`. The metrics of an accelerator are in a building block of its feature list, whose
//! registers form groups of counters.

use std::ffi::c_char;

use session::Kind;

use crate::abi::{Code, copy_text, entry, text, user_pointer};
use crate::attributes::{Attribute, metrics};
use crate::enter::{answer, with};
use crate::registers::mappings::Register;
use crate::state::State;

/// Size of a text in bytes, with the final zero.
const TEXT: usize = 256;

/// Values of `fpga_metric_datatype` and `fpga_metric_type`.
const INTEGER: u32 = 0;
const PERFORMANCE_COUNTER: u32 = 2;
const OF_ACCELERATOR: u32 = 3;

/// The number in the result if a metric with the requested name does not exist.
const NO_METRIC: u64 = 0xff_ffff;

/// `fpga_metric_info`.
#[repr(C)]
pub struct MetricInfo {
    number: u64,
    guid: [u8; 16],
    qualifier: [u8; TEXT],
    group: [u8; TEXT],
    name: [u8; TEXT],
    units: [u8; TEXT],
    datatype: u32,
    kind: u32,
}

/// `fpga_metric`, whose value is an integer.
#[repr(C)]
pub struct MetricValue {
    number: u64,
    value: u64,
    is_valid: bool,
}

struct Metric {
    qualifier: String,
    group: String,
    name: String,
    units: String,
    source: Source,
}

enum Source {
    Attribute(&'static Attribute),
    /// A register of the accelerator, with the value in its upper 48 bits.
    Counter(Register),
}

/// The type and the UUID of the block with an accelerator's metrics.
const BUILDING_BLOCK: u64 = 2;
const BLOCK: [u64; 2] = [0x9d73_e8f2_58e9_e3d7, 0x8781_6958_c148_4cd0];
/// Offset of the first group in the block.
const GROUPS: u64 = 0x20;
/// Largest number of features in a list, and of counters in a block. A longer list is assumed to have no end.
const MOST: usize = 256;

impl State {
    fn metrics(&mut self, handle: usize) -> Result<Vec<Metric>, Code> {
        let opened = self.handle(handle)?;
        match opened.object.kind {
            Kind::Device => Ok(metrics().map(Metric::of_device).collect()),
            Kind::Accelerator => self.counters(opened.handle),
        }
    }

    fn metric_value(&mut self, handle: usize, metric: &Metric) -> Result<u64, Code> {
        match metric.source {
            Source::Attribute(attribute) => {
                let token = self.handle(handle)?.token();
                self.value(token, attribute)
            }
            Source::Counter(register) => Ok(self.word(register.handle, register.offset)? >> 16),
        }
    }

    /// The counters of the metrics block of an accelerator.
    fn counters(&mut self, handle: u64) -> Result<Vec<Metric>, Code> {
        let mut group = self.block(handle)? + GROUPS;
        let mut found = Vec::new();
        while found.len() < MOST {
            let header = self.word(handle, group)?;
            let (units, id) = (header >> 28 & 0xff, header >> 36 & 0xff);
            if id == 0 {
                break;
            }
            let mut offset = group;
            while found.len() < MOST {
                offset += 8;
                let word = self.word(handle, offset)?;
                let number = word >> 8 & 0xff;
                if number == 0 {
                    break;
                }
                found.push(Metric {
                    qualifier: format!("AFU:{id:x}"),
                    group: format!("{id:x}"),
                    name: format!("{number:x}"),
                    units: format!("{units:x}"),
                    source: Source::Counter(Register { handle, offset }),
                });
                if word >> 7 & 1 != 0 {
                    break;
                }
            }
            let next = header >> 45 & 0xffff;
            if next == 0 || header >> 44 & 1 != 0 {
                break;
            }
            group += next;
        }
        Ok(found)
    }

    /// Offset of the metrics block in the features of an accelerator.
    fn block(&mut self, handle: u64) -> Result<u64, Code> {
        let mut offset = 0;
        for _ in 0..MOST {
            let header = self.word(handle, offset)?;
            if header >> 60 == BUILDING_BLOCK {
                let id = [8, 16].map(|half| self.word(handle, offset + half));
                if id == BLOCK.map(Ok) {
                    return Ok(offset);
                }
            }
            let next = header >> 16 & 0xff_ffff;
            if next == 0 || header >> 40 & 1 != 0 {
                break;
            }
            offset += next;
        }
        Err(Code::NotFound)
    }

    fn word(&mut self, handle: u64, offset: u64) -> Result<u64, Code> {
        let mut bytes = [0; 8];
        self.load(Register { handle, offset }, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The values of the requested metrics. A metric that does not exist has the given number and is not valid. Fails if none of the metrics
    /// exists.
    fn values(
        &mut self,
        handle: usize,
        metrics: &[Metric],
        wanted: &[(Option<usize>, u64)],
    ) -> Result<Vec<MetricValue>, Code> {
        let mut values = Vec::new();
        for &(place, otherwise) in wanted {
            let metric = place.and_then(|place| metrics.get(place));
            let value = metric.map(|metric| self.metric_value(handle, metric));
            let value = value.transpose()?;
            let number = place.filter(|_| value.is_some());
            values.push(MetricValue {
                number: number.map_or(otherwise, |place| place as u64),
                value: value.unwrap_or(0),
                is_valid: value.is_some(),
            });
        }
        if values.iter().any(|value| value.is_valid) {
            Ok(values)
        } else {
            Err(Code::NotFound)
        }
    }
}

impl Metric {
    fn of_device(attribute: &'static Attribute) -> Self {
        let (folder, name) = attribute.path.rsplit_once('/').unwrap_or_default();
        let qualifier = folder.replacen("dperf", "performance", 1).replace('/', ":");
        let units = if name == "clock" { "cycles" } else { "" };
        Metric {
            qualifier,
            group: "performance".to_owned(),
            name: name.to_owned(),
            units: units.to_owned(),
            source: Source::Attribute(attribute),
        }
    }

    /// Whether `name` names the metric: it is the name of the metric, or the qualifier, a colon and the name.
    fn is_called(&self, name: &[u8]) -> bool {
        let whole = format!("{}:{}", self.qualifier, self.name);
        [&self.name, &whole]
            .into_iter()
            .any(|known| known.as_bytes().eq_ignore_ascii_case(name))
    }

    fn info(&self, number: usize) -> MetricInfo {
        MetricInfo {
            number: number as u64,
            guid: [0; 16],
            qualifier: text(self.qualifier.as_bytes()),
            group: text(self.group.as_bytes()),
            name: text(self.name.as_bytes()),
            units: text(self.units.as_bytes()),
            datatype: INTEGER,
            kind: match self.source {
                Source::Attribute(_) => PERFORMANCE_COUNTER,
                Source::Counter(_) => OF_ACCELERATOR,
            },
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetNumMetrics(handle: usize, num_metrics: *mut u64) -> u32 {
    answer(num_metrics, |state| match state.metrics(handle)?.len() {
        0 => Err(Code::NotFound),
        count => Ok(count as u64),
    })
}

/// Writes as many entries as fit into the program's array. Sets `num_metrics` to the number of written entries.
#[unsafe(no_mangle)]
extern "C" fn fpgaGetMetricsInfo(
    handle: usize,
    metric_info: *mut MetricInfo,
    num_metrics: *mut u64,
) -> u32 {
    entry(|| {
        let (result, count) = (user_pointer(metric_info)?, user_pointer(num_metrics)?);
        let metrics = with(|state| state.metrics(handle))?;
        let space = usize::try_from(count.take()).unwrap_or(usize::MAX);
        let written = metrics.iter().take(space).enumerate();
        count.put(written.len() as u64);
        result.put_all(written.map(|(number, metric)| metric.info(number)));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetMetricsByIndex(
    handle: usize,
    metric_num: *mut u64,
    num_metric_indexes: u64,
    metrics: *mut MetricValue,
) -> u32 {
    entry(|| {
        let (numbers, result) = (user_pointer(metric_num)?, user_pointer(metrics)?);
        let numbers = numbers.take_all(count(num_metric_indexes)?);
        let wanted = numbers.map(|number| (usize::try_from(number).ok(), number));
        let wanted: Vec<_> = wanted.collect();
        let values = with(|state| {
            let known = state.metrics(handle)?;
            state.values(handle, &known, &wanted)
        })?;
        result.put_all(values);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn fpgaGetMetricsByName(
    handle: usize,
    metrics_names: *mut *const c_char,
    num_metric_names: u64,
    metrics: *mut MetricValue,
) -> u32 {
    entry(|| {
        let (names, result) = (user_pointer(metrics_names)?, user_pointer(metrics)?);
        let names = names.take_all(count(num_metric_names)?);
        let names: Vec<Vec<u8>> = names
            .map(|name| copy_text(name, TEXT - 1))
            .collect::<Result<_, _>>()?;
        let values = with(|state| {
            let known = state.metrics(handle)?;
            let place = |name: &Vec<u8>| {
                let is_it = |metric: &Metric| metric.is_called(name);
                (known.iter().position(is_it), NO_METRIC)
            };
            let wanted: Vec<_> = names.iter().map(place).collect();
            state.values(handle, &known, &wanted)
        })?;
        result.put_all(values);
        Ok(())
    })
}

/// Checks the length of the program's array, which must not be empty.
fn count(length: u64) -> Result<usize, Code> {
    match usize::try_from(length) {
        Ok(length @ 1..=MOST_VALUES) => Ok(length),
        _ => Err(Code::InvalidParam),
    }
}

/// Largest number of values that a call may request. It is larger than the number of metrics of a device.
const MOST_VALUES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_its_clock_and_the_counters_of_all_ports_as_metrics() {
        let names: Vec<_> = metrics().map(|one| Metric::of_device(one).name).collect();
        let counters = ["pcie0_read", "pcie0_write", "mmio_read", "mmio_write"];
        assert_eq!(names, [&["clock"], &counters[..]].concat());
        let second = metrics().nth(1).map(Metric::of_device);
        let qualifier = second.map(|metric| metric.qualifier);
        assert_eq!(qualifier.as_deref(), Some("performance:fabric"));
    }
}
