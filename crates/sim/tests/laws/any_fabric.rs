//! Fabrics of any shape and any parameters: whatever is asked for arrives, once and as it was.

use std::fmt::Write;

use kernel::Stream;
use proptest::prelude::*;

use crate::cases::cases;
use crate::fixture::*;

struct Scenario {
    random: Stream,
    /// Which devices are scatter/gather engines.
    engines: Vec<bool>,
    sockets: u64,
    text: String,
}

impl Scenario {
    fn any(seed: u64) -> String {
        let mut scenario = Scenario {
            random: Stream::named(seed, "fabric"),
            engines: Vec::new(),
            sockets: 1,
            text: String::new(),
        };
        scenario.write(seed);
        scenario.text
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len() as u64) as usize]
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.random.below(one_in) == 0
    }

    fn put(&mut self, line: std::fmt::Arguments<'_>) {
        self.text
            .write_fmt(line)
            .and_then(|()| self.text.write_str("\n"))
            .expect("a string takes all that is written");
    }

    fn write(&mut self, seed: u64) {
        let errors = self.pick(&["0.0", "0.0", "1e-6", "1e-5", "1e-4"]);
        let generation = self.pick(&[1, 2, 3, 4, 5]);
        let lanes = self.pick(&[1, 2, 4, 8, 16]);
        let delay = self.pick(&["0 ns", "1 ns", "30 ns"]);
        self.put(format_args!("seed = {}\n[links]\ngeneration = {generation}\nlanes = {lanes}\ndelay = \"{delay}\"\nbit_error_rate = {errors}", seed % 1_000_000));
        self.put(format_args!("[hosts.h0]"));
        self.host();
        let switches = self.random.below(4);
        let redirect = self.chance(3);
        for switch in 0..switches {
            let above = self.above(switch);
            self.put(format_args!("[switches.s{switch}]"));
            self.upstream(&above);
            let cut_through = !self.chance(4);
            self.put(format_args!(
                "cut_through = {cut_through}\nacs_redirect = {redirect}"
            ));
            self.port();
        }
        let devices = 2 + self.random.below(4);
        for device in 0..devices {
            let above = self.above(switches);
            self.put(format_args!("[devices.d{device}]"));
            self.upstream(&above);
            self.device();
            let engine = self.chance(3);
            if engine {
                self.engine();
            }
            self.engines.push(engine);
        }
        self.put(format_args!("[devices.r]"));
        let above = self.above(switches);
        self.upstream(&above);
        // Room for every flow, or some would write where others read.
        self.put(format_args!("model = \"reflector\"\nbar = \"256 KiB\""));
        self.port();
        for _ in 0..=self.random.below(8) {
            self.flow(devices);
        }
    }

    fn above(&mut self, switches: u64) -> String {
        match self.random.below(switches + 1) {
            0 => "h0".to_owned(),
            n => format!("s{}", n - 1),
        }
    }

    fn upstream(&mut self, above: &str) {
        let socket = match above {
            "h0" => format!(", socket = {}", self.random.below(self.sockets)),
            _ => String::new(),
        };
        if self.chance(3) {
            let (generation, lanes) = (self.pick(&[1, 2, 3, 4, 5]), self.pick(&[1, 4, 12, 16]));
            self.put(format_args!(
                "upstream = {{ to = \"{above}\", generation = {generation}, lanes = {lanes}{socket} }}"
            ));
        } else {
            self.put(format_args!("upstream = {{ to = \"{above}\"{socket} }}"));
        }
    }

    /// Buffers from those that hold one packet to large ones.
    fn port(&mut self) {
        let payload = self.pick(&[128, 256, 512]);
        self.put(format_args!("max_payload_supported = \"{payload} B\""));
        for key in ["posted_headers", "nonposted_headers", "completion_headers"] {
            let headers = self.pick(&[1, 1, 2, 3, 8, 64, 127]);
            self.put(format_args!("{key} = {headers}"));
        }
        for key in ["posted_data", "completion_data"] {
            let data = payload * self.pick(&[1, 1, 2, 5, 32]);
            self.put(format_args!("{key} = \"{data} B\""));
        }
        let replay = payload * self.pick(&[1, 1, 3, 32]);
        let (share, ack) = (
            self.pick(&[0.0, 0.1, 0.5, 1.0]),
            self.pick(&[0.0, 0.3, 1.0]),
        );
        self.put(format_args!("replay_buffer = \"{replay} B\"\nupdate_fc_share = {share:?}\nack_limit_fraction = {ack:?}"));
    }

    fn host(&mut self) {
        self.port();
        let boundary = self.pick(&[64, 128]);
        let largest = self.pick(&[128, 256, 4096]);
        let bandwidth = self.pick(&["1 GB/s", "25 GB/s", "100 GB/s"]);
        let jitter = self.pick(&[0, 200]);
        let tags = self.pick(&[1, 4, 32]);
        self.sockets();
        self.put(format_args!("read_completion_boundary = \"{boundary} B\"\nlargest_completion = \"{largest} B\"\nmemory_bandwidth = \"{bandwidth}\"\nmemory_read_jitter = \"{jitter} ns\"\ntags = {tags}"));
    }

    /// Memory that the flows reach more than one share of.
    fn sockets(&mut self) {
        self.sockets = self.pick(&[1, 1, 2, 3, 8]);
        let (sockets, latency) = (self.sockets, self.pick(&[0, 30, 700]));
        let rate = self.pick(&["500 MB/s", "20.8 GB/s"]);
        self.put(format_args!("sockets = {sockets}\nsocket_latency = \"{latency} ns\"\nsocket_bandwidth = \"{rate}\"\nmemory = \"1 MiB\""));
    }

    fn device(&mut self) {
        self.port();
        let (tags, queue) = (self.pick(&[1, 2, 32, 300]), self.pick(&[1, 2, 32]));
        let (bits, datapath) = (self.pick(&[32, 64]), self.pick(&[0, 16]));
        let latency = self.pick(&[0, 37, 500]);
        let read = self.pick(&[128, 512, 4096]);
        let functions = self.pick(&[0, 0, 1, 7]);
        self.put(format_args!("tags = {tags}\nsend_queue = {queue}\nbar = \"256 KiB\"\nbar_address_bits = {bits}\ndatapath = \"{datapath} B\"\nreceive_latency = \"{latency} ns\"\nsend_latency = \"{latency} ns\"\nmax_read_request = \"{read} B\"\nvirtual_functions = {functions}"));
    }

    fn engine(&mut self) {
        let (fetch, cycles) = (self.chance(2), self.pick(&[0, 5, 100]));
        let (fifo, reads) = (self.pick(&[4, 7, 64]), self.pick(&[1, 2, 32]));
        let fetch_size = self.pick(&[16, 64, 4096]);
        self.put(format_args!("model = \"sg-dma\"\ndescriptor_fetch = {fetch}\ndescriptor_cycles = {cycles}\nfifo = \"{fifo} KiB\"\noutstanding_reads = {reads}\nfetch_size = \"{fetch_size} B\""));
    }

    /// A flow that a driver moves.
    fn transfer(&mut self, from: &str, to: &str) {
        let size = 1 + self.random.below(20_000);
        let direction = self.pick(&["write", "read"]);
        let start = self.pick(&[0, 0, 3]);
        self.put(format_args!("[[flows]]\nfrom = \"{from}\"\nto = \"{to}\"\ndirection = \"{direction}\"\nsize = \"{size} B\"\nstart = \"{start} us\""));
        if direction == "write" && self.chance(2) {
            let request = 4 + 4 * self.random.below(32);
            self.put(format_args!("request_size = \"{request} B\""));
        }
    }

    fn flow(&mut self, devices: u64) {
        let (from, to) = (
            self.random.below(devices + 1),
            self.random.below(devices + 2),
        );
        let name = |n: u64| match n {
            n if n == devices => "h0".to_owned(),
            n if n > devices => "r".to_owned(),
            n => format!("d{n}"),
        };
        if from == to {
            return;
        }
        if from < devices && self.engines[from as usize] {
            return self.transfer(&name(from), &name(to));
        }
        let direction = if to > devices {
            self.pick(&["write", "read", "round-trip"])
        } else {
            self.pick(&["write", "read", "both"])
        };
        let amount = match self.random.below(3) {
            0 if direction != "round-trip" => {
                format!("size = \"{} B\"", 1 + self.random.below(20_000))
            }
            1 if direction != "round-trip" => "duration = \"8 us\"\nwindow = \"4 KiB\"".to_owned(),
            _ => format!("count = {}", 1 + self.random.below(60)),
        };
        let request = 1 + self.random.below(if from == devices { 64 } else { 128 });
        let interval = self.pick(&[0, 0, 100, 1000]);
        self.put(format_args!("[[flows]]\nfrom = \"{}\"\nto = \"{}\"\ndirection = \"{direction}\"\nrequest_size = \"{request} B\"\ninterval = \"{interval} ns\"\n{amount}", name(from), name(to)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 0, ..cases(85) })]
    #[test]
    fn whatever_is_asked_for_arrives(seed in any::<u64>()) {
        let text = Scenario::any(seed);
        let mut simulation = simulation(&text);
        simulation.run(&mut |_| true);
        let result = simulation.result();
        for flow in &result.flows {
            prop_assert!(flow.completed && flow.intact, "{:?}\n{}", flow, text);
        }
        prop_assert!(result.errors.is_empty(), "{:?}\n{}", result.errors, text);
    }
}
