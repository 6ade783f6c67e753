//! Writes tiny detectors as ONNX files: no exporter, no shared data, a few kilobytes each.
//!
//! Input `input` [1, 3, 8, 8]; outputs `dets` [1, SLOTS, 4] and `labels` [1, SLOTS, columns]. A logit is
//! its bias plus a small share of the picture's brightness, so that pictures differ.

/// Query slots.
pub(crate) const SLOTS: usize = 6;

/// What a test changes in a model.
#[derive(Debug, Clone)]
pub(crate) struct Tiny {
    /// Class columns.
    pub columns: usize,
    /// Of each slot and column.
    pub bias: Vec<f32>,
    /// Version of the file format.
    pub ir_version: u64,
    /// Give two nodes the same name.
    pub same_names: bool,
    /// Name a file for weights that are not here.
    pub external: Option<&'static str>,
}

impl Tiny {
    /// One that finds something in most pictures: each slot has one likely class.
    pub(crate) fn new(columns: usize) -> Self {
        let bias = (0..SLOTS * columns)
            .map(|index| {
                let (slot, column) = (index / columns, index % columns);
                if column == slot % 2 { 0.4 - slot as f32 * 0.3 } else { -4.0 }
            })
            .collect();
        Self { columns, bias, ir_version: 8, same_names: false, external: None }
    }

    /// All biases moved.
    #[must_use]
    pub(crate) fn shifted(mut self, by: f32) -> Self {
        self.bias.iter_mut().for_each(|bias| *bias += by);
        self
    }

    /// The file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let inputs = 3 * 8 * 8;
        let logits = SLOTS * self.columns;
        let names = if self.same_names { ["m", "m"] } else { ["m", "n"] };
        // Boxes in places of their own: centre, width, height.
        let boxes: Vec<f32> =
            (0..SLOTS).flat_map(|slot| [0.1 + 0.15 * slot as f32, 0.5, 0.1, 0.3]).collect();
        let mut graph = [
            node("Flatten", "flat", &["input"], "pixels"),
            node("MatMul", names[0], &["pixels", "wl"], "l0"),
            node("Add", "bias", &["l0", "bl"], "l1"),
            node("Reshape", "shape", &["l1", "sl"], "labels"),
            node("MatMul", names[1], &["pixels", "wd"], "d0"),
            node("Add", "place", &["d0", "bd"], "d1"),
            node("Reshape", "boxes", &["d1", "sd"], "dets"),
        ]
        .concat();
        graph.extend(text(2, "g"));
        graph.extend(floats("wl", &[inputs, logits], &vec![0.01; inputs * logits]));
        graph.extend(floats("bl", &[logits], &self.bias));
        graph.extend(shape("sl", &[1, SLOTS, self.columns]));
        graph.extend(floats("wd", &[inputs, SLOTS * 4], &vec![0.0; inputs * SLOTS * 4]));
        graph.extend(floats("bd", &[SLOTS * 4], &boxes));
        graph.extend(shape("sd", &[1, SLOTS, 4]));
        if let Some(location) = self.external {
            graph.extend(elsewhere(location));
        }
        graph.extend(value(11, "input", &[1, 3, 8, 8]));
        graph.extend(value(12, "dets", &[1, SLOTS, 4]));
        graph.extend(value(12, "labels", &[1, SLOTS, self.columns]));
        [number(1, self.ir_version), message(7, &graph), message(8, &number(2, 17))].concat()
    }
}

/// A sidecar of that many classes.
pub(crate) fn sidecar(classes: &[&str], threshold: f64) -> String {
    serde_json::json!({
        "architecture": "rfdetr", "classes": classes, "classCount": classes.len(),
        "confThresholdRecommended": threshold, "inputShape": [1, 3, 8, 8], "modelName": "tiny",
        "normalization": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]},
        "version": "v1.0.0-fp32",
    })
    .to_string()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn message(field: u64, body: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(body.len() as u64), body.to_vec()].concat()
}

fn text(field: u64, text: &str) -> Vec<u8> {
    message(field, text.as_bytes())
}

fn node(op: &str, name: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let mut body: Vec<u8> = inputs.iter().flat_map(|input| text(1, input)).collect();
    body.extend([text(2, output), text(3, name), text(4, op)].concat());
    message(1, &body)
}

fn tensor(name: &str, element: u64, dims: &[usize], data: &[u8]) -> Vec<u8> {
    let mut body: Vec<u8> = dims.iter().flat_map(|size| number(1, *size as u64)).collect();
    body.extend([number(2, element), text(8, name), message(9, data)].concat());
    message(5, &body)
}

fn floats(name: &str, dims: &[usize], values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor(name, 1, dims, &data)
}

fn shape(name: &str, axes: &[usize]) -> Vec<u8> {
    let data: Vec<u8> = axes.iter().flat_map(|axis| (*axis as u64).to_le_bytes()).collect();
    tensor(name, 7, &[axes.len()], &data)
}

fn elsewhere(location: &str) -> Vec<u8> {
    let entry = [text(1, "location"), text(2, location)].concat();
    let body = [number(1, 4), number(2, 1), text(8, "far"), message(13, &entry), number(14, 1)];
    message(5, &body.concat())
}

fn value(field: u64, name: &str, dims: &[usize]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|size| message(1, &number(1, *size as u64))).collect();
    let tensor = [number(1, 1), message(2, &dims)].concat();
    message(field, &[text(1, name), message(2, &message(1, &tensor))].concat())
}
