//! What a model's bytes say without running it.

use std::collections::{BTreeMap, HashSet};

use serde::{Serialize, Serializer};

use super::element::{Element, Precision, tensor_bytes};
use super::fingerprint::{self, Fingerprints, Named};
use super::onnx::{Graph, Model, Node, Tensor, ValueInfo, is_standard};
use super::slots::{self, SlotFill};
use super::walk::{Body, Holder, Met, visit};
use crate::domain::escape::escape;

/// One dimension of a declared shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sighted) enum Dimension {
    /// A number.
    Fixed(i64),
    /// A name that is given a number at run time.
    Symbol(String),
    /// Neither.
    Unknown,
}

impl Dimension {
    /// The number, when it is one.
    pub(in crate::sighted) fn fixed(&self) -> Option<i64> {
        match self {
            Self::Fixed(size) => Some(*size),
            _ => None,
        }
    }
}

/// A number, the symbol, or `"?"`: as release records write it.
impl Serialize for Dimension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(size) => serializer.serialize_i64(*size),
            Self::Symbol(name) => serializer.serialize_str(name),
            Self::Unknown => serializer.serialize_str("?"),
        }
    }
}

/// An input or output as the graph declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::sighted) struct TensorSignature {
    /// Its name, as it is in the file.
    pub name: String,
    /// Its shape; empty when none is declared.
    pub shape: Vec<Dimension>,
    /// The ONNX name of its element type, e.g. `FLOAT`.
    pub dtype: String,
}

impl TensorSignature {
    fn of(value: &ValueInfo) -> Self {
        let tensor = value.tensor();
        let dims =
            tensor.and_then(|tensor| tensor.shape.as_ref()).map_or(&[][..], |shape| &shape.dim);
        let dimension = |dim: &super::onnx::Dim| match (&dim.dim_value, &dim.dim_param) {
            (Some(size), _) => Dimension::Fixed(*size),
            (None, Some(name)) if !name.is_empty() => Dimension::Symbol(name.clone()),
            _ => Dimension::Unknown,
        };
        Self {
            name: value.name.clone(),
            shape: dims.iter().map(dimension).collect(),
            dtype: Element(tensor.map_or(0, |tensor| tensor.elem_type)).name(),
        }
    }

    /// `name [1,3,512,512] FLOAT`, escaped.
    pub(in crate::sighted) fn text(&self) -> String {
        format!("{} {} {}", escape(&self.name), self.shape_text(), self.dtype)
    }

    /// `[1,3,512,512]`, escaped.
    pub(in crate::sighted) fn shape_text(&self) -> String {
        let dims: Vec<String> = self
            .shape
            .iter()
            .map(|dim| match dim {
                Dimension::Fixed(size) => size.to_string(),
                Dimension::Symbol(name) => escape(name).into_owned(),
                Dimension::Unknown => "?".to_owned(),
            })
            .collect();
        format!("[{}]", dims.join(","))
    }
}

/// An operator set the model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::sighted) struct OperatorSetVersion {
    /// `ai.onnx` for the standard one.
    pub domain: String,
    /// Its version.
    pub version: i64,
}

/// What the bytes say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::sighted) struct GraphFacts {
    /// Version of the file format.
    pub ir_version: i64,
    /// Operator sets, in the order of the file.
    pub opsets: Vec<OperatorSetVersion>,
    /// Name and version of the tool that wrote it.
    pub producer: String,
    /// Nodes of the main graph.
    pub nodes: usize,
    /// Nodes of subgraphs and functions.
    pub nested_nodes: usize,
    /// Initializers of the main graph.
    pub initializers: usize,
    /// Model-local functions.
    pub functions: usize,
    /// Nodes by operator, everywhere; `domain::Op` outside the standard set.
    pub operators: BTreeMap<String, usize>,
    /// Inputs a caller must give: those that are initializers too do not count.
    pub inputs: Vec<TensorSignature>,
    /// Outputs.
    pub outputs: Vec<TensorSignature>,
    /// Bytes of the main graph's initializers by element type, from their declared shapes.
    pub weight_bytes_by_dtype: BTreeMap<String, u64>,
    /// The same of tensors held elsewhere: constants, subgraphs, functions.
    pub constant_bytes_by_dtype: BTreeMap<String, u64>,
    /// What most of the weights are stored as; nothing when no type has more than half.
    #[serde(serialize_with = "precision_word")]
    pub implied_precision: Option<Precision>,
    /// Tensors whose stored bytes do not fit their declared shape.
    pub missized_tensors: Named,
    /// Types declared for inner tensors.
    pub value_info: usize,
    /// Bytes of all doc strings.
    pub doc_string_bytes: u64,
    /// Doc strings that hold a path into somebody's home folder.
    pub doc_strings_with_local_paths: usize,
    /// Free metadata.
    pub metadata: BTreeMap<String, String>,
    /// What fills the query slots.
    pub slots: SlotFill,
    /// What converters left behind.
    pub fingerprints: Fingerprints,
}

fn precision_word<S: Serializer>(
    precision: &Option<Precision>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    precision.map(Precision::word).serialize(serializer)
}

impl GraphFacts {
    /// Reads a model that passed intake.
    pub(super) fn of(model: &Model, graph: &Graph) -> Self {
        let mut tally = Tally::default();
        visit(model, &mut |met| tally.add(met));
        let outputs: Vec<TensorSignature> = graph.output.iter().map(TensorSignature::of).collect();
        let slots = slots::read(graph, query_slots(&outputs));
        let producer = format!("{} {}", model.producer_name, model.producer_version);
        let implied_precision = Precision::implied_by(&tally.weights);
        Self {
            ir_version: model.ir_version.unwrap_or_default(),
            opsets: model
                .opset_import
                .iter()
                .map(|set| OperatorSetVersion {
                    domain: if is_standard(&set.domain) { "ai.onnx" } else { &set.domain }
                        .to_owned(),
                    version: set.version,
                })
                .collect(),
            producer: producer.trim().to_owned(),
            nodes: graph.node.len(),
            nested_nodes: tally.nodes.saturating_sub(graph.node.len()),
            initializers: graph.initializer.len() + graph.sparse_initializer.len(),
            functions: model.functions.len(),
            operators: tally.operators,
            inputs: required_inputs(graph).into_iter().map(TensorSignature::of).collect(),
            outputs,
            implied_precision,
            weight_bytes_by_dtype: tally.weights,
            constant_bytes_by_dtype: tally.constants,
            missized_tensors: tally.missized,
            value_info: graph.value_info.len(),
            doc_string_bytes: tally.doc_bytes,
            doc_strings_with_local_paths: tally.docs_with_paths,
            metadata: model
                .metadata_props
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.clone()))
                .collect(),
            slots,
            fingerprints: fingerprint::read(graph),
        }
    }

    /// Version of the standard operator set.
    pub(in crate::sighted) fn opset(&self) -> Option<i64> {
        self.opsets.iter().find(|set| set.domain == "ai.onnx").map(|set| set.version)
    }
}

/// Inputs without a value of their own.
pub(super) fn required_inputs(graph: &Graph) -> Vec<&ValueInfo> {
    let dense = graph.initializer.iter().map(|tensor| tensor.name.as_str());
    let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
    let given: HashSet<&str> = dense.chain(sparse.map(|tensor| tensor.name.as_str())).collect();
    graph.input.iter().filter(|input| !given.contains(input.name.as_str())).collect()
}

/// The second dimension of the first output that has three.
fn query_slots(outputs: &[TensorSignature]) -> Option<i64> {
    outputs.iter().find(|output| output.shape.len() == 3)?.shape[1].fixed()
}

#[derive(Default)]
struct Tally {
    nodes: usize,
    operators: BTreeMap<String, usize>,
    weights: BTreeMap<String, u64>,
    constants: BTreeMap<String, u64>,
    missized: Named,
    doc_bytes: u64,
    docs_with_paths: usize,
}

impl Tally {
    fn add(&mut self, met: Met<'_>) {
        match met {
            Met::Node(_, Body::Training) | Met::Tensor(_, _, Body::Training) => {}
            Met::Node(node, _) => {
                self.nodes += 1;
                *self.operators.entry(operator(node)).or_default() += 1;
            }
            Met::Tensor(tensor, holder, body) => self.add_tensor(tensor, holder, body),
            Met::Doc(text) => {
                self.doc_bytes += text.len() as u64;
                self.docs_with_paths += usize::from(names_a_home(text));
            }
        }
    }

    fn add_tensor(&mut self, tensor: &Tensor, holder: Holder<'_>, body: Body) {
        let element = Element(tensor.data_type);
        let declared = tensor_bytes(element, &tensor.dims);
        let is_weight = body == Body::Main && !matches!(holder, Holder::Attribute(_));
        let bytes = if is_weight { &mut self.weights } else { &mut self.constants };
        let sum = bytes.entry(element.name()).or_default();
        *sum = sum.saturating_add(declared.unwrap_or(0));
        if element.bits() > 0 && stored_bytes(tensor).is_some_and(|stored| Some(stored) != declared)
        {
            self.missized.add(|| {
                format!(
                    "{} {} {:?} with {} bytes",
                    escape(&tensor.name),
                    element.name(),
                    tensor.dims,
                    stored_bytes(tensor).unwrap_or(0)
                )
            });
        }
    }
}

/// Bytes held for a tensor, where its encoding tells without decoding it.
fn stored_bytes(tensor: &Tensor) -> Option<u64> {
    let packed = |chunks: &[bytes::Bytes]| chunks.iter().map(|chunk| chunk.len() as u64).sum();
    match &tensor.raw_data {
        Some(raw) => Some(raw.len() as u64),
        None if Element(tensor.data_type) == Element::FLOAT => Some(packed(&tensor.float_data)),
        None if Element(tensor.data_type) == Element::DOUBLE => Some(packed(&tensor.double_data)),
        None => None,
    }
}

fn operator(node: &Node) -> String {
    if is_standard(&node.domain) {
        node.op_type.clone()
    } else {
        format!("{}::{}", node.domain, node.op_type)
    }
}

fn names_a_home(text: &[u8]) -> bool {
    [&b"/home/"[..], b"/Users/", b"/root/", b"\\Users\\"]
        .into_iter()
        .any(|part| text.windows(part.len()).any(|window| window == part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::artifact::onnx::{Attribute, Function, SparseTensor};
    use crate::sighted::artifact::testing::{cast, detector, model, node, value, weights};
    use bytes::Bytes;

    fn facts(model: &Model) -> GraphFacts {
        GraphFacts::of(model, model.graph.as_ref().expect("a graph"))
    }

    #[test]
    fn a_plain_detector() {
        let mut made = detector(44);
        made.producer_name = "pytorch".to_owned();
        made.producer_version = "2.6.0".to_owned();
        let found = facts(&made);
        assert_eq!((found.ir_version, found.opset()), (8, Some(17)));
        assert_eq!(found.producer, "pytorch 2.6.0");
        assert_eq!((found.nodes, found.nested_nodes, found.initializers), (2, 0, 1));
        assert_eq!(found.operators, BTreeMap::from([("MatMul".to_owned(), 2)]));
        assert_eq!(found.inputs[0].text(), "input [1,3,8,8] FLOAT");
        assert_eq!(found.outputs[1].text(), "labels [1,300,44] FLOAT");
        assert_eq!(found.weight_bytes_by_dtype, BTreeMap::from([("FLOAT".to_owned(), 64)]));
        assert_eq!(found.implied_precision, Some(Precision::Fp32));
        assert_eq!(found.slots, SlotFill::Fixed);
        assert_eq!((found.missized_tensors.count, found.doc_string_bytes), (0, 0));
    }

    #[test]
    fn precision_is_a_majority_of_voting_bytes() {
        let implied = |tensors: Vec<Tensor>| {
            let mut made = detector(44);
            made.graph.as_mut().expect("a graph").initializer = tensors;
            facts(&made).implied_precision
        };
        let indices = weights("i", 7, &[1000]);
        assert_eq!(
            implied(vec![weights("a", 3, &[9]), weights("b", 1, &[2]), indices.clone()]),
            Some(Precision::Int8)
        );
        assert_eq!(implied(vec![weights("a", 3, &[8]), weights("b", 1, &[2])]), None);
        assert_eq!(implied(vec![indices]), None);
        assert_eq!(implied(vec![]), None);
    }

    #[test]
    fn nested_nodes_constants_and_doc_strings_count_everywhere() {
        let mut inner = Graph { node: vec![node("Relu", "r", &["x"], &["y"])], ..Graph::default() };
        inner.initializer = vec![weights("n", 1, &[2])];
        let mut branch = node("If", "branch", &["c"], &["z"]);
        let body = Attribute { g: Some(Box::new(inner)), ..Attribute::default() };
        let constant =
            Attribute { t: Some(Box::new(weights("", 10, &[3]))), ..Attribute::default() };
        branch.attribute = vec![body, constant];
        branch.doc_string = Bytes::from_static(b"File \"/Users/someone/train.py\"");
        let mut made = detector(44);
        let graph = made.graph.as_mut().expect("a graph");
        graph.node.push(branch);
        let values = Some(weights("s", 10, &[5]));
        graph.sparse_initializer = vec![SparseTensor { values, ..SparseTensor::default() }];
        made.functions = vec![Function {
            node: vec![node("Relu", "f", &["x"], &["y"])],
            doc_string: Bytes::from_static(b"no path"),
            ..Function::default()
        }];
        let found = facts(&made);
        assert_eq!((found.nodes, found.nested_nodes, found.functions), (3, 2, 1));
        assert_eq!(found.operators["Relu"], 2);
        assert_eq!(
            found.constant_bytes_by_dtype,
            BTreeMap::from([("FLOAT".to_owned(), 8), ("FLOAT16".to_owned(), 6)])
        );
        assert_eq!(found.weight_bytes_by_dtype["FLOAT16"], 10);
        assert_eq!((found.doc_string_bytes, found.doc_strings_with_local_paths), (37, 1));
    }

    #[test]
    fn initializers_listed_as_inputs_are_not_inputs() {
        let mut made = detector(44);
        let graph = made.graph.as_mut().expect("a graph");
        graph.input.push(value("w", 1, &[4, 4]));
        assert_eq!(facts(&made).inputs.len(), 1);
    }

    #[test]
    fn stored_bytes_must_fit_the_shape() {
        let missized = |tensor: Tensor| {
            let mut made = detector(44);
            made.graph.as_mut().expect("a graph").initializer = vec![tensor];
            facts(&made).missized_tensors
        };
        let short = Tensor { dims: vec![5], ..weights("w", 1, &[4]) };
        assert_eq!(missized(short).examples, ["w FLOAT [5] with 16 bytes"]);
        assert_eq!(missized(Tensor { dims: vec![-4], ..weights("w", 1, &[4]) }).count, 1);
        let floats = Tensor {
            raw_data: None,
            float_data: vec![Bytes::from_static(&[0; 16])],
            ..weights("w", 1, &[4])
        };
        assert_eq!(missized(floats.clone()).count, 0);
        assert_eq!(missized(Tensor { float_data: vec![], ..floats }).count, 1);
        assert_eq!(missized(weights("w", 22, &[3])).count, 0, "two to a byte");
    }

    #[test]
    fn shapes_may_be_symbolic_or_missing() {
        let mut made =
            model(crate::sighted::artifact::testing::graph(vec![cast("c", "input", "y", 1)]));
        let graph = made.graph.as_mut().expect("a graph");
        graph.input = vec![value("input", 1, &[-1, 3])];
        graph.output = vec![ValueInfo { name: "y\u{1b}".to_owned(), ..ValueInfo::default() }];
        let found = facts(&made);
        assert_eq!(found.inputs[0].text(), "input [n,3] FLOAT");
        assert_eq!(found.outputs[0].text(), "y\\x1b [] UNDEFINED");
        let json = serde_json::to_string(&found.inputs[0]).expect("JSON");
        assert_eq!(json, r#"{"name":"input","shape":["n",3],"dtype":"FLOAT"}"#);
    }
}
