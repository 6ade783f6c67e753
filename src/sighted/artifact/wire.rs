//! A first walk over the protobuf wire of a model, before anything is allocated for it.
//!
//! It proves that every length fits, that nesting is bounded, and that there are not more nodes,
//! initializers, attributes or small parts than a real model has: a crafted file of a few megabytes
//! could otherwise ask for gigabytes. It keeps nothing.

/// Most nodes, those of subgraphs and functions included.
pub(super) const MAX_NODES: usize = 200_000;
/// Most initializers, dense and sparse.
pub(super) const MAX_INITIALIZERS: usize = 100_000;
/// Most attributes: ten a node for the largest model is already much.
pub(super) const MAX_ATTRIBUTES: usize = 1_000_000;
/// Most messages, names and dimensions together.
pub(super) const MAX_PARTS: usize = 4_000_000;
/// Deepest nesting of messages; three levels make one subgraph.
pub(super) const MAX_DEPTH: usize = 100;

/// Why bytes are not a model we read on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::sighted) enum WireFault {
    /// A part says it is longer than what is left.
    #[error("truncated: a part at byte {at} claims {claimed} bytes where {left} are left")]
    Truncated {
        /// Where the part begins.
        at: usize,
        /// Its claimed length.
        claimed: u64,
        /// What is left of its surroundings.
        left: usize,
    },
    /// Not the protobuf wire format.
    #[error("not protobuf: {what} at byte {at}")]
    Malformed {
        /// What was found.
        what: &'static str,
        /// Where.
        at: usize,
    },
    /// More of something than is accepted.
    #[error("more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The most accepted.
        limit: usize,
    },
    /// Nested beyond the limit.
    #[error("nested deeper than {MAX_DEPTH} levels, at byte {at}")]
    TooDeep {
        /// Where the first message too deep begins.
        at: usize,
    },
}

/// Messages of the schema that are looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    SparseTensor,
    ValueInfo,
    Type,
    TensorType,
    Shape,
    Function,
    Training,
    /// Holds names and numbers only.
    Flat,
}

/// What a field means for the walk.
enum Content {
    /// A message, to be entered.
    Message(Kind),
    /// A packed list that is decoded into eight bytes per item.
    Numbers,
    /// A name.
    Name,
    /// Payload or unknown: stepped over.
    Skipped,
}

fn content(kind: Kind, field: u64) -> Content {
    use Content::{Message, Name, Numbers, Skipped};
    match (kind, field) {
        (Kind::Model, 7) | (Kind::Training, 1 | 2) | (Kind::Attribute, 6 | 11) => {
            Message(Kind::Graph)
        }
        (Kind::Model, 8 | 14) | (Kind::Tensor, 13) | (Kind::Shape, 1) => Message(Kind::Flat),
        (Kind::Model, 20) => Message(Kind::Training),
        (Kind::Model, 25) => Message(Kind::Function),
        (Kind::Graph, 1) | (Kind::Function, 7) => Message(Kind::Node),
        (Kind::Graph, 5) | (Kind::SparseTensor, 1 | 2) | (Kind::Attribute, 5 | 10) => {
            Message(Kind::Tensor)
        }
        (Kind::Graph, 11..=13) | (Kind::Function, 12) => Message(Kind::ValueInfo),
        (Kind::Graph, 15) | (Kind::Attribute, 22 | 23) => Message(Kind::SparseTensor),
        (Kind::Node, 5) | (Kind::Function, 11) => Message(Kind::Attribute),
        (Kind::ValueInfo, 2) => Message(Kind::Type),
        (Kind::Type, 1) => Message(Kind::TensorType),
        (Kind::TensorType, 2) => Message(Kind::Shape),
        (Kind::Tensor, 1) | (Kind::SparseTensor, 3) => Numbers,
        (Kind::Node, 1..=4 | 7) | (Kind::Attribute, 1) | (Kind::Tensor, 4 | 7 | 8 | 10) => Name,
        (Kind::Flat, 1 | 2) | (Kind::ValueInfo | Kind::Function, 1) => Name,
        _ => Skipped,
    }
}

#[derive(Default)]
struct Counts {
    nodes: usize,
    initializers: usize,
    attributes: usize,
    parts: usize,
}

impl Counts {
    fn add_message(&mut self, parent: Kind, kind: Kind) -> Result<(), WireFault> {
        match kind {
            Kind::Node => raise(&mut self.nodes, 1, MAX_NODES, "nodes")?,
            Kind::Attribute => raise(&mut self.attributes, 1, MAX_ATTRIBUTES, "attributes")?,
            Kind::Tensor | Kind::SparseTensor if parent == Kind::Graph => {
                raise(&mut self.initializers, 1, MAX_INITIALIZERS, "initializers")?;
            }
            _ => {}
        }
        self.add_parts(1)
    }

    fn add_parts(&mut self, parts: usize) -> Result<(), WireFault> {
        raise(&mut self.parts, parts, MAX_PARTS, "names, dimensions and messages")
    }
}

fn raise(count: &mut usize, by: usize, limit: usize, what: &'static str) -> Result<(), WireFault> {
    *count = count.saturating_add(by);
    if *count > limit { Err(WireFault::TooMany { what, limit }) } else { Ok(()) }
}

/// Walks the whole of `bytes` as a model.
pub(super) fn check(bytes: &[u8]) -> Result<(), WireFault> {
    let mut counts = Counts::default();
    // Open messages, outermost first, each with the byte it ends before.
    let mut open = vec![(Kind::Model, bytes.len())];
    let mut at = 0;
    while let Some(&(kind, end)) = open.last() {
        if at == end {
            open.pop();
            continue;
        }
        let start = at;
        let key = varint(bytes, &mut at, end)?;
        let (field, wire_type) = (key >> 3, key & 7);
        if field == 0 {
            return Err(WireFault::Malformed { what: "field number 0", at: start });
        }
        match wire_type {
            0 => {
                varint(bytes, &mut at, end)?;
                if matches!(content(kind, field), Content::Numbers) {
                    counts.add_parts(1)?;
                }
            }
            1 => at = advance(start, at, 8, end)?,
            5 => at = advance(start, at, 4, end)?,
            2 => {
                let length = varint(bytes, &mut at, end)?;
                let after = advance(start, at, length, end)?;
                match content(kind, field) {
                    Content::Message(inner) => {
                        counts.add_message(kind, inner)?;
                        if open.len() >= MAX_DEPTH {
                            return Err(WireFault::TooDeep { at: start });
                        }
                        open.push((inner, after));
                        continue;
                    }
                    Content::Numbers => counts.add_parts(after - at)?,
                    Content::Name => counts.add_parts(1)?,
                    Content::Skipped => {}
                }
                at = after;
            }
            _ => return Err(WireFault::Malformed { what: "an unknown wire type", at: start }),
        }
    }
    Ok(())
}

fn advance(start: usize, at: usize, length: u64, end: usize) -> Result<usize, WireFault> {
    let left = end - at;
    match usize::try_from(length) {
        Ok(length) if length <= left => Ok(at + length),
        _ => Err(WireFault::Truncated { at: start, claimed: length, left }),
    }
}

fn varint(bytes: &[u8], at: &mut usize, end: usize) -> Result<u64, WireFault> {
    let start = *at;
    let mut value = 0_u64;
    for shift in (0..70).step_by(7) {
        if *at == end {
            return Err(WireFault::Truncated { at: start, claimed: 1, left: 0 });
        }
        let byte = bytes[*at];
        *at += 1;
        // The tenth byte holds one bit more of a 64-bit number.
        if shift == 63 && byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(WireFault::Malformed { what: "a number longer than 64 bits", at: start })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sighted::artifact::onnx::{Attribute, Graph, Model, Node};
    use proptest::prelude::*;
    use prost::Message as _;

    fn with_graph(graph: Graph) -> Vec<u8> {
        Model { graph: Some(graph), ..Model::default() }.encode_to_vec()
    }

    /// A graph inside an attribute inside a node inside a graph, `levels` times.
    fn nested(levels: usize) -> Vec<u8> {
        let mut graph = Graph::default();
        for _ in 0..levels {
            let attribute = Attribute { g: Some(Box::new(graph)), ..Attribute::default() };
            let node = Node { attribute: vec![attribute], ..Node::default() };
            graph = Graph { node: vec![node], ..Graph::default() };
        }
        with_graph(graph)
    }

    #[test]
    fn nesting_is_bounded() {
        // Model and outermost graph take two levels, each subgraph three.
        assert_eq!(check(&nested(32)), Ok(()));
        assert!(matches!(check(&nested(33)), Err(WireFault::TooDeep { .. })));
        assert!(matches!(check(&nested(1000)), Err(WireFault::TooDeep { .. })));
    }

    /// A length-delimited field with this body.
    fn field(number: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![number << 3 | 2];
        prost::encoding::encode_varint(body.len() as u64, &mut bytes);
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn counts_are_bounded() {
        let graph = |part: Vec<u8>, count| field(7, &part.repeat(count));
        let fault = |bytes: Vec<u8>| check(&bytes).expect_err("too many").to_string();
        assert_eq!(check(&graph(field(1, b""), MAX_NODES)), Ok(()));
        assert_eq!(fault(graph(field(1, b""), MAX_NODES + 1)), "more than 200000 nodes");
        for initializer in [5, 15] {
            assert_eq!(check(&graph(field(initializer, b""), MAX_INITIALIZERS)), Ok(()));
            let over = fault(graph(field(initializer, b""), MAX_INITIALIZERS + 1));
            assert_eq!(over, "more than 100000 initializers");
        }
        let attributes = field(5, b"").repeat(MAX_ATTRIBUTES + 1);
        assert_eq!(fault(graph(field(1, &attributes), 1)), "more than 1000000 attributes");
        let parts = "more than 4000000 names, dimensions and messages";
        assert_eq!(fault(graph(field(13, b""), MAX_PARTS + 1)), parts);
        let dims = vec![0; MAX_PARTS];
        assert_eq!(fault(graph(field(5, &field(1, &dims)), 1)), parts);
        assert_eq!(check(&graph(field(5, &field(1, &dims[..1000])), 1)), Ok(()));
    }

    #[test]
    fn lengths_must_fit() {
        // Field 7, length 2³¹ − 1, and nothing behind it.
        let fault = check(&[0x3a, 0xff, 0xff, 0xff, 0xff, 0x07]).expect_err("nothing there");
        assert_eq!(
            fault.to_string(),
            "truncated: a part at byte 0 claims 2147483647 bytes where 0 are left"
        );
        let whole = nested(2);
        assert_eq!(check(&whole), Ok(()));
        for cut in 1..whole.len() {
            assert!(check(&whole[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn other_wires_are_refused() {
        for bytes in [&b"\x00\x01"[..], b"\x3b", b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"] {
            assert!(matches!(check(bytes), Err(WireFault::Malformed { .. })), "{bytes:?}");
        }
        assert_eq!(check(b""), Ok(()), "an empty message is one");
        assert_eq!(check(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Ok(()));
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            // What passes must decode or fail as a value, never panic.
            if check(&bytes).is_ok() {
                let _ = Model::decode(bytes.as_slice());
            }
        }
    }
}
