//! How the rates of flows are measured: in a window of the run, or in the steady state.

use kernel::Span;

use ::scenario::{Item, ScenarioError};

kernel::parameters! {
    /// Parameters of the measurement of steady rates: a window of the run, or the steady state.
    pub struct MeasureParameters {
        /// Start of the window.
        from: Span = Span::ZERO, from "the beginning of the run";
        /// End of the window.
        until: Option<Span> = None, from "each scenario";
        /// Whether every workload except collectives continues, also after its amount is reached, until its rate in the steady state is known. MSER-5 removes the warm-up; the rate is known if the 95 % confidence interval of ten batch means is within 5 % of the rate to each side.
        steady: bool = false, from "our choice: each workload does what is written";
        /// Maximum length of a run with steady = true, from the time when every link is up. At this time the run ends even if rates are not known
        /// yet.
        limit: Span = Span::from_us(20_000), from "our choice: some hundred commands of a drive";
    }
}

/// How the rates of flows are measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measure {
    /// The part of the run in which steady rates are measured.
    pub window: Option<(Span, Span)>,
    /// The time limit of a run in the steady state, in which all workloads continue until the steady rate of each is known.
    pub steady: Option<Span>,
    /// The line of the key `steady`, if the steady state is measured.
    pub line: usize,
}

/// Reads the `[measure]` section.
pub(super) fn read(item: &Item<'_>) -> Result<Measure, ScenarioError> {
    let mut parameters = MeasureParameters::default();
    let lines = item.section()?.set(&mut [&mut parameters])?;
    if parameters.steady {
        if lines.has("from") || lines.has("until") {
            return Err(
                item.error("steady = true finds the window by itself; leave out from and until")
            );
        }
        if parameters.limit == Span::ZERO {
            return Err(item.error("limit = 0 measures nothing; write limit = \"20 ms\""));
        }
        return Ok(Measure {
            window: None,
            steady: Some(parameters.limit),
            line: lines.of("steady"),
        });
    }
    if lines.has("limit") {
        return Err(item.error("limit is that of the steady state; write steady = true, too"));
    }
    let is_written = lines.has("from") || lines.has("until");
    if !is_written && lines.has("steady") {
        return Ok(Measure::default());
    }
    let until = parameters
        .until
        .ok_or_else(|| item.error("there is no end; write until = \"400 us\""))?;
    if parameters.from >= until {
        return Err(item.error("it ends before it begins; write from before until"));
    }
    Ok(Measure {
        window: Some((parameters.from, until)),
        ..Measure::default()
    })
}
