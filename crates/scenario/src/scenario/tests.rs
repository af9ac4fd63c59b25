use kernel::{Declaration, Kind, Lift};

use super::*;
use crate::form::{InnerForm, Row};

fn declared(key: &'static str, default: &str, kind: Kind) -> Declaration {
    Declaration {
        key,
        kind,
        choices: Vec::new(),
        unit: "",
        default: default.to_owned(),
        help: "",
        source: "",
        lifts: None,
        range: &[],
    }
}

fn lifting(key: &'static str, default: &str, kind: Kind, limit: &'static str) -> Declaration {
    Declaration {
        lifts: Some(Lift::of(limit, kind)),
        ..declared(key, default, kind)
    }
}

/// A form of scenarios with a few sections and keys.
fn form() -> Arc<Form> {
    const UPSTREAM: InnerForm = InnerForm {
        name: "upstream",
        like: "upstream",
        model: None,
        inner: &[],
    };
    const ROUTERS: InnerForm = InnerForm {
        name: "routers",
        like: "devices",
        model: Some("router"),
        inner: &[UPSTREAM],
    };
    let section = |name, shape, inner| SectionForm { name, shape, inner };
    let sections = vec![
        section("links", Shape::Keys, &[][..]),
        section("measure", Shape::Keys, &[]),
        section("hosts", Shape::Named, &[]),
        section("devices", Shape::Named, &[UPSTREAM]),
        section("profiles", Shape::Named, &[]),
        section("networks", Shape::Named, &[ROUTERS]),
        section("flows", Shape::List("flow"), &[]),
        section("cables", Shape::Joined, &[]),
    ];
    let rows = [
        ("the scenario", None, declared("seed", "1", Kind::Count)),
        (
            "hosts",
            None,
            lifting("iommu", "true", Kind::Flag, "memory walks"),
        ),
        (
            "hosts",
            None,
            lifting("walkers", "8", Kind::Count, "memory walks"),
        ),
        (
            "hosts",
            None,
            lifting("bandwidth", "1 GB/s", Kind::Bandwidth, "memory"),
        ),
        (
            "devices",
            None,
            lifting("buffer", "1 KiB", Kind::Size, "datapath"),
        ),
        (
            "devices",
            None,
            lifting("pause", "1 ns", Kind::Time, "datapath"),
        ),
        (
            "devices",
            Some("router"),
            lifting("fifo", "1 KiB", Kind::Size, "datapath"),
        ),
        (
            "links, upstream, cables",
            None,
            declared("lanes", "4", Kind::Count),
        ),
        ("upstream", None, declared("to", "none", Kind::Text)),
        ("io_ports", None, declared("owners", "none", Kind::List)),
        (
            "hosts, devices",
            None,
            declared("profile", "generic", Kind::Text),
        ),
        (
            "hosts, devices",
            None,
            declared("latency", "10 ns", Kind::Time),
        ),
        ("devices", Some("dma"), declared("tags", "32", Kind::Count)),
        (
            "devices",
            Some("router"),
            declared("clock", "none", Kind::Frequency),
        ),
        ("devices", None, declared("model", "dma", Kind::Text)),
        ("flows", None, declared("size", "1 KiB", Kind::Size)),
    ];
    let rows = rows.into_iter().flat_map(|(sections, model, declaration)| {
        Row::of(
            sections,
            model.map(|model| ("model", model)),
            vec![declaration],
        )
    });
    let profiles = vec![("generic", vec![]), ("slow", vec![("latency", "1 us")])];
    let form = Form::new(sections, rows.collect(), profiles);
    Arc::new(form.with_alternatives(&[("flows", &["size", "count"])]))
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "rack.toml", form(), |_, _| {
        crate::Elsewhere::default()
    })
    .expect("it is TOML")
}

fn shown(found: Option<Content<'static>>) -> String {
    found.map_or_else(String::new, |content| content.to_string())
}

const PAIR: &str = r#"
[hosts.h0]
[devices.a]
upstream = "h0"
profile = "mine"
[devices."b.c"]
model = "router"
upstream = { to = "h0", lanes = 2 }
[profiles.mine]
base = "slow"
[profiles.other]
latency = "3 ns"
[networks.t]
[[flows]]
size = "2 KiB"
[[flows]]
id = "down"
[[cables]]
from = "x"
to = "y"
[[cables]]
from = "x"
to = "y"
"#;

#[test]
fn a_key_is_set_by_every_path_that_names_it() {
    for (path, text) in [
        ("seed", "seed = 7"),
        ("measure.from", "[measure]\nfrom = 7"),
        ("links.lanes", "[links]\nlanes = 7"),
        ("devices.a.tags", "tags = 7"),
        ("links.h0-a.lanes", "upstream]\nto = \"h0\"\nlanes = 7"),
        ("devices.\"b.c\".upstream.lanes", "lanes = 7"),
        ("flows.flow-1.size", "size = 7"),
        ("flows.*.size", "id = \"down\"\nsize = 7"),
        ("cables.x-y-2.lanes", "to = \"y\"\nlanes = 7"),
        (
            "networks.t.routers.upstream.lanes",
            "[networks.t.routers.upstream]\nlanes = 7",
        ),
    ] {
        let mut scenario = scenario(PAIR);
        scenario.set(path, Some(&Content::Integer(7))).expect(path);
        assert_eq!(shown(scenario.get(path).expect(path)), "7", "{path}");
        let toml = scenario.to_toml();
        assert!(toml.contains(text), "{path}: {toml}");
        scenario.set(path, None).expect(path);
        assert!(scenario.get(path).expect(path).is_none(), "{path}");
    }
}

#[test]
fn what_is_written_is_parsed_as_the_scenario_that_it_was() {
    let text = "a = 1.5\nb = [\"x\\\"y\", 2]\nc = 1e-9\n\"d e\" = { f = \"g\\nh\" }\n[[s]]\n[[s]]\nk = 1979-05-27\n[s.t]\nu = -inf\n[v.w]\n";
    let once = scenario(text).to_toml();
    assert_eq!(scenario(&once).to_toml(), once);
    for part in [
        "b = ['x\"y', 2]",
        "[\"d e\"]\nf = \"\"\"\ng\nh\"\"\"",
        "[[s]]\n\n[[s]]",
        "[s.t]\nu = -inf",
        "[v.w]",
    ] {
        assert!(once.contains(part), "{part} in {once}");
    }
}

#[test]
fn a_value_is_written_or_of_a_profile_or_the_default() {
    let mut scenario = scenario(PAIR);
    for (path, value, origin, line) in [
        ("devices.a.tags", "32", Origin::Default, None),
        (
            "devices.a.latency",
            "\"1 us\"",
            Origin::Profile("slow".to_owned()),
            None,
        ),
        ("hosts.h0.latency", "\"10 ns\"", Origin::Default, None),
        (
            "devices.\"b.c\".upstream.lanes",
            "2",
            Origin::Written,
            Some(8),
        ),
        ("links.h0-a.lanes", "4", Origin::Default, None),
        ("flows.flow-1.size", "\"2 KiB\"", Origin::Written, Some(15)),
        ("flows.down.size", "\"1 KiB\"", Origin::Default, None),
        ("networks.t.routers.clock", "", Origin::Default, None),
    ] {
        let found = scenario.effective(path).expect(path);
        assert_eq!(
            (shown(found.value).as_str(), found.origin, found.line),
            (value, origin, line),
            "{path}"
        );
    }
    scenario
        .set("devices.a.profile", Some(&Content::Text("other".into())))
        .expect("it is a key");
    let found = scenario
        .effective("devices.a.latency")
        .expect("it is a key");
    assert_eq!(
        (found.origin, found.line),
        (Origin::Profile("other".to_owned()), Some(12))
    );
    scenario
        .set("links.lanes", Some(&Content::Integer(8)))
        .expect("it is a key");
    let found = scenario.effective("links.h0-a.lanes").expect("it is a key");
    assert_eq!(
        (shown(found.value).as_str(), found.origin, found.line),
        ("8", Origin::Written, None)
    );
}

#[test]
fn a_limit_is_lifted_by_keys_for_its_detail_and_by_those_of_the_model_first() {
    let scenario = scenario(PAIR);
    for (path, kind, detail, keys) in [
        (
            "hosts.h0",
            "memory",
            Some("walks"),
            &["walkers", "iommu"][..],
        ),
        ("hosts.h0", "memory", Some("a bank"), &["bandwidth"]),
        ("hosts.h0", "memory", None, &["bandwidth"]),
        ("devices.a", "datapath", None, &["pause", "buffer"]),
        (
            "devices.\"b.c\"",
            "datapath",
            None,
            &["pause", "fifo", "buffer"],
        ),
        (
            "networks.t.routers",
            "datapath",
            None,
            &["pause", "fifo", "buffer"],
        ),
        ("devices.a", "memory", None, &[]),
    ] {
        let found = scenario.lifts(path, kind, detail).expect(path);
        let found: Vec<&str> = found.into_iter().map(|(key, _)| key).collect();
        assert_eq!(found, keys, "{path}: {kind}");
    }
}

#[test]
fn a_member_has_its_own_value_in_whatever_order_keys_are_set() {
    let text = "[devices.\"e{i}\"]\neach = \"i = 0..3\"\ntags = \"{i}\"\n[[flows]]\neach = \"i = 0..3\"\nid = \"f{i}\"\n";
    let value = |number| Some(Content::Integer(number));
    for (table, member, other) in [
        (
            "devices.\"e{i}\".tags",
            "devices.e1.tags",
            "devices.e2.tags",
        ),
        ("flows.\"f{i}\".size", "flows.f1.size", "flows.f2.size"),
    ] {
        for settings in [[(table, 4), (member, 2)], [(member, 2), (table, 4)]] {
            let mut scenario = scenario(text);
            assert!(
                scenario.get(other).is_ok(),
                "reading a member changes nothing"
            );
            let settings = settings.map(|(path, number)| (path.to_owned(), value(number)));
            scenario.update(&settings).expect("they are keys");
            assert_eq!(shown(scenario.get(member).expect(member)), "2");
            assert_eq!(shown(scenario.get(other).expect(other)), "4");
            let late = scenario
                .set(table, value(1).as_ref())
                .expect_err("it is written out");
            assert!(late.contains("writes all members out"), "{late}");
        }
    }
}

#[test]
fn one_path_covers_another_of_the_same_key() {
    let scenario = scenario(PAIR);
    let covers = |path, other| scenario.covers(path, other).expect("they are paths");
    assert!(covers("links.h0-a.lanes", "devices.a.upstream.lanes"));
    assert!(covers("flows.*.size", "flows.down.size"));
    assert!(!covers("flows.down.size", "flows.*.size"));
    assert!(!covers("devices.a.tags", "devices.a.latency"));
}

#[test]
fn a_table_that_is_removed_leaves_the_ids_of_the_others() {
    let mut scenario = scenario(PAIR);
    scenario
        .append("flows", Table::default())
        .expect("it is a list");
    scenario.remove("flows.flow-1").expect("it is there");
    assert_eq!(scenario.members("flows"), ["down", "flow-3"]);
    scenario.remove("devices.a").expect("it is there");
    assert_eq!(scenario.members("devices"), ["b.c"]);
    scenario.remove("flows").expect("it is a section");
    assert!(scenario.members("flows").is_empty());
    scenario
        .add("devices", "a", Table::default())
        .expect("it is new");
    let twice = scenario.add("devices", "a", Table::default());
    assert_eq!(twice, Err("'a' is already among the devices".to_owned()));
}

#[test]
fn a_path_to_nothing_is_refused_with_the_nearest() {
    let mut scenario = scenario(PAIR);
    for (path, advice) in [
        ("device.a.tags", "did you mean devices?"),
        (
            "devices.c.tags",
            "there is no 'c' among the devices; there are a, b.c",
        ),
        (
            "devices.tags",
            "write devices.NAME.KEY, or devices.*.tags for every one",
        ),
        ("devices.*.tgas", "did you mean devices.*.tags?"),
        (
            "devices.a.tags.x",
            "devices.a.tags has no tables; write devices.a.KEY",
        ),
        ("flows.dawn.size", "did you mean flows.down?"),
        (
            "flows.size",
            "there are 2 flows; write flows.flow-1.size for one of them, or flows.*.size for all",
        ),
        ("links.h0-c.lanes", "did you mean links.h0-a?"),
        (
            "links.t-0.lanes",
            "the links of a network are alike; write networks.t.routers.upstream.lanes",
        ),
        ("profiles.plx.latency", "there are mine, other"),
        ("seed.x", "scenarios have no section 'seed'"),
    ] {
        let refused = scenario
            .set(path, Some(&Content::Integer(1)))
            .expect_err(path);
        assert!(refused.contains(advice), "{path}: {refused}");
    }
    let mut wrong = self::scenario("links = 1\nhosts = 2\nflows = [3]");
    for (path, advice) in [
        ("links.lanes", "links is not a table; write [links]"),
        ("hosts.h0.latency", "there is no 'h0' among the hosts"),
        ("flows.f.size", "there is no 'f' among the flows"),
    ] {
        let refused = wrong.set(path, None).expect_err(path);
        assert!(refused.contains(advice), "{path}: {refused}");
    }
    let list = Content::List(vec![Content::Integer(1).into()]);
    let refused = scenario
        .set("devices.a.tags", Some(&list))
        .expect_err("it is a list");
    assert_eq!(refused, "tags = [1]: write text, a number or a boolean");
}

#[test]
fn what_was_set_has_no_line_and_what_was_read_keeps_its_own() {
    let mut scenario = scenario("[devices.a]\ntags = 1\n[devices.b]\ntags = 2\n");
    scenario
        .set("devices.a.tags", Some(&Content::Integer(3)))
        .expect("it is a key");
    let (source, table) = scenario.document().expect("it is right");
    let mut root = crate::Section::new(source, String::new(), 1, &table);
    let lines: Vec<String> = root
        .named("devices")
        .expect("they are tables")
        .iter()
        .map(|item| {
            let mut section = item.section().expect("it is a table");
            let error = section
                .read::<kernel::Span>("tags")
                .expect_err("it is no time");
            error.to_string()
        })
        .collect();
    assert!(
        lines[0].starts_with("rack.toml: devices.a.tags: 3"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("rack.toml:4: devices.b.tags: 2"),
        "{lines:?}"
    );
}

#[test]
fn a_value_is_read_as_toml_and_otherwise_as_text() {
    for (text, value) in [
        ("16", "16"),
        (" 200 MHz ", "\"200 MHz\""),
        ("\"200 MHz\"", "\"200 MHz\""),
        ("true", "true"),
        ("1e-5", "0.00001"),
        ("put", "\"put\""),
        ("[\"a\", \"b\"]", "[\"a\", \"b\"]"),
        ("1\nseed = 3", "\"\"\"\n1\nseed = 3\"\"\""),
        ("1e400", "\"1e400\""),
        ("nan", "\"nan\""),
        ("{ a = 1 }", "\"{ a = 1 }\""),
    ] {
        assert_eq!(shown(Some(crate::read_value(text))), value, "{text}");
    }
}

#[test]
fn a_scenario_that_is_sent_as_toml_keeps_its_lines() {
    let repeated = "seed = 2\n[links]\nlanes = 4\n[hosts.h0]\n[devices.\"d{i}\"]\ntags = 1\nupstream = \"h0\"\neach = \"i = 0..1\"\n";
    for (text, path, line) in [
        (PAIR, "flows.down.id", Some(17)),
        (PAIR, "devices.\"b.c\".upstream.lanes", Some(8)),
        (repeated, "devices.d1.tags", Some(6)),
        (repeated, "links.lanes", Some(3)),
        (repeated, "devices.d0.tags", None),
    ] {
        let mut sent = scenario(text);
        sent.write_out().expect("it is right");
        if line.is_none() {
            sent.set(path, Some(&Content::Integer(9))).expect(path);
        }
        let received = scenario(&sent.to_toml()).with_marks(sent.marks());
        assert_eq!(received.effective(path).expect(path).line, line, "{path}");
        assert_eq!(received.marks(), sent.marks());
        assert_eq!(received.to_toml(), sent.to_toml());
        let repeats = |one: &Scenario| one.marks().members.iter().flatten().count();
        assert_eq!(repeats(&received), if text == PAIR { 0 } else { 2 });
    }
}

#[test]
fn keys_that_are_not_written_are_used_by_a_profile_or_default() {
    let scenario = scenario(PAIR);
    let used = |path: &str| {
        let all = scenario.unwritten().into_iter();
        let mut fitting = all.filter(|one| one.path == path);
        fitting.next().map(|one| one.profile.unwrap_or_default())
    };
    for (path, profile) in [
        ("devices.a.latency", Some("slow")),
        ("devices.\"b.c\".latency", Some("")),
        ("devices.a.tags", Some("")),
        ("devices.a.clock", None),
        ("devices.\"b.c\".upstream.lanes", None),
        ("devices.\"b.c\".clock", Some("")),
        ("devices.a.upstream.lanes", Some("")),
        ("networks.t.routers.clock", Some("")),
        ("networks.t.routers.upstream.lanes", None),
        ("links.lanes", Some("")),
        ("flows.flow-1.size", None),
        ("flows.down.size", Some("")),
        ("cables.x-y-2.lanes", Some("")),
    ] {
        assert_eq!(used(path).as_deref(), profile, "{path}");
    }
}

#[test]
fn all_keys_that_are_written_have_their_paths() {
    let scenario = scenario(PAIR);
    let tables = scenario.all_tables();
    let keys: Vec<String> = tables
        .iter()
        .flat_map(TableAt::keys)
        .map(|(path, value)| format!("{path}={value}"))
        .collect();
    for key in [
        "devices.a.upstream=\"h0\"",
        "devices.\"b.c\".upstream.lanes=2",
        "flows.flow-1.size=\"2 KiB\"",
        "cables.x-y-2.to=\"y\"",
    ] {
        assert!(keys.iter().any(|one| one == key), "{key}: {keys:?}");
    }
    let models = |path: &str| {
        tables
            .iter()
            .find(|one| one.path == path)
            .map(|one| one.model.as_deref())
    };
    assert_eq!(models("devices.a"), Some(Some("dma")));
    assert_eq!(models("networks.t.routers"), Some(Some("router")));
    assert_eq!(models("hosts.h0"), Some(None));
}

#[test]
fn a_key_is_taken_away_by_its_line_unless_another_key_is_on_it() {
    let mut one = scenario("[hosts.h]\nmemory = \"1 GiB\"\n\n[links]\nlanes = 4\n");
    assert!(one.forget(5));
    assert!(!one.forget(5), "the key is not there any more");
    assert!(one.forget(2));
    let mut both = scenario("hosts = { h = { memory = \"1 GiB\", cores = 2 } }\n");
    assert!(!both.forget(1));
}

#[test]
fn a_key_that_is_set_replaces_its_alternatives_but_not_one_that_is_set_with_it() {
    let text = "[[flows]]\nid = \"f\"\nsize = \"4 KiB\"\n";
    let set = |keys: &[(&str, i64)]| {
        let mut one = scenario(text);
        let keys = keys.iter().map(|(key, value)| {
            let value = Content::Integer(*value);
            (format!("flows.f.{key}"), Some(value))
        });
        let keys: Vec<_> = keys.collect();
        one.update(&keys).expect("the keys are right");
        let is_written = |key| one.get(key).expect("the path is right").is_some();
        ["flows.f.size", "flows.f.count"].map(is_written)
    };
    assert_eq!(set(&[("count", 3)]), [false, true]);
    assert_eq!(set(&[("size", 8)]), [true, false]);
    assert_eq!(set(&[("size", 8), ("count", 3)]), [true, true]);
}
