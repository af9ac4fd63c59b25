//! Headers of translation requests and their completions (PCIe Base 10.2).

use crate::{
    Completion, FunctionId, Header, Kind, MemoryRequest, Page, Status, Tag, TlpError, Translation,
};

impl Header {
    /// A request for the translation of `page` and of the addresses after it: `translations` ranges of the smallest translation
    /// unit (1..=16, at most as many as fit in the root port's read completion boundary).
    pub fn translation_request(
        requester: FunctionId,
        tag: Tag,
        page: Page,
        translations: u16,
        no_write: bool,
    ) -> Result<Self, TlpError> {
        let request = MemoryRequest::translation((requester, tag), page, translations, no_write)?;
        Ok(Kind::MemoryRead(request).into())
    }

    /// The packet with a translated address, if it is a memory request. Other packets are returned unchanged.
    #[must_use]
    pub fn translated(self) -> Self {
        let kind = match self.kind {
            Kind::MemoryRead(request) => Kind::MemoryRead(request.translated()),
            Kind::MemoryWrite(request) => Kind::MemoryWrite(request.translated()),
            other => other,
        };
        // Only packets with untranslated addresses have a prefix (PCIe Base 6.20.2).
        let pasid = match kind {
            Kind::MemoryRead(_) | Kind::MemoryWrite(_) => None,
            _ => self.pasid,
        };
        Self {
            pasid,
            kind,
            ..self
        }
    }

    /// The completion of a translation request with `translations` entries, which may be fewer than requested. It is always one
    /// packet, because a request is limited to the read completion boundary (`boundary`, 64 or 128 bytes).
    ///
    /// Switches between the two ends handle it as the completion of a read that ends at the boundary (PCIe Base 10.2.3).
    pub fn translation_completion(
        request: &Self,
        completer: FunctionId,
        translations: u16,
        boundary: u16,
    ) -> Result<Self, TlpError> {
        let Kind::MemoryRead(read) = request.kind else {
            return Err(TlpError::NotCompleted);
        };
        let asked = read.translations();
        let bytes = translations.saturating_mul(Translation::BYTES as u16);
        if translations == 0 || translations > asked || bytes > boundary {
            return Err(TlpError::Translations {
                translations,
                asked,
                boundary,
            });
        }
        let completion = Completion {
            completer,
            requester: read.requester,
            tag: read.tag,
            status: Status::Successful,
            byte_count: bytes,
            lower_address: (boundary - bytes) as u8 & 0x7f,
            dwords: bytes / 4,
        };
        Ok(Self {
            kind: Kind::Completion(completion),
            poisoned: false,
            pasid: None,
            ..*request
        })
    }
}
