//! The actions by which registers of downstream ports hold links down, for all components.

use kernel::{Component, Effects, Port};
use link::LinkCommand;
use packet::{Incident, Observation, Pcie, Site};
use protocol::LinkHold;
use transaction::PortAction;

/// Records the action in the log of incidents. Returns the command to the link end at `port`, if the action has one.
pub(crate) fn begin<C: Component<Traffic = Pcie>>(
    port: Port,
    action: PortAction,
    fx: &mut Effects<'_, C>,
) -> Option<LinkCommand> {
    if let Some(what) = event(action) {
        let site = Site::Port(port.0);
        fx.observe(Observation::Incident { site, what });
    }
    command(action)
}

/// The command to the link end, if the action has one.
fn command(action: PortAction) -> Option<LinkCommand> {
    match action {
        PortAction::Contain(_) | PortAction::Hold(LinkHold::Disabled) => Some(LinkCommand::Disable),
        PortAction::Hold(LinkHold::Reset) => Some(LinkCommand::HotReset),
        PortAction::Hold(LinkHold::PowerOff) => Some(LinkCommand::TakeDown),
        PortAction::Release => Some(LinkCommand::Train),
        PortAction::Interrupt => None,
    }
}

/// The entry in the log of incidents, if the action has one.
fn event(action: PortAction) -> Option<Incident> {
    match action {
        PortAction::Contain(reason) => Some(Incident::Event(reason.name())),
        PortAction::Hold(LinkHold::Reset) => Some(Incident::Event("Secondary Bus Reset")),
        PortAction::Hold(LinkHold::Disabled) => Some(Incident::Event("Link Disable")),
        PortAction::Hold(LinkHold::PowerOff) | PortAction::Release | PortAction::Interrupt => None,
    }
}
