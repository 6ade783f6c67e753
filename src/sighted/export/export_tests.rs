//! Documents: complete with whatever there is, inert, the same bytes every time.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::dossier::{
    ArtifactLine, CategoryLine, Change, Crop, Curve, CurvePoint, DifferingLine, Dossier, Fact,
    Found, OutputLine, Pair, RateLine, SetLine, SignOffBlock, ThresholdLine,
};
use super::{foreign, html, markdown, wire};
use crate::domain::digest::ReportHash;
use crate::sighted::decision::foreign_report::ForeignReport;

/// A dossier with something in every place; `text` stands wherever data from outside does.
fn full(text: &str) -> Dossier {
    let own = || text.to_owned();
    let found = || Found { class: own(), confidence: 0.4321, slot: 17 };
    let fact = || vec![Fact::new(text, text)];
    let band = Some(Pair { a: [0.4, 0.6], b: [0.3, 0.5] });
    Dossier {
        title: own(),
        generated_at: own(),
        operating_point: 0.4,
        artifacts: Pair {
            a: ArtifactLine { name: own(), bytes: 1, sha256: own() },
            b: ArtifactLine { name: own(), bytes: 2, sha256: own() },
        },
        sentences: vec![own()],
        warnings: vec![own()],
        thresholds: vec![
            ThresholdLine {
                threshold: 0.4,
                in_force: true,
                detections: Pair { a: 202, b: 202 },
                flips: Pair { a: 56, b: 56 },
                class_flips: 19,
                images_with_flip: 50,
                sets: Some(SetLine { real_flips: 70, ..SetLine::default() }),
            },
            ThresholdLine { threshold: 0.5, ..ThresholdLine::default() },
        ],
        curves: vec![Curve {
            name: own(),
            n: 156,
            points: vec![
                CurvePoint { threshold: 0.3, rate: Pair { a: 0.6, b: 0.5 }, band },
                CurvePoint { threshold: 0.4, rate: Pair { a: 0.5, b: 0.4 }, band },
            ],
        }],
        rates: vec![RateLine {
            subset: own(),
            measure: own(),
            sides: [own(), own()],
            discordant: [3, 4],
            difference: own(),
            test: own(),
            blind: own(),
        }],
        categories: vec![CategoryLine {
            name: own(),
            sides: [own(), own()],
            unsure: 2,
            verdict: own(),
            blind: own(),
        }],
        differing: vec![DifferingLine {
            path: own(),
            truth: own(),
            found_by: own(),
            best: [own(), own()],
        }],
        changes: vec![
            Change {
                kind: own(),
                path: own(),
                fixture: own(),
                sides: Pair { a: Some(found()), b: None },
                elsewhere: Pair { a: None, b: Some(found()) },
                crop: Some(Crop {
                    jpeg: vec![0xff, 0xd8, 0xff],
                    width: 360,
                    height: 240,
                    boxes: Pair {
                        a: Some([10.0, 20.0, 110.0, 90.0]),
                        b: Some([12.0, 22.0, 112.0, 92.0]),
                    },
                    faint: Pair { a: false, b: true },
                }),
                no_crop: String::new(),
                verdicts: vec![own()],
            },
            Change {
                kind: own(),
                path: own(),
                fixture: own(),
                sides: Pair { a: None, b: Some(found()) },
                elsewhere: Pair::default(),
                crop: None,
                no_crop: own(),
                verdicts: Vec::new(),
            },
        ],
        changes_left_out: 3,
        coverage: fact(),
        agreement: fact(),
        outputs: vec![OutputLine {
            name: own(),
            elements: 240_000,
            max: 3.0,
            mean: 1e-3,
            p99: 0.5,
            non_finite: Pair { a: 0, b: 1 },
        }],
        circumstances: fact(),
        record: fact(),
        signoffs: vec![SignOffBlock {
            decision: own(),
            standing: true,
            facts: fact(),
            licenses: vec![own()],
            does_not_license: vec![own()],
        }],
        left_out: fact(),
        evidence: fact(),
    }
}

#[test]
fn page_and_text_as_they_are() {
    insta::assert_snapshot!("page", html::page(&full("some text")));
    insta::assert_snapshot!("markdown", markdown::text(&full("some text")));
    insta::assert_snapshot!("json", wire::json(&full("some text")).to_file());
    insta::assert_snapshot!("csv", wire::changes_csv(&full("some text")).expect("written"));
}

#[test]
fn the_same_dossier_gives_the_same_bytes() {
    assert_eq!(html::page(&full("x")), html::page(&full("x")));
}

/// An engine's report, `text` wherever it says something in words.
fn engine(text: &str) -> ForeignReport {
    let none = json!({"count": 0, "fraction": 0.0});
    let times = json!({"p50": 1.0, "p95": 2.0, "min": 0.5, "n": 3});
    let row = |threshold: f64, flips: u64| {
        json!({"threshold": threshold, "detectionsA": 9, "detectionsB": 9, "thresholdFlips": flips,
            "flipsAOnly": flips / 2, "flipsBOnly": flips / 2, "classFlips": 1, "imagesAffected": 1,
            "topKTruncationHits": 0})
    };
    let report = json!({
        "schemaVersion": 1, "generatedAt": text, "comparison": text,
        "artifacts": {
            "a": {"role": "onnx", "path": text, "sha256": "a".repeat(64), "bytes": 1},
            "b": {"role": "tensorrt-engine", "path": text, "sha256": "b".repeat(64), "bytes": 2},
        },
        "environment": {"platform": text, "machine": text, "python": text, "onnxruntime": text,
            "onnxruntimeProviders": [text], "tensorrt": text, "note": text},
        "fixtures": {"count": 1, "first": text},
        "rawOutputs": [{
            "name": text, "elementsCompared": 1, "maxAbsDelta": 0.0, "meanAbsDelta": 0.0,
            "medianAbsDelta": 0.0, "p95AbsDelta": 0.0, "p99AbsDelta": 0.0, "p999AbsDelta": 0.0,
            "maxRelDelta": 0.0, "meanRelDelta": 0.0, "p99RelDelta": 0.0, "relFloor": 1e-6,
            "relElementsCompared": 1, "relElementsSkippedBelowFloor": 0,
            "perImageMaxAbsDelta": {"max": 0.0, "mean": 0.0, "min": 0.0},
            "exceedance": [{"atol": 1e-3, "rtol": 1e-3, "absOnly": none, "relOnly": none,
                "combinedIsclose": none, "and": none, "or": none}],
        }],
        "decode": {"confThresholdRecommended": 0.4, "maxDetections": 100,
            "maxAbsConfidenceDelta": 0.5, "meanPerImageMaxAbsConfidenceDelta": 0.1,
            "maxAbsBoxDelta": 1.0, "thresholds": [row(0.3, 4), row(0.4, 2)]},
        "latencyMs": {"onnxRuntime": times, "tensorrtExecute": times},
        "perImage": [{"image": text, "flips": {"0.3": 4, "0.4": 2}}],
    });
    serde_json::from_value(report).expect("the peer's layout")
}

#[test]
fn an_engine_report_says_what_it_cannot_say_and_its_text_is_inert() {
    let made = |text: &str, point: f64| {
        foreign::dossier(&engine(text), ReportHash::of(b"report"), text, point, &[])
    };
    let page = html::page(&made("some text", 0.4));
    for part in [
        "not pinned by a hash",
        "not comparable",
        "cannot be set-matched",
        "what these changes cost is not known",
        "2 threshold flips by slot and 1 mislabel in 1 image",
        "equal totals hide changes",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("Real flips"), "nobody counted them");
    assert!(html::page(&made("some text", 0.3)).contains("4 threshold flips"));
    assert!(!html::page(&made("some text", 0.35)).contains("threshold flips by slot and"));
    let hostile = html::page(&made("<script>\u{202e}\u{1b}[2J", 0.4));
    assert_eq!(tags(&hostile), tags(&page));
    assert!(!hostile.chars().any(|it| (it.is_control() && it != '\n') || it == '\u{202e}'));
}

/// Tags of a page: names, and their attributes' names.
fn tags(page: &str) -> Vec<String> {
    page.split('<')
        .skip(1)
        .map(|rest| rest.split([' ', '>', '\n']).next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn hostile_text_is_inert() {
    let plain = html::page(&full("plain"));
    for hostile in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "'/><svg onload=alert(1)>",
        "</style><style>*{display:none}</style>",
        "<!-- --><![CDATA[",
        "\u{202e}gpj.exe\u{200b}\u{1b}[2J",
        "&lt;b&gt;&#60;",
        "javascript:alert(1)",
    ] {
        let page = html::page(&full(hostile));
        assert_eq!(tags(&page), tags(&plain), "{hostile}: no tag came from the text");
        assert!(!page.chars().any(|it| it.is_control() && it != '\n'), "{hostile}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{200b}'), "{hostile}");
        let text = markdown::text(&full(hostile));
        assert!(!text.contains("<s") && !text.contains("<i") && !text.contains("<!"), "{text}");
        assert!(!text.chars().any(|it| it.is_control() && it != '\n'), "{hostile}");
    }
}

#[test]
fn markdown_makes_no_links_mentions_or_table_cells_of_data() {
    let text =
        markdown::text(&full("a|b [x](https://e.example) @team `c` **d** https://e.example"));
    assert!(
        !text.contains("[x](") && !text.contains("@team") && !text.contains("https://"),
        "{text}"
    );
    let plain = markdown::text(&full("plain"));
    let pipes = |text: &str| text.replace("\\|", "").matches('|').count();
    assert_eq!(pipes(&text), pipes(&plain));
}

#[test]
fn a_spreadsheet_finds_no_formula() {
    for hostile in ["=1+1", "+1", "-1", "@x"] {
        let csv = wire::changes_csv(&full(hostile)).expect("written");
        assert!(csv.contains(&format!("'{hostile}")), "{csv}");
        assert!(!csv.contains(&format!(",{hostile}")), "{csv}");
    }
}

#[test]
fn what_is_not_there_is_not_mentioned() {
    let page = html::page(&Dossier { title: "empty".to_owned(), ..Dossier::default() });
    for heading in ["<h2>", "<table", "<svg", "class=\"decision"] {
        assert!(!page.contains(heading), "{heading}");
    }
    assert!(html::page(&full("x")).contains("<h2>"));
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn the_page_asks_for_nothing_and_its_policy_allows_its_own_style() {
    let page = html::page(&full("x"));
    for request in ["http:", "https:", "url(", "@import", "<script", "<link", "<iframe", " on"] {
        let outside: String = page.replace("confidence threshold", "");
        assert!(!outside.contains(request) || request == " on", "{request} is in the page");
    }
    let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next());
    let digest = crate::domain::digest::sha256(style.expect("a style").as_bytes());
    let source = format!("'sha256-{}'", STANDARD.encode(digest));
    assert!(page.contains(&source), "the policy names the hash of the style");
    assert!(!page.contains(" style="), "a style attribute would need a laxer policy");
}

#[test]
fn numbers_that_are_none_do_not_break_the_drawing() {
    let mut dossier = full("x");
    dossier.curves[0].points[0].rate = Pair { a: f64::NAN, b: f64::INFINITY };
    dossier.curves[0].points[1].band = None;
    dossier.thresholds.clear();
    let page = html::page(&dossier);
    assert!(!page.contains("inf") && !page.to_lowercase().contains("points=\"\""));
}
