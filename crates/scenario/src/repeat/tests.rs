use crate::{Section, Source};

fn source(text: &str) -> Source {
    Source::new("rack.toml", text, |_, _| crate::Elsewhere::default())
}

/// The names of all devices in the text, each with the value of its key `k`.
fn members(text: &str) -> Vec<(String, String)> {
    let source = source(text);
    let table = source.parse(text).expect("the text is right");
    let mut root = Section::new(&source, String::new(), 1, &table);
    let items = root.named("devices").expect("they are tables");
    let one = |item: &crate::Item<'_>| {
        let mut section = item.section().expect("it is a table");
        let value = section.read::<String>("k").expect("it is a text");
        (
            item.key.to_owned(),
            value.map_or_else(String::new, |at| at.value),
        )
    };
    items.iter().map(one).collect()
}

fn refusal(text: &str) -> String {
    source(text)
        .parse(text)
        .expect_err("it is wrong")
        .to_string()
}

/// The error message for a device `e{i}` with this `each` and this value of `k`.
fn wrong(each: &str, value: &str) -> String {
    refusal(&format!(
        "[devices.\"e{{i}}\"]\neach = {each}\nk = {value}\n"
    ))
}

#[test]
fn a_table_is_repeated_for_each_value_in_order() {
    let text = "[devices.\"e{i}\"]\neach = \"i = 9..11\"\nk = \"s{i / 10}-{i % 10}\"\n[devices.last]\nk = \"{i}\"\n";
    let expected = [
        ("e9", "s0-9"),
        ("e10", "s1-0"),
        ("e11", "s1-1"),
        ("last", "{i}"),
    ];
    let expected = expected.map(|(name, k)| (name.to_owned(), k.to_owned()));
    assert_eq!(members(text), expected);
}

#[test]
fn the_last_of_several_variables_changes_fastest() {
    let text = "[devices.\"e{a}-{b}\"]\neach = \"a = 0..1, b = 3..4\"\nk = \"{{{a * 10 + b}}}\"\n";
    let names: Vec<_> = members(text)
        .into_iter()
        .map(|(name, k)| format!("{name} {k}"))
        .collect();
    assert_eq!(names, ["e0-3 {3}", "e0-4 {4}", "e1-3 {13}", "e1-4 {14}"]);
}

#[test]
fn a_text_that_is_one_expression_is_a_number() {
    let text = "[[flows]]\neach = \"i = 1..2\"\nn = \"{i * 4}\"\nt = { in = [\"{i}\", 7] }\n";
    let source = source(text);
    let table = source.parse(text).expect("the text is right");
    let mut root = Section::new(&source, String::new(), 1, &table);
    let flows = root.repeated("flows").expect("they are tables");
    for (flow, number) in flows.into_iter().zip([1, 2]) {
        let mut flow = flow;
        assert_eq!(flow.read::<u32>("n").unwrap().unwrap().value, number * 4);
        assert_eq!(flow.read::<u32>("n").unwrap(), None);
        let mut inner = flow.take("t").unwrap().section().unwrap();
        let values: Vec<u32> = inner
            .list("in")
            .unwrap()
            .iter()
            .map(|at| at.value)
            .collect();
        assert_eq!(values, [number, 7]);
    }
}

#[test]
fn an_error_in_a_member_says_its_line_and_which_member() {
    let text = "[[flows]]\nn = 1\n[[flows]]\neach = \"i = 5..6\"\nn = \"x{i}\"\n";
    let source = source(text);
    let table = source.parse(text).expect("the text is right");
    let mut root = Section::new(&source, String::new(), 1, &table);
    let mut flows = root.repeated("flows").expect("they are tables");
    let error = flows[2].read::<u32>("n").unwrap_err().to_string();
    assert!(
        error.starts_with("rack.toml:5: flows 3 (i = 6).n: \"x6\""),
        "{error}"
    );
}

#[test]
fn expressions_round_down_and_count_round_rings() {
    let text = "[devices.\"e{i}\"]\neach = \"i = 0..0\"\nk = \"{(i - 1) % 16} {((i - 3) / 2) + 2} {2+3*4 - 10%4} {(((7)))}\"\n";
    assert_eq!(members(text)[0].1, "15 0 12 7");
}

#[test]
fn wrong_ranges_are_refused() {
    let form = "write each = \"i = 0..511\" (both ends count), or \"p = 0..3, i = 0..63\"";
    let name = "is no variable, which has a letter from a to z and then letters, digits and _";
    for (text, why) in [
        ("", " gives no values".to_owned()),
        ("512", " gives no values".to_owned()),
        ("i = 0", " gives no values".to_owned()),
        ("i = 0..3,", " gives no values".to_owned()),
        ("i = -1..3", ": \"-1\" is no number of 0 or more".to_owned()),
        ("i = ..3", ": \"\" is no number of 0 or more".to_owned()),
        (
            "i=0..3..4",
            ": \"3..4\" is no number of 0 or more".to_owned(),
        ),
        ("3 = 0..3", format!(": \"3\" {name}")),
    ] {
        assert_eq!(
            wrong(&format!("{text:?}"), "1"),
            format!("rack.toml:2: devices.e{{i}}, each: {text:?}{why}; {form}")
        );
    }
    assert_eq!(
        wrong("512", "1"),
        format!("rack.toml:2: devices.e{{i}}, each: this is not a text; {form}")
    );
    assert_eq!(
        wrong("\"i = 5..3\"", "1"),
        "rack.toml:2: devices.e{i}, each: i = 5..3 is empty; write the smaller number first"
    );
    assert_eq!(
        wrong("\"i = 0..1, i = 0..1\"", "1"),
        "rack.toml:2: devices.e{i}, each: \"i = 0..1, i = 0..1\" has the variable i twice; write another name"
    );
    assert!(
        wrong("\"i = 0..9223372036854775808\"", "1")
            .contains("is too large; write a number below 2^63")
    );
}

#[test]
fn huge_counts_are_refused_at_once() {
    for (range, count) in [
        ("i = 0..4294967295", "4294967296"),
        ("i = 0..9223372036854775807", "9223372036854775808"),
        ("i = 0..99999", "100000"),
        (
            "i = 0..9223372036854775807, j = 0..9223372036854775807, k = 0..9",
            "340282366920938463463374607431768211455",
        ),
    ] {
        assert_eq!(
            wrong(&format!("{range:?}"), "1"),
            format!(
                "rack.toml:2: devices.e{{i}}, each: with {count} of this table, the scenario has more than 65536 tables; write a smaller range, or a network, which makes nodes of its own"
            )
        );
    }
    let long = format!("\"{}\"", "x".repeat(4000));
    assert_eq!(
        wrong("\"i = 0..9999\"", &long),
        "rack.toml:2: devices.e{i}, each: 10000 of this table are more than 16 MiB of text; write fewer keys, or a profile that has them once"
    );
    let split = "[devices.\"e{i}\"]\neach = \"i = 0..39999\"\n[devices.\"f{i}\"]\neach = \"i = 0..39999\"\n";
    assert!(refusal(split).starts_with("rack.toml:4: devices.f{i}, each: with 40000 of"));
}

#[test]
fn names_that_are_alike_are_refused() {
    let first = "the table on line 1 has this name, too; write names that differ";
    assert_eq!(
        refusal("[devices.\"e\"]\neach = \"i = 0..1\"\n"),
        "rack.toml:1: devices.e (i = 1): another member of this table has the same name; write each variable in it"
    );
    assert_eq!(
        refusal("[devices.e3]\n[devices.\"e{i}\"]\neach = \"i = 0..7\"\n"),
        format!("rack.toml:2: devices.e3 (i = 3): {first}")
    );
    assert_eq!(
        refusal("[devices.\"e{i}\"]\neach = \"i = 0..7\"\n[devices.e3]\n"),
        format!("rack.toml:3: devices.e3: {first}")
    );
    let long = format!(
        "[devices.\"{}{{i}}\"]\neach = \"i = 0..10\"\n",
        "x".repeat(252)
    );
    assert_eq!(members(&long.replace("0..10", "0..9")).len(), 10);
    let longer = long.replace("0..10", "1000..1000");
    assert!(refusal(&longer).ends_with("(i = 1000): the name has 256 bytes; write 255 at most"));
}

#[test]
fn wrong_expressions_are_refused() {
    let form = "write numbers, variables, + - * / % and parentheses, such as {i / 64}";
    for (value, message) in [
        (
            "{j / 4}",
            "there is no variable \"j\"; the key each has i".to_owned(),
        ),
        ("{i / 0}", "the divisor is 0; write one above 0".to_owned()),
        (
            "{i % (1 - 2)}",
            "the divisor is -1; write one above 0".to_owned(),
        ),
        (
            "{9223372036854775807 + 1}",
            "the number is too large; write an expression below 2^63".to_owned(),
        ),
        (
            "{9223372036854775808}",
            "the number is too large; write an expression below 2^63".to_owned(),
        ),
        (
            "{9223372036854775807 * 2}",
            "the number is too large; write an expression below 2^63".to_owned(),
        ),
        (
            "{0 - 9223372036854775807 - 2}",
            "the number is too large; write an expression below 2^63".to_owned(),
        ),
        (
            "{i - 1}",
            "this is -1; write an expression that is 0 or more, such as {(i - 1) % 16}".to_owned(),
        ),
        ("{}", format!("a number or variable is missing; {form}")),
        ("{i +}", format!("a number or variable is missing; {form}")),
        ("{i 2}", format!("'2' is not expected here; {form}")),
        ("{i.x}", format!("'.' is not expected here; {form}")),
        ("{-i}", format!("'-' is not expected here; {form}")),
        (
            "{(i}",
            "a closing parenthesis is missing; write as many ) as (".to_owned(),
        ),
        ("{i)}", format!("')' is not expected here; {form}")),
    ] {
        assert_eq!(
            wrong("\"i = 0..3\"", &format!("\"s{value}\"")),
            format!("rack.toml:3: devices.e0.k (i = 0): {value}: {message}")
        );
    }
    let deep = format!("{{{}i{}}}", "(".repeat(17), ")".repeat(17));
    let message = wrong("\"i = 0..3\"", &format!("\"{deep}\""));
    assert!(
        message.ends_with("more than 16 parentheses are in each other; write fewer"),
        "{message}"
    );
    for value in ["{i", "i}", "s{i}}", "{{i}"] {
        let message = wrong("\"i = 0..3\"", &format!("\"{value}\""));
        assert!(
            message.contains("has a brace without the other"),
            "{message}"
        );
    }
}

#[test]
fn a_message_is_one_line() {
    let message = wrong("\"i = 0..3\"", "\"\"\"{i\n+}\"\"\"");
    assert!(
        message.contains("{i\\n+}: a number or variable is missing"),
        "{message}"
    );
    assert!(!message.contains('\n'));
    let name = refusal("[devices.\"a\\n{j}\"]\neach = \"i = 0..1\"\n");
    assert!(!name.contains('\n'), "{name}");
}
