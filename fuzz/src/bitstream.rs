//! Bitstreams: what is read from a file is read again from the file that is written of it.

use server::Image;

/// Takes the bytes of a `.gbs` file.
pub fn check(bytes: &[u8]) {
    if let Ok(image) = Image::parse(bytes) {
        assert_eq!(Image::parse(&image.emit("name")), Ok(image));
    }
}
