//! Messages: packets that are routed without a memory address (PCIe Base 2.2.8).
//!
//! The type of a [`Message`] gives its code, its routing and the length of its data, so a message with the wrong routing cannot
//! exist.

use crate::{
    CompletionCount, FunctionId, InvalidateTag, InvalidateTags, PageGroup, PageRequest,
    PageResponse, Severity, TlpError,
};

/// Header fields of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageRequest {
    /// Requester ID: the function that sends the message.
    pub requester: FunctionId,
    /// The content of the message.
    pub message: Message,
}

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Invalidate Request: requests that a device removes the translations of the [`Invalidation`](crate::Invalidation) in its data (PCIe
    /// Base 10.3.1).
    InvalidateRequest {
        /// The device with the translations.
        target: FunctionId,
        /// Tag that the completion returns.
        tag: InvalidateTag,
    },
    /// Invalidate Completion: the translations are removed, and all requests that used them were sent before (PCIe Base 10.3.2).
    InvalidateCompletion {
        /// The function that sent the Invalidate Request.
        target: FunctionId,
        /// Number of completions of the request.
        count: CompletionCount,
        /// Tags of the completed requests.
        tags: InvalidateTags,
    },
    /// Page Request: requests that a page be made resident (PCIe Base 10.4.1).
    PageRequest(PageRequest),
    /// PRG Response: answers all page requests of a group (PCIe Base 10.4.2).
    PageGroupResponse {
        /// The device that sent the page requests.
        target: FunctionId,
        /// The page request group.
        group: PageGroup,
        /// The result for the group.
        response: PageResponse,
    },
    /// `ERR_COR`, `ERR_NONFATAL` or `ERR_FATAL`: reports an error of this severity to the root complex (PCIe Base 2.2.8.3).
    Error(Severity),
    /// `PM_Active_State_Nak`: the port above does not agree to enter L1 (PCIe Base 2.2.8.2, 5.4.1.2.1).
    ActiveStateNak,
}

/// The routing of a message (PCIe Base table 2-20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageRouting {
    /// Routed to the root complex.
    ToRoot,
    /// Routed by ID to this function, like a completion.
    ById(FunctionId),
    /// Local: the message terminates at the port at the other end of the link.
    Local,
}

impl Message {
    /// The routing of the message.
    pub const fn routing(&self) -> MessageRouting {
        match self {
            Self::PageRequest(_) | Self::Error(_) => MessageRouting::ToRoot,
            Self::InvalidateRequest { target, .. }
            | Self::InvalidateCompletion { target, .. }
            | Self::PageGroupResponse { target, .. } => MessageRouting::ById(*target),
            Self::ActiveStateNak => MessageRouting::Local,
        }
    }

    /// The Message Code field.
    pub const fn code(&self) -> u8 {
        match self {
            Self::InvalidateRequest { .. } => INVALIDATE_REQUEST,
            Self::InvalidateCompletion { .. } => INVALIDATE_COMPLETION,
            Self::PageRequest(_) => PAGE_REQUEST,
            Self::PageGroupResponse { .. } => PAGE_GROUP_RESPONSE,
            Self::Error(Severity::Correctable) => ERR_COR,
            Self::Error(Severity::NonFatal) => ERR_NONFATAL,
            Self::Error(Severity::Fatal) => ERR_FATAL,
            Self::ActiveStateNak => ACTIVE_STATE_NAK,
        }
    }

    /// Whether the message is about an address space: an Invalidate Request, a Page Request or a PRG Response.
    pub(crate) const fn is_of_translation(&self) -> bool {
        matches!(
            self,
            Self::InvalidateRequest { .. } | Self::PageRequest(_) | Self::PageGroupResponse { .. }
        )
    }

    /// Length of the data, in dwords.
    pub const fn dwords(&self) -> u16 {
        match self {
            Self::InvalidateRequest { .. } => INVALIDATE_DWORDS,
            _ => 0,
        }
    }
}

impl MessageRequest {
    /// Whether a packet with this format and type is a message.
    pub(crate) const fn is_kind(kind: u8) -> bool {
        kind & !(WITH_DATA | ROUTING) == MESSAGE
    }

    /// Format and type, length of the data in dwords, and the header's dwords after the first.
    pub(crate) fn words(&self) -> (u8, u16, [u32; 3]) {
        let dwords = self.message.dwords();
        let data = if dwords == 0 { 0 } else { WITH_DATA };
        let (routing, id) = match self.message.routing() {
            MessageRouting::ToRoot => (TO_ROOT, 0),
            MessageRouting::ById(target) => (BY_ID, u32::from(target.0) << 16),
            MessageRouting::Local => (LOCAL, 0),
        };
        let (tag, third, fourth) = match self.message {
            Message::InvalidateRequest { tag, .. } => (tag.number(), 0, 0),
            Message::InvalidateCompletion { count, tags, .. } => (0, count.field(), tags.0),
            Message::PageRequest(request) => {
                let (third, fourth) = request.words();
                (0, third, fourth)
            }
            Message::PageGroupResponse {
                group, response, ..
            } => (0, response.bits() << 12 | u32::from(group.number()), 0),
            Message::Error(_) | Message::ActiveStateNak => (0, 0, 0),
        };
        let second = u32::from(self.requester.0) << 16
            | u32::from(tag) << 8
            | u32::from(self.message.code());
        (
            MESSAGE | data | routing,
            dwords,
            [second, id | third, fourth],
        )
    }

    /// Reads a message from format and type, length, and the header's dwords after the first.
    pub(crate) fn from_words(
        kind: u8,
        length: u16,
        [second, third, fourth]: [u32; 3],
    ) -> Result<Self, TlpError> {
        let code = second as u8;
        let target = FunctionId((third >> 16) as u16);
        let message = match (kind & !MESSAGE, code) {
            (INVALIDATE_REQUEST_KIND, INVALIDATE_REQUEST) if length != INVALIDATE_DWORDS => {
                return Err(TlpError::InvalidateLength(length));
            }
            (INVALIDATE_REQUEST_KIND, INVALIDATE_REQUEST) => Message::InvalidateRequest {
                target,
                tag: InvalidateTag::from_field(second >> 8),
            },
            (BY_ID, INVALIDATE_COMPLETION) => Message::InvalidateCompletion {
                target,
                count: CompletionCount::from_field(third),
                tags: InvalidateTags(fourth),
            },
            (TO_ROOT, PAGE_REQUEST) => Message::PageRequest(PageRequest::from_words(third, fourth)),
            (BY_ID, PAGE_GROUP_RESPONSE) => Message::PageGroupResponse {
                target,
                group: PageGroup::from_field(third),
                response: PageResponse::from_bits(third >> 12),
            },
            (TO_ROOT, ERR_COR) => Message::Error(Severity::Correctable),
            (TO_ROOT, ERR_NONFATAL) => Message::Error(Severity::NonFatal),
            (TO_ROOT, ERR_FATAL) => Message::Error(Severity::Fatal),
            (LOCAL, ACTIVE_STATE_NAK) => Message::ActiveStateNak,
            _ => return Err(TlpError::Message { kind, code }),
        };
        Ok(Self {
            requester: FunctionId((second >> 16) as u16),
            message,
        })
    }
}

/// Fmt and Type as in PCIe Base table 2-3; the low three bits of the type are the routing.
const MESSAGE: u8 = 0x30;
const WITH_DATA: u8 = 0x40;
const ROUTING: u8 = 0x07;
const TO_ROOT: u8 = 0;
const BY_ID: u8 = 2;
const LOCAL: u8 = 4;
const INVALIDATE_REQUEST_KIND: u8 = WITH_DATA | BY_ID;

/// Message Codes of PCIe Base table F-1.
const INVALIDATE_REQUEST: u8 = 0x01;
const INVALIDATE_COMPLETION: u8 = 0x02;
const PAGE_REQUEST: u8 = 0x04;
const PAGE_GROUP_RESPONSE: u8 = 0x05;
const ACTIVE_STATE_NAK: u8 = 0x14;
const ERR_COR: u8 = 0x30;
const ERR_NONFATAL: u8 = 0x31;
const ERR_FATAL: u8 = 0x33;

const INVALIDATE_DWORDS: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Class, Header, Kind, Page, Row};

    const ROOT: FunctionId = FunctionId::new(0, 0, 0);
    const DEVICE: FunctionId = FunctionId::new(2, 0, 1);

    fn invalidate_request(tag: u8) -> Header {
        let tag = InvalidateTag::new(tag).unwrap();
        let target = DEVICE;
        Header::message(ROOT, Message::InvalidateRequest { target, tag })
    }

    fn page_request(address: u64, group: u16, is_last: bool, access: Access) -> Header {
        let request = PageRequest {
            page: Page::of(address),
            group: PageGroup::new(group).unwrap(),
            is_last,
            access,
        };
        Header::message(DEVICE, Message::PageRequest(request))
    }

    fn has_bytes(header: Header, bytes: [u8; 16]) {
        assert_eq!(header.emit(), (bytes, 16));
        assert_eq!(Header::parse(&bytes), Ok((header, 16)));
    }

    #[test]
    fn an_invalidate_request_has_its_bits_in_place() {
        has_bytes(
            invalidate_request(0x1e),
            [
                0x72, 0, 0, 2, 0, 0, 0x1e, 0x01, 0x02, 0x01, 0, 0, 0, 0, 0, 0,
            ],
        );
    }

    #[test]
    fn an_invalidate_completion_has_its_bits_in_place() {
        let completion = Message::InvalidateCompletion {
            target: FunctionId(0x1234),
            count: CompletionCount::new(3).unwrap(),
            tags: InvalidateTags(0x8000_0005),
        };
        has_bytes(
            Header::message(DEVICE, completion),
            [
                0x32, 0, 0, 0, 0x02, 0x01, 0, 0x02, 0x12, 0x34, 0, 3, 0x80, 0, 0, 5,
            ],
        );
    }

    #[test]
    fn a_page_request_has_its_bits_in_place() {
        has_bytes(
            page_request(0x12_3456_7abc, 0x1a5, true, Access::Write),
            [
                0x30, 0, 0, 0, 0x02, 0x01, 0, 0x04, 0, 0, 0, 0x12, 0x34, 0x56, 0x7d, 0x2e,
            ],
        );
        has_bytes(
            page_request(0x1000, 1, false, Access::Read),
            [
                0x30, 0, 0, 0, 0x02, 0x01, 0, 0x04, 0, 0, 0, 0, 0, 0, 0x10, 0x09,
            ],
        );
    }

    #[test]
    fn a_nak_of_l1_has_its_bits_in_place() {
        let mut bytes = [0; 16];
        (bytes[0], bytes[5], bytes[7]) = (0x34, 0x00, 0x14);
        has_bytes(Header::message(ROOT, Message::ActiveStateNak), bytes);
    }

    #[test]
    fn a_page_group_response_has_its_bits_in_place() {
        let response = Message::PageGroupResponse {
            target: DEVICE,
            group: PageGroup::new(0x1a5).unwrap(),
            response: PageResponse::Failure,
        };
        has_bytes(
            Header::message(ROOT, response),
            [
                0x32, 0, 0, 0, 0, 0, 0, 0x05, 0x02, 0x01, 0xf1, 0xa5, 0, 0, 0, 0,
            ],
        );
    }

    #[test]
    fn an_error_message_has_its_bits_in_place() {
        for (severity, code) in Severity::ALL.into_iter().zip([0x30, 0x31, 0x33]) {
            has_bytes(
                Header::message(DEVICE, Message::Error(severity)),
                [0x30, 0, 0, 0, 0x02, 0x01, 0, code, 0, 0, 0, 0, 0, 0, 0, 0],
            );
        }
    }

    #[test]
    fn a_message_is_posted_and_nobody_completes_it() {
        let request = invalidate_request(0);
        assert_eq!(
            (request.class(), request.row()),
            (Class::Posted, Row::Posted)
        );
        assert_eq!((request.payload_len(), request.data_credits()), (8, 1));
        let page = page_request(0, 0, true, Access::Read);
        assert_eq!((page.payload_len(), page.data_credits()), (0, 0));
        assert_eq!((page.header_len(), page.requester()), (16, DEVICE));
        assert!(!page.needs_bus_master() && !request.needs_bus_master());
        let status = crate::Status::UnsupportedRequest;
        assert!(Header::completion(&page, ROOT, status).is_err());
    }

    #[test]
    fn page_requests_and_error_messages_go_to_the_root_and_all_others_to_a_function() {
        let routing = |header: &Header| match header.kind {
            Kind::Message(request) => Some(request.message.routing()),
            _ => None,
        };
        let page = page_request(0, 0, true, Access::Read);
        assert_eq!(routing(&page), Some(MessageRouting::ToRoot));
        let error = Header::message(DEVICE, Message::Error(Severity::Fatal));
        assert_eq!(routing(&error), Some(MessageRouting::ToRoot));
        let request = invalidate_request(0);
        assert_eq!(routing(&request), Some(MessageRouting::ById(DEVICE)));
    }

    #[test]
    fn a_message_is_refused_whose_code_routing_or_data_is_another() {
        let with = |byte: usize, value: u8| {
            let (mut bytes, _) = invalidate_request(0).emit();
            bytes[byte] = value;
            Header::parse(&bytes).unwrap_err()
        };
        for kind in [0x32, 0x70, 0x73] {
            assert_eq!(with(0, kind), TlpError::Message { kind, code: 1 });
        }
        let other = TlpError::Message {
            kind: 0x72,
            code: 0x7e,
        };
        assert_eq!(with(7, 0x7e), other);
        assert_eq!(with(3, 3), TlpError::InvalidateLength(3));
    }

    #[test]
    fn a_header_does_not_grow_for_messages() {
        assert_eq!((size_of::<MessageRequest>(), size_of::<Kind>()), (16, 24));
    }
}
