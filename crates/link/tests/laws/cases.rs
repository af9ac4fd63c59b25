//! How many cases of a property are tried.

use proptest::prelude::ProptestConfig;

/// So many, unless the environment asks for another number.
pub fn cases(usual: u32) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}
