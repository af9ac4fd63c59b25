//! Configuration spaces of a fabric as its hosts access them: single accesses, or a dump of all configuration spaces.

use std::fmt::Write;

use host::Host;
use kernel::Time;
use protocol::{ConfigRequest, ConfigSpace, FunctionId};
use transaction::{Action, ConfigAccess, FunctionPlace, Functions};

use crate::model::Model;
use crate::plan::ports::ends;
use crate::run::simulation::Halt;
use crate::{AccessError, Simulation};

/// Bytes per line of a dump.
const LINE: usize = 16;

impl Simulation {
    /// Makes the processor of `host` read `size` bytes (1, 2 or 4, aligned) of the configuration space of `function`, and runs until they arrive,
    /// while `watch` allows it. Returns all ones if there is no completion.
    pub fn config_read(
        &mut self,
        host: &str,
        function: FunctionId,
        offset: u64,
        size: u64,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<u32, AccessError> {
        let (register, shift) = place(offset, size)?;
        let access = ConfigAccess {
            target: function,
            register,
            action: Action::Read,
        };
        let value = self.config_access(host, &access, watch)?;
        Ok(value.unwrap_or(u32::MAX) >> shift & mask(size))
    }

    /// Makes the processor of `host` write to a configuration space, and runs until the completion arrives. Without a completion, the write is lost.
    pub fn config_write(
        &mut self,
        host: &str,
        function: FunctionId,
        (offset, size): (u64, u64),
        value: u32,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<(), AccessError> {
        let (register, shift) = place(offset, size)?;
        if value & !mask(size) != 0 {
            return Err(AccessError::TooWide(value, size));
        }
        let access = ConfigAccess {
            target: function,
            register,
            action: Action::Write {
                value: value << shift,
                enables: ((1 << size) - 1) << (shift / 8),
            },
        };
        self.config_access(host, &access, watch).map(drop)
    }

    /// Makes the processor of `host` access a configuration space, and runs until the completion arrives, while `watch` allows it. If an earlier
    /// access has not ended, the earlier access ends first. Returns `None` if there is no completion.
    pub fn config_access(
        &mut self,
        host: &str,
        access: &ConfigAccess,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Option<u32>, AccessError> {
        let node = self.node(host)?;
        self.start();
        if self.root_mut(host)?.is_configuring() {
            // An access that its caller has ended early, or the access of a program, ends first.
            self.config_wait(node, access, watch, |root| {
                root.configured();
                (!root.is_configuring()).then_some(())
            })?;
        }
        self.act(node, |model, id, world| {
            if let Some(root) = model.host_mut() {
                Host::configure(root, access, &mut world.effects(id));
            }
        });
        let answer = self.config_wait(node, access, watch, Host::configured);
        // A program's access may have waited for the end of this one.
        self.act(node, Model::ask);
        answer.map(Option::flatten)
    }

    /// Runs until `look` returns a value for the host `node`, and returns this value. Returns `None` if no event is left.
    fn config_wait<T>(
        &mut self,
        node: usize,
        access: &ConfigAccess,
        watch: &mut dyn FnMut() -> bool,
        mut look: impl FnMut(&mut Host) -> Option<T>,
    ) -> Result<Option<T>, AccessError> {
        let look = |all: &mut Self| look(all.model_mut(node).host_mut()?);
        match self.step_while(Time::NEVER, watch, look) {
            Ok(found) => Ok(Some(found)),
            Err(Halt::Left) => Err(AccessError::NoAnswer(u64::from(access.register) * 4)),
            Err(Halt::Quiet | Halt::Stopped) => Ok(None),
        }
    }

    /// The current functions of the node `name`.
    pub fn functions(&self, name: &str) -> Result<Functions, AccessError> {
        Ok(self.model(self.node(name)?).functions(self.now()))
    }

    /// Dump of all configuration spaces that the hosts can reach, in the format of `lspci -xxxx`: a PCI domain for each host.
    pub fn lspci(&self) -> String {
        let mut dump = String::new();
        let hosts =
            (0..self.plan().nodes.len()).filter(|node| self.plan().nodes[*node].root == *node);
        for (domain, host) in hosts.enumerate() {
            for (id, space, name) in self.reachable(host) {
                write_space(&mut dump, domain, id, &space, &name)
                    .expect("a string takes all that is written");
            }
        }
        dump
    }

    /// Whether a link is up at its upper end.
    fn is_up(&self, link: usize) -> bool {
        let [(component, port), _] = ends(&self.plan().fabric, &self.plan().links[link]);
        let end = self.model(component.0 as usize).link(port as usize);
        end.is_some_and(|end| !end.has_failed(self.now()))
    }

    /// The functions of `host` and of the nodes below it that configuration requests can reach, sorted by their IDs. Each has its registers and a
    /// name.
    fn reachable(&self, host: usize) -> Vec<(FunctionId, Vec<u8>, String)> {
        let mut all = Vec::new();
        let mut open = vec![(host, FunctionId::default())];
        while let Some((node, id)) = open.pop() {
            let (functions, name) = (
                self.model(node).functions(self.now()),
                &self.plan().nodes[node].name,
            );
            let bytes = |space: &ConfigSpace| space.bytes().clone();
            let own = functions.space(FunctionPlace::Own);
            all.push((id, bytes(own), name.clone()));
            for (number, place) in (1..).zip(functions.virtual_places()) {
                // An operating system shows a virtual function with the IDs that the physical function defines for its virtual functions.
                let mut space = bytes(functions.space(place));
                space[..4].copy_from_slice(&own.virtual_identity());
                all.push((functions.id_of(place), space, format!("{name} VF {number}")));
            }
            let internal = functions.space(FunctionPlace::Own).secondary_bus();
            if node != host && internal == 0 {
                continue;
            }
            for (index, link) in self.plan().nodes[node].downstream.iter().enumerate() {
                let space = functions.space(FunctionPlace::Port(index));
                let port_name = format!("{name} port {}", self.plan().links[*link].upstream.1);
                all.push((
                    functions.id_of(FunctionPlace::Port(index)),
                    bytes(space),
                    port_name,
                ));
                let is_up = self.is_up(*link);
                if is_up && space.secondary_bus() != 0 {
                    let below = FunctionId::new(space.secondary_bus(), 0, 0);
                    open.push((self.plan().links[*link].downstream.0, below));
                }
            }
        }
        all.sort_by_key(|(id, ..)| *id);
        all
    }
}

fn write_space(
    dump: &mut String,
    domain: usize,
    id: FunctionId,
    space: &[u8],
    name: &str,
) -> std::fmt::Result {
    writeln!(dump, "{domain:04x}:{id} {name}")?;
    for (line, bytes) in space.chunks(LINE).enumerate() {
        write!(dump, "{:02x}:", line * LINE)?;
        for byte in bytes {
            write!(dump, " {byte:02x}")?;
        }
        writeln!(dump)?;
    }
    writeln!(dump)
}

/// The dword register that has the `size` bytes at `offset`, and the number of bits below these bytes in the register.
fn place(offset: u64, size: u64) -> Result<(u16, u32), AccessError> {
    let bytes = u64::from(ConfigRequest::REGISTERS) * 4;
    if !matches!(size, 1 | 2 | 4) || !offset.is_multiple_of(size) || offset >= bytes {
        return Err(AccessError::NoRegister(offset, size));
    }
    Ok(((offset / 4) as u16, (offset % 4 * 8) as u32))
}

fn mask(size: u64) -> u32 {
    u32::MAX >> (32 - 8 * size)
}
