//! The cards of a host and the accelerators in them, in the form that processes receive.

use std::fmt::Debug;

use kernel::Frequency;
use session::{Failure, Kind, Object};
use sim::scenario::advice;
use sim::{AccessError, Afu, AfuId, BuiltInAfu, CardPlace, Simulation, SlotPlace};

use crate::bitstream::Image;
use crate::handles::{INTERRUPTS, Named, OpenHandles, State};

/// The source of models of users' accelerators.
pub trait Loader: Debug + Send {
    /// Loads the model at `place`, as it is written in a bitstream.
    fn load(&self, place: &str) -> Result<Box<dyn Afu>, String>;
}

#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) place: CardPlace,
    /// Number of the card's [missing](sim::FpgaCard::missing) features that were reported.
    pub(crate) said: usize,
}

/// Number of register ranges that processes can use.
const RANGES: u32 = 1;

impl Card {
    /// All cards below `host`, or below the first host with a card.
    pub(crate) fn all(simulation: &Simulation, host: Option<&str>) -> Vec<Self> {
        let mut places = simulation.cards();
        if let Some(host) = host.or(places.first().map(|first| first.host.clone()).as_deref()) {
            places.retain(|place| place.host == host);
        }
        places
            .into_iter()
            .map(|place| Card { place, said: 0 })
            .collect()
    }

    /// The card's device and its accelerators. Their indices in the list are consecutive, from `first` on.
    fn objects(
        &self,
        simulation: &Simulation,
        (card, handles): (usize, &OpenHandles),
        first: u32,
    ) -> Vec<Object> {
        let place = &self.place;
        let is_taken = |slot| handles.state(Named { card, slot }) == State::Taken;
        let device = Object {
            kind: Kind::Device,
            parent: None,
            name: place.name.clone(),
            segment: 0,
            bus: place.function.bus(),
            device: place.function.device(),
            function: place.function.function(),
            socket: place.socket,
            vendor_id: place.vendor_id,
            device_id: place.device_id,
            subsystem_vendor_id: place.subsystem_vendor_id,
            subsystem_id: place.subsystem_id,
            object_id: u64::from(place.function.0) << OBJECT_BITS,
            guid: bytes(sim::INTERFACE),
            assigned: is_taken(None),
            mmio: 0,
            mmio_size: 0,
            interrupts: 0,
            slots: place.slots.len() as u32,
            slot: 0,
            bitstream_id: sim::BITSTREAM_ID,
            local_memory: place.local_memory,
        };
        let accelerators = (0..place.slots.len()).map(|slot| {
            let afu = simulation.card(&place.name).ok();
            let afu = afu.and_then(|card| card.slots().get(slot)?.afu_id());
            Object {
                kind: Kind::Accelerator,
                parent: Some(first),
                object_id: device.object_id + 1 + slot as u64,
                guid: afu.map_or([0; 16], bytes),
                assigned: is_taken(Some(slot)),
                mmio: RANGES,
                mmio_size: SlotPlace::REGISTERS_SIZE,
                interrupts: INTERRUPTS,
                slots: 0,
                slot: slot as u32,
                ..device.clone()
            }
        });
        let accelerators: Vec<Object> = accelerators.collect();
        [vec![device], accelerators].concat()
    }

    /// Number of the card's objects: the device, and an accelerator for each slot.
    fn count(&self) -> usize {
        1 + self.place.slots.len()
    }
}

/// Bits of an object's number that distinguish the objects of a card.
const OBJECT_BITS: u32 = 3;

pub(crate) fn objects(
    simulation: &Simulation,
    cards: &[Card],
    handles: &OpenHandles,
) -> Vec<Object> {
    let mut all = Vec::new();
    for (number, card) in cards.iter().enumerate() {
        let first = all.len() as u32;
        all.extend(card.objects(simulation, (number, handles), first));
    }
    all
}

/// The object with the index `object` in the list.
pub(crate) fn named(object: u32, cards: &[Card]) -> Result<Named, Failure> {
    let mut left = object as usize;
    for (card, own) in cards.iter().enumerate() {
        if left < own.count() {
            let slot = left.checked_sub(1);
            return Ok(Named { card, slot });
        }
        left -= own.count();
    }
    Err(Failure::NotFound)
}

/// An accelerator of a bitstream, and the user clock that it was made for.
pub(crate) struct Configuration {
    pub(crate) afu: Box<dyn Afu>,
    pub(crate) clock: Option<Frequency>,
}

/// The accelerator of a bitstream for the card at `place`, or an error.
pub(crate) fn accelerator(
    bytes: &[u8],
    place: &CardPlace,
    loader: &dyn Loader,
) -> Result<Configuration, String> {
    let image = Image::parse(bytes).map_err(|error| error.to_string())?;
    let id = |text: &str| text.parse::<AfuId>().map_err(|error| error.to_string());
    let (interface, own) = (id(&image.interface)?, sim::INTERFACE);
    if interface != own {
        return Err(format!(
            "the bitstream is for the interface {interface}, but the card {} has {own}",
            place.name
        ));
    }
    let accelerator = id(&image.accelerator)?;
    let afu = match image.model {
        Some(model) => loader.load(&model)?,
        None => BuiltInAfu::of(accelerator)
            .and_then(BuiltInAfu::make)
            .ok_or_else(|| format!("the accelerator {accelerator} is not built in, and the bitstream names no model"))?,
    };
    if afu.id() != accelerator {
        return Err(format!(
            "the bitstream names the accelerator {accelerator}, but its model has the ID {}",
            afu.id()
        ));
    }
    let clock = image.clock;
    Ok(Configuration { afu, clock })
}

/// Loads a bitstream into a slot of the card `card`, and sets the user clock that the bitstream was made for. Takes no simulated time.
pub fn load_image(
    simulation: &mut Simulation,
    (card, slot): (&str, usize),
    bitstream: &[u8],
    loader: &dyn Loader,
) -> Result<(), String> {
    let cards = simulation.cards();
    let place = cards.iter().find(|place| place.name == card);
    let place = place.ok_or_else(|| {
        let names: Vec<&str> = cards.iter().map(|place| place.name.as_str()).collect();
        format!("there is no card {card:?}; {}", advice(card, &names))
    })?;
    let unit = accelerator(bitstream, place, loader)?;
    configure(simulation, (card, slot), unit, false).map_err(|error| error.to_string())
}

/// Puts an accelerator into a slot. Sets the slot's user clock to the clock that the accelerator was made for, unless `keeps_clock`.
pub(crate) fn configure(
    simulation: &mut Simulation,
    (card, slot): (&str, usize),
    loaded: Configuration,
    keeps_clock: bool,
) -> Result<(), AccessError> {
    simulation.load_afu(card, slot, loaded.afu)?;
    let Some(clock) = loaded.clock else {
        return Ok(());
    };
    let slot = simulation.slot(card, slot)?;
    slot.made_for = Some(clock);
    if !keeps_clock {
        slot.clock = clock;
    }
    Ok(())
}

/// The bytes of a UUID, in the order of its text.
fn bytes(id: AfuId) -> [u8; 16] {
    id.0.to_be_bytes()
}
