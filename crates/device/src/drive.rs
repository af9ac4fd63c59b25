//! An NVM Express drive: a device whose model is the controller of the crate `nvme`.

use kernel::Time;
use nvme::{Nvme, NvmeParameters, REGISTERS, VENDOR};
use packet::Why;
use protocol::{Bar, Identity};

use crate::foreign::Behaviour;
use crate::{EndpointParameters, Foreign, LeafParameters, Properties};

/// An NVM Express drive. The components of a fabric are stored in one array, so the large controller is boxed.
pub type Drive = Foreign<Box<Nvme>>;

impl Behaviour for Box<Nvme> {
    type Parameters = NvmeParameters;

    fn make(parameters: &NvmeParameters, device: &str) -> Result<Self, String> {
        Ok(Box::new(Nvme::new(parameters, device)))
    }

    fn engine(&self, now: Time) -> Why {
        if self.accesses_media() {
            if self.keeps_media_busy(now.as_fs()) {
                Why::Memory
            } else {
                Why::Commands
            }
        } else if self.has_commands() {
            Why::Datapath
        } else {
            Why::Software
        }
    }
}

impl LeafParameters for NvmeParameters {
    /// The only BAR is BAR 0, which has the registers; its size is their size.
    fn bars(&self, _: &EndpointParameters, _: Option<Bar>) -> Vec<Bar> {
        vec![Bar {
            index: 0,
            size: REGISTERS,
            wide: true,
        }]
    }

    fn properties(&self) -> Properties {
        Properties {
            tags: self.tags,
            // One vector for each pair of queues, and one for the admin queues. If there is only one pair of I/O queues, it shares the vector
            // with the admin queues. A driver uses 32 vectors at most.
            interrupts: match self.io_queues {
                1 => 1,
                several => (several + 1).min(32),
            },
            identity: Identity {
                vendor: VENDOR,
                device: 0x0010,
                revision: 2,
                class: 0x01_0802,
            },
            begins_flows: true,
            bar_registers: REGISTERS,
            keeps_registers: true,
            ..Properties::default()
        }
    }
}
