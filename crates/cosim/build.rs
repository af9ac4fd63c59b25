//! Translates the circuits of `gateware/circuits.toml` with Verilator and compiles them, if the feature `circuits` is on.

#[cfg(feature = "circuits")]
#[path = "build/ports.rs"]
mod ports;

#[cfg(feature = "circuits")]
mod circuits {
    use std::collections::BTreeMap;
    use std::env;
    use std::fmt::Write;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio, exit};

    use serde::Deserialize;

    use super::ports;

    /// A section of `circuits.toml`.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Circuit {
        /// The top module, if its name is not that of the section.
        top: Option<String>,
        folder: PathBuf,
        widths: Vec<u32>,
        /// The parameter that has the bits of a beat.
        width: Option<String>,
        #[serde(default)]
        parameters: BTreeMap<String, u64>,
        /// Whether it is built with the feature `broken-circuits` only.
        #[serde(default)]
        test: bool,
    }

    pub fn build() {
        let gateware = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../gateware");
        let list = gateware.join("circuits.toml");
        watch(&list);
        watch(Path::new("cpp"));
        let shared = [PACKAGE, COMMON, "rtl/require.svh"];
        shared.iter().for_each(|path| watch(&gateware.join(path)));
        println!("cargo::rerun-if-env-changed=VERILATOR");
        let text = fs::read_to_string(&list)
            .unwrap_or_else(|error| fail(&format!("{}: {error}", list.display())));
        let circuits: BTreeMap<String, Circuit> = toml::from_str(&text)
            .unwrap_or_else(|error| fail(&format!("{}: {error}", list.display())));
        let verilator = Verilator::find();
        let mut models = Vec::new();
        let built = |circuit: &Circuit| !circuit.test || cfg!(feature = "broken-circuits");
        for (name, circuit) in circuits.iter().filter(|(_, circuit)| built(circuit)) {
            for width in &circuit.widths {
                let model = format!("{name}_{width}");
                let top = circuit.top.as_deref().unwrap_or(name);
                let folder = verilator.translate(&gateware, top, circuit, *width, &model);
                ports::check(top, *width, &folder.join(format!("V{model}.h")));
                verilator.compile(&model, name, &folder);
                models.push(model);
            }
        }
        verilator.compile_library();
        write_table(&models);
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
            let root = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
            if !root.join("include/verilated.cpp").is_file() {
                fail(&format!(
                    "{command} is no Verilator: `{command} --getenv VERILATOR_ROOT` must print the folder that has include/verilated.cpp"
                ));
            }
            Verilator { command, root }
        }

        /// Translates a circuit to C++; returns the folder with its files.
        fn translate(
            &self,
            gateware: &Path,
            top: &str,
            circuit: &Circuit,
            width: u32,
            model: &str,
        ) -> PathBuf {
            let folder = out().join(model);
            let _ = fs::remove_dir_all(&folder);
            watch(&gateware.join(&circuit.folder));
            let mut parameters = circuit.parameters.clone();
            let of_width = circuit.width.clone().map(|name| (name, width.into()));
            parameters.extend(of_width);
            let status = Command::new(&self.command)
                .current_dir(gateware)
                .args(OPTIONS)
                .args(["--top-module", top, "--prefix", &format!("V{model}")])
                .args(
                    parameters
                        .iter()
                        .map(|(name, value)| format!("-G{name}={value}")),
                )
                .arg("--Mdir")
                .arg(&folder)
                .args(["-Irtl", "-y", COMMON, "-y"])
                .arg(&circuit.folder)
                .arg(PACKAGE)
                .arg(circuit.folder.join(format!("{top}.sv")))
                .stdout(Stdio::null())
                .status();
            if !status.is_ok_and(|status| status.success()) {
                fail(&format!(
                    "the circuit {top} cannot be translated: see the messages of {} above",
                    self.command
                ));
            }
            folder
        }

        /// Compiles a translated circuit with its driver.
        fn compile(&self, model: &str, name: &str, folder: &Path) {
            let sources = fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path());
            let mut sources: Vec<_> = sources
                .filter(|path| path.extension().is_some_and(|end| end == "cpp"))
                .collect();
            sources.sort();
            // What runs once, or for waveforms, is compiled fast; what runs in each cycle is compiled for speed.
            let is_rare = |path: &PathBuf| {
                let name = path.to_string_lossy();
                name.contains("__Slow") || name.contains("__Trace")
            };
            let (rare, often) = sources.into_iter().partition::<Vec<_>, _>(is_rare);
            let rare = self
                .compiler()
                .include(folder)
                .opt_level(0)
                .files(rare)
                .compile_intermediates();
            self.compiler()
                .include(folder)
                .files(often)
                .objects(rare)
                .file("cpp/circuit.cpp")
                .define("CIRCUIT_CLASS", Some(&*format!("V{model}")))
                .define("CIRCUIT_HEADER", Some(&*format!("\"V{model}.h\"")))
                .define("CIRCUIT_NAME", Some(&*format!("\"{name}\"")))
                .define("CIRCUIT_MODEL", Some(model))
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
                .opt_level(2)
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

    /// The generated constants, before every circuit.
    const PACKAGE: &str = "rtl/peerlane_pkg.sv";
    /// The modules that all circuits share.
    const COMMON: &str = "rtl/common";
    const OPTIONS: [&str; 6] = [
        "--cc",
        "--assert",
        "--trace-fst",
        "--no-timing",
        "-O3",
        "-Wno-fatal",
    ];

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
    #[cfg(feature = "circuits")]
    circuits::build();
}
