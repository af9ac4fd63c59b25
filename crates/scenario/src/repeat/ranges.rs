//! The values of `each`: `"i = 0..511"`, or several variables, of which the last changes fastest.

use std::fmt;
use std::ops::RangeInclusive;

use crate::tree::Content;

/// The form of the text, for messages.
const FORM: &str = "write each = \"i = 0..511\" (both ends count), or \"p = 0..3, i = 0..63\"";

/// The variables of a repeated table, and the range of each.
#[derive(Debug)]
pub(super) struct Ranges(Vec<(String, RangeInclusive<i64>)>);

/// One value for each variable.
#[derive(Clone, Debug)]
pub(super) struct Values(Vec<(String, i64)>);

impl Ranges {
    pub(super) fn read(value: &Content<'_>) -> Result<Self, String> {
        let Content::Text(text) = value else {
            return Err(format!("this is not a text; {FORM}"));
        };
        let mut ranges: Vec<(String, RangeInclusive<i64>)> = Vec::new();
        for part in text.split(',') {
            let (name, range) = read_one(text, part)?;
            if ranges.iter().any(|(other, _)| *other == name) {
                return Err(format!(
                    "{text:?} has the variable {name} twice; write another name"
                ));
            }
            ranges.push((name, range));
        }
        Ok(Self(ranges))
    }

    pub(super) fn count(&self) -> u128 {
        let lengths = self
            .0
            .iter()
            .map(|(_, range)| u128::from(range.end().abs_diff(*range.start())) + 1);
        lengths.fold(1, u128::saturating_mul)
    }

    /// The values of each member, in order.
    pub(super) fn members(&self) -> impl Iterator<Item = Values> + '_ {
        (0..self.count()).map(|number| {
            let mut rest = number;
            let mut values: Vec<_> = self
                .0
                .iter()
                .rev()
                .map(|(name, range)| {
                    let length = u128::from(range.end().abs_diff(*range.start())) + 1;
                    let value = range.start() + (rest % length) as i64;
                    rest /= length;
                    (name.clone(), value)
                })
                .collect();
            values.reverse();
            Values(values)
        })
    }
}

impl Values {
    pub(super) fn of(&self, name: &str) -> Result<i64, String> {
        let found = self.0.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
            format!(
                "there is no variable {name:?}; the key each has {}",
                names.join(", ")
            )
        })
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, value)) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(f, "{separator}{name} = {value}")?;
        }
        Ok(())
    }
}

fn read_one(text: &str, part: &str) -> Result<(String, RangeInclusive<i64>), String> {
    let wrong = || format!("{text:?} gives no values; {FORM}");
    let (name, range) = part.split_once('=').ok_or_else(wrong)?;
    let name = name.trim();
    let (first, last) = range.split_once("..").ok_or_else(wrong)?;
    if !is_variable(name) {
        return Err(format!(
            "{text:?}: {name:?} is no variable, which has a letter from a to z and then letters, digits and _; {FORM}"
        ));
    }
    let number = |digits: &str| {
        let digits = digits.trim();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!(
                "{text:?}: {digits:?} is no number of 0 or more; {FORM}"
            ));
        }
        let too_large = |_| format!("{digits} is too large; write a number below 2^63");
        digits.parse::<i64>().map_err(too_large)
    };
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(format!(
            "{name} = {first}..{last} is empty; write the smaller number first"
        ));
    }
    Ok((name.to_owned(), first..=last))
}

/// Whether a text is the name of a variable: a letter, then letters, digits and `_`.
fn is_variable(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
