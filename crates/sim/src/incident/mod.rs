//! Incidents: actions of hardware or software on a fabric at a chosen time of a run. Each kind of incident has its own file.
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

use ::scenario::{Row, SectionForm, Shape};
use kernel::{Declaration, Parameters};

pub(crate) use crate::scenario::Wrong;
use crate::scenario::entries::of_form;

pub(crate) use plan::plan;
pub use plan::{IncidentPlan, Place};
pub(crate) use scene::{Scene, Started};

/// An incident of one kind: its action on a fabric, and the keys of the kind.
pub trait Incident: Parameters + Debug + Send + Sync {
    /// Refuses a place where the incident cannot happen.
    fn check(&self, place: &Place<'_>) -> Result<(), Wrong>;

    /// Whether the node is present after the incident. `None` if the incident neither removes nor inserts the node.
    fn presence(&self) -> Option<Presence> {
        None
    }

    /// Lets the incident happen now.
    fn happen(&self, node: usize, scene: &mut Scene<'_>);
}

/// Whether a node is present at the lower end of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The node is absent.
    Absent,
    /// The node is present.
    Present,
}

/// A kind of incident.
pub struct IncidentKind {
    /// Name of the kind in a scenario.
    pub name: &'static str,
    /// A sentence that describes the incident, for help texts.
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
    /// Bytes of a memory, or the data of the next packets that the node sends, become poisoned.
    "poison" => poison::Poison;
    /// The host above resets a function of a device by Initiate Function Level Reset.
    "function-level-reset" => function_level_reset::FunctionLevelReset;
    /// The host above retrains the link above a node by Retrain Link.
    "retrain" => retrain::Retrain;
    /// Lanes of the link above a node, or its higher rates, fail: the link continues with the remaining lanes and rates.
    "degrade" => degrade::Degrade;
    /// All lanes and rates of the link above a node work again.
    "restore" => degrade::Restore;
    /// A node is removed without notice: its link loses its signal, and the node loses its power.
    "surprise-removal" => hot_plug::Removal;
    /// A node that was removed is inserted again: its link trains, and the host above sets the node up.
    "insertion" => hot_plug::Insertion;
    /// The attention button of the slot of a node is pressed.
    "attention-button" => hot_plug::AttentionButton;
    /// The host above resets everything below the port above a node by Secondary Bus Reset.
    "secondary-bus-reset" => bus_reset::SecondaryBusReset;
    /// The host above disables the link above a node by Link Disable.
    "disable-link" => link_disable::DisableLink;
    /// The host above enables the link above a node again after Link Disable, and sets up everything below the link.
    "enable-link" => link_disable::EnableLink;
    /// The host above contains everything below the port above a node by DPC Software Trigger.
    "containment" => bus_reset::Containment;
}

/// An incident of any kind, with its keys.
pub(crate) type Any = Arc<dyn Incident>;

/// The name of the list of incidents in a scenario.
pub(crate) const SECTION: &str = "incidents";

/// The keys that incidents of all kinds have.
pub(crate) fn forms() -> impl Iterator<Item = Row> {
    FORMS.iter().copied().map(of_form).map(|mut row| {
        if row.declaration.key == "what" {
            row.declaration.choices = KINDS.iter().map(|kind| kind.name.to_owned()).collect();
        }
        row
    })
}

/// The keys of the single kinds of incidents.
pub(crate) fn parameters() -> impl Iterator<Item = Row> {
    KINDS
        .iter()
        .flat_map(|kind| Row::of(SECTION, Some(("what", kind.name)), (kind.declarations)()))
}

/// The form of the section of incidents in a scenario.
pub(crate) const FORM: SectionForm = SectionForm {
    name: SECTION,
    shape: Shape::List("incident"),
    inner: &[],
};

::plan::structure! {
    /// The keys that incidents of all kinds have.
    const FORMS;
    "incidents": {
        /// Name of the incident in the plan.
        id = "incident-1, incident-2, ...";
        /// Time of the incident, counted from when every link is up, like the start of a flow.
        at: Time = "none";
        /// The kind of incident.
        what: Choice = "none";
        /// The node that the incident concerns: depending on the kind, its upstream link or one of its functions.
        node = "none";
    }
}
