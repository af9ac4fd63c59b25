//! Poisoned and damaged packets at an endpoint: it uses none of their data (PCIe Base 2.7).

use kernel::Effects;
use packet::{Charge, PacketId, Refusal};
use protocol::Class;

use super::{Device, Endpoint};

impl Endpoint {
    /// Handles a poisoned packet that has reached the engine. The engine gets a completion as one that has failed, and no request.
    #[cold]
    pub(super) fn take_poisoned<C: Device>(
        &mut self,
        packet: PacketId,
        charge: Charge,
        fx: &mut Effects<'_, C>,
    ) -> Option<(PacketId, Charge)> {
        if charge.class != Class::Completion {
            self.drop_poisoned(packet, charge, fx);
            return self.take_held(fx);
        }
        let place = self.addressee(fx.store()[packet].header());
        self.functions.record_poison(place, packet, false, fx);
        self.functions.record_data_parity_error(place);
        self.report_errors(fx);
        Some((fx.store().as_poisoned(packet), charge))
    }

    /// Refuses the poisoned request that has reached the engine first.
    #[cold]
    pub(super) fn refuse_poisoned<C: Device>(&mut self, fx: &mut Effects<'_, C>) {
        if let Some((_, packet)) = self.inbound.pop_front() {
            let charge = fx.store()[packet].charge();
            self.drop_poisoned(packet, charge, fx);
        }
    }

    /// Drops a packet whose ECRC is wrong: nothing in it can be trusted. A requester misses the completion that it may have been.
    #[inline(never)]
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
