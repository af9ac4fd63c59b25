//! The attributes of a card, as its driver reads them from registers: errors, and performance counters.

use session::{Attribute, Counter, ErrorRegister, Failure, Reply};
use sim::card_registers::{self as registers, CounterControl, CounterEvent};
use sim::{AccessError, CardPlace};

use crate::cards;
use crate::handles::Named;
use crate::server::{Server, Watch};

impl Server {
    pub(crate) fn load_attribute(
        &mut self,
        object: u32,
        attribute: Attribute,
        watch: Watch<'_>,
    ) -> Result<u64, Failure> {
        let object = cards::named(object, &self.cards)?;
        if let Attribute::Error(register) = attribute {
            let address = self.error_register(object, register)?;
            self.pass(self.thread.costs().system_call, watch);
            return self.load_register(address, watch);
        }
        if attribute == Attribute::UserClock {
            return self.user_clock(object, watch);
        }
        let management = self.management(object, attribute)?;
        self.pass(self.thread.costs().system_call, watch);
        if attribute == Attribute::ClockCounter {
            return self.load_register(management + registers::CLOCK_COUNTER, watch);
        }
        let control = self.load_register(management + registers::FABRIC_CONTROL, watch)?;
        let control = CounterControl(control);
        match attribute {
            Attribute::IsFrozen => Ok(u64::from(control.is_frozen())),
            Attribute::IsCounting(port) => Ok(u64::from(control.port() == port)),
            Attribute::Counter(counter, port) if control.port() == port => {
                let selected = control.with_event(event(counter)).0;
                let control = management + registers::FABRIC_CONTROL;
                self.store(control, &selected.to_le_bytes(), watch)?;
                let value = self.load_register(management + registers::FABRIC_COUNTER, watch)?;
                Ok(value & registers::COUNT)
            }
            _ => Ok(0),
        }
    }

    pub(crate) fn store_attribute(
        &mut self,
        object: u32,
        attribute: Attribute,
        value: u64,
        watch: Watch<'_>,
    ) -> Result<Reply, Failure> {
        let object = cards::named(object, &self.cards)?;
        if let Attribute::Error(register) = attribute {
            let address = self.error_register(object, register)?;
            self.pass(self.thread.costs().system_call, watch);
            self.store(address, &value.to_le_bytes(), watch)?;
            return Ok(Reply::Done);
        }
        let address = self.management(object, attribute)? + registers::FABRIC_CONTROL;
        self.pass(self.thread.costs().system_call, watch);
        let control = CounterControl(self.load_register(address, watch)?);
        let control = match attribute {
            Attribute::IsFrozen => control.with_frozen(value != 0),
            // A driver disables counters by enabling others.
            Attribute::IsCounting(_) if value == 0 => return Err(Failure::Invalid),
            Attribute::IsCounting(port) => control.with_port(port),
            _ => return Err(Failure::NotSupported),
        };
        self.store(address, &control.0.to_le_bytes(), watch)?;
        Ok(Reply::Done)
    }

    fn user_clock(&mut self, object: Named, watch: Watch<'_>) -> Result<u64, Failure> {
        let slot = object.slot.ok_or(Failure::NotFound)?;
        self.pass(self.thread.costs().system_call, watch);
        let name = &self.cards[object.card].place.name;
        let card = self.simulation.card(name);
        let slots = card.map_err(|_| Failure::Exception)?.slots();
        Ok(slots.get(slot).ok_or(Failure::NotFound)?.clock.0)
    }

    fn load_register(&mut self, address: u64, watch: Watch<'_>) -> Result<u64, Failure> {
        let loaded = self.thread.load_word(&mut self.simulation, address, watch);
        loaded.map_err(|_: AccessError| Failure::Exception)
    }

    /// The address of a device's management engine, if the object is a device that has the attribute.
    fn management(&self, object: Named, attribute: Attribute) -> Result<u64, Failure> {
        let place = &self.cards[object.card].place;
        let port = match attribute {
            Attribute::Counter(_, port) | Attribute::IsCounting(port) => port,
            _ => None,
        };
        let has_port = port.is_none_or(|port| usize::from(port) < place.slots.len());
        if object.slot.is_some() || !has_port {
            return Err(Failure::NotFound);
        }
        Ok(place.management)
    }

    fn error_register(&self, object: Named, register: ErrorRegister) -> Result<u64, Failure> {
        let place = &self.cards[object.card].place;
        error_address(place, object.slot, register).ok_or(Failure::NotFound)
    }
}

fn event(counter: Counter) -> CounterEvent {
    match counter {
        Counter::LinkRead => CounterEvent::LinkRead,
        Counter::LinkWrite => CounterEvent::LinkWrite,
        Counter::RegisterRead => CounterEvent::RegisterRead,
        Counter::RegisterWrite => CounterEvent::RegisterWrite,
    }
}

/// The address of an error register of the device, or of the port of a slot. `None` if the register belongs to the other kind of object.
fn error_address(place: &CardPlace, slot: Option<usize>, register: ErrorRegister) -> Option<u64> {
    let offset = match register {
        ErrorRegister::Management => registers::OWN_ERRORS,
        ErrorRegister::FirstManagement => registers::FIRST_OWN_ERROR,
        ErrorRegister::NextManagement => registers::NEXT_OWN_ERROR,
        ErrorRegister::Link => registers::LINK_ERRORS,
        ErrorRegister::SecondLink => registers::SECOND_LINK_ERRORS,
        ErrorRegister::Nonfatal => registers::NONFATAL_ERRORS,
        ErrorRegister::Fatal => registers::FATAL_ERRORS,
        ErrorRegister::Injected => registers::INJECT,
        ErrorRegister::Port => return port(place, slot, registers::PORT_ERRORS),
        ErrorRegister::FirstPort => return port(place, slot, registers::FIRST_PORT_ERROR),
        ErrorRegister::MalformedRequest => {
            return port(place, slot, registers::MALFORMED_REQUEST);
        }
    };
    slot.is_none().then_some(place.management + offset)
}

fn port(place: &CardPlace, slot: Option<usize>, offset: u64) -> Option<u64> {
    Some(place.slots.get(slot?)?.port + offset)
}
