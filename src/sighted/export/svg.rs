//! Curves and boxes as SVG. Sides differ by line style, not by colour alone.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::dossier::{Crop, Curve, CurvePoint};
use crate::domain::escape::escape_html;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;

/// The two sides, as style sheet classes.
const SIDES: [&str; 2] = ["a", "b"];

/// One curve: both sides with bands, the operating point, axes from 0 to 1.
pub(super) fn curve(curve: &Curve, operating_point: f64) -> String {
    let x = |threshold: f64| LEFT + threshold.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
    let y = |rate: f64| HEIGHT - BOTTOM - rate.clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM);
    let mut out = format!(
        "<svg class=\"curve\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape_html(&format!("{} against confidence threshold, both artifacts", curve.name))
    );
    for step in 0..=5_u32 {
        let share = f64::from(step) / 5.0;
        let (across, up) = (x(share), y(share));
        // Writing to a String cannot fail, here and below.
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {up:.1}H{:.1}M{across:.1} {TOP}V{:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.0} %</text>\
             <text x=\"{across:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{share:.1}</text>",
            WIDTH - RIGHT,
            HEIGHT - BOTTOM,
            LEFT - 6.0,
            up + 4.0,
            share * 100.0,
            HEIGHT - BOTTOM + 16.0,
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">confidence threshold</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 8.0
    );
    let rate = |point: &CurvePoint, side: usize| [point.rate.a, point.rate.b][side];
    let band = |point: &CurvePoint, side: usize| point.band.map(|band| [band.a, band.b][side]);
    for (side, class) in SIDES.iter().enumerate() {
        let upper: Vec<(f64, f64)> = curve
            .points
            .iter()
            .filter_map(|point| Some((point.threshold, band(point, side)?[1])))
            .collect();
        let lower: Vec<(f64, f64)> = curve
            .points
            .iter()
            .rev()
            .filter_map(|point| Some((point.threshold, band(point, side)?[0])))
            .collect();
        if upper.len() > 1 {
            let corners: Vec<String> = upper
                .iter()
                .chain(&lower)
                .map(|(threshold, rate)| format!("{:.1},{:.1}", x(*threshold), y(*rate)))
                .collect();
            let _ =
                write!(out, "<polygon class=\"band {class}\" points=\"{}\"/>", corners.join(" "));
        }
    }
    for (side, class) in SIDES.iter().enumerate() {
        let corners: Vec<String> = curve
            .points
            .iter()
            .filter(|point| rate(point, side).is_finite())
            .map(|point| format!("{:.1},{:.1}", x(point.threshold), y(rate(point, side))))
            .collect();
        let _ = write!(out, "<polyline class=\"line {class}\" points=\"{}\"/>", corners.join(" "));
    }
    let at = x(operating_point);
    let _ =
        write!(out, "<path class=\"point\" d=\"M{at:.1} {TOP}V{:.1}\"/></svg>", HEIGHT - BOTTOM);
    out
}

/// Slot flips and real flips by threshold, as bars.
pub(super) fn bars(rows: &[(f64, u64, Option<u64>)]) -> String {
    let most = rows.iter().map(|(_, slots, _)| *slots).max().unwrap_or(0).max(1);
    let height = 150.0;
    let count = |value: u64| f64::from(u32::try_from(value).unwrap_or(u32::MAX));
    let mut out = format!(
        "<svg class=\"curve\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"flips by threshold\">"
    );
    let step = (WIDTH - LEFT - RIGHT) / count(rows.len().max(1) as u64);
    for (index, (threshold, slots, real)) in rows.iter().enumerate() {
        let left = LEFT + step * count(index as u64);
        let tall = |value: u64| (height - 44.0) * count(value) / count(most);
        let mut bar = |class: &str, offset: f64, value: u64| {
            let (wide, tall) = (step * 0.32, tall(value));
            let _ = write!(
                out,
                "<rect class=\"bar {class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{tall:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{value}</text>",
                left + step * offset,
                height - 24.0 - tall,
                left + step * offset + wide / 2.0,
                height - 28.0 - tall,
            );
        };
        bar("slots", 0.15, *slots);
        if let Some(real) = real {
            bar("real", 0.5, *real);
        }
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            left + step / 2.0,
            height - 6.0,
            crate::domain::canonical::float_text(*threshold)
        );
    }
    out.push_str("</svg>");
    out
}

/// A crop with both boxes over it; `label` says in words what is seen.
pub(super) fn crop(crop: &Crop, label: &str) -> String {
    let (width, height) = (crop.width, crop.height);
    let mut out = format!(
        "<svg class=\"crop\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\
         <image width=\"{width}\" height=\"{height}\" href=\"data:image/jpeg;base64,{}\"/>",
        escape_html(label),
        STANDARD.encode(&crop.jpeg)
    );
    let boxes = [(crop.boxes.a, crop.faint.a), (crop.boxes.b, crop.faint.b)];
    for (class, (corners, faint)) in SIDES.iter().zip(boxes) {
        let Some([x0, y0, x1, y1]) = corners else { continue };
        let faint = if faint { " low" } else { "" };
        // A light line under a dark one shows on any picture.
        for layer in ["halo", "edge"] {
            let _ = write!(
                out,
                "<rect class=\"{layer} {class}{faint}\" x=\"{x0:.1}\" y=\"{y0:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                (x1 - x0).max(0.0),
                (y1 - y0).max(0.0)
            );
        }
    }
    out.push_str("</svg>");
    out
}
