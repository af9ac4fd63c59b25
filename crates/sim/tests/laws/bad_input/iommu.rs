//! Errors in the IOMMU keys of hosts, and in the PASID keys of devices and flows.

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

#[test]
fn processes_have_numbers_of_20_bits_and_are_written_once() {
    for (written, told) in [
        ("\"5, 5\"", "PASID 5 is written twice; write it once"),
        (
            "1048576",
            "1048576 has more than 20 bits; write PASIDs from 0 to 1048575",
        ),
        (
            "\"all\"",
            "\"all\" names no processes; write PASIDs such as \"1, 16-31, 7: 64 KiB\"",
        ),
    ] {
        assert_eq!(
            host(&format!("iommu_pasids = {written}"), "count = 1"),
            format!("bad.toml:2: hosts.h.iommu_pasids: {told}")
        );
    }
}

#[test]
fn page_tables_of_processes_that_do_not_fit_are_refused() {
    assert_eq!(
        host("memory = \"64 KiB\"\niommu_pasids = \"1-9\"", "count = 1"),
        "bad.toml:3: h, iommu_pasids: the page tables, of 28 KiB, do not fit in the memory of 64 KiB; write a larger memory, or a larger iommu_page"
    );
}

/// Returns the error of a scenario with a device with the lines `device` and a flow with the lines `flow`. The device is on line 2.
fn process(device: &str, flow: &str) -> String {
    refusal(&format!(
        "[hosts.h]\n[devices.d]\nupstream = \"h\"\n{device}\n[[flows]]\nfrom = \"d\"\nto = \"h\"\ncount = 1\n{flow}"
    ))
}

#[test]
fn a_flow_has_a_prefix_that_its_device_can_send() {
    for (device, flow, told) in [
        (
            "",
            "pasid = 5",
            "pasid: d has no PASID capability; write pasid_width = 20 there",
        ),
        (
            "pasid_width = 8",
            "pasid = 300",
            "pasid: 300 does not fit in the pasid_width of d, which is 8; write 255 at most, or pasid_width = 9 there",
        ),
        (
            "pasid_width = 8",
            "execute_requested = true",
            "execute_requested: only a PASID prefix has this permission; write pasid, too",
        ),
        (
            "pasid_width = 8",
            "pasid = 5\nprivileged_requested = true",
            "privileged_requested: d cannot ask for this permission; write pasid_privileged = true there",
        ),
        (
            "pasid_width = 8",
            "pasid = 5\ntranslated_addresses = true",
            "pasid: a request with a translated address has no PASID prefix; leave out one of pasid and translated_addresses",
        ),
    ] {
        let line = 9 + usize::from(flow.contains('\n') && !told.starts_with("pasid"));
        let expected = format!("bad.toml:{line}: flow \"flow-1\", {told}");
        assert_eq!(process(device, flow), expected);
    }
}

#[test]
fn a_host_sends_no_prefixes() {
    let told = refusal(
        "[hosts.h]\n[devices.d]\nupstream = \"h\"\n[[flows]]\nfrom = \"h\"\nto = \"d\"\ncount = 1\npasid = 5\n",
    );
    assert_eq!(
        told,
        "bad.toml:8: flow \"flow-1\", pasid: h is a host, whose requests have no PASID prefix; write a flow from a device, or leave it out"
    );
}
