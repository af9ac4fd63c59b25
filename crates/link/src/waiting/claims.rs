//! Claims of sources to the credit of a class. A claim prevents smaller packets of other sources from delaying a large packet for ever.
//!
//! A transmitter blocks a packet that lacks credit, "possibly stalling other TLPs that are using the same Virtual Channel" (PCIe Base
//! 2.6.1). If an arbiter gave each freed credit to a smaller packet instead, the large packet would wait for ever if buffers are small. In
//! this implementation, the first source that lacks credit of a class in its turn claims the class: no other packet of the class leaves
//! before the packet of this source. Packets of other classes use other credit, and may leave.

use protocol::{Class, PerClass};

use crate::credit::Budget;

/// The source that claims the credit of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claims(PerClass<u8>);

/// The value that stands for no source.
const UNCLAIMED: u8 = u8::MAX;

impl Claims {
    pub(super) const NONE: Self = Claims([UNCLAIMED; _]);

    pub(super) fn any(&self) -> bool {
        *self != Self::NONE
    }

    pub(super) fn is_claimed(&self, class: Class) -> bool {
        self.0[class] != UNCLAIMED
    }

    /// Records the claim of `source` to a class that is not claimed yet.
    pub(super) fn begin(&mut self, source: usize, class: Class) {
        self.0[class] = source as u8;
    }

    #[inline(always)]
    pub(super) fn end(&mut self, source: usize, class: Class) {
        let claim = &mut self.0[class];
        if usize::from(*claim) == source {
            *claim = UNCLAIMED;
        }
    }

    /// Ends the claims for which `is_valid` is false.
    pub(super) fn retain(&mut self, is_valid: impl Fn(usize, Class) -> bool) {
        for class in Class::ALL {
            let claim = &mut self.0[class];
            if *claim != UNCLAIMED && !is_valid(usize::from(*claim), class) {
                *claim = UNCLAIMED;
            }
        }
    }

    /// The budgets that `source` may use in spite of the claims of other sources. Without a source, only the budgets of unclaimed classes
    /// remain.
    pub(super) fn left(
        &self,
        source: Option<usize>,
        budgets: &PerClass<Budget>,
    ) -> PerClass<Budget> {
        let mut left = *budgets;
        for (budget, claim) in left.iter_mut().zip(self.0) {
            if claim != UNCLAIMED && Some(usize::from(claim)) != source {
                *budget = Budget::CLOSED;
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use protocol::Scale;

    use super::*;

    fn open(claims: &Claims, source: Option<usize>) -> [bool; 3] {
        let mut infinite = Budget::CLOSED;
        infinite.headers.open(0, Scale::One);
        infinite.data.open(0, Scale::One);
        let left = claims.left(source, &[infinite; 3]);
        left.map(|budget| budget.headers.allows(1) && budget.data.allows(1))
    }

    #[test]
    fn a_claim_closes_its_class_to_all_other_sources() {
        let mut claims = Claims::NONE;
        assert!(!claims.any());
        claims.begin(4, Class::NonPosted);
        assert!(claims.any());
        assert_eq!(
            Class::ALL.map(|class| claims.is_claimed(class)),
            Class::ALL.map(|class| class == Class::NonPosted)
        );
        assert_eq!(open(&claims, Some(4)), [true; 3]);
        let others = Class::ALL.map(|class| class != Class::NonPosted);
        assert_eq!(open(&claims, Some(3)), others);
        assert_eq!(open(&claims, None), others);
    }

    #[test]
    fn only_its_source_ends_a_claim() {
        let mut claims = Claims::NONE;
        claims.begin(4, Class::Posted);
        claims.end(3, Class::Posted);
        claims.end(4, Class::Completion);
        assert!(claims.is_claimed(Class::Posted));
        claims.end(4, Class::Posted);
        assert_eq!(claims, Claims::NONE);
    }

    #[test]
    fn claims_that_are_not_confirmed_end() {
        let mut claims = Claims::NONE;
        claims.begin(1, Class::Posted);
        claims.begin(2, Class::Completion);
        claims.retain(|source, class| (source, class) == (2, Class::Completion));
        assert!(!claims.is_claimed(Class::Posted));
        assert!(claims.is_claimed(Class::Completion));
    }
}
