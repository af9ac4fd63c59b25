//! Requests and messages of address translation, from descriptions in JSON.

use protocol::{
    Access, CompletionCount, FunctionId, Header, InvalidateTag, InvalidateTags, Invalidation,
    Message, Page, PageGroup, PageRange, PageRequest, PageResponse, Tag,
};
use serde::Deserialize;

use super::said;

/// The header and the data of a packet.
type Packet = (Header, Vec<u8>);

#[derive(Deserialize)]
pub struct TranslationRequest {
    address: u64,
    translations: u16,
    #[serde(default)]
    no_write: bool,
}

#[derive(Deserialize)]
pub struct InvalidateRequest {
    target: u16,
    itag: u8,
    address: u64,
    /// The size of the range; absent for all addresses.
    size: Option<u64>,
    #[serde(default)]
    global: bool,
}

#[derive(Deserialize)]
pub struct InvalidateCompletion {
    target: u16,
    count: u8,
    itags: u32,
}

#[derive(Deserialize)]
pub struct PageRequestMessage {
    address: u64,
    group: u16,
    #[serde(default)]
    last: bool,
    access: u8,
}

#[derive(Deserialize)]
pub struct PageResponseMessage {
    target: u16,
    group: u16,
    response: String,
}

impl TranslationRequest {
    pub fn packet(&self, requester: FunctionId, tag: Tag) -> Result<Packet, String> {
        let page = Page::of(self.address);
        let (translations, no_write) = (self.translations, self.no_write);
        let header = Header::translation_request(requester, tag, page, translations, no_write);
        Ok((header.map_err(said)?, Vec::new()))
    }
}

impl InvalidateRequest {
    pub fn packet(&self, requester: FunctionId) -> Result<Packet, String> {
        let message = Message::InvalidateRequest {
            target: FunctionId(self.target),
            tag: InvalidateTag::new(self.itag).ok_or("the ITag is too large; write 0 to 31")?,
        };
        let range = match self.size {
            Some(size) => PageRange::new(self.address, size).map_err(said)?,
            None => PageRange::ALL,
        };
        let global = self.global;
        let data = Invalidation { range, global }.emit();
        Ok((Header::message(requester, message), data.to_vec()))
    }
}

impl InvalidateCompletion {
    pub fn packet(&self, requester: FunctionId) -> Result<Packet, String> {
        let message = Message::InvalidateCompletion {
            target: FunctionId(self.target),
            count: CompletionCount::new(self.count)
                .ok_or("the completion count is wrong; write 1 to 8")?,
            tags: InvalidateTags(self.itags),
        };
        Ok((Header::message(requester, message), Vec::new()))
    }
}

impl PageRequestMessage {
    pub fn packet(&self, requester: FunctionId) -> Result<Packet, String> {
        let access = Access::ALL.get(usize::from(self.access));
        let request = PageRequest {
            page: Page::of(self.address),
            group: group(self.group)?,
            is_last: self.last,
            access: *access.ok_or("the access is wrong; write R plus twice W, 0 to 3")?,
        };
        let message = Message::PageRequest(request);
        Ok((Header::message(requester, message), Vec::new()))
    }
}

impl PageResponseMessage {
    pub fn packet(&self, requester: FunctionId) -> Result<Packet, String> {
        let response = match self.response.as_str() {
            "success" => PageResponse::Success,
            "invalid-request" => PageResponse::InvalidRequest,
            "failure" => PageResponse::Failure,
            other => return Err(format!("{other:?} is not a response to page requests")),
        };
        let message = Message::PageGroupResponse {
            target: FunctionId(self.target),
            group: group(self.group)?,
            response,
        };
        Ok((Header::message(requester, message), Vec::new()))
    }
}

fn group(number: u16) -> Result<PageGroup, String> {
    let group = PageGroup::new(number);
    group.ok_or_else(|| "the page request group is too large; write 0 to 511".to_owned())
}
