//! Every node, tensor and doc string of a model, wherever it hides: subgraphs, function bodies,
//! training graphs, attributes, sparse tensors.

use bytes::Bytes;

use super::onnx::{Attribute, Graph, Model, Node, SparseTensor, Tensor, ValueInfo};

/// Which body of the model something lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// The graph that runs first.
    Main,
    /// A branch or loop body inside a node.
    Subgraph,
    /// A model-local function.
    Function,
    /// Training information, which inference never reads.
    Training,
}

impl Body {
    /// How a message goes on: `initializer "w"` + ` of a subgraph`.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Subgraph => " in a subgraph",
            Self::Function => " in a function body",
            Self::Training => " in training information",
        }
    }
}

/// What holds a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder<'model> {
    /// The initializers of a graph.
    Initializer,
    /// Values or indices of a sparse initializer.
    SparseInitializer,
    /// An attribute of the node with this label; empty for a function's default value.
    Attribute(&'model str),
}

/// One thing met on the way.
pub(super) enum Met<'model> {
    /// A node.
    Node(&'model Node, Body),
    /// A tensor.
    Tensor(&'model Tensor, Holder<'model>, Body),
    /// A doc string that is not empty.
    Doc(&'model Bytes),
}

type Visitor<'model, 'visit> = dyn FnMut(Met<'model>) + 'visit;

/// Visits everything in `model`. Recursion is bounded: the wire was checked first.
pub(super) fn visit<'model>(model: &'model Model, visitor: &mut Visitor<'model, '_>) {
    doc(&model.doc_string, visitor);
    if let Some(graph) = &model.graph {
        visit_graph(graph, Body::Main, visitor);
    }
    for function in &model.functions {
        doc(&function.doc_string, visitor);
        values(&function.value_info, visitor);
        for node in &function.node {
            visit_node(node, Body::Function, visitor);
        }
        for attribute in &function.attribute_proto {
            visit_attribute(attribute, "", Body::Function, visitor);
        }
    }
    for training in &model.training_info {
        for graph in [&training.initialization, &training.algorithm].into_iter().flatten() {
            visit_graph(graph, Body::Training, visitor);
        }
    }
}

fn visit_graph<'model>(graph: &'model Graph, body: Body, visitor: &mut Visitor<'model, '_>) {
    doc(&graph.doc_string, visitor);
    for list in [&graph.input, &graph.output, &graph.value_info] {
        values(list, visitor);
    }
    for tensor in &graph.initializer {
        visit_tensor(tensor, Holder::Initializer, body, visitor);
    }
    for sparse in &graph.sparse_initializer {
        visit_sparse(sparse, Holder::SparseInitializer, body, visitor);
    }
    for node in &graph.node {
        visit_node(node, body, visitor);
    }
}

fn visit_node<'model>(node: &'model Node, body: Body, visitor: &mut Visitor<'model, '_>) {
    visitor(Met::Node(node, body));
    doc(&node.doc_string, visitor);
    for attribute in &node.attribute {
        visit_attribute(attribute, node.label(), body, visitor);
    }
}

fn visit_attribute<'model>(
    attribute: &'model Attribute,
    owner: &'model str,
    body: Body,
    visitor: &mut Visitor<'model, '_>,
) {
    doc(&attribute.doc_string, visitor);
    let holder = Holder::Attribute(owner);
    for tensor in attribute.t.as_deref().into_iter().chain(&attribute.tensors) {
        visit_tensor(tensor, holder, body, visitor);
    }
    for sparse in attribute.sparse_tensor.as_deref().into_iter().chain(&attribute.sparse_tensors) {
        visit_sparse(sparse, holder, body, visitor);
    }
    let inner = if body == Body::Main { Body::Subgraph } else { body };
    for graph in attribute.g.as_deref().into_iter().chain(&attribute.graphs) {
        visit_graph(graph, inner, visitor);
    }
}

fn visit_sparse<'model>(
    sparse: &'model SparseTensor,
    holder: Holder<'model>,
    body: Body,
    visitor: &mut Visitor<'model, '_>,
) {
    for tensor in [&sparse.values, &sparse.indices].into_iter().flatten() {
        visit_tensor(tensor, holder, body, visitor);
    }
}

fn visit_tensor<'model>(
    tensor: &'model Tensor,
    holder: Holder<'model>,
    body: Body,
    visitor: &mut Visitor<'model, '_>,
) {
    doc(&tensor.doc_string, visitor);
    visitor(Met::Tensor(tensor, holder, body));
}

fn values<'model>(list: &'model [ValueInfo], visitor: &mut Visitor<'model, '_>) {
    for value in list {
        doc(&value.doc_string, visitor);
    }
}

fn doc<'model>(text: &'model Bytes, visitor: &mut Visitor<'model, '_>) {
    if !text.is_empty() {
        visitor(Met::Doc(text));
    }
}
