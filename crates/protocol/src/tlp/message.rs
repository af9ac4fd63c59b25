//! Headers of messages.

use crate::{FunctionId, Header, Kind, Message, MessageRequest, MessageRouting};

impl Header {
    /// A message of traffic class 0.
    pub fn message(requester: FunctionId, message: Message) -> Self {
        Kind::Message(MessageRequest { requester, message }).into()
    }

    /// The routing of the packet, if it is a message.
    pub const fn message_routing(&self) -> Option<MessageRouting> {
        match self.kind {
            Kind::Message(request) => Some(request.message.routing()),
            _ => None,
        }
    }
}
