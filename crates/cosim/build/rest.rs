//! Copies of a circuit's evaluation for cycles in which some of its units are at rest.
//!
//! Verilator evaluates all units in each cycle. A copy keeps the signals of units at rest in local variables that begin with constants, so
//! that the compiler removes the code whose results are constant. The copy is exact in each cycle that begins with these values, for every
//! input of the circuit. The copy returns whether the next cycle also begins with these values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// `rest.toml` in the folder of a circuit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rest {
    /// The copies, each with the units that are at rest in it.
    copies: Vec<Vec<String>>,
    /// The signals of each unit, by instance: "name" for a signal that is 0 at rest, otherwise "name=value".
    units: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// A signal with the value that it has at rest.
type Signal = (String, u64);

impl Rest {
    /// Reads the description in the folder of a circuit, if there is one. `shared` is the folder of modules that all circuits may use.
    pub fn of(folder: &Path, shared: &Path) -> Result<Option<Self>, String> {
        let path = folder.join("rest.toml");
        let Ok(text) = fs::read_to_string(&path) else {
            return Ok(None);
        };
        let rest: Rest =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let fail = |what: String| Err(format!("{}: {what}", path.display()));
        let is_unknown = |unit: &&String| !rest.units.contains_key(*unit);
        if let Some(unit) = rest.copies.iter().flatten().find(is_unknown) {
            return fail(format!(
                "'copies' names the unit '{unit}', which has no section; write [units.{unit}]"
            ));
        }
        let modules: String = [folder, shared].map(modules_in).concat();
        let written: BTreeSet<_> = words(&modules).map(|(_, word)| word).collect();
        for (instance, signal) in rest
            .units
            .values()
            .flatten()
            .flat_map(|(instance, names)| names.iter().map(move |name| (instance, name)))
        {
            let (name, value) = signal.split_once('=').unwrap_or((signal, "0"));
            let plain = name.split('[').next().unwrap_or_default();
            if !written.contains(plain) {
                return fail(format!("no module has the signal '{name}' of '{instance}'"));
            }
            if value.parse::<u32>().is_err() {
                return fail(format!(
                    "'{signal}' of '{instance}' needs a whole number as value, such as '{name}=1'"
                ));
            }
        }
        Ok(Some(rest))
    }

    /// The signals of a copy as "instance.name", with their values.
    fn signals(&self, copy: &[String]) -> Vec<Signal> {
        let instances = copy.iter().flat_map(|unit| &self.units[unit]);
        instances
            .flat_map(|(instance, names)| names.iter().map(move |name| (instance, name)))
            .map(|(instance, name)| {
                let (name, value) = name.split_once('=').unwrap_or((name, "0"));
                let value = value.parse().unwrap_or_default();
                (format!("{instance}.{name}"), value)
            })
            .collect()
    }

    /// Writes the copies for the translated circuit in `folder`. `edges` has the bits of the edges of both clocks. Returns false if the
    /// form of the generated code is not known.
    pub fn write(&self, model: &str, folder: &Path, edges: u64) -> bool {
        let Some(code) = Code::of(model, folder) else {
            return false;
        };
        let root = &code.root;
        let mut text = format!("#include \"V{model}__pch.h\"\n#include \"copy.h\"\n");
        text.push_str(&code.constants);
        let mut table = String::new();
        for (number, copy) in self.copies.iter().enumerate() {
            let Some(copy) = code.copy(&self.signals(copy), edges) else {
                return false;
            };
            write!(text, "\nnamespace copy_{number} {{\n{copy}}}\n").unwrap();
            write!(table, "{{copy_{number}::fits, copy_{number}::evaluate}}, ").unwrap();
        }
        write!(
            text,
            "\nextern const CircuitCopy<{root}> {model}_copies[] = {{{table}{{nullptr, nullptr}}}};\n"
        )
        .unwrap();
        fs::write(folder.join(format!("V{model}__copies.cpp")), text)
            .expect("Cargo's output folder is writable");
        true
    }
}

/// The generated code of a circuit.
struct Code {
    root: String,
    /// Scalar signals with their types.
    signals: BTreeMap<String, String>,
    /// The functions that one evaluation calls. Each function is behind the functions that it calls.
    functions: Vec<(String, String)>,
    /// Declarations of constants.
    constants: String,
}

impl Code {
    fn of(model: &str, folder: &Path) -> Option<Self> {
        let root = format!("V{model}___024root");
        let read = |path: &Path| fs::read_to_string(path).ok();
        let mut signals: BTreeMap<_, _> = read(&folder.join(format!("{root}.h")))?
            .lines()
            .filter_map(|line| {
                let (kind, rest) = line.trim().split_once("/*")?;
                let (_, name) = rest.split_once(":0*/ ")?;
                let known = ["CData", "SData", "IData", "QData"].contains(&kind);
                let name = name.strip_suffix(';')?;
                known.then(|| (name.to_owned(), kind.to_owned()))
            })
            .collect();
        signals.insert("rst_i".into(), "CData".into());
        let mut sources: Vec<_> = fs::read_dir(folder)
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.to_string_lossy();
                name.contains("___024root__") && name.ends_with(".cpp") && !name.contains("Slow")
            })
            .collect();
        sources.sort();
        let text: String = sources.iter().filter_map(|path| read(path)).collect();
        let constants: BTreeSet<_> = text
            .lines()
            .filter(|line| line.starts_with("extern const "))
            .collect();
        let constants = constants.into_iter().collect::<Vec<_>>().join("\n") + "\n";
        let mut code = Code {
            functions: Vec::new(),
            signals,
            constants,
            root,
        };
        let evaluation = format!("{}___eval_nba", code.root);
        code.add(&evaluation, &text)?;
        Some(code)
    }

    /// Adds a function behind the functions that it calls.
    fn add(&mut self, name: &str, text: &str) -> Option<()> {
        if self.functions.iter().any(|(known, _)| known == name) {
            return Some(());
        }
        let head = format!("void {name}({}* vlSelf) {{\n", self.root);
        let body = &text[text.find(&head)? + head.len()..];
        let body = &body[..=body.find("\n}\n")?];
        // Any other form of access to the signals would bypass the local variables.
        let called: Vec<_> = words(body)
            .filter(|(at, word)| {
                let behind = &body[at + word.len()..];
                behind.starts_with("(vlSelf)") || behind.starts_with("(vlSelf,")
            })
            .map(|(_, word)| word)
            .collect();
        for function in &called {
            self.add(function, text)?;
        }
        let uses = |name| move |(_, word): &(usize, &str)| *word == name;
        let pointers = words(body).filter(uses("vlSelf")).count();
        let references = words(body).filter(uses("vlSelfRef")).count();
        let is_known = pointers == called.len() + body.matches("vlSelf->").count() + 1
            && references == body.matches("vlSelfRef.").count() + 1
            && !body.contains("vlSymsp->TOP");
        is_known.then(|| self.functions.push((name.to_owned(), body.to_owned())))
    }

    /// The text of a copy in which these signals begin with their values at rest.
    fn copy(&self, signals: &[Signal], edges: u64) -> Option<String> {
        let mut resting: BTreeMap<&str, u64> = BTreeMap::new();
        let mut order = Vec::new();
        let reset = [("rst_i".to_owned(), 0), (format!("{TOP}rst_i_q"), 0)];
        let members = signals
            .iter()
            .filter_map(|(path, value)| Some((self.member(path)?, *value)));
        for (name, value) in reset
            .iter()
            .map(|(name, value)| (name.clone(), *value))
            .chain(members)
        {
            let (name, _) = self.signals.get_key_value(&name)?;
            if resting.insert(name, value).is_none() {
                order.push((name, value));
            }
        }
        let root = &self.root;
        let mut text = String::from("struct Rest {\n");
        for (name, _) in &order {
            writeln!(text, "  {} {name};", self.signals[*name]).unwrap();
        }
        text.push_str("};\n");
        for (name, body) in &self.functions {
            let body = body.replace(TRIGGERS, &format!("{edges}ULL"));
            write!(
                text,
                "__attribute__((always_inline)) inline void {name}({root}* vlSelf, Rest& rest) {{\n{}}}\n",
                self.with_rest(&body, &resting)
            )
            .unwrap();
        }
        let evaluation = &self.functions.last()?.0;
        let values: Vec<_> = order.iter().map(|(_, value)| value.to_string()).collect();
        let compared: Vec<_> = order
            .iter()
            .map(|(name, value)| format!("vlSelf->{name} == {value}"))
            .collect();
        write!(
            text,
            "bool fits(const {root}* vlSelf) {{\n  return {};\n}}\nbool evaluate({root}* vlSelf) {{\n  Rest rest{{{}}};\n  {evaluation}(vlSelf, rest);\n  bool fits = true;\n",
            compared.join("\n      && "),
            values.join(", ")
        )
        .unwrap();
        for (name, value) in &order {
            writeln!(
                text,
                "  if (rest.{name} != {value}) {{ vlSelf->{name} = rest.{name}; fits = false; }}"
            )
            .unwrap();
        }
        text.push_str("  return fits;\n}\n");
        Some(text)
    }

    /// The text of a function, in which local variables replace the signals at rest.
    fn with_rest(&self, body: &str, resting: &BTreeMap<&str, u64>) -> String {
        let mut text = String::new();
        let mut copied = 0;
        for (at, word) in words(body) {
            let begin = ["vlSelfRef.", "vlSelf->"]
                .iter()
                .find(|access| body[..at].ends_with(**access))
                .map(|access| at - access.len());
            if let Some(begin) = begin.filter(|_| resting.contains_key(word)) {
                write!(text, "{}rest.{word}", &body[copied..begin]).unwrap();
                copied = at + word.len();
            } else if self.functions.iter().any(|(name, _)| name == word) {
                let end = at + word.len();
                if body[end..].starts_with("(vlSelf)") {
                    write!(text, "{}(vlSelf, rest)", &body[copied..end]).unwrap();
                    copied = end + "(vlSelf)".len();
                }
            }
        }
        text.push_str(&body[copied..]);
        text
    }

    /// The name of a signal in the generated code; `None` if Verilator has removed the signal.
    fn member(&self, path: &str) -> Option<String> {
        let path = path.replace('[', "__BRA__").replace(']', "__KET__");
        let parts: Vec<_> = path.split('.').collect();
        let plain = mangled(&parts);
        // The wire at a port may have a name that is made from the port: "parent____Vcellinp__child__port".
        let (port, instances) = parts.split_last()?;
        let wires = (0..instances.len()).flat_map(|cut| {
            let (parents, child) = instances.split_at(cut);
            let parents: String = parents.iter().flat_map(|part| [*part, "__DOT__"]).collect();
            let child = mangled(child);
            ["__Vcellinp__", "__Vcellout__"].map(|kind| format!("{parents}{kind}{child}__{port}"))
        });
        let parts = [plain].into_iter().chain(wires);
        parts
            .map(|name| format!("{CIRCUIT}{name}"))
            .find(|name| self.signals.contains_key(name))
    }
}

/// The text of all modules in a folder.
fn modules_in(folder: &Path) -> String {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let modules = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "sv"));
    modules
        .map(|path| fs::read_to_string(path).unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

fn mangled(parts: &[&str]) -> String {
    parts.join("__DOT__")
}

/// The identifiers in a text, with their positions.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at + text[at..].find(is_word)?;
        let rest = &text[begin..];
        let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        at = begin + length;
        Some((begin, &text[begin..at]))
    })
}

/// The prefix of the names of all signals in the wrapper.
const TOP: &str = "circuit_leaf__DOT__";
/// The prefix of the names of all signals in the circuit.
const CIRCUIT: &str = "circuit_leaf__DOT__circuit__DOT__";
/// The variable of the generated code that contains the clock edges of an evaluation.
const TRIGGERS: &str = "vlSelfRef.__VnbaTriggered[0U]";
