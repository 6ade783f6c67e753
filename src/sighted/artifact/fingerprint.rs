//! What converters leave in a graph, and what a runtime will trip over, read from names and types alone.
//!
//! Types are followed forward through operators whose typing rule is simple; anywhere else a tensor has
//! the type its declaration gives, or none. A finding needs both types known, so an operator that is
//! not listed here can hide a fault but cannot make one up. Only the main graph is looked at.

use std::collections::HashMap;

use serde::Serialize;

use super::element::Element;
use super::onnx::{Graph, Node, Tensor, is_standard};
use crate::domain::escape::escape;

/// Most examples kept of one kind.
const MAX_EXAMPLES: usize = 5;

/// How many, and a few of them, escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(in crate::sighted) struct Named {
    /// All of them.
    pub count: usize,
    /// The first few.
    pub examples: Vec<String>,
}

impl Named {
    pub(super) fn add(&mut self, example: impl FnOnce() -> String) {
        self.count += 1;
        if self.examples.len() < MAX_EXAMPLES {
            self.examples.push(example());
        }
    }

    /// The first few, and how many more there are.
    pub(in crate::sighted) fn list(&self) -> String {
        let more = self.count - self.examples.len();
        let shown = self.examples.join(", ");
        if more == 0 { shown } else { format!("{shown} and {more} more") }
    }
}

/// What the main graph shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(in crate::sighted) struct Fingerprints {
    /// Casts named as the float16 converter names the ones it inserts.
    pub converter_casts: Named,
    /// Casts to the type their input has already.
    pub same_type_casts: Named,
    /// Casts that read what they write.
    pub self_loop_casts: Named,
    /// Node names that occur more than once.
    pub duplicate_names: Named,
    /// Tensors that two nodes write.
    pub two_producers: Named,
    /// Operators that read floats of two widths.
    pub float_mixes: Named,
    /// Tensors declared with another type than their node gives.
    pub declared_otherwise: Named,
}

/// Reads all of them.
pub(super) fn read(graph: &Graph) -> Fingerprints {
    let mut found = Fingerprints::default();
    repeated_names(graph, &mut found);
    for node in graph.node.iter().filter(|node| node.is("Cast")) {
        if is_converter_name(&node.name) {
            found.converter_casts.add(|| escape(&node.name).into_owned());
        }
        if node.input.first().is_some_and(|input| node.output.first() == Some(input)) {
            found.self_loop_casts.add(|| escape(node.label()).into_owned());
        }
    }
    follow_types(graph, &mut found);
    found
}

fn repeated_names(graph: &Graph, found: &mut Fingerprints) {
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut producers: HashMap<&str, usize> = HashMap::new();
    for node in &graph.node {
        *names.entry(&node.name).or_default() += 1;
        if !node.name.is_empty() && names[node.name.as_str()] == 2 {
            found.duplicate_names.add(|| escape(&node.name).into_owned());
        }
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            let count = producers.entry(output).or_default();
            *count += 1;
            if *count == 2 {
                found.two_producers.add(|| escape(output).into_owned());
            }
        }
    }
}

/// `…_input_cast0`, `…_output_cast12`.
fn is_converter_name(name: &str) -> bool {
    let stem = name.trim_end_matches(|character: char| character.is_ascii_digit());
    stem.len() < name.len() && (stem.ends_with("_input_cast") || stem.ends_with("_output_cast"))
}

/// The tensor in a `value` attribute: that of a Constant.
pub(super) fn constant(node: &Node) -> Option<&Tensor> {
    node.attribute("value").and_then(|attribute| attribute.t.as_deref())
}

struct Types<'graph> {
    derived: HashMap<&'graph str, Element>,
    declared: HashMap<&'graph str, Element>,
}

impl<'graph> Types<'graph> {
    fn of(graph: &'graph Graph) -> Self {
        let mut derived = HashMap::new();
        let mut declared = HashMap::new();
        for value in graph.value_info.iter().chain(&graph.output) {
            if let Some(tensor) = value.tensor() {
                declared.insert(value.name.as_str(), Element(tensor.elem_type));
            }
        }
        for value in &graph.input {
            if let Some(tensor) = value.tensor() {
                derived.insert(value.name.as_str(), Element(tensor.elem_type));
            }
        }
        for tensor in &graph.initializer {
            derived.insert(tensor.name.as_str(), Element(tensor.data_type));
        }
        Self { derived, declared }
    }

    fn get(&self, name: &str) -> Option<Element> {
        self.derived.get(name).or_else(|| self.declared.get(name)).copied()
    }
}

fn follow_types(graph: &Graph, found: &mut Fingerprints) {
    let mut types = Types::of(graph);
    for node in &graph.node {
        if node.is("Cast")
            && let Some(to) = node.attribute("to").and_then(|to| i32::try_from(to.i).ok())
            && node.input.first().and_then(|input| types.get(input)) == Some(Element(to))
        {
            found
                .same_type_casts
                .add(|| format!("{} ({})", escape(node.label()), Element(to).name()));
        }
        let mixed = float_mix(node, &types);
        if let Some((first, second)) = mixed {
            found.float_mixes.add(|| mix_text(node, first, second));
        }
        for (index, output) in node.output.iter().enumerate() {
            // What comes out of a mix is anybody's guess: the declaration stands.
            let derived = if mixed.is_some() { None } else { output_type(node, index, &types) };
            let Some(derived) = derived else {
                // A second producer of unknown type takes the first one's away.
                types.derived.remove(output.as_str());
                continue;
            };
            let declared = types.declared.get(output.as_str()).copied();
            if let Some(declared) = declared.filter(|declared| clash(*declared, derived)) {
                found.declared_otherwise.add(|| {
                    format!(
                        "{} of {} {} (declared {}, computed {})",
                        escape(output),
                        escape(&node.op_type),
                        escape(node.label()),
                        declared.name(),
                        derived.name()
                    )
                });
            }
            types.derived.insert(output, derived);
        }
    }
}

fn clash(first: Element, second: Element) -> bool {
    first.is_float() && second.is_float() && first != second
}

type TypedInput<'node> = (&'node str, Element);

/// The first two inputs that must have one type and are floats of different width.
fn float_mix<'node>(
    node: &'node Node,
    types: &Types<'_>,
) -> Option<(TypedInput<'node>, TypedInput<'node>)> {
    let mut floats = bound_inputs(node)
        .filter(|input| !input.is_empty())
        .filter_map(|input| Some((input, types.get(input)?)))
        .filter(|(_, element)| element.is_float());
    let first = floats.next()?;
    let second = floats.find(|(_, element)| *element != first.1)?;
    Some((first, second))
}

fn mix_text(node: &Node, first: TypedInput<'_>, second: TypedInput<'_>) -> String {
    format!(
        "{} {} reads {} {} and {} {}",
        escape(&node.op_type),
        escape(node.label()),
        first.1.name(),
        escape(first.0),
        second.1.name(),
        escape(second.0)
    )
}

/// How an operator's inputs and outputs are tied to one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// All inputs have the type of the outputs.
    All,
    /// All inputs have one type; the output is a truth value.
    Compare,
    /// The first input has the type of the outputs; the others are indices, shapes or scales.
    First,
    /// All inputs but the first (a condition) have the type of the output.
    Where,
    /// First and third: data and updates.
    Scatter,
    /// Not followed.
    Unknown,
}

fn rule(node: &Node) -> Rule {
    if !is_standard(&node.domain) {
        return Rule::Unknown;
    }
    match node.op_type.as_str() {
        "Add"
        | "Clip"
        | "Concat"
        | "Conv"
        | "ConvTranspose"
        | "Div"
        | "Einsum"
        | "Gemm"
        | "GroupNormalization"
        | "InstanceNormalization"
        | "LayerNormalization"
        | "MatMul"
        | "Max"
        | "Mean"
        | "Min"
        | "Mod"
        | "Mul"
        | "PRelu"
        | "Sub"
        | "Sum" => Rule::All,
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" => Rule::Compare,
        "Abs" | "AveragePool" | "BatchNormalization" | "Ceil" | "Cos" | "CumSum"
        | "DepthToSpace" | "Dropout" | "Elu" | "Erf" | "Exp" | "Expand" | "Flatten" | "Floor"
        | "Gather" | "GatherElements" | "GatherND" | "Gelu" | "GlobalAveragePool"
        | "GlobalMaxPool" | "GridSample" | "HardSigmoid" | "HardSwish" | "Identity"
        | "LeakyRelu" | "Log" | "LogSoftmax" | "LpNormalization" | "MaxPool" | "Mish" | "Neg"
        | "Pad" | "Pow" | "Reciprocal" | "ReduceL1" | "ReduceL2" | "ReduceMax" | "ReduceMean"
        | "ReduceMin" | "ReduceProd" | "ReduceSum" | "Relu" | "Reshape" | "Resize" | "Round"
        | "Selu" | "Sigmoid" | "Sin" | "Slice" | "Softmax" | "Softplus" | "SpaceToDepth"
        | "Split" | "Sqrt" | "Squeeze" | "Tanh" | "Tile" | "TopK" | "Transpose" | "Trilu"
        | "Unsqueeze" | "Upsample" => Rule::First,
        "Where" => Rule::Where,
        "ScatterElements" | "ScatterND" => Rule::Scatter,
        _ => Rule::Unknown,
    }
}

fn bound_inputs(node: &Node) -> impl Iterator<Item = &str> {
    let rule = rule(node);
    node.input.iter().enumerate().filter_map(move |(index, input)| {
        let bound = match rule {
            Rule::All | Rule::Compare => true,
            Rule::First => index == 0,
            Rule::Where => index > 0,
            Rule::Scatter => index == 0 || index == 2,
            Rule::Unknown => false,
        };
        bound.then_some(input.as_str())
    })
}

fn output_type(node: &Node, index: usize, types: &Types<'_>) -> Option<Element> {
    let input = |at: usize| node.input.get(at).and_then(|name| types.get(name));
    match (node.op_type.as_str(), index) {
        _ if !is_standard(&node.domain) => None,
        ("Cast", _) => node.attribute("to").and_then(|to| i32::try_from(to.i).ok()).map(Element),
        ("Constant", _) => constant_type(node),
        ("ConstantOfShape", _) => {
            Some(constant(node).map_or(Element::FLOAT, |tensor| Element(tensor.data_type)))
        }
        ("Shape" | "Size" | "NonZero" | "ArgMax" | "ArgMin", _) | ("TopK" | "MaxPool", 1) => {
            Some(Element::INT64)
        }
        ("Dropout", 1) => Some(Element::BOOL),
        ("ConvInteger" | "MatMulInteger", _) => Some(Element::INT32),
        ("DynamicQuantizeLinear", 1) => Some(Element::FLOAT),
        ("DynamicQuantizeLinear", _) => Some(Element::UINT8),
        ("DequantizeLinear", _) => input(1),
        ("QuantizeLinear", _) => input(2),
        ("LayerNormalization", 1..) => None,
        _ => match rule(node) {
            Rule::Unknown => None,
            Rule::Compare => Some(Element::BOOL),
            _ => bound_inputs(node).find_map(|name| types.get(name)),
        },
    }
}

fn constant_type(node: &Node) -> Option<Element> {
    if let Some(tensor) = constant(node) {
        return Some(Element(tensor.data_type));
    }
    let has = |name| node.attribute(name).is_some();
    if has("value_float") || has("value_floats") {
        Some(Element::FLOAT)
    } else if has("value_int") || has("value_ints") {
        Some(Element::INT64)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::artifact::testing::{cast, declared, graph, node, weights};

    #[test]
    fn converter_names() {
        for (name, is) in [
            ("/transformer/TopK_input_cast0", true),
            ("graph_output_cast12", true),
            ("a_input_cast", false),
            ("input_cast0_b", false),
            ("a_cast0", false),
        ] {
            assert_eq!(is_converter_name(name), is, "{name}");
        }
        let found = read(&graph(vec![cast("x_input_cast0", "input", "a", 10)]));
        assert_eq!(found.converter_casts.examples, ["x_input_cast0"]);
    }

    #[test]
    fn repeated_names_are_counted_once_each() {
        let relu = |name: &str, output: &str| node("Relu", name, &["input"], &[output]);
        let found = read(&graph(vec![
            relu("a", "x"),
            relu("a", "y"),
            relu("a", "y"),
            relu("", "z"),
            relu("", "w"),
        ]));
        assert_eq!(found.duplicate_names, Named { count: 1, examples: vec!["a".to_owned()] });
        assert_eq!(found.two_producers, Named { count: 1, examples: vec!["y".to_owned()] });
        let clean = read(&graph(vec![relu("a", "x"), relu("b", "y")]));
        assert_eq!((clean.duplicate_names.count, clean.two_producers.count), (0, 0));
    }

    #[test]
    fn a_cast_that_feeds_itself() {
        let found = read(&graph(vec![cast("loop", "t", "t", 1)]));
        assert_eq!(found.self_loop_casts.examples, ["loop"]);
        assert_eq!(read(&graph(vec![cast("c", "t", "u", 1)])).self_loop_casts.count, 0);
    }

    #[test]
    fn a_cast_to_the_type_it_has() {
        let found = read(&graph(vec![cast("c", "input", "u", 1), cast("d", "u", "v", 10)]));
        assert_eq!(found.same_type_casts.examples, ["c (FLOAT)"]);
    }

    #[test]
    fn a_float32_input_meets_a_float16_kernel() {
        let mut half = graph(vec![node("Conv", "/patch/Conv", &["input", "w"], &["y"])]);
        half.initializer = vec![weights("w", 10, &[1, 3, 1, 1])];
        let found = read(&half);
        assert_eq!(
            found.float_mixes.examples,
            ["Conv /patch/Conv reads FLOAT input and FLOAT16 w"]
        );
        half.node.insert(0, cast("c", "input", "h", 10));
        half.node[1].input[0] = "h".to_owned();
        assert_eq!(read(&half).float_mixes.count, 0, "with the cast put back");
    }

    #[test]
    fn a_cast_left_at_float32_in_a_float16_graph() {
        let mut left = graph(vec![
            cast("in", "input", "h", 10),
            cast("left", "h", "f", 1),
            node("Add", "add", &["f", "b"], &["y"]),
        ]);
        left.initializer = vec![weights("b", 10, &[1])];
        left.value_info = vec![declared("f", 10)];
        let found = read(&left);
        assert_eq!(found.float_mixes.examples, ["Add add reads FLOAT f and FLOAT16 b"]);
        assert_eq!(
            found.declared_otherwise.examples,
            ["f of Cast left (declared FLOAT16, computed FLOAT)"]
        );
    }

    #[test]
    fn unknown_operators_make_nothing_up() {
        let mut mixed = graph(vec![
            cast("c", "input", "h", 10),
            node("Mystery", "m", &["h", "input"], &["y"]),
            node("Add", "add", &["y", "h"], &["z"]),
            node("Gather", "g", &["input", "h"], &["q"]),
            node("Where", "w", &["h", "input", "input"], &["r"]),
        ]);
        assert_eq!(read(&mixed).float_mixes.count, 0);
        mixed.value_info = vec![declared("y", 1)];
        assert_eq!(read(&mixed).float_mixes.count, 1, "a declaration makes it known");
    }

    #[test]
    fn types_of_quantised_operators() {
        let quantised = graph(vec![
            node("DynamicQuantizeLinear", "q", &["input"], &["i", "s", "z"]),
            node("ConvInteger", "c", &["i", "w"], &["acc"]),
            cast("back", "acc", "f", 1),
            node("Mul", "scale", &["f", "s"], &["y"]),
        ]);
        let found = read(&quantised);
        assert_eq!((found.float_mixes.count, found.same_type_casts.count), (0, 0));
    }

    #[test]
    fn lists_say_how_many_more() {
        let mut named = Named::default();
        for index in 0..7 {
            named.add(|| index.to_string());
        }
        assert_eq!(named.list(), "0, 1, 2, 3, 4 and 2 more");
    }
}
