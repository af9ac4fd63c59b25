//! The number of cases of each property test.

use proptest::prelude::ProptestConfig;

/// A configuration with `usual` cases, unless the environment sets another number.
pub fn cases(usual: u32) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}
