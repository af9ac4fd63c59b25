//! Translates the circuits of `gateware/circuits.toml` with Verilator and compiles them, if the feature `circuits` is on.

#[cfg(feature = "circuits")]
mod circuits {
    use std::collections::BTreeMap;
    use std::env;
    use std::fmt::Write;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, exit};

    use serde::Deserialize;

    /// A section of `circuits.toml`.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Circuit {
        files: Vec<PathBuf>,
        widths: Vec<u32>,
        /// Whether it is built with the feature `broken-circuits` only.
        #[serde(default)]
        test: bool,
    }

    pub fn build() {
        let gateware = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../gateware");
        let list = gateware.join("circuits.toml");
        watch(&list);
        watch(Path::new("cpp"));
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
                let sources = verilator.translate(&gateware, name, circuit, *width, &model);
                verilator.compile(&model, name, &sources);
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
                fail(&format!("{command} cannot be run ({error}): install Verilator 5.036 or later, or set VERILATOR to its command"))
            });
            let root = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
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
            circuit
                .files
                .iter()
                .for_each(|file| watch(&gateware.join(file)));
            let status = Command::new(&self.command)
                .current_dir(gateware)
                .args([
                    "--cc",
                    "--assert",
                    "--trace-fst",
                    "--no-timing",
                    "-O3",
                    "-Wno-fatal",
                ])
                .args([
                    "--top-module",
                    top,
                    "--prefix",
                    &format!("V{model}"),
                    &format!("-GWIDTH={width}"),
                ])
                .arg("--Mdir")
                .arg(&folder)
                .args(&circuit.files)
                .status();
            if !status.is_ok_and(|status| status.success()) {
                fail(&format!(
                    "{}: the circuit {top} cannot be translated",
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
            self.compiler()
                .include(folder)
                .files(sources)
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
