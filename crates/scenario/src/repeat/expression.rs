//! Expressions of whole numbers and variables, such as `i / 64` and `(h + 1) % 16`.

use super::ranges::Values;

/// The deepest nesting of parentheses.
const DEPTH: u32 = 16;

/// The value of an expression. `/` rounds down and `%` is never negative, so that `(i - 1) % 16` is the previous place in a ring of 16.
pub(super) fn value(text: &str, values: &Values) -> Result<i64, String> {
    let mut reader = Reader {
        rest: text,
        values,
        depth: 0,
    };
    let value = reader.sum()?;
    match reader.next() {
        None => Ok(value),
        Some(sign) => Err(format!("{sign:?} is not expected here; {FORM}")),
    }
}

const FORM: &str = "write numbers, variables, + - * / % and parentheses, such as {i / 64}";

const TOO_LARGE: &str = "the number is too large; write an expression below 2^63";

struct Reader<'t> {
    rest: &'t str,
    values: &'t Values,
    depth: u32,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<i64, String> {
        let mut sum = self.product()?;
        while let Some(sign @ ('+' | '-')) = self.next() {
            self.skip(sign);
            let term = self.product()?;
            let result = if sign == '+' {
                sum.checked_add(term)
            } else {
                sum.checked_sub(term)
            };
            sum = result.ok_or(TOO_LARGE)?;
        }
        Ok(sum)
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut product = self.operand()?;
        while let Some(sign @ ('*' | '/' | '%')) = self.next() {
            self.skip(sign);
            let factor = self.operand()?;
            if sign != '*' && factor <= 0 {
                return Err(format!("the divisor is {factor}; write one above 0"));
            }
            let result = match sign {
                '*' => product.checked_mul(factor),
                '/' => product.checked_div_euclid(factor),
                _ => product.checked_rem_euclid(factor),
            };
            product = result.ok_or(TOO_LARGE)?;
        }
        Ok(product)
    }

    fn operand(&mut self) -> Result<i64, String> {
        match self.next() {
            Some('(') => self.inner(),
            Some(sign) if sign.is_ascii_digit() => {
                let digits = self.word(|one| one.is_ascii_digit());
                digits.parse().map_err(|_| TOO_LARGE.to_owned())
            }
            Some(sign) if sign.is_ascii_alphabetic() => {
                let name = self.word(|one| one.is_ascii_alphanumeric() || one == '_');
                self.values.of(name)
            }
            Some(sign) => Err(format!("{sign:?} is not expected here; {FORM}")),
            None => Err(format!("a number or variable is missing; {FORM}")),
        }
    }

    fn inner(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!(
                "more than {DEPTH} parentheses are in each other; write fewer"
            ));
        }
        self.skip('(');
        let value = self.sum()?;
        if self.next() != Some(')') {
            return Err("a closing parenthesis is missing; write as many ) as (".to_owned());
        }
        self.skip(')');
        self.depth -= 1;
        Ok(value)
    }

    /// The next character that is not a space.
    fn next(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn skip(&mut self, sign: char) {
        self.rest = &self.rest[sign.len_utf8()..];
    }
}

impl<'t> Reader<'t> {
    /// Takes all characters from the beginning of the text as long as `is_of_word` is true for them.
    fn word(&mut self, is_of_word: impl Fn(char) -> bool) -> &'t str {
        let end = self
            .rest
            .find(|one| !is_of_word(one))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}
