//! Hosts whose I/O MMU cannot be as it is written.

use super::refusal;

fn host(lines: &str, flow: &str) -> String {
    refusal(&format!(
        "[hosts.h]\n{lines}\n[devices.d]\nupstream = \"h\"\n[[flows]]\nfrom = \"d\"\nto = \"h\"\n{flow}"
    ))
}

#[test]
fn keys_of_a_mapping_need_a_mapping() {
    assert_eq!(
        host("iommu_page = \"2 MiB\"", "count = 1"),
        "bad.toml:2: h, iommu_page: the host translates no addresses of other devices; write iommu = true there, or leave it out"
    );
}

#[test]
fn page_tables_that_do_not_fit_are_refused() {
    assert_eq!(
        host("memory = \"8 KiB\"\niommu = true", "count = 1"),
        "bad.toml:3: h, iommu: the page tables, of 28 KiB, do not fit in the memory of 8 KiB; write a larger memory, or a larger iommu_page"
    );
}

#[test]
fn a_flow_does_not_overwrite_page_tables() {
    assert_eq!(
        host(
            "memory = \"1 MiB\"\niommu = true",
            "count = 1\nrequest_size = \"64 B\"\noffset = \"1020 KiB\""
        ),
        "bad.toml:11: flow \"flow-1\", offset: it reaches the page tables of h, which take the last 28 KiB; write a smaller offset or window, or a larger memory there"
    );
}

#[test]
fn a_cache_of_translations_has_a_power_of_two_of_entries() {
    assert_eq!(
        host("iommu = true\niotlb_entries = 48", "count = 1"),
        "bad.toml:3: h, iotlb_entries: a cache cannot have 48 entries; write a power of two"
    );
}
