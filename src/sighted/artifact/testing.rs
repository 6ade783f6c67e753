//! Small graphs for tests.

use bytes::Bytes;
use prost::Message as _;

use super::element::{Element, tensor_bytes};
use super::onnx::{
    Attribute, Dim, Graph, Model, Node, OperatorSet, Shape, Tensor, TensorType, Type, ValueInfo,
};

pub(super) fn node(op: &str, name: &str, inputs: &[&str], outputs: &[&str]) -> Node {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Node {
        op_type: op.to_owned(),
        name: name.to_owned(),
        input: owned(inputs),
        output: owned(outputs),
        ..Node::default()
    }
}

pub(super) fn cast(name: &str, from: &str, into: &str, to: i64) -> Node {
    let attribute = Attribute { name: "to".to_owned(), i: to, ..Attribute::default() };
    Node { attribute: vec![attribute], ..node("Cast", name, &[from], &[into]) }
}

/// A declared tensor; a dimension of -1 is written as a symbol.
pub(super) fn value(name: &str, element: i32, dims: &[i64]) -> ValueInfo {
    let dim = |size: &i64| match size {
        -1 => Dim { dim_value: None, dim_param: Some("n".to_owned()) },
        size => Dim { dim_value: Some(*size), dim_param: None },
    };
    let shape = Some(Shape { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TensorType { elem_type: element, shape });
    let r#type = Some(Type { tensor_type });
    ValueInfo { name: name.to_owned(), r#type, doc_string: Bytes::new() }
}

pub(super) fn declared(name: &str, element: i32) -> ValueInfo {
    value(name, element, &[1])
}

/// Zeros.
pub(super) fn weights(name: &str, element: i32, dims: &[i64]) -> Tensor {
    let size = tensor_bytes(Element(element), dims).expect("a sane shape");
    Tensor {
        name: name.to_owned(),
        data_type: element,
        dims: dims.to_vec(),
        raw_data: Some(Bytes::from(vec![0; usize::try_from(size).expect("small")])),
        ..Tensor::default()
    }
}

pub(super) fn int_tensor(name: &str, number: i64) -> Tensor {
    Tensor {
        raw_data: Some(Bytes::copy_from_slice(&number.to_le_bytes())),
        ..weights(name, 7, &[1])
    }
}

/// A graph with one float32 picture as input, and its last node's first output as output.
pub(super) fn graph(nodes: Vec<Node>) -> Graph {
    let last = nodes.last().and_then(|node| node.output.first()).cloned().unwrap_or_default();
    Graph {
        node: nodes,
        input: vec![value("input", 1, &[1, 3, 8, 8])],
        output: vec![value(&last, 1, &[1, 300, 4])],
        ..Graph::default()
    }
}

pub(super) fn model(graph: Graph) -> Model {
    Model {
        ir_version: Some(8),
        opset_import: vec![OperatorSet { domain: String::new(), version: 17 }],
        graph: Some(graph),
        ..Model::default()
    }
}

/// A model that keeps the detector's contract: `dets` and `labels` of that many columns.
pub(super) fn detector(columns: i64) -> Model {
    let mut made = graph(vec![
        node("MatMul", "boxes", &["input", "w"], &["dets"]),
        node("MatMul", "classes", &["input", "w"], &["labels"]),
    ]);
    made.initializer = vec![weights("w", 1, &[4, 4])];
    made.output = vec![value("dets", 1, &[1, 300, 4]), value("labels", 1, &[1, 300, columns])];
    model(made)
}

pub(super) fn encoded(model: &Model) -> Vec<u8> {
    model.encode_to_vec()
}

/// The bytes of a model that keeps the detector's contract, for tests of those who only read files.
pub(in crate::sighted) fn detector_bytes(columns: i64) -> Vec<u8> {
    encoded(&detector(columns))
}
