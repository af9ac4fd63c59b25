//! Laws of error registers.

use super::*;

fn space() -> ConfigSpace {
    let mut space = ConfigSpace::empty();
    space.declare_errors(PortType::Endpoint, false);
    space
}

fn first_error(space: &ConfigSpace) -> u32 {
    space.read(CONTROL) & FIRST_ERROR_POINTER
}

fn record_in(space: &mut ConfigSpace, record: &ErrorRecord) {
    let control = space.error_control();
    space.record(record, control);
}

fn record(error: UncorrectableError, advisory: bool, byte: u8) -> ErrorRecord {
    ErrorRecord {
        error,
        header: Some([byte; 16]),
        prefix: None,
        advisory,
    }
}

#[test]
fn the_first_error_keeps_the_header_log_until_it_is_cleared() {
    let mut space = space();
    record_in(
        &mut space,
        &record(UncorrectableError::UnsupportedRequest, false, 1),
    );
    record_in(
        &mut space,
        &record(UncorrectableError::MalformedTlp, false, 2),
    );
    assert_eq!(space.read(UNCORRECTABLE_STATUS), 1 << 20 | 1 << 18);
    assert_eq!(
        (first_error(&space), space.read(HEADER_LOG)),
        (20, 0x0101_0101)
    );
    space.write(UNCORRECTABLE_STATUS, 1 << 20, 0xf);
    record_in(
        &mut space,
        &record(UncorrectableError::MalformedTlp, false, 3),
    );
    assert_eq!(
        (first_error(&space), space.read(HEADER_LOG + 3)),
        (18, 0x0303_0303)
    );
}

#[test]
fn an_advisory_error_is_correctable_while_its_mask_stands() {
    let mut space = space();
    let advisory = record(UncorrectableError::UnsupportedRequest, true, 1);
    record_in(&mut space, &advisory);
    assert_eq!(space.read(UNCORRECTABLE_STATUS), 0);
    assert_eq!(space.read(CORRECTABLE_STATUS), ADVISORY_NON_FATAL);
    space.write(CORRECTABLE_MASK, 0, 0xf);
    record_in(&mut space, &advisory);
    assert_eq!(space.read(UNCORRECTABLE_STATUS), 1 << 20);
}

#[test]
fn a_masked_error_leaves_the_header_log_alone() {
    let mut space = space();
    space.write(UNCORRECTABLE_MASK, 1 << 20, 0xf);
    record_in(
        &mut space,
        &record(UncorrectableError::UnsupportedRequest, false, 1),
    );
    assert_eq!(space.read(UNCORRECTABLE_STATUS), 1 << 20);
    assert_eq!(space.read(HEADER_LOG), 0);
}

#[test]
fn a_masked_error_does_not_hide_the_next_first_one() {
    let mut space = space();
    let unsupported = record(UncorrectableError::UnsupportedRequest, false, 1);
    record_in(&mut space, &unsupported);
    space.write(UNCORRECTABLE_STATUS, 1 << 20, 0xf);
    space.write(UNCORRECTABLE_MASK, 1 << 20, 0xf);
    record_in(&mut space, &unsupported);
    record_in(
        &mut space,
        &record(UncorrectableError::MalformedTlp, false, 2),
    );
    assert_eq!(
        (first_error(&space), space.read(HEADER_LOG)),
        (18, 0x0202_0202)
    );
}

#[test]
fn the_bits_of_the_errors_of_links_can_be_masked_and_have_severities_everywhere() {
    for port in [
        PortType::Endpoint,
        PortType::Upstream,
        PortType::Downstream,
        PortType::RootPort,
    ] {
        let mut space = ConfigSpace::empty();
        space.declare_errors(port, false);
        assert_eq!(
            space.read(UNCORRECTABLE_SEVERITY) & OF_LINK_PROTOCOL,
            OF_LINK_PROTOCOL
        );
        for register in [UNCORRECTABLE_MASK, UNCORRECTABLE_SEVERITY] {
            space.write(register, u32::MAX, 0xf);
            assert_eq!(space.read(register) & OF_LINK_PROTOCOL, OF_LINK_PROTOCOL);
            space.write(register, 0, 0xf);
            assert_eq!(space.read(register), 0, "{port:?}");
        }
    }
}

#[test]
fn an_error_of_the_device_itself_has_the_severity_that_the_device_says_and_a_mask() {
    for severity in [Severity::NonFatal, Severity::Fatal] {
        let mut space = space();
        space.declare(express::DEVICE_CONTROL, 0, 0xf, 0);
        space.write(express::DEVICE_CONTROL, 0xf, 0b0011);
        let found = space.record_own_error(severity, space.error_control());
        assert_eq!((found.severity, found.is_reported), (severity, true));
        assert_eq!(space.read(UNCORRECTABLE_STATUS), INTERNAL_ERROR);
        assert_eq!(first_error(&space), 22);
        space.write(UNCORRECTABLE_MASK, INTERNAL_ERROR, 0xf);
        let found = space.record_own_error(severity, space.error_control());
        assert!(!found.is_reported);
    }
    let mut space = space();
    space.record_own_error(Severity::Correctable, space.error_control());
    assert_eq!(space.read(CORRECTABLE_STATUS), 1 << 14);
}

#[test]
fn a_virtual_function_records_under_the_control_of_its_physical_function() {
    let mut physical = space();
    let mut own = ConfigSpace::empty();
    own.declare_virtual_errors();
    own.write(UNCORRECTABLE_MASK, u32::MAX, 0xf);
    let unsupported = record(UncorrectableError::UnsupportedRequest, false, 1);
    physical.write(UNCORRECTABLE_MASK, 1 << 20, 0xf);
    own.record(&unsupported, physical.error_control());
    assert_eq!((first_error(&own), own.read(HEADER_LOG)), (0, 0));
    own.write(UNCORRECTABLE_STATUS, 1 << 20, 0xf);
    physical.write(UNCORRECTABLE_MASK, 0, 0xf);
    own.record(&unsupported, physical.error_control());
    assert_eq!((first_error(&own), own.read(HEADER_LOG)), (20, 0x0101_0101));
    assert_eq!(physical.read(UNCORRECTABLE_STATUS), 0);
}
