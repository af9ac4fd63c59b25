//! TLPs: a header that is parsed, encoded and parsed again does not change, and neither does the content of its data.

use protocol::coherence::Message;
use protocol::{Class, FunctionId, Header, Invalidation, Kind, Pasid, Status, Translation};

/// Takes the bytes of one TLP.
pub fn check(bytes: &[u8]) {
    let Ok((header, len)) = Header::parse(bytes) else {
        return;
    };
    assert!(len <= bytes.len(), "{header:?}");
    comes_back(&header);
    completions(&header);
    data(&header, &bytes[len..]);
}

fn comes_back(header: &Header) {
    let (bytes, len) = header.emit();
    assert_eq!(len, header.header_len(), "{header:?}");
    let prefix = header.pasid.map(Pasid::emit);
    let mut whole: Vec<u8> = prefix.into_iter().flatten().collect();
    assert_eq!(whole.len(), header.prefix_len(), "{header:?}");
    whole.extend(&bytes[..len]);
    assert_eq!(Header::parse(&whole), Ok((*header, whole.len())));
    assert!(header.payload_len() <= 4096, "{header:?}");
}

/// Checks that a request has completions if it is non-posted, and that the completions are valid TLPs.
fn completions(header: &Header) {
    let completer = FunctionId::new(1, 2, 3);
    match Header::completion(header, completer, Status::CompleterAbort) {
        Ok(completion) => comes_back(&completion),
        Err(_) => assert_ne!(header.class(), Class::NonPosted, "{header:?}"),
    }
    if let Ok(first) = Header::completion_with_data(header, completer, 0, 1) {
        comes_back(&first);
    }
}

fn data(header: &Header, mut bytes: &[u8]) {
    match header.kind {
        Kind::Coherence(_) => {
            while let Ok(message) = Message::parse(bytes) {
                let mut emitted = Vec::new();
                message.emit(&mut emitted);
                assert_eq!(emitted.len(), message.len(), "{message:?}");
                assert!(message.len() <= bytes.len(), "{message:?}");
                bytes = &bytes[message.len()..];
                assert_eq!(Message::parse(&emitted), Ok(message));
            }
        }
        Kind::Message(_) => {
            let invalidation = bytes.first_chunk().copied().map(Invalidation::parse);
            if let Some(Ok(invalidation)) = invalidation {
                assert_eq!(Invalidation::parse(invalidation.emit()), Ok(invalidation));
            }
        }
        Kind::Completion(_) => {
            for entry in bytes.as_chunks().0 {
                if let Ok(translation) = Translation::parse(*entry) {
                    assert_eq!(Translation::parse(translation.emit()), Ok(translation));
                }
            }
        }
        _ => {}
    }
}
