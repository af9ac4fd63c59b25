//! Bitstreams: an image that is read from a file is written to a file and read again, and does not change.

use server::Image;

/// Takes the bytes of a `.gbs` file.
pub fn check(bytes: &[u8]) {
    if let Ok(image) = Image::parse(bytes) {
        assert_eq!(Image::parse(&image.emit("name")), Ok(image));
    }
}
