//! Keys and models of scenarios that had other names in older versions.

use ::scenario::Rename;
use kernel::{Bytes, Quantity};

/// The present name of a key of a section, if it was renamed.
pub fn present_name(section: &str, key: &str) -> Option<&'static str> {
    let mut all = RENAMES.iter();
    let known = all.find(|one| one.section == section && one.before == key && one.now != key)?;
    Some(known.now)
}

/// For the name of a model that was renamed: the advice which model and which keys to write instead. `None` for all other names.
pub(super) fn replacement(model: &str) -> Option<String> {
    let of_model = || RENAMES.iter().filter(|one| one.model == Some(model));
    let written = format!("{model:?}");
    let renamed = of_model().find(|one| one.before == MODEL)?;
    let now = (renamed.value)(&written)?;
    let keys = of_model().filter(|one| one.before != MODEL);
    let keys = keys.map(|one| format!("{} for {}", one.now, one.before));
    let keys = keys.collect::<Vec<_>>().join(", ");
    let note = renamed.note;
    Some(format!(
        "write model = {now}, and {keys}, as peerlane fix FILE does; {note}"
    ))
}

/// All keys and all models that were renamed.
pub const RENAMES: &[Rename] = &[
    of_drive(
        MODEL,
        MODEL,
        |_| Some("\"nvme\"".to_owned()),
        "for several queues with interrupts of their own also io_queues, msix_vectors and msix_bar",
    ),
    of_drive("lbads", "block_size", power, "it is in bytes"),
    of_drive("mdts", "max_transfer", pages, "it is in bytes"),
    of_drive(
        "channel_bandwidth",
        "media_bandwidth",
        |_| None,
        "it is that of all channels together",
    ),
    of_drive(
        "write_cache_latency",
        "media_write_latency",
        Rename::same,
        "",
    ),
    of_drive("media_write_latency", "program_latency", Rename::same, ""),
];

const MODEL: &str = "model";

/// A renamed key of the model "nvme-drive", whose present name is "nvme".
const fn of_drive(
    before: &'static str,
    now: &'static str,
    value: fn(&str) -> Option<String>,
    note: &'static str,
) -> Rename {
    Rename {
        section: "devices",
        model: Some("nvme-drive"),
        before,
        now,
        value,
        note,
    }
}

/// Converts an exponent of two into the number of bytes, with a unit.
fn power(text: &str) -> Option<String> {
    let power: u32 = text.parse().ok()?;
    let size = Bytes(1_u64.checked_shl(power)?);
    Some(format!("{:?}", size.show()))
}

/// Converts an exponent n into the size of 2^n pages of 4 KiB, with a unit.
fn pages(text: &str) -> Option<String> {
    let power_of_pages: u32 = text.parse().ok()?;
    power(&power_of_pages.checked_add(12)?.to_string())
}
