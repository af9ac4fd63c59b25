//! Translates the circuits of `gateware/circuits.toml` with Verilator and compiles them, if the feature `circuits` or `test-circuits` is
//! on.

#[cfg(feature = "linked")]
#[path = "build/ports.rs"]
mod ports;
#[cfg(feature = "linked")]
#[path = "build/rest.rs"]
mod rest;

#[cfg(feature = "linked")]
mod circuits {
    use std::collections::BTreeMap;
    use std::env;
    use std::fmt::Write;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio, exit};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use serde::Deserialize;

    use super::ports;
    use super::rest::Rest;

    /// A section of `circuits.toml`.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Circuit {
        /// The top module, if it does not have the name of the section.
        top: Option<String>,
        folder: PathBuf,
        widths: Vec<u32>,
        /// The parameter that sets the number of bits of a beat.
        width: Option<String>,
        #[serde(default)]
        parameters: BTreeMap<String, u64>,
        /// Whether the feature `test-circuits` also builds the circuit.
        #[serde(default)]
        test: bool,
    }

    impl Circuit {
        /// The parameters for beats of `width` bits.
        fn parameters_at(&self, width: u32) -> BTreeMap<String, u64> {
            let mut parameters = self.parameters.clone();
            parameters.extend(self.width.clone().map(|name| (name, width.into())));
            parameters
        }
    }

    pub fn build() {
        let gateware = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../gateware");
        let list = gateware.join("circuits.toml");
        watch(&list);
        watch(Path::new("cpp"));
        let shared = [PACKAGE, COMMON, "rtl/require.svh"];
        for path in shared {
            watch(&gateware.join(path));
        }
        println!("cargo::rerun-if-env-changed=VERILATOR");
        let text = fs::read_to_string(&list)
            .unwrap_or_else(|error| fail(&format!("{}: {error}", list.display())));
        let circuits: BTreeMap<String, Circuit> = toml::from_str(&text)
            .unwrap_or_else(|error| fail(&format!("{}: {error}", list.display())));
        let verilator = Verilator::find();
        let built = |circuit: &Circuit| circuit.test || FOR_SPEED;
        let jobs: Vec<_> = circuits
            .iter()
            .filter(|(_, circuit)| built(circuit))
            .flat_map(|(name, circuit)| {
                let job = move |width: &u32| (name.as_str(), circuit, *width);
                circuit.widths.iter().map(job)
            })
            .collect();
        for circuit in circuits.values() {
            watch(&gateware.join(&circuit.folder));
        }
        let workers = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok());
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..workers.unwrap_or(1) {
                scope.spawn(|| {
                    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        verilator.build(&gateware, *job);
                    }
                });
            }
        });
        let models: Vec<_> = jobs
            .iter()
            .map(|(name, _, width)| model_of(name, *width))
            .flat_map(|model| [traced(&model), model])
            .collect();
        for model in &models {
            let folder = objects_of(&out().join(model));
            println!("cargo::rustc-link-search=native={}", folder.display());
            println!("cargo::rustc-link-lib=static={model}");
        }
        verilator.compile_library();
        write_table(&models);
    }

    /// The name of a circuit at one width.
    fn model_of(name: &str, width: u32) -> String {
        format!("{name}_{width}")
    }

    /// The name of the copy of a model that can write waveforms.
    fn traced(model: &str) -> String {
        format!("{model}_traced")
    }

    /// The folder for the objects and the library of a model translated into `folder`. Models are compiled in parallel: in a shared folder,
    /// their files with equal names (the driver, the compiler's checks of options) would overwrite each other.
    fn objects_of(folder: &Path) -> PathBuf {
        folder.join("objects")
    }

    struct Verilator {
        command: String,
        root: PathBuf,
    }

    impl Verilator {
        fn find() -> Self {
            let command = env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
            let output = Command::new(&command)
                .args(["--getenv", "VERILATOR_ROOT"])
                .output();
            let output = output.unwrap_or_else(|error| {
                fail(&format!("Verilator is missing ({command}: {error}): run `make gateware`, or set VERILATOR to the command of Verilator 5.036 or later"))
            });
            let version = version_of(&command).filter(|version| *version < OLDEST);
            if let Some((major, minor)) = version {
                fail(&format!(
                    "{command} is Verilator {major}.{minor:03}, which is too old: run `make gateware`, or set VERILATOR to the command of Verilator 5.036 or later"
                ));
            }
            let root = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
            if !root.join("include/verilated.cpp").is_file() {
                fail(&format!(
                    "{command} is no Verilator: `{command} --getenv VERILATOR_ROOT` must print the folder that has include/verilated.cpp"
                ));
            }
            Verilator { command, root }
        }

        /// Translates and compiles a circuit at one width, if it has the ports of a leaf.
        fn build(&self, gateware: &Path, (name, circuit, width): (&str, &Circuit, u32)) {
            let model = model_of(name, width);
            let top = circuit.top.as_deref().unwrap_or(name);
            let parameters = circuit.parameters_at(width);
            let bare = Module::bare(top, &model, &parameters);
            let folder = self.translate(gateware, circuit, &bare);
            let left_out = ports::check(top, width, &folder.join(format!("V{top}.h")));
            let rest = Rest::of(&gateware.join(&circuit.folder), &gateware.join(COMMON))
                .unwrap_or_else(|error| fail(&error));
            for (model, options) in [(traced(&model), TRACED), (model, FAST)] {
                let leaf =
                    Module::registered(top, &model, &parameters, (width, &left_out), options);
                let folder = self.translate(gateware, circuit, &leaf);
                let mut traits = Traits::default();
                if options == FAST {
                    traits = Traits::of(&model, &folder, rest.as_ref());
                }
                traits.resets_function = !left_out.contains(&"flr_i");
                self.compile(&model, name, &folder, options == TRACED, &traits);
            }
        }

        /// Translates a module to C++; returns the folder with its files.
        fn translate(&self, gateware: &Path, circuit: &Circuit, module: &Module) -> PathBuf {
            let folder = out().join(&module.folder);
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).expect("Cargo's output folder is writable");
            let own = module.text.as_ref().map(|text| {
                let path = folder.join(format!("{}.sv", module.top));
                fs::write(&path, text).expect("Cargo's output folder is writable");
                path
            });
            let file = |name: &str| circuit.folder.join(format!("{name}.sv"));
            let status = Command::new(&self.command)
                .current_dir(gateware)
                .args(OPTIONS)
                .args(module.options)
                .args(["--top-module", &module.top, "--prefix", &module.prefix])
                .args(&module.parameters)
                .arg("--Mdir")
                .arg(&folder)
                .args(["-Irtl", "-y", COMMON, "-y"])
                .arg(&circuit.folder)
                .arg(PACKAGE)
                .arg(own.unwrap_or_else(|| file(&module.top)))
                .stdout(Stdio::null())
                .status();
            if !status.is_ok_and(|status| status.success()) {
                fail(&format!(
                    "the circuit {} cannot be translated: see the messages of {} above",
                    module.circuit, self.command
                ));
            }
            folder
        }

        /// Compiles a translated circuit with its driver.
        fn compile(
            &self,
            model: &str,
            name: &str,
            folder: &Path,
            is_traced: bool,
            traits: &Traits,
        ) {
            let sources = fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path());
            let mut sources: Vec<_> = sources
                .filter(|path| path.extension().is_some_and(|end| end == "cpp"))
                .collect();
            sources.sort();
            // Code that runs once, or for waveforms, is compiled in a short time; code that runs in each cycle is optimised for speed.
            let is_rare = |path: &PathBuf| {
                let name = path.to_string_lossy();
                name.contains("__Slow") || name.contains("__Trace")
            };
            let (rare, often) = sources.into_iter().partition::<Vec<_>, _>(is_rare);
            let objects = objects_of(folder);
            fs::create_dir_all(&objects).expect("Cargo's output folder is writable");
            let rare = self
                .compiler()
                .out_dir(&objects)
                .include(folder)
                .opt_level(0)
                .files(rare)
                .cargo_metadata(false)
                .compile_intermediates();
            let mut compiler = self.compiler();
            if is_traced {
                compiler.define("CIRCUIT_TRACED", None).opt_level(1);
            }
            traits.define(model, &mut compiler);
            compiler
                .out_dir(&objects)
                .include(folder)
                .files(often)
                .objects(rare)
                .file("cpp/circuit.cpp")
                .define("CIRCUIT_CLASS", Some(&*format!("V{model}")))
                .define("CIRCUIT_HEADER", Some(&*format!("\"V{model}.h\"")))
                .define("CIRCUIT_NAME", Some(&*format!("\"{name}\"")))
                .define("CIRCUIT_MODEL", Some(model))
                .cargo_metadata(false)
                .compile(model);
        }

        /// Compiles Verilator's library, once for all circuits.
        fn compile_library(&self) {
            let sources = [
                "verilated.cpp",
                "verilated_threads.cpp",
                "verilated_fst_c.cpp",
            ];
            self.compiler()
                .files(sources.map(|source| self.root.join("include").join(source)))
                .file("cpp/print.cpp")
                .compile("verilated");
        }

        fn compiler(&self) -> cc::Build {
            let mut compiler = cc::Build::new();
            compiler
                .cpp(true)
                .std("c++20")
                .opt_level(if FOR_SPEED { 2 } else { 0 })
                // A vector operation on signals that happen to be adjacent costs more than separate operations on each signal.
                .flag_if_supported("-fno-tree-vectorize")
                .warnings(false)
                .include("cpp")
                .include(self.root.join("include"))
                .include(self.root.join("include/vltstd"))
                .flag("-include")
                .flag("print.h");
            for library in ["DEP_LZ4_INCLUDE", "DEP_Z_INCLUDE"] {
                if let Ok(folder) = env::var(library) {
                    compiler.include(folder);
                }
            }
            compiler
        }
    }

    /// The version that a command of Verilator prints, such as "Verilator 5.048".
    fn version_of(command: &str) -> Option<(u32, u32)> {
        let output = Command::new(command).arg("--version").output().ok()?;
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = told.strip_prefix("Verilator ")?.split(' ').next()?;
        let (major, minor) = number.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// A module that Verilator translates.
    struct Module {
        /// The name of the circuit's own module, for messages.
        circuit: String,
        top: String,
        /// The text of the module, if it is generated and not in a file.
        text: Option<String>,
        prefix: String,
        folder: String,
        parameters: Vec<String>,
        options: &'static [&'static str],
    }

    impl Module {
        /// The circuit itself, for the check of its ports.
        fn bare(top: &str, model: &str, parameters: &BTreeMap<String, u64>) -> Self {
            let parameter = |(name, value): (&String, &u64)| format!("-G{name}={value}");
            Module {
                circuit: top.into(),
                top: top.into(),
                text: None,
                prefix: format!("V{top}"),
                folder: format!("{model}_ports"),
                parameters: parameters.iter().map(parameter).collect(),
                options: &["-O0"],
            }
        }

        /// The circuit behind registers for its inputs, which have a separate clock. Without the registers, all logic that depends on
        /// inputs would be evaluated one more time before each edge.
        fn registered(
            top: &str,
            model: &str,
            parameters: &BTreeMap<String, u64>,
            (width, left_out): (u32, &[&str]),
            options: &'static [&'static str],
        ) -> Self {
            let mut text =
                String::from("module circuit_leaf (\n  input logic clk_i,\n  input logic load_i");
            let mut registers = String::new();
            let mut loads = String::new();
            let mut pins = String::from("    .clk_i");
            for (port, (direction, bits)) in ports::documented(width) {
                if port == "clk_i" {
                    continue;
                }
                let of_type = format!("logic [{}:0]", bits - 1);
                write!(text, ",\n  {direction} {of_type} {port}").unwrap();
                if left_out.contains(&port) {
                    if direction == "output" {
                        writeln!(registers, "  assign {port} = '0;").unwrap();
                    }
                } else if direction == "output" {
                    write!(pins, ",\n    .{port}").unwrap();
                } else {
                    writeln!(registers, "  {of_type} {port}_q;").unwrap();
                    writeln!(loads, "    {port}_q <= {port};").unwrap();
                    write!(pins, ",\n    .{port}({port}_q)").unwrap();
                }
            }
            let values: Vec<_> = parameters
                .iter()
                .map(|(name, value)| format!(".{name}({value})"))
                .collect();
            write!(
                text,
                "\n);\n{registers}  always_ff @(posedge load_i) begin\n{loads}  end\n  {top} #({}) circuit (\n{pins}\n  );\nendmodule\n",
                values.join(", ")
            )
            .unwrap();
            Module {
                circuit: top.into(),
                top: "circuit_leaf".into(),
                text: Some(text),
                prefix: format!("V{model}"),
                folder: model.into(),
                parameters: Vec::new(),
                options,
            }
        }
    }

    /// The properties of a circuit for which its driver is compiled: faster ways to evaluate it than Verilator's own, and its optional
    /// ports.
    #[derive(Default)]
    struct Traits {
        edges: Option<Edges>,
        /// Whether there are copies for cycles with units at rest.
        copies: bool,
        /// Whether the circuit has ports for the function-level reset.
        resets_function: bool,
    }

    impl Traits {
        /// Finds the ways to evaluate a translated circuit, and adds the copies for units at rest to its generated code.
        fn of(model: &str, folder: &Path, rest: Option<&Rest>) -> Self {
            let edges = Edges::of(model, folder);
            let copies = match (&edges, rest) {
                (Some(edges), Some(rest)) => rest.write(model, folder, edges.load | edges.clock),
                _ => false,
            };
            if rest.is_some() && !copies {
                println!(
                    "cargo::warning=the code that Verilator wrote for {model} has a form that is not known: the circuit has no copies for units at rest, and is slower"
                );
            }
            Traits {
                edges,
                copies,
                resets_function: false,
            }
        }

        /// Defines the macros of the driver for these properties.
        fn define(&self, model: &str, compiler: &mut cc::Build) {
            if let Some(edges) = &self.edges {
                edges.define(model, compiler);
            }
            if self.resets_function {
                compiler.define("CIRCUIT_FLR", None);
            }
            if self.copies {
                compiler.define("CIRCUIT_COPIES", Some(&*format!("{model}_copies")));
            }
        }
    }

    /// The bits of the rising edges of a circuit's two clocks in the generated code.
    struct Edges {
        load: u64,
        clock: u64,
    }

    impl Edges {
        /// The edges of a translated circuit; `None` if the circuit is sensitive to other events, too, or if the generated code lacks the
        /// function for the edges.
        fn of(model: &str, folder: &Path) -> Option<Self> {
            let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
            let text: String = fs::read_dir(folder)
                .ok()?
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.to_string_lossy().contains("___024root"))
                .map(read)
                .collect();
            let evaluates =
                format!("void V{model}___024root___eval_nba(V{model}___024root* vlSelf)");
            let known = [&*evaluates, "VlUnpacked<QData/*63:0*/, 1> __VnbaTriggered;"];
            if !known.iter().all(|part| text.contains(part)) || text.contains("___eval_ico") {
                return None;
            }
            let edges = text.lines().filter_map(|line| {
                let (_, trigger) = line.split_once("region trigger index ")?;
                let (index, what) = trigger.split_once(" is active: @(")?;
                Some((index.parse::<u32>().ok()?, what.split_once(')')?.0))
            });
            let edges: BTreeMap<_, _> = edges.map(|(index, what)| (what, 1 << index)).collect();
            match (edges.get("posedge load_i"), edges.get("posedge clk_i")) {
                (Some(&load), Some(&clock)) if edges.len() == 2 => Some(Edges { load, clock }),
                _ => None,
            }
        }

        /// Defines the macros of the driver that name the edges.
        fn define(&self, model: &str, compiler: &mut cc::Build) {
            let root = format!("V{model}___024root");
            compiler
                .define("CIRCUIT_ROOT", Some(&*root))
                .define("CIRCUIT_ROOT_HEADER", Some(&*format!("\"{root}.h\"")))
                .define("CIRCUIT_EVALUATE", Some(&*format!("{root}___eval_nba")))
                .define("CIRCUIT_LOADS", Some(&*format!("{}ULL", self.load)))
                .define("CIRCUIT_CLOCKS", Some(&*format!("{}ULL", self.clock)));
        }
    }

    /// Writes the table of all models, which `src/abi.rs` includes.
    fn write_table(models: &[String]) {
        let mut table = String::from("unsafe extern \"C\" {\n");
        for model in models {
            writeln!(table, "    static {model}: Model;").unwrap();
        }
        table.push_str("}\n\nfn models() -> Vec<&'static Model> {\n    // SAFETY: the models are constants of the linked circuits.\n    unsafe { vec![");
        for model in models {
            write!(table, "&{model}, ").unwrap();
        }
        table.push_str("] }\n}\n");
        fs::write(out().join("models.rs"), table).expect("Cargo's output folder is writable");
    }

    /// Whether all circuits are built and optimised for speed. If not, only the circuits of tests are built.
    const FOR_SPEED: bool = cfg!(feature = "circuits");
    /// The oldest version of Verilator that translates the circuits.
    const OLDEST: (u32, u32) = (5, 36);
    /// The generated constants, which Verilator reads before every circuit.
    const PACKAGE: &str = "rtl/peerlane_pkg.sv";
    /// The modules that all circuits share.
    const COMMON: &str = "rtl/common";
    /// Options for the two copies of a circuit: the copy that runs without waveforms, and the copy that can write waveforms.
    const FAST: &[&str] = &["-O3", "--x-assign", "fast", "--x-initial", "fast"];
    const TRACED: &[&str] = &[
        "-O3",
        "--trace-fst",
        "--x-assign",
        "fast",
        "--x-initial",
        "fast",
    ];
    const OPTIONS: [&str; 4] = ["--cc", "--assert", "--no-timing", "-Wno-fatal"];

    fn out() -> PathBuf {
        PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"))
    }

    fn watch(path: &Path) {
        println!("cargo::rerun-if-changed={}", path.display());
    }

    fn fail(message: &str) -> ! {
        println!("cargo::error={message}");
        exit(1)
    }
}

fn main() {
    #[cfg(feature = "linked")]
    circuits::build();
}
