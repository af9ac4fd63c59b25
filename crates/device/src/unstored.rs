//! Devices that cannot be in a checkpoint, because code from outside keeps a part of their state.

use kernel::checkpoint::refuse;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Circuit, Foreign, FpgaCard};

macro_rules! unstored {
    ($($model:ty: $why:literal),+) => {$(
        impl Serialize for $model {
            fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(refuse($why))
            }
        }

        impl<'de> Deserialize<'de> for $model {
            fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                Err(D::Error::custom($why))
            }
        }
    )+};
}

unstored!(
    Circuit: "a circuit keeps its state",
    Foreign: "a model from outside keeps its state",
    FpgaCard: "an accelerator functional unit keeps its state"
);
