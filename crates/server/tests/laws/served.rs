//! The server of a session with a card, for laws and for the fuzzer.

use std::path::Path;

use server::{Loader, Server, Settings};
use sim::{Afu, Simulation};

const SCENARIO: &str = r#"
[links]
generation = 3
lanes = 8
[hosts.server]
memory = "1 GiB"
memory_address_bits = 64
[devices.card]
model = "fpga-card"
upstream = "server"
afu = "dma_afu"
"#;

/// A loader without models.
#[derive(Debug)]
struct NoLoader;

impl Loader for NoLoader {
    fn load(&self, place: &str) -> Result<Box<dyn Afu>, String> {
        Err(format!("no model {place}"))
    }
}

/// A server at the socket `path`; `more` are further lines of the card, or further tables.
pub fn serve_card(path: &Path, is_wall: bool, more: &str) -> Server {
    let scenario = format!("{SCENARIO}{more}");
    let simulation = Simulation::read(&scenario, "card.toml", None).expect("a card in a host");
    let settings = Settings {
        is_wall,
        realtime: 0,
        monotonic: 0,
    };
    let server = Server::new(simulation, None, path, settings, Box::new(NoLoader));
    server.expect("the socket is new")
}
