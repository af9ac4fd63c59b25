//! Completions with deliberate defects: every requester ends its reads, and a flow with missing bytes is not reported as whole.

use peerlane_device::{Access, Answer, Bar, Defect, Description, Model, Settings, Shell};
use sim::result::RunResult;
use sim::{ForeignModel, Maker, Models, Simulation};

use crate::fixture::{Ask, simulation_with};

/// A model that answers each read with zeros, by a completion with the defect.
struct Wrong(Defect);

impl Model for Wrong {
    fn reset(&mut self, _: u8, _: &mut Shell<'_>) {}

    fn read(&mut self, access: Access, into: &mut [u8], shell: &mut Shell<'_>) -> Answer {
        shell
            .answer_malformed(access.ticket, into, self.0)
            .expect("the read waits for an answer");
        Answer::Later
    }

    fn write(&mut self, _: Access, _: &[u8], _: &mut Shell<'_>) {}
}

struct Wrongs(Defect);

impl Maker for Wrongs {
    fn make(&self, _: &str, _: &Settings) -> Result<Box<dyn Model>, String> {
        Ok(Box::new(Wrong(self.0)))
    }
}

/// The simulation of a host with a device of the model [`Wrong`], a device of the model `reader`, and these flows.
fn machine(defect: Defect, reader: &str, flows: &str) -> Simulation {
    let description = Description {
        bars: vec![Bar::new(0, 65536)],
        ..Description::default()
    };
    let model = ForeignModel::new("wrong", description, Box::new(Wrongs(defect)));
    let models = Models::new(vec![model.expect("a legal model")]).expect("one model");
    let text = format!(
        "[hosts.h]\n[switches.s]\nupstream = \"h\"\n[devices.d]\nupstream = \"s\"\nmodel = \"wrong\"\n[devices.r]\nupstream = \"s\"\nmodel = \"{reader}\"\n{flows}"
    );
    simulation_with(&text, None, &models)
}

fn refused(result: &RunResult, what: &str) -> u64 {
    let of_kind = result.errors.iter().filter(|error| error.what == what);
    of_kind.map(|error| error.count).sum()
}

#[test]
fn a_reader_of_any_kind_ends_its_reads() {
    for (reader, from) in [("dma", "r"), ("sg-dma", "r"), ("nvme", "r"), ("dma", "h")] {
        // The flow has a single request, so that a wrong completion cannot match the tag of another request.
        let size = if reader == "nvme" { 512 } else { 64 };
        for defect in Defect::ALL {
            let flows = format!(
                "[[flows]]\nid = \"f\"\nfrom = \"{from}\"\nto = \"d\"\ndirection = \"read\"\nsize = \"{size} B\"\n"
            );
            let mut simulation = machine(defect, reader, &flows);
            simulation.run(&mut |_| true);
            let result = simulation.result();
            let flow = result.flow("f");
            // Requesters need not check these fields (PCIe Base 2.3.2), and the bytes of registers are not compared.
            let is_accepted = matches!(
                defect,
                Defect::ByteCount | Defect::LowerAddress | Defect::TooMuchData
            );
            let is_whole = flow.completed && flow.intact && flow.missing.is_empty();
            assert!(
                is_accepted || !is_whole,
                "{reader} at {from}, {defect}: {flow:?}"
            );
            let unexpected = refused(&result, "unexpected completion") > 0;
            if matches!(defect, Defect::Tag | Defect::Requester) {
                assert!(
                    unexpected,
                    "{reader} at {from}, {defect}: {:?}",
                    result.errors
                );
            }
        }
    }
}
