//! Links that registers of downstream ports hold down: what a component does for each of their actions.

use link::LinkCommand;
use packet::Incident;
use protocol::LinkHold;
use transaction::PortAction;

/// The command to the end of the link.
pub(crate) fn command(action: PortAction) -> LinkCommand {
    match action {
        PortAction::Contain(_) => LinkCommand::Disable,
        PortAction::Hold(LinkHold::Reset) => LinkCommand::HotReset,
        PortAction::Release => LinkCommand::Train,
    }
}

/// The line in the log of incidents, if there is one.
pub(crate) fn event(action: PortAction) -> Option<Incident> {
    match action {
        PortAction::Contain(reason) => Some(Incident::Event(reason.name())),
        PortAction::Hold(LinkHold::Reset) => Some(Incident::Event("Secondary Bus Reset")),
        PortAction::Release => None,
    }
}
