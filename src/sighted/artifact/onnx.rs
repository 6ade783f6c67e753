//! The parts of the ONNX protobuf schema that facts and refusals need. Unknown fields are skipped.
//!
//! Payloads (weights, doc strings, packed numbers) are `Bytes` borrowed from the one buffer: reading
//! facts copies none of them, and a packed list cannot grow eightfold in memory.

use bytes::Bytes;
use prost::Message;

/// `ModelProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int64, optional, tag = "1")]
    pub(super) ir_version: Option<i64>,
    #[prost(string, tag = "2")]
    pub(super) producer_name: String,
    #[prost(string, tag = "3")]
    pub(super) producer_version: String,
    #[prost(bytes = "bytes", tag = "6")]
    pub(super) doc_string: Bytes,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub(super) opset_import: Vec<OperatorSet>,
    #[prost(message, repeated, tag = "14")]
    pub(super) metadata_props: Vec<Entry>,
    #[prost(message, repeated, tag = "20")]
    pub(super) training_info: Vec<Training>,
    #[prost(message, repeated, tag = "25")]
    pub(super) functions: Vec<Function>,
}

/// `OperatorSetIdProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSet {
    #[prost(string, tag = "1")]
    pub(super) domain: String,
    #[prost(int64, tag = "2")]
    pub(super) version: i64,
}

/// `StringStringEntryProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Entry {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

/// `TrainingInfoProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Training {
    #[prost(message, optional, tag = "1")]
    pub(super) initialization: Option<Graph>,
    #[prost(message, optional, tag = "2")]
    pub(super) algorithm: Option<Graph>,
}

/// `FunctionProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Function {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "7")]
    pub(super) node: Vec<Node>,
    #[prost(bytes = "bytes", tag = "8")]
    pub(super) doc_string: Bytes,
    #[prost(string, tag = "10")]
    pub(super) domain: String,
    #[prost(message, repeated, tag = "11")]
    pub(super) attribute_proto: Vec<Attribute>,
    #[prost(message, repeated, tag = "12")]
    pub(super) value_info: Vec<ValueInfo>,
}

/// `GraphProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub(super) node: Vec<Node>,
    #[prost(message, repeated, tag = "5")]
    pub(super) initializer: Vec<Tensor>,
    #[prost(bytes = "bytes", tag = "10")]
    pub(super) doc_string: Bytes,
    #[prost(message, repeated, tag = "11")]
    pub(super) input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub(super) output: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "13")]
    pub(super) value_info: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "15")]
    pub(super) sparse_initializer: Vec<SparseTensor>,
}

/// `NodeProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(super) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) output: Vec<String>,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) attribute: Vec<Attribute>,
    #[prost(bytes = "bytes", tag = "6")]
    pub(super) doc_string: Bytes,
    #[prost(string, tag = "7")]
    pub(super) domain: String,
}

impl Node {
    /// The attribute of that name.
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attribute.iter().find(|attribute| attribute.name == name)
    }

    /// Whether this is `op` of the standard operator set.
    pub(super) fn is(&self, op: &str) -> bool {
        self.op_type == op && is_standard(&self.domain)
    }

    /// Its name, or its first output's when it has none: what a person finds it by.
    pub(super) fn label(&self) -> &str {
        if self.name.is_empty() {
            self.output.first().map_or("", String::as_str)
        } else {
            &self.name
        }
    }
}

/// Whether a domain is the standard operator set, which has two spellings.
pub(super) fn is_standard(domain: &str) -> bool {
    domain.is_empty() || domain == "ai.onnx"
}

/// `AttributeProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(int64, tag = "3")]
    pub(super) i: i64,
    #[prost(message, optional, boxed, tag = "5")]
    pub(super) t: Option<Box<Tensor>>,
    #[prost(message, optional, boxed, tag = "6")]
    pub(super) g: Option<Box<Graph>>,
    #[prost(message, repeated, tag = "10")]
    pub(super) tensors: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub(super) graphs: Vec<Graph>,
    #[prost(bytes = "bytes", tag = "13")]
    pub(super) doc_string: Bytes,
    #[prost(message, optional, boxed, tag = "22")]
    pub(super) sparse_tensor: Option<Box<SparseTensor>>,
    #[prost(message, repeated, tag = "23")]
    pub(super) sparse_tensors: Vec<SparseTensor>,
}

/// `TensorProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(super) data_type: i32,
    #[prost(bytes = "bytes", repeated, tag = "4")]
    pub(super) float_data: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "7")]
    pub(super) int64_data: Vec<Bytes>,
    #[prost(string, tag = "8")]
    pub(super) name: String,
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub(super) raw_data: Option<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "10")]
    pub(super) double_data: Vec<Bytes>,
    #[prost(bytes = "bytes", tag = "12")]
    pub(super) doc_string: Bytes,
    #[prost(message, repeated, tag = "13")]
    pub(super) external_data: Vec<Entry>,
    #[prost(int32, tag = "14")]
    pub(super) data_location: i32,
}

/// `SparseTensorProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct SparseTensor {
    #[prost(message, optional, tag = "1")]
    pub(super) values: Option<Tensor>,
    #[prost(message, optional, tag = "2")]
    pub(super) indices: Option<Tensor>,
    #[prost(int64, repeated, tag = "3")]
    pub(super) dims: Vec<i64>,
}

/// `ValueInfoProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueInfo {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) r#type: Option<Type>,
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) doc_string: Bytes,
}

impl ValueInfo {
    /// Its tensor type, when it is a tensor.
    pub(super) fn tensor(&self) -> Option<&TensorType> {
        self.r#type.as_ref()?.tensor_type.as_ref()
    }
}

/// `TypeProto`; sequences, maps and optionals are skipped.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Type {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor_type: Option<TensorType>,
}

/// `TypeProto.Tensor`
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(super) elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<Shape>,
}

/// `TensorShapeProto`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub(super) dim: Vec<Dim>,
}

/// `TensorShapeProto.Dimension`
#[derive(Clone, PartialEq, Message)]
pub(super) struct Dim {
    #[prost(int64, optional, tag = "1")]
    pub(super) dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(super) dim_param: Option<String>,
}
