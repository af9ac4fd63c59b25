//! The error registers of a card, as its driver shows them.

use session::{ErrorRegister, Failure, Reply};
use sim::{CardPlace, card_registers as registers};

use crate::cards;
use crate::server::Server;

/// The index of an object in the list, and one of its error registers.
type Named = (u32, ErrorRegister);

impl Server {
    pub(crate) fn load_errors(
        &mut self,
        named: Named,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<u64, Failure> {
        let address = self.error_register(named)?;
        self.pass(self.thread.costs().system_call, watch);
        let loaded = self.thread.load_word(&mut self.simulation, address, watch);
        loaded.map_err(|_| Failure::Exception)
    }

    pub(crate) fn store_errors(
        &mut self,
        named: Named,
        value: u64,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        let address = self.error_register(named)?;
        self.pass(self.thread.costs().system_call, watch);
        let bytes = value.to_le_bytes();
        let stored = self
            .thread
            .store(&mut self.simulation, address, &bytes, watch);
        stored.map(|()| Reply::Done).map_err(|_| Failure::Exception)
    }

    fn error_register(&self, (object, register): Named) -> Result<u64, Failure> {
        let (card, is_accelerator) = cards::named(object, &self.cards)?;
        let (address, is_of_port) = address(&self.cards[card].place, register);
        if is_of_port != is_accelerator {
            return Err(Failure::NotFound);
        }
        Ok(address)
    }
}

/// The address of a register, and whether it belongs to the port.
fn address(place: &CardPlace, register: ErrorRegister) -> (u64, bool) {
    let management = |offset| (place.management + offset, false);
    let port = |offset| (place.port + offset, true);
    match register {
        ErrorRegister::Management => management(registers::OWN_ERRORS),
        ErrorRegister::FirstManagement => management(registers::FIRST_OWN_ERROR),
        ErrorRegister::NextManagement => management(registers::NEXT_OWN_ERROR),
        ErrorRegister::Link => management(registers::LINK_ERRORS),
        ErrorRegister::SecondLink => management(registers::SECOND_LINK_ERRORS),
        ErrorRegister::Nonfatal => management(registers::NONFATAL_ERRORS),
        ErrorRegister::Fatal => management(registers::FATAL_ERRORS),
        ErrorRegister::Injected => management(registers::INJECT),
        ErrorRegister::Port => port(registers::PORT_ERRORS),
        ErrorRegister::FirstPort => port(registers::FIRST_PORT_ERROR),
        ErrorRegister::MalformedRequest => port(registers::MALFORMED_REQUEST),
    }
}
