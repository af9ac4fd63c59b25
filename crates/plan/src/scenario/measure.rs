//! The window of a run in which steady rates are measured.

use kernel::Span;

use ::scenario::{Item, ScenarioError};

kernel::parameters! {
    /// The window of the run in which steady rates are measured.
    pub struct MeasureParameters {
        /// Start of the window.
        from: Span = Span::ZERO, from "the beginning of the run";
        /// End of the window.
        until: Option<Span> = None, from "each scenario";
    }
}

/// Reads the `[measure]` section: its start and end.
pub(super) fn read(item: &Item<'_>) -> Result<(Span, Span), ScenarioError> {
    let mut parameters = MeasureParameters::default();
    item.section()?.set(&mut [&mut parameters])?;
    let until = parameters
        .until
        .ok_or_else(|| item.error("there is no end; write until = \"400 us\""))?;
    if parameters.from >= until {
        return Err(item.error("it ends before it begins; write from before until"));
    }
    Ok((parameters.from, until))
}
