//! Incidents: what hardware or software does to a fabric at a chosen time of a run. Each kind has a file.
//!
//! A new kind needs its file, which implements [`Incident`], and its line in the list of kinds below.

mod bus_reset;
mod completer_abort;
mod damage;
mod degrade;
mod function_level_reset;
mod hot_plug;
mod link_disable;
mod plan;
mod poison;
mod retrain;
mod scene;
pub mod section;

use std::fmt::Debug;
use std::sync::Arc;

use kernel::{Declaration, Parameters};

pub(crate) use crate::scenario::Wrong;
use crate::scenario::entries::ParameterEntry;

pub(crate) use plan::plan;
pub use plan::{IncidentPlan, Place};
pub(crate) use scene::{Scene, Started};

/// What an incident does, with the keys of its kind.
pub trait Incident: Parameters + Debug + Send + Sync {
    /// Refuses a place where the incident cannot happen.
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong>;

    /// Whether the node is there after the incident, if the incident takes it out or puts it in.
    fn presence(&self) -> Option<Presence> {
        None
    }

    /// Lets the incident happen now.
    fn happen(&self, node: usize, scene: &mut Scene<'_>);
}

/// Whether a node is there: at the lower end of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is not.
    Absent,
    /// It is.
    Present,
}

/// A kind of incident.
pub struct IncidentKind {
    /// Name in a scenario.
    pub name: &'static str,
    /// What happens, in one sentence.
    pub help: &'static str,
    /// An incident of the kind whose keys have their defaults.
    pub make: fn() -> Box<dyn Incident>,
    /// The declarations of the kind's keys.
    pub declarations: fn() -> Vec<Declaration>,
}

macro_rules! kinds {
    ($($(#[doc = $help:literal])+ $name:literal => $kind:ty;)+) => {
        /// Every kind of incident.
        pub const KINDS: &[IncidentKind] = &[$(IncidentKind {
            name: $name,
            help: concat!($($help),+).trim_ascii(),
            make: || Box::<$kind>::default(),
            declarations: <$kind>::declarations,
        },)+];
    };
}

kinds! {
    /// The device cannot access bytes of BAR 0 any more, and answers requests for them with Completer Abort.
    "completer-abort" => completer_abort::CompleterAbort;
    /// A switch damages the data of the next packets that it passes on, after the check of their LCRC.
    "damage" => damage::Damage;
    /// Bytes of a memory go bad, or the data of the next packets that the node sends: they are poisoned.
    "poison" => poison::Poison;
    /// The host above resets a function of a device by Initiate Function Level Reset.
    "function-level-reset" => function_level_reset::FunctionLevelReset;
    /// The host above retrains the link above a node by Retrain Link.
    "retrain" => retrain::Retrain;
    /// Lanes of the link above a node, or its higher rates, do not work any more: the link goes on with the others.
    "degrade" => degrade::Degrade;
    /// All lanes and rates of the link above a node work again.
    "restore" => degrade::Restore;
    /// A node is taken out without notice: its link loses its signal, and the node its power.
    "surprise-removal" => hot_plug::Removal;
    /// A node that was taken out is put in again: its link trains, and the host above sets it up.
    "insertion" => hot_plug::Insertion;
    /// The attention button of the slot of a node is pressed.
    "attention-button" => hot_plug::AttentionButton;
    /// The host above resets what is below the port above a node by Secondary Bus Reset.
    "secondary-bus-reset" => bus_reset::SecondaryBusReset;
    /// The host above disables the link above a node by Link Disable.
    "disable-link" => link_disable::DisableLink;
    /// The host above enables the link above a node that it has disabled, and sets up what is below.
    "enable-link" => link_disable::EnableLink;
    /// The host above contains what is below the port above a node by DPC Software Trigger.
    "containment" => bus_reset::Containment;
}

/// An incident of any kind, with its keys.
pub(crate) type Any = Arc<dyn Incident>;

/// The name of the list of incidents in a scenario.
pub(crate) const SECTION: &str = "incidents";

/// The keys for the structure of an incident.
pub(crate) fn forms() -> impl Iterator<Item = ParameterEntry> {
    FORMS.iter().copied().map(ParameterEntry::of_form)
}

/// The keys of all kinds of incidents.
pub(crate) fn parameters() -> impl Iterator<Item = ParameterEntry> {
    KINDS.iter().flat_map(|kind| {
        let place = format!("{SECTION}, what {}", kind.name);
        ParameterEntry::of(&place, (kind.declarations)()).collect::<Vec<_>>()
    })
}

::plan::structure! {
    /// The keys for the structure of an incident.
    const FORMS;
    "incidents": {
        /// What the incident is called in the plan.
        id = "incident-1, incident-2, ...";
        /// Time of the incident, from when every link is up, as the start of a flow.
        at = "none";
        /// The kind of incident.
        what = "none";
        /// The node that it concerns: its link upwards, or one of its functions.
        node = "none";
    }
}
