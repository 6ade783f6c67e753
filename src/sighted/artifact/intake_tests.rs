//! Every refusal at intake fires before a runtime could see the bytes, and its twin passes.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;

use super::intake::{Artifact, ArtifactError, Refusal};
use super::onnx::{
    Attribute, Entry, Function, Graph, Model, Node, OperatorSet, SparseTensor, Tensor, Training,
};
use super::slots::SlotFill;
use super::testing::{detector, encoded, node, value, weights};
use crate::domain::digest::ArtifactHash;
use crate::shared_dir::shared_dir;

fn refusal(bytes: Vec<u8>) -> Option<Refusal> {
    match Artifact::from_bytes(Path::new("m.onnx"), bytes) {
        Ok(_) => None,
        Err(ArtifactError::Refused { reason, .. }) => Some(reason),
        Err(unread) => panic!("bytes need no reading: {unread}"),
    }
}

fn refusal_of(change: impl FnOnce(&mut Model)) -> Option<Refusal> {
    let mut model = detector(44);
    change(&mut model);
    refusal(encoded(&model))
}

fn graph(model: &mut Model) -> &mut Graph {
    model.graph.as_mut().expect("a graph")
}

fn external(location: &str) -> Tensor {
    let entry = Entry { key: "location".to_owned(), value: location.to_owned() };
    Tensor {
        data_location: 1,
        external_data: vec![entry],
        raw_data: None,
        ..weights("w2", 1, &[4])
    }
}

/// How a refusal names the place, and what puts a tensor there.
type HidingPlace = (&'static str, fn(&mut Model, Tensor));

/// Everywhere a tensor can hide.
fn hiding_places() -> Vec<HidingPlace> {
    fn attribute(tensor: Tensor) -> Attribute {
        Attribute { name: "value".to_owned(), t: Some(Box::new(tensor)), ..Attribute::default() }
    }
    fn sparse(values: Option<Tensor>, indices: Option<Tensor>) -> SparseTensor {
        SparseTensor { values, indices, dims: vec![4] }
    }
    fn constant(attribute: Attribute) -> Node {
        Node { attribute: vec![attribute], ..node("Constant", "hidden", &[], &["c"]) }
    }
    fn holding(tensor: Tensor) -> Graph {
        Graph { initializer: vec![tensor], ..Graph::default() }
    }
    vec![
        ("initializer \"w2\"", |model, tensor| graph(model).initializer.push(tensor)),
        ("sparse initializer \"w2\"", |model, tensor| {
            graph(model).sparse_initializer.push(sparse(Some(tensor), None));
        }),
        ("sparse initializer \"w2\"", |model, tensor| {
            graph(model).sparse_initializer.push(sparse(None, Some(tensor)));
        }),
        ("an attribute of node \"hidden\"", |model, tensor| {
            graph(model).node.push(constant(attribute(tensor)));
        }),
        ("an attribute of node \"hidden\"", |model, tensor| {
            let list = Attribute { tensors: vec![tensor], ..Attribute::default() };
            graph(model).node.push(constant(list));
        }),
        ("an attribute of node \"hidden\"", |model, tensor| {
            let hidden = Some(Box::new(sparse(Some(tensor), None)));
            let one = Attribute { sparse_tensor: hidden, ..Attribute::default() };
            graph(model).node.push(constant(one));
        }),
        ("an attribute of node \"hidden\"", |model, tensor| {
            let hidden = vec![sparse(Some(tensor), None)];
            let list = Attribute { sparse_tensors: hidden, ..Attribute::default() };
            graph(model).node.push(constant(list));
        }),
        ("initializer \"w2\" in a subgraph", |model, tensor| {
            let body = Attribute { g: Some(Box::new(holding(tensor))), ..Attribute::default() };
            graph(model).node.push(constant(body));
        }),
        ("an attribute of node \"hidden\" in a subgraph", |model, tensor| {
            let inner = Graph { node: vec![constant(attribute(tensor))], ..Graph::default() };
            let body = Attribute { graphs: vec![inner], ..Attribute::default() };
            graph(model).node.push(constant(body));
        }),
        ("an attribute of node \"hidden\" in a function body", |model, tensor| {
            let node = vec![constant(attribute(tensor))];
            model.functions.push(Function { node, ..Function::default() });
        }),
        ("an attribute of node \"\" in a function body", |model, tensor| {
            let attribute_proto = vec![attribute(tensor)];
            model.functions.push(Function { attribute_proto, ..Function::default() });
        }),
        ("initializer \"w2\" in training information", |model, tensor| {
            let algorithm = Some(holding(tensor));
            model.training_info.push(Training { algorithm, ..Training::default() });
        }),
        ("initializer \"w2\" in training information", |model, tensor| {
            let initialization = Some(holding(tensor));
            model.training_info.push(Training { initialization, ..Training::default() });
        }),
    ]
}

#[test]
fn data_outside_the_model_is_refused_wherever_it_is_named() {
    for (place, hide) in hiding_places() {
        for location in ["w.bin", "/etc/passwd", "../../etc/passwd", "link-to-elsewhere", ""] {
            let found = refusal_of(|model| hide(model, external(location)));
            let Some(Refusal::ExternalData { tensor, location: named }) = found else {
                panic!("{place}, {location:?}: {found:?}");
            };
            assert_eq!((tensor.as_str(), named.as_str()), (place, location));
        }
        assert_eq!(refusal_of(|model| hide(model, weights("w2", 1, &[4]))), None, "{place}");
    }
}

#[test]
fn half_a_mark_of_external_data_is_enough() {
    for tensor in [
        Tensor { external_data: vec![], ..external("") },
        Tensor { data_location: 0, ..external("w.bin") },
        Tensor { data_location: 7, external_data: vec![], ..weights("w2", 1, &[4]) },
    ] {
        let found = refusal_of(|model| graph(model).initializer.push(tensor));
        assert!(matches!(found, Some(Refusal::ExternalData { .. })), "{found:?}");
    }
}

#[test]
fn weights_at_an_address_are_refused_wherever_they_are() {
    for marker in ["*/_ORT_MEM_ADDR_/*", "*/_ORT_MEM_LE_ADDR_/*"] {
        for (place, hide) in hiding_places() {
            let found = refusal_of(|model| hide(model, external(marker)));
            assert!(matches!(found, Some(Refusal::MemoryAddress { .. })), "{place}: {found:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_neighbouring_file_by_any_kind_of_link_is_not_looked_at() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let place = |name: &str| folder.path().join(name);
    crate::store::atomic::write(&place("secret"), &[0; 16]).expect("written");
    std::os::unix::fs::symlink(place("secret"), place("soft.bin")).expect("linked");
    std::fs::hard_link(place("secret"), place("hard.bin")).expect("linked");
    for name in ["secret", "soft.bin", "hard.bin"] {
        let mut model = detector(44);
        graph(&mut model).initializer.push(external(name));
        crate::store::atomic::write(&place("m.onnx"), &encoded(&model)).expect("written");
        let error = Artifact::open(&place("m.onnx")).expect_err("refused").to_string();
        let expected = format!("(location \"{name}\")");
        assert!(error.contains("m.onnx: initializer") && error.contains(&expected), "{error}");
    }
}

#[test]
fn operators_of_unknown_domains_are_refused() {
    let with_domain = |domain: &str, op: &str| {
        let (domain, op) = (domain.to_owned(), op.to_owned());
        move |model: &mut Model| {
            let made = Node { domain, ..node(&op, "n", &["input"], &["x"]) };
            graph(model).node.push(made);
        }
    };
    for domain in ["", "ai.onnx", "ai.onnx.ml", "com.microsoft"] {
        assert_eq!(refusal_of(with_domain(domain, "Relu")), None, "{domain}");
    }
    let found = refusal_of(with_domain("com.example\u{1b}", "Mine")).expect("refused").to_string();
    assert!(found.starts_with("operator Mine is of the domain \"com.example\\x1b\""), "{found}");
    let local = refusal_of(|model| {
        with_domain("pkg.local", "Mine")(model);
        let (name, domain) = ("Mine".to_owned(), "pkg.local".to_owned());
        model.functions.push(Function { name, domain, ..Function::default() });
    });
    assert_eq!(local, None, "a function of the model itself");
    let inside = refusal_of(|model| {
        let node = vec![Node { domain: "com.example".to_owned(), ..node("Mine", "n", &[], &[]) }];
        model.functions.push(Function { node, ..Function::default() });
    });
    assert!(matches!(inside, Some(Refusal::UnknownDomain { .. })));
    let imported = refusal_of(|model| {
        model.opset_import.push(OperatorSet { domain: "com.example".to_owned(), version: 1 });
    });
    assert_eq!(imported, None, "asked for and not used");
    let context = refusal_of(with_domain("com.microsoft", "EPContext"));
    assert!(matches!(context, Some(Refusal::CompiledContext { .. })));
}

#[test]
fn one_input_and_no_other_number() {
    let inputs = |names: &'static [&'static str]| {
        move |model: &mut Model| {
            graph(model).input = names.iter().map(|name| value(name, 1, &[1, 3, 8, 8])).collect();
        }
    };
    let text = |names| refusal_of(inputs(names)).expect("refused").to_string();
    assert_eq!(text(&["a", "b"]), "2 graph inputs (a, b), expected 1");
    assert_eq!(text(&[]), "0 graph inputs, expected 1");
    assert_eq!(text(&["w"]), "0 graph inputs, expected 1");
    assert_eq!(refusal_of(inputs(&["input", "w"])), None, "an initializer is no input");
}

#[test]
fn file_format_versions() {
    for version in [3, 8, 13] {
        assert_eq!(refusal_of(|model| model.ir_version = Some(version)), None);
    }
    for (version, found) in [(Some(99), 99), (Some(2), 2), (Some(-1), -1), (None, 0)] {
        let refused = refusal_of(|model| model.ir_version = version);
        assert_eq!(refused, Some(Refusal::IrVersion { found }));
    }
    assert_eq!(Refusal::IrVersion { found: 99 }.to_string(), "IR version 99, expected 3 to 13");
}

#[test]
fn what_is_not_a_model() {
    for (bytes, message) in [
        (&b""[..], "an empty file"),
        (b"\x1f\x8b\x08\x00", "a gzip archive"),
        (b"PK\x03\x04", "a zip archive"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:", "a Git LFS pointer"),
        (b"<!DOCTYPE html>", "a web page"),
        (b"plain text, nothing else", "not protobuf"),
        (b"\x08\x08", "no graph in it"),
        (b"\x3a\xff\xff\xff\xff\x07", "truncated"),
    ] {
        let found = refusal(bytes.to_vec()).expect("refused").to_string();
        assert!(found.contains(message), "{found}");
    }
    // The graph as a number instead of a message.
    assert!(matches!(refusal(b"\x38\x01".to_vec()), Some(Refusal::NotOnnx(_))));
}

#[test]
fn a_model_cut_anywhere_is_refused_or_says_less() {
    let whole = encoded(&detector(44));
    let mut refused = 0;
    for cut in 0..whole.len() {
        refused += usize::from(refusal(whole[..cut].to_vec()).is_some());
    }
    // A cut between two top-level fields leaves a shorter model; every other one is noticed.
    assert!(refused + 2 >= whole.len(), "{refused} of {}", whole.len());
}

#[test]
fn too_much_of_anything_is_refused_before_it_is_read() {
    let found = refusal_of(|model| {
        graph(model).node = vec![Node::default(); super::wire::MAX_NODES + 1];
    });
    assert_eq!(
        found.expect("refused").to_string(),
        "expected an ONNX model: more than 200000 nodes"
    );
}

#[test]
fn an_artifact_is_its_bytes() {
    let bytes = encoded(&detector(44));
    let artifact = Artifact::from_bytes(Path::new("m.onnx"), bytes.clone()).expect("accepted");
    assert_eq!(artifact.bytes(), &Bytes::from(bytes.clone()));
    assert_eq!(artifact.hash(), ArtifactHash::of(&bytes));
    assert_eq!(artifact.size(), bytes.len() as u64);
    let missing = Artifact::open(Path::new("/nowhere/m.onnx")).expect_err("nothing there");
    assert!(missing.to_string().starts_with("/nowhere/m.onnx: "), "{missing}");
}

#[test]
fn a_file_swapped_while_it_is_read_never_parts_hash_from_bytes() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("m.onnx");
    let contents = [encoded(&detector(43)), encoded(&detector(44))];
    let hashes = contents.each_ref().map(|bytes| ArtifactHash::of(bytes));
    crate::store::atomic::write(&path, &contents[0]).expect("written");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut turn = 0;
            while !done.load(Ordering::Relaxed) {
                turn += 1;
                let content = &contents[turn % 2];
                if turn % 3 == 0 {
                    // In place: the reader may meet half of it.
                    let file = std::fs::OpenOptions::new().write(true).truncate(true).open(&path);
                    let written =
                        file.and_then(|mut file| std::io::Write::write_all(&mut file, content));
                    written.expect("written in place");
                } else {
                    let other = folder.path().join("other");
                    let made = std::fs::File::create(&other)
                        .and_then(|mut file| std::io::Write::write_all(&mut file, content));
                    made.expect("made");
                    #[expect(clippy::disallowed_methods, reason = "the swap under test")]
                    std::fs::rename(&other, &path).expect("swapped");
                }
            }
        });
        let mut taken = 0;
        for _ in 0..1000 {
            // A file met half written is refused, or read short and then named by what was read.
            if let Ok(artifact) = Artifact::open(&path) {
                assert_eq!(artifact.hash(), ArtifactHash::of(artifact.bytes()));
                taken += usize::from(hashes.contains(&artifact.hash()));
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(taken > 0, "no load got through");
    });
}

#[test]
fn shared_models_say_what_they_are() {
    let Some(shared) = shared_dir() else { return };
    let model = |name: &str| Artifact::open(&shared.join(name)).expect("accepted");
    for (name, precision, mixed) in [
        ("demo/artifacts/demo-litter.fp32.onnx", Some("fp32"), false),
        ("demo/artifacts/demo-litter.fp16.onnx", Some("fp16"), false),
        ("demo/artifacts/demo-litter.fp16-raw.onnx", Some("fp16"), true),
        ("demo/artifacts/demo-litter.int8.onnx", Some("int8"), false),
        ("realset/models/yolox-nano-coco-v1.0.0-fp32.onnx", Some("fp32"), false),
        ("realset/models/yolox-nano-coco-v1.0.0-fp16.onnx", Some("fp16"), false),
        ("realset/models/yolox-nano-coco-v1.0.0-int8.onnx", Some("fp32"), false),
        ("realset/models/yolox-nano-coco-v1.0.0-int8naive.onnx", Some("int8"), false),
        ("realset/models/refused/yolox-nano-coco-v1.0.0-fp16-unrepaired.onnx", Some("fp16"), true),
    ] {
        let artifact = model(name);
        let facts = artifact.facts();
        assert_eq!(
            facts.implied_precision.map(super::element::Precision::word),
            precision,
            "{name}"
        );
        let prints = &facts.fingerprints;
        let broken = prints.float_mixes.count + prints.declared_otherwise.count > 0;
        assert_eq!(broken, mixed, "{name}: {prints:?}");
        assert_eq!(facts.inputs[0].name, "input", "{name}");
        assert_eq!(facts.outputs.len(), 2, "{name}");
        assert!(matches!(facts.slots, SlotFill::PickedPerPart { .. }), "{name}");
    }
}
