//! Messages of a session: a call or response that is decoded, encoded and decoded again does not change. A channel accepts any packet without a
//! panic.

use std::cell::LazyCell;
use std::fmt::Debug;
use std::fs;

use serde::de::DeserializeOwned;
use serde::ser::{Serialize, SerializeTuple, Serializer};
use session::{Call, Channel, ChannelError, Listener, Response};

/// Takes the bytes of one packet.
pub fn check(bytes: &[u8]) {
    comes_back::<Call>(bytes);
    comes_back::<Response>(bytes);
}

fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) {
    let decoded = postcard::from_bytes::<T>(bytes);
    let received = ENDS.with(|ends| ends.receive::<T>(bytes));
    match decoded {
        Ok(message) => {
            let encoded = postcard::to_stdvec(&message).expect("what was decoded can be encoded");
            assert_eq!(postcard::from_bytes(&encoded).as_ref(), Ok(&message));
            assert_eq!(received, Ok(message));
        }
        Err(_) => assert_eq!(received, Err(ChannelError::Garbled)),
    }
}

/// Both ends of a channel.
struct Ends {
    process: Channel,
    server: Channel,
}

thread_local! {
    static ENDS: LazyCell<Ends> = LazyCell::new(Ends::new);
}

impl Ends {
    fn new() -> Self {
        let name = format!("peerlane-fuzz-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let listener = Listener::bind(&path).expect("the socket is new");
        let process = Channel::connect(&path).expect("somebody listens");
        let server = listener.accept().expect("somebody connects");
        fs::remove_file(path).expect("the socket is there");
        Ends { process, server }
    }

    /// The message that the server receives when the process sends a packet with these bytes.
    fn receive<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, ChannelError> {
        let sent = self.process.send(&Raw(bytes), None);
        sent.expect("the server is there");
        self.server.receive().map(|(message, _)| message)
    }
}

/// Bytes whose encoding is the bytes themselves.
struct Raw<'a>(&'a [u8]);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(self.0.len())?;
        for byte in self.0 {
            tuple.serialize_element(byte)?;
        }
        tuple.end()
    }
}
