//! The cards of a host as processes see them, and the accelerators in them.

use std::fmt::Debug;

use session::{Failure, Kind, Object};
use sim::scenario::advice;
use sim::{Afu, AfuId, BuiltInAfu, CardPlace, Simulation};

use crate::bitstream::Image;
use crate::handles::{INTERRUPTS, OpenHandles, State};

/// The source of models of users' accelerators.
pub trait Loader: Debug + Send {
    /// The model at `place`, which a bitstream names.
    fn load(&self, place: &str) -> Result<Box<dyn Afu>, String>;
}

/// A loader without models.
#[derive(Clone, Copy, Debug)]
pub struct NoLoader;

impl Loader for NoLoader {
    fn load(&self, place: &str) -> Result<Box<dyn Afu>, String> {
        Err(format!(
            "this session cannot load the model {place}; use a built-in accelerator"
        ))
    }
}

/// A card and its location.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) place: CardPlace,
    /// Number of its [missing](sim::FpgaCard::missing) features that were said.
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

    /// The card's device and accelerator; their indices are `first` and the one after it.
    fn objects(
        &self,
        simulation: &Simulation,
        (number, handles): (usize, &OpenHandles),
        first: u32,
    ) -> [Object; 2] {
        let place = &self.place;
        let state = |is_accelerator| handles.state(number, is_accelerator) == State::Taken;
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
            object_id: u64::from(place.function.0) << 1,
            guid: bytes(place.interface),
            assigned: state(false),
            mmio: 0,
            mmio_size: 0,
            interrupts: 0,
            slots: 1,
            bitstream_id: place.bitstream_id,
            local_memory: place.local_memory,
        };
        let afu = simulation.afu_id(&place.name).ok().flatten();
        let accelerator = Object {
            kind: Kind::Accelerator,
            parent: Some(first),
            object_id: device.object_id | 1,
            guid: afu.map_or([0; 16], bytes),
            assigned: state(true),
            mmio: RANGES,
            mmio_size: place.registers_size,
            interrupts: INTERRUPTS,
            slots: 0,
            ..device.clone()
        };
        [device, accelerator]
    }

    /// Address of the accelerator's registers.
    pub(crate) fn registers(&self) -> u64 {
        self.place.registers
    }
}

/// The objects of all cards, two for each.
pub(crate) fn objects(
    simulation: &Simulation,
    cards: &[Card],
    handles: &OpenHandles,
) -> Vec<Object> {
    let all = cards.iter().enumerate();
    let pairs =
        all.map(|(number, card)| card.objects(simulation, (number, handles), 2 * number as u32));
    pairs.flatten().collect()
}

/// The index of the card of object `object`, and whether the object is the accelerator.
pub(crate) fn named(object: u32, cards: &[Card]) -> Result<(usize, bool), Failure> {
    let card = object as usize / 2;
    if card >= cards.len() {
        return Err(Failure::NotFound);
    }
    Ok((card, object % 2 == 1))
}

/// The accelerator of a bitstream for the card at `place`, or an error.
pub(crate) fn accelerator(
    bytes: &[u8],
    place: &CardPlace,
    loader: &dyn Loader,
) -> Result<Box<dyn Afu>, String> {
    let image = Image::parse(bytes).map_err(|error| error.to_string())?;
    let id = |text: &str| text.parse::<AfuId>().map_err(|error| error.to_string());
    let (interface, own) = (id(&image.interface)?, place.interface);
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
    Ok(afu)
}

/// Loads a bitstream into the card `card`, in no simulated time.
pub fn load_image(
    simulation: &mut Simulation,
    card: &str,
    bitstream: &[u8],
    loader: &dyn Loader,
) -> Result<(), String> {
    let cards = simulation.cards();
    let place = cards.iter().find(|place| place.name == card);
    let place = place.ok_or_else(|| {
        let names: Vec<&str> = cards.iter().map(|place| place.name.as_str()).collect();
        format!("there is no card {card:?}; {}", advice(card, &names))
    })?;
    let afu = accelerator(bitstream, place, loader)?;
    let done = simulation.load_afu(card, afu);
    done.map_err(|error| error.to_string())
}

/// The bytes of a UUID, in the order of its text.
fn bytes(id: AfuId) -> [u8; 16] {
    id.0.to_be_bytes()
}
