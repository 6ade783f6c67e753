//! How a graph fills its query slots.
//!
//! When a TopK ranks candidates and the slots are gathered by its indices, a slot's number is a rank: any
//! rounding before it can permute the list, and a comparison slot by slot then counts one detection
//! that changed its number twice. Found by walking, without running.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::fingerprint::constant;
use super::onnx::{Graph, Node, Tensor};
use crate::domain::escape::escape;

/// What fills the slots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub(in crate::sighted) enum SlotFill {
    /// No selection on the way to the outputs was recognised.
    Fixed,
    /// One TopK takes as many candidates as there are slots: a slot is a rank.
    Ranked {
        /// The node, escaped.
        node: String,
        /// How many it takes, when that is written in the graph.
        k: Option<i64>,
    },
    /// A TopK or ArgMax picks within each of many parts: a slot keeps its part.
    PickedPerPart {
        /// The node, escaped.
        node: String,
    },
}

/// Reads it off the main graph. `slots` is the number of query slots, when the outputs say.
pub(super) fn read(graph: &Graph, slots: Option<i64>) -> SlotFill {
    let paths = Paths::of(graph);
    let needed = paths.ancestors_of_outputs(graph);
    let mut picked = None;
    for (index, node) in graph.node.iter().enumerate() {
        let selects = node.is("TopK") || node.is("ArgMax") || node.is("ArgMin");
        if !selects || !needed.contains(&index) {
            continue;
        }
        let (indices, values) = if node.is("TopK") { (1, Some(0)) } else { (0, None) };
        let gathers = paths.reaches_gather(graph, node.output.get(indices), &needed);
        let k = if node.is("TopK") { top_k(graph, &paths, node) } else { Some(1) };
        // Fewer than there are slots: it cannot be the list that fills them.
        let is_list = match (k, slots) {
            (Some(k), Some(slots)) => k >= slots,
            (Some(k), None) => k > 1,
            (None, _) => true,
        };
        let used = values.and_then(|at| node.output.get(at)).is_some_and(|name| {
            paths.readers(name).iter().any(|reader| needed.contains(reader))
                || graph.output.iter().any(|output| output.name == *name)
        });
        let label = || escape(node.label()).into_owned();
        if is_list && (gathers || used) {
            return SlotFill::Ranked { node: label(), k };
        }
        if gathers && picked.is_none() {
            picked = Some(SlotFill::PickedPerPart { node: label() });
        }
    }
    picked.unwrap_or(SlotFill::Fixed)
}

/// Who writes and who reads each tensor of the main graph.
struct Paths<'graph> {
    producer: HashMap<&'graph str, usize>,
    readers: HashMap<&'graph str, Vec<usize>>,
    initializers: HashMap<&'graph str, &'graph Tensor>,
}

impl<'graph> Paths<'graph> {
    fn of(graph: &'graph Graph) -> Self {
        let mut producer = HashMap::new();
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, node) in graph.node.iter().enumerate() {
            for output in &node.output {
                producer.insert(output.as_str(), index);
            }
            for input in &node.input {
                readers.entry(input.as_str()).or_default().push(index);
            }
        }
        let initializers =
            graph.initializer.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
        Self { producer, readers, initializers }
    }

    fn readers(&self, name: &str) -> &[usize] {
        self.readers.get(name).map_or(&[], Vec::as_slice)
    }

    fn ancestors_of_outputs(&self, graph: &Graph) -> HashSet<usize> {
        let mut seen = HashSet::new();
        let mut open: Vec<usize> = graph
            .output
            .iter()
            .filter_map(|output| self.producer.get(output.name.as_str()).copied())
            .collect();
        while let Some(index) = open.pop() {
            if seen.insert(index)
                && let Some(node) = graph.node.get(index)
            {
                let inputs = node.input.iter();
                open.extend(inputs.filter_map(|name| self.producer.get(name.as_str()).copied()));
            }
        }
        seen
    }

    /// Whether indices in `from` select rows of something the outputs need, directly or after being
    /// reshaped, cast or offset.
    fn reaches_gather(
        &self,
        graph: &Graph,
        from: Option<&String>,
        needed: &HashSet<usize>,
    ) -> bool {
        let mut seen: HashSet<usize> = HashSet::new();
        let mut open: Vec<&str> = from.into_iter().map(String::as_str).collect();
        while let Some(name) = open.pop() {
            for index in self.readers(name).iter().filter(|index| needed.contains(index)) {
                let Some(node) = graph.node.get(*index) else { continue };
                if is_gather(node) && node.input.get(1).is_some_and(|input| input == name) {
                    return true;
                }
                if keeps_indices(node) && seen.insert(*index) {
                    open.extend(node.output.iter().map(String::as_str));
                }
            }
        }
        false
    }
}

fn is_gather(node: &Node) -> bool {
    ["Gather", "GatherElements", "GatherND"].into_iter().any(|op| node.is(op))
}

/// Operators that carry indices on.
fn keeps_indices(node: &Node) -> bool {
    const CARRIERS: [&str; 16] = [
        "Add",
        "Cast",
        "Concat",
        "Div",
        "Expand",
        "Flatten",
        "Identity",
        "Mod",
        "Mul",
        "Reshape",
        "Slice",
        "Squeeze",
        "Sub",
        "Tile",
        "Transpose",
        "Unsqueeze",
    ];
    CARRIERS.into_iter().any(|op| node.is(op))
}

/// The k of a TopK: an attribute in old operator sets, else an input that is a constant.
fn top_k(graph: &Graph, paths: &Paths<'_>, node: &Node) -> Option<i64> {
    if let Some(attribute) = node.attribute("k") {
        return Some(attribute.i);
    }
    let mut name = node.input.get(1)?.as_str();
    // Exporters wrap the constant in a Reshape or Cast or two.
    for _ in 0..8 {
        if let Some(tensor) = paths.initializers.get(name) {
            return single_int(tensor);
        }
        let producer = graph.node.get(*paths.producer.get(name)?)?;
        if producer.is("Constant") {
            let ints = producer.attribute("value_int").map(|attribute| attribute.i);
            return constant(producer).and_then(single_int).or(ints);
        }
        let wraps = ["Reshape", "Cast", "Unsqueeze", "Squeeze", "Identity"];
        if !wraps.into_iter().any(|op| producer.is(op)) {
            return None;
        }
        name = producer.input.first()?;
    }
    None
}

/// The value of a tensor with one 64-bit or 32-bit integer.
fn single_int(tensor: &Tensor) -> Option<i64> {
    if let Some(raw) = &tensor.raw_data {
        return match raw.as_ref() {
            bytes if bytes.len() == 8 => Some(i64::from_le_bytes(bytes.try_into().ok()?)),
            bytes if bytes.len() == 4 => Some(i32::from_le_bytes(bytes.try_into().ok()?).into()),
            _ => None,
        };
    }
    let mut packed = tensor.int64_data.first()?.clone();
    let value = prost::encoding::decode_varint(&mut packed).ok()?;
    packed.is_empty().then_some(value.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::artifact::testing::{graph, int_tensor, node};

    /// Score → TopK → indices → Unsqueeze → GatherElements → layers → output.
    fn two_stage(k: i64) -> Graph {
        let mut made = graph(vec![
            node("ReduceMax", "max", &["input"], &["score"]),
            node("TopK", "/transformer/TopK", &["score", "k"], &["top", "index"]),
            node("Unsqueeze", "u", &["index", "axis"], &["wide"]),
            node("GatherElements", "g", &["input", "wide"], &["proposals"]),
            node("MatMul", "decoder", &["proposals", "w"], &["dets"]),
        ]);
        made.initializer = vec![int_tensor("k", k)];
        made.output[0].name = "dets".to_owned();
        made
    }

    #[test]
    fn a_topk_as_long_as_the_slots_ranks_them() {
        let expected = SlotFill::Ranked { node: "/transformer/TopK".to_owned(), k: Some(300) };
        assert_eq!(read(&two_stage(300), Some(300)), expected);
        assert_eq!(read(&two_stage(300), None), expected);
    }

    #[test]
    fn a_k_computed_at_run_time_may_rank_them() {
        let mut made = two_stage(300);
        made.initializer.clear();
        let node = "/transformer/TopK".to_owned();
        assert_eq!(read(&made, Some(300)), SlotFill::Ranked { node, k: None });
    }

    #[test]
    fn one_pick_per_part_keeps_slots_in_place() {
        let node = "/transformer/TopK".to_owned();
        assert_eq!(read(&two_stage(1), Some(300)), SlotFill::PickedPerPart { node });
    }

    #[test]
    fn a_selection_the_outputs_do_not_need_does_not_count() {
        let mut made = two_stage(300);
        made.node[4].input[0] = "input".to_owned();
        assert_eq!(read(&made, Some(300)), SlotFill::Fixed);
        let mut made = two_stage(300);
        made.node[3].input[1] = "other".to_owned();
        assert_eq!(read(&made, Some(300)), SlotFill::Fixed, "neither values nor indices are used");
    }

    #[test]
    fn ranked_values_count_without_their_indices() {
        let mut made = two_stage(300);
        made.node[4].input[0] = "top".to_owned();
        assert!(matches!(read(&made, Some(300)), SlotFill::Ranked { .. }));
    }

    #[test]
    fn the_k_is_found_behind_a_reshape_and_in_packed_data() {
        let mut made = two_stage(300);
        let mut tensor = int_tensor("packed", 300);
        tensor.raw_data = None;
        tensor.int64_data = vec![bytes::Bytes::from_static(&[0xac, 0x02])];
        made.initializer = vec![tensor];
        made.node.insert(0, node("Reshape", "r", &["packed", "shape"], &["k"]));
        assert!(matches!(read(&made, Some(300)), SlotFill::Ranked { k: Some(300), .. }));
    }
}
