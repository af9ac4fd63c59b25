use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::*;

#[derive(Serialize, Deserialize)]
struct Part {
    #[serde(with = "shared")]
    list: Arc<[u32]>,
    #[serde(with = "name")]
    name: name::Name,
}

fn part(list: &Arc<[u32]>) -> Part {
    Part {
        list: list.clone(),
        name: "a name",
    }
}

#[test]
fn a_shared_list_is_written_once_and_is_shared_again() {
    let list: Arc<[u32]> = (0..1000).collect();
    let scope = Scope::new();
    let parts: Vec<Part> = (0..10).map(|_| part(&list)).collect();
    let bytes = postcard::to_stdvec(&parts).expect("the parts can be written");
    assert!(bytes.len() < 4000, "{}", bytes.len());
    drop(scope);
    let _scope = Scope::new();
    let read: Vec<Part> = postcard::from_bytes(&bytes).expect("the parts were just written");
    assert_eq!(read[3].list, list);
    assert!(read.iter().all(|one| Arc::ptr_eq(&one.list, &read[0].list)));
    assert!(read.iter().all(|one| one.name == "a name"));
}

#[test]
fn a_list_of_another_scope_is_unknown() {
    let list: Arc<[u32]> = (0..10).collect();
    let write = || postcard::to_stdvec(&part(&list)).expect("the part can be written");
    let scope = Scope::new();
    let (first, second) = (write(), write());
    assert!(second.len() < first.len());
    drop(scope);
    let _scope = Scope::new();
    assert!(postcard::from_bytes::<Part>(&second).is_err());
}

#[test]
fn a_refusal_keeps_its_reason() {
    struct Refused;
    impl Serialize for Refused {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(refuse("it is shared with another process"))
        }
    }
    let scope = Scope::new();
    assert!(postcard::to_stdvec(&Refused).is_err());
    let why = scope.refusal();
    assert_eq!(why.as_deref(), Some("it is shared with another process"));
}
