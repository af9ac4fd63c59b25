//! Poisoned and damaged packets at an endpoint. The endpoint uses none of their data (PCIe Base 2.7).

use kernel::Effects;
use packet::{Charge, PacketId, Refusal};
use protocol::{Class, Header, Kind};

use super::{Device, Endpoint};

impl Endpoint {
    /// Handles a poisoned packet that has reached the engine. A poisoned request is dropped, and the next packet is handled. A poisoned
    /// completion is passed on, so that its request fails. Returns the packet for the engine, if there is one.
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

    /// Drops poisoned requests until the next packet for the engine is no poisoned request, and returns the header of this packet.
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

    /// If the ECRC of a packet is wrong, drops the packet and returns true. No field of the packet can be trusted. If it is a completion, its
    /// request will time out.
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
