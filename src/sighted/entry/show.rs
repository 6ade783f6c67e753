//! One picture with what both sides found in it, for the command line.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::review::{ReviewQuestion, load};
use crate::domain::canonical::Json;
use crate::domain::digest::FixtureId;
use crate::domain::escape::{escape, escape_os};
use crate::domain::shard::RaterName;
use crate::media::decode::decode_for_people;
use crate::media::limits::LIMITS;
use crate::sighted::decision::report::DetectionRow;
use crate::sighted::review::material::{Material, ReviewImage};
use crate::sighted::review::pictures::read_verified;
use crate::sighted::review::verdict::Ledger;
use crate::sighted::review::{queue, twin};
use crate::sighted::runs::verdicts::record_sightings;
use crate::store::clock::Clock;
use crate::store::file;
use crate::store::workspace::Workspace;
use crate::tui::picture::Picture;
use crate::tui::picture::overlay::{BoxOverlay, Line};
use crate::tui::picture::viewport::UnitRect;

/// Which picture.
#[derive(Debug, Clone)]
pub struct ShowQuestion {
    /// A file, or part of a name or hash in the report.
    pub image: String,
    /// The parity report; without it, the workspace's.
    pub report: Option<PathBuf>,
    /// Folder the report's pictures are relative to.
    pub fixtures: Option<PathBuf>,
    /// Who looks: seeing what a model said is recorded.
    pub reviewer: Option<RaterName>,
}

/// The picture and what is known of it.
#[derive(Debug, Clone)]
pub struct ShowAnswer {
    /// Upright pixels.
    pub picture: Picture,
    /// Boxes of both sides.
    pub boxes: Vec<BoxOverlay>,
    /// Facts below the picture, one a line.
    pub text: String,
    /// The same as JSON.
    pub json: String,
    /// What could not be done besides.
    pub notes: Vec<String>,
}

/// Finds the picture, decodes it, and lists what both sides found.
///
/// # Errors
/// No such picture, or one that cannot be decoded.
pub fn show(
    question: &ShowQuestion,
    workspace: Option<&Workspace>,
    clock: Clock,
) -> anyhow::Result<ShowAnswer> {
    let mut notes = Vec::new();
    let material = match material(question, workspace) {
        Ok(material) => material,
        // A file can be looked at without any report.
        Err(error) if question.report.is_none() && Path::new(&question.image).is_file() => {
            notes.push(format!("without boxes: {error:#}"));
            None
        }
        Err(error) => return Err(error),
    };
    let file = Path::new(&question.image);
    let (fixture, path, bytes, known) = if file.is_file() {
        let bytes =
            file::read(file, LIMITS.file_bytes).with_context(|| escape_os(file.as_os_str()))?;
        let fixture = FixtureId::of(&bytes);
        let known = material
            .as_ref()
            .and_then(|material| material.images.iter().find(|image| image.fixture == fixture));
        if known.is_none() && material.is_some() {
            notes.push("without boxes: the report does not name this file".to_owned());
        }
        (fixture, file.to_owned(), bytes, known)
    } else {
        let material = material.as_ref().with_context(|| {
            format!(
                "{}: no such file, and there is no report to look it up in",
                escape(&question.image)
            )
        })?;
        let image = look_up(material, &question.image)?;
        let bytes = read_verified(&image.path, image.fixture).map_err(anyhow::Error::msg)?;
        (image.fixture, image.path.clone(), bytes, Some(image))
    };
    let upright = decode_for_people(&bytes).map_err(|error| {
        anyhow::anyhow!("{}: {}", escape_os(path.as_os_str()), escape(&error.to_string()))
    })?;
    let picture = Picture { pixels: upright.picture, orientation: upright.orientation };
    let size = (picture.pixels.width(), picture.pixels.height());
    let mut text =
        format!("{}  {}  {}x{}\n", escape_os(path.as_os_str()), fixture.short(), size.0, size.1);
    let mut boxes = Vec::new();
    let mut found = Json::Null;
    if let (Some(material), Some(image)) = (&material, known) {
        boxes = image_boxes(material, image);
        describe(material, image, &mut text);
        found = of_image(material, image);
        if let Err(error) = record_look(question, workspace, material, image, clock) {
            notes.push(format!("this look is not recorded: {error:#}"));
        }
    }
    let json = Json::Object(
        [
            ("fixture", Json::Text(fixture.to_hex())),
            ("path", Json::Text(path.to_string_lossy().into_owned())),
            ("width", Json::Int(size.0.to_string())),
            ("height", Json::Int(size.1.to_string())),
            ("orientation", Json::Int(picture.orientation.exif().to_string())),
            ("found", found),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect(),
    );
    Ok(ShowAnswer { picture, boxes, text, json: json.to_file(), notes })
}

fn material(
    question: &ShowQuestion,
    workspace: Option<&Workspace>,
) -> anyhow::Result<Option<Material>> {
    let Some(workspace) = workspace else {
        anyhow::ensure!(question.report.is_none(), "a report is looked at in its workspace");
        return Ok(None);
    };
    let review = ReviewQuestion {
        report: question.report.clone(),
        fixtures: question.fixtures.clone(),
        // Nobody's verdicts are looked at here.
        reviewer: question.reviewer.clone().map_or_else(|| "nobody".parse(), Ok)?,
        hidden_sides: false,
        at: None,
        place: None,
    };
    load(&review, workspace).map(Some)
}

fn look_up<'a>(material: &'a Material, wanted: &str) -> anyhow::Result<&'a ReviewImage> {
    let lower = wanted.to_lowercase();
    let matches: Vec<&ReviewImage> = material
        .images
        .iter()
        .filter(|image| {
            image.fixture.to_hex().starts_with(&lower)
                || image.written.to_lowercase().contains(&lower)
        })
        .collect();
    let exact = matches.iter().find(|image| image.written == wanted);
    match (exact, matches.as_slice()) {
        (Some(image), _) => Ok(image),
        (None, [image]) => Ok(image),
        (None, []) => anyhow::bail!(
            "{}: no such file, and no picture of the report is called that",
            escape(wanted)
        ),
        (None, several) => anyhow::bail!(
            "{}: {} pictures of the report are called that, {} for one",
            escape(wanted),
            several.len(),
            escape(&several[0].written)
        ),
    }
}

fn image_boxes(material: &Material, image: &ReviewImage) -> Vec<BoxOverlay> {
    let sides = [(&image.found.a, Line::First, "R"), (&image.found.b, Line::Second, "C")];
    sides
        .into_iter()
        .flat_map(|(rows, line, tag)| {
            rows.iter().filter(|row| row.confidence >= material.threshold).map(move |row| {
                BoxOverlay {
                    rect: UnitRect::from_corners(row.corners),
                    line,
                    tag: tag.to_owned(),
                    faint: false,
                }
            })
        })
        .collect()
}

fn describe(material: &Material, image: &ReviewImage, text: &mut String) {
    use std::fmt::Write as _;
    let sides = [
        ("┃ reference (whole lines)", &image.found.a),
        ("║ candidate (double or dashed lines)", &image.found.b),
    ];
    for (name, rows) in sides {
        let _ = writeln!(text, "{name}");
        let above: Vec<&DetectionRow> =
            rows.iter().filter(|row| row.confidence >= material.threshold).collect();
        if above.is_empty() {
            let _ = writeln!(text, "  nothing at {}", material.threshold);
        }
        for row in above {
            let name = material.class_name(row.class_index);
            let _ = writeln!(text, "  {:.3}  {}  slot {}", row.confidence, escape(&name), row.slot);
        }
    }
    for index in &image.items {
        let item = &material.items[*index];
        let _ = writeln!(text, "{}", escape(&queue::title(material, item)));
    }
}

/// The picture's part of the list that `review --json` writes, without anybody's verdicts.
fn of_image(material: &Material, image: &ReviewImage) -> Json {
    let nobody = Ledger::default();
    let items = image.items.iter().map(|index| &material.items[*index]);
    Json::Array(items.map(|item| twin::item_json(material, &nobody, item)).collect())
}

/// Seeing what a model said of a fixture is an exposure, wherever it is seen.
fn record_look(
    question: &ShowQuestion,
    workspace: Option<&Workspace>,
    material: &Material,
    image: &ReviewImage,
    clock: Clock,
) -> anyhow::Result<()> {
    let workspace = workspace.context("there is no workspace")?;
    let reviewer = question.reviewer.as_ref().context("the reviewer has no name: --reviewer")?;
    let database = workspace.runs_database();
    record_sightings(&database, reviewer, &clock.stamp(), material.comparison, [image.fixture])?;
    Ok(())
}
