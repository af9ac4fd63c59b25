//! Defaults that have changed from one version to another, for scenarios that name the version whose defaults they use.

use ::scenario::{At, Scenario, position};

/// A change of a default.
#[derive(Debug)]
#[allow(
    dead_code,
    reason = "no default has changed since the first version, so that only tests make a change"
)]
pub(super) struct Change {
    /// The first version with the new default.
    since: &'static str,
    /// The sections whose tables have the key.
    sections: &'static [&'static str],
    /// The model of these tables, if only one model has the key.
    model: Option<&'static str>,
    /// The key.
    key: &'static str,
    /// The default in the versions before `since`.
    before: &'static str,
}

/// All changes of defaults since the first version, in the order of versions.
pub(super) const CHANGES: &[Change] = &[];

/// All versions, from the first one to the present one. If defaults have changed since the present version was released, the next version is listed
/// as well.
const VERSIONS: &[&str] = &["0.1"];

/// The most keys that a warning names.
const SHOWN: usize = 4;

/// Returns a warning for each default that the scenario uses and that has changed since `version`. If there is no version of this name, returns an
/// error message.
pub(super) fn changed(
    written: &Scenario,
    version: &At<String>,
    changes: &[Change],
) -> Result<Vec<String>, String> {
    let since = |name: &str| position(name, VERSIONS, "version", "");
    let number = since(&version.value).map_err(|message| format!("defaults: {message}"))?;
    let is_later = |change: &&Change| since(change.since).map_or(true, |later| later > number);
    let later: Vec<&Change> = changes.iter().filter(is_later).collect();
    if later.is_empty() {
        return Ok(Vec::new());
    }
    let used = written.unwritten();
    let warnings = later.into_iter().filter_map(|change| {
        let fitting = used.iter().filter(|one| {
            one.profile.is_none()
                && change.sections.contains(&one.section)
                && one.row.declaration.key == change.key
                && one.row.only.as_ref().map(|(_, model)| model.as_str()) == change.model
        });
        let paths: Vec<&str> = fitting.clone().map(|one| one.path.as_str()).collect();
        let now = &fitting.clone().next()?.row.declaration.default;
        let more = if paths.len() > SHOWN { ", ..." } else { "" };
        let shown = paths[..paths.len().min(SHOWN)].join(", ");
        let Change { since, key, before, .. } = change;
        let line = if version.line > 0 { format!(":{}", version.line) } else { String::new() };
        Some(format!(
            "{}{line}: the default of {shown}{more} is {now} since version {since}, and was {before}; write {key} = {before} to keep it, or defaults = {since:?}",
            written.file(),
        ))
    });
    Ok(warnings.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Models;
    use crate::setup;

    const TEST: &[Change] = &[Change {
        since: "0.2",
        sections: &["devices"],
        model: Some("dma"),
        key: "tags",
        before: "16",
    }];

    fn warnings(devices: &str) -> Vec<String> {
        let text = format!("defaults = \"0.1\"\n[hosts.h]\n{devices}");
        let written = setup::written(&text, "old.toml", &Models::default()).expect("it is TOML");
        let version = At {
            value: "0.1".to_owned(),
            line: 1,
        };
        changed(&written, &version, TEST).expect("there is such a version")
    }

    #[test]
    fn the_last_version_is_this_one_or_the_next_with_changes() {
        let own = env!("CARGO_PKG_VERSION");
        let (own, _) = own.rsplit_once('.').expect("a version has three numbers");
        let (_, at) = VERSIONS
            .iter()
            .zip(0..)
            .find(|(one, _)| **one == own)
            .expect("it is listed");
        let next = &VERSIONS[at + 1..];
        assert!(
            next.len() <= 1
                && next
                    .iter()
                    .all(|next| CHANGES.iter().any(|one| one.since == *next))
        );
        let is_known = |one: &Change| VERSIONS.contains(&one.since);
        assert!(CHANGES.iter().all(is_known));
    }

    #[test]
    fn a_default_that_has_changed_is_named_where_it_is_used() {
        let a = "[devices.a]\nupstream = \"h\"\n";
        assert_eq!(
            warnings(a),
            [
                "old.toml:1: the default of devices.a.tags is 32 since version 0.2, and was 16; write tags = 16 to keep it, or defaults = \"0.2\""
            ]
        );
        let b = "[devices.b]\nupstream = \"h\"\n";
        let [both] = &warnings(&format!("{a}{b}"))[..] else {
            panic!("one warning for all");
        };
        assert!(both.contains("the default of devices.a.tags, devices.b.tags is 32 since"));
        for other in [
            format!("{a}tags = 8\n"),
            format!("{a}model = \"nic\"\n"),
            format!("{a}profile = \"p\"\n[profiles.p]\ntags = 8\n"),
            String::new(),
        ] {
            assert_eq!(warnings(&other), [""; 0], "{other}");
        }
    }
}
