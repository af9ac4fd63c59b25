//! Poisoned and damaged packets at an endpoint: it uses none of their data (PCIe Base 2.7).

use kernel::Effects;
use packet::{Charge, PacketId, Refusal};
use protocol::{Class, Header, Kind};

use super::{Device, Endpoint};

impl Endpoint {
    /// Handles a poisoned packet that has reached the engine. The engine gets a completion as one that has failed, and no request.
    pub(super) fn take_poisoned<C: Device>(
        &mut self,
        packet: PacketId,
        charge: Charge,
        fx: &mut Effects<'_, C>,
    ) -> Option<(PacketId, Charge)> {
        let (mut packet, mut charge) = (packet, charge);
        while charge.class != Class::Completion {
            self.drop_poisoned(packet, charge, fx);
            (_, packet) = self.inbound.pop_front_if(|(due, _)| *due <= fx.now())?;
            let content = &fx.store()[packet];
            charge = content.charge();
            let header = *content.header();
            if !header.poisoned {
                if let Kind::Completion(completion) = &header.kind {
                    self.functions.record_abort(completion);
                }
                return Some((packet, charge));
            }
        }
        let place = self.addressee(fx.store()[packet].header());
        self.functions.record_poison(place, packet, false, fx);
        self.functions.record_data_parity_error(place);
        self.report_errors(fx);
        Some((fx.store().as_poisoned(packet), charge))
    }

    /// Refuses the poisoned requests that have reached the engine first; returns the header of the packet behind them.
    pub(super) fn front_behind_poison<C: Device>(
        &mut self,
        fx: &mut Effects<'_, C>,
    ) -> Option<Header> {
        loop {
            let (_, packet) = *self.inbound.front().filter(|(due, _)| *due <= fx.now())?;
            let content = &fx.store()[packet];
            let (header, charge) = (*content.header(), content.charge());
            if !header.poisoned || charge.class == Class::Completion {
                return Some(header);
            }
            self.inbound.pop_front();
            self.drop_poisoned(packet, charge, fx);
        }
    }

    /// Drops a packet whose ECRC is wrong: nothing in it can be trusted. A requester misses the completion that it may have been.
    pub(super) fn drops_damaged<C: Device>(
        &mut self,
        packet: PacketId,
        fx: &mut Effects<'_, C>,
    ) -> bool {
        if !fx.store()[packet].has_wrong_digest() {
            return false;
        }
        let charge = fx.store()[packet].charge();
        self.refuse(packet, Refusal::EcrcError, fx);
        self.free(charge, fx);
        true
    }

    fn drop_poisoned<C: Device>(
        &mut self,
        packet: PacketId,
        charge: Charge,
        fx: &mut Effects<'_, C>,
    ) {
        self.refuse(packet, Refusal::PoisonedTlp, fx);
        self.free(charge, fx);
    }
}
