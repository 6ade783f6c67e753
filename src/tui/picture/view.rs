//! A picture in a screen's state: which one, which part of it, what was asked and what came back.
//!
//! Pure: it makes [`Request`]s for the worker and takes its [`Answer`]s. Use it so:
//! 1. in `update`, after anything that may change the picture: `if let Some(request) = picture.request()`
//!    return it as an effect; the effect handler gives it to [`super::worker::PictureWorker::request`];
//! 2. the worker's answer comes back as a message: [`PictureView::accept`];
//! 3. in `view`: [`PictureView::render`] with the same area that was given to [`PictureView::set_area`].

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::overlay::{self, BoxOverlay};
use super::viewport::{UnitRect, Viewport, ZOOM_STEP};
use super::worker::{Answer, Body, Request, Shown};
use super::{Canvas, Method, PictureId};
use crate::domain::escape::escape;
use crate::media::orientation::Orientation;
use crate::tui::screen::Look;
use crate::tui::theme::Role;
use crate::tui::widgets::text::wrap;

/// State of one picture on a screen.
#[derive(Debug, Clone)]
pub struct PictureView {
    id: Option<PictureId>,
    facts: String,
    viewport: Viewport,
    /// A box of the stored picture to look at, as long as the person does not look elsewhere.
    target: Option<UnitRect>,
    area: (u16, u16),
    canvas: Canvas,
    boxes: Vec<BoxOverlay>,
    next: Vec<PictureId>,
    generation: u64,
    asked: Option<Request>,
    waiting: bool,
    shown: Option<Arc<Shown>>,
    refusal: Option<String>,
}

impl Default for PictureView {
    fn default() -> Self {
        Self {
            id: None,
            facts: String::new(),
            viewport: Viewport::default(),
            target: None,
            area: (0, 0),
            canvas: Canvas::PLAIN,
            boxes: Vec::new(),
            next: Vec::new(),
            generation: 0,
            asked: None,
            waiting: false,
            shown: None,
            refusal: None,
        }
    }
}

impl PictureView {
    /// Shows another picture, all of it. `facts` is one line shown while there is no picture; it is
    /// escaped here. `next` are the pictures likely to follow.
    pub fn show(&mut self, id: PictureId, facts: &str, next: Vec<PictureId>) {
        if self.id != Some(id) {
            self.shown = None;
            self.refusal = None;
            self.boxes.clear();
            self.viewport = Viewport::default();
            self.target = None;
        }
        self.id = Some(id);
        self.facts = escape(facts).into_owned();
        self.next = next;
    }

    /// Shows nothing.
    pub fn clear(&mut self) {
        *self = Self {
            area: self.area,
            canvas: self.canvas,
            generation: self.generation + 1,
            ..Self::default()
        };
    }

    /// The picture that is or will be shown.
    pub fn id(&self) -> Option<PictureId> {
        self.id
    }

    /// Boxes over it, in the coordinates of the stored picture.
    pub fn set_boxes(&mut self, boxes: Vec<BoxOverlay>) {
        self.boxes = boxes;
    }

    /// The cells it will be drawn in.
    pub fn set_area(&mut self, area: Rect) {
        self.area = (area.width, area.height);
    }

    /// What it is drawn on; from [`crate::tui::screen::Input::Graphics`].
    pub fn set_canvas(&mut self, canvas: Canvas) {
        self.canvas = canvas;
    }

    /// What is looked at.
    pub fn viewport(&self) -> Viewport {
        self.viewport
    }

    /// Looks at something else.
    pub fn set_viewport(&mut self, viewport: Viewport) {
        self.target = None;
        self.viewport = viewport;
    }

    /// One step nearer or farther.
    pub fn zoom(&mut self, nearer: bool) {
        self.target = None;
        self.viewport = self.viewport.zoomed(if nearer { ZOOM_STEP } else { 1.0 / ZOOM_STEP });
    }

    /// Moves by shares of what is visible.
    pub fn pan(&mut self, across: f64, down: f64) {
        self.target = None;
        self.viewport = self.viewport.panned(across, down);
    }

    /// Looks at a box of the stored picture. How the picture is turned may only be known once it was
    /// decoded: ask for [`Self::request`] after [`Self::accept`].
    pub fn zoom_to(&mut self, stored: UnitRect) {
        self.target = Some(stored);
        self.follow_target();
    }

    fn follow_target(&mut self) {
        if let Some(stored) = self.target {
            let orientation =
                self.shown.as_ref().map_or(Orientation::Upright, |shown| shown.orientation);
            self.viewport = Viewport::around(stored.upright(orientation));
        }
    }

    /// The request to send, when what is wanted is not what was last asked for.
    pub fn request(&mut self) -> Option<Request> {
        let id = self.id?;
        if self.area.0 == 0 || self.area.1 == 0 || self.canvas.method == Method::None {
            return None;
        }
        let boxes = if self.canvas.method.has_pixels() { self.boxes.clone() } else { Vec::new() };
        let wanted = Request {
            generation: self.generation,
            id,
            viewport: self.viewport,
            area: self.area,
            canvas: self.canvas,
            boxes,
            next: self.next.clone(),
        };
        if self.asked.as_ref() == Some(&wanted) {
            return None;
        }
        self.generation += 1;
        let wanted = Request { generation: self.generation, ..wanted };
        self.asked = Some(wanted.clone());
        self.waiting = true;
        Some(wanted)
    }

    /// The last request, while its answer has not come: see [`super::worker::PictureWorker::request_all`].
    pub fn unanswered(&self) -> Option<&Request> {
        self.asked.as_ref().filter(|_| self.waiting)
    }

    /// Takes an answer; one to an older request is dropped. True when something changed.
    pub fn accept(&mut self, answer: Answer) -> bool {
        if self.id != Some(answer.id) || answer.generation != self.generation {
            return false;
        }
        self.waiting = false;
        match answer.shown {
            Ok(shown) => {
                self.shown = Some(shown);
                self.refusal = None;
                self.follow_target();
            }
            Err(reason) => {
                self.shown = None;
                self.refusal = Some(reason);
            }
        }
        true
    }

    /// The frame on the screen, once there is one.
    pub fn shown(&self) -> Option<&Shown> {
        self.shown.as_deref()
    }

    /// Why there is no picture.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Changes with every other frame: see [`crate::tui::screen::Screen::picture_token`].
    pub fn token(&self) -> u64 {
        self.shown.as_ref().map_or(0, |shown| Arc::as_ptr(shown) as u64)
    }

    /// How the picture is seen, for a stamp: method, cells, pixels that can be told apart, zoom.
    pub fn stamp(&self) -> Option<Stamp> {
        let shown = self.shown.as_ref()?;
        Some(Stamp {
            method: self.canvas.method,
            cells: shown.cells,
            pixels: shown.detail,
            zoom: self.viewport.zoom,
        })
    }

    /// Where the picture lies in `area`.
    pub fn placed(&self, area: Rect) -> Option<Rect> {
        let shown = self.shown.as_ref()?;
        let (width, height) = (shown.cells.0.min(area.width), shown.cells.1.min(area.height));
        Some(Rect {
            x: area.x + (area.width - width) / 2,
            y: area.y + (area.height - height) / 2,
            width,
            height,
        })
    }

    /// The point of the upright picture under a cell.
    pub fn point_at(&self, area: Rect, column: u16, row: u16) -> Option<(f64, f64)> {
        let (placed, shown) = (self.placed(area)?, self.shown.as_ref()?);
        if !placed.contains((column, row).into()) {
            return None;
        }
        let across = (f64::from(column - placed.x) + 0.5) / f64::from(placed.width);
        let down = (f64::from(row - placed.y) + 0.5) / f64::from(placed.height);
        Some((
            shown.crop.x0 + across * shown.crop.width(),
            shown.crop.y0 + down * shown.crop.height(),
        ))
    }

    /// Draws the picture in the middle of `area`, or the facts while there is none.
    pub fn render(&self, area: Rect, buffer: &mut Buffer, look: &Look) {
        if area.width == 0 || area.height == 0 {
            return;
        }
        let (Some(shown), Some(placed)) = (&self.shown, self.placed(area)) else {
            return self.placeholder(area, buffer, look);
        };
        match &shown.body {
            _ if self.canvas.method == Method::None => self.placeholder(area, buffer, look),
            Body::Cells(image) => {
                image.render(placed, buffer);
                overlay::render(
                    &self.boxes,
                    shown.orientation,
                    shown.crop,
                    placed,
                    buffer,
                    look.theme,
                );
            }
            // Made for the former way of drawing, and just wiped from the screen.
            Body::Pixels(_) if !self.canvas.method.has_pixels() => {
                self.placeholder(area, buffer, look);
            }
            // Pixels would show through whatever covers the screen.
            Body::Pixels(_) if look.covered => {}
            Body::Pixels(image) => image.render(placed, buffer),
        }
    }

    fn placeholder(&self, area: Rect, buffer: &mut Buffer, look: &Look) {
        let (text, role) = match (&self.refusal, self.id) {
            (Some(reason), _) => (format!("{}: {reason}", self.facts), Role::Warning),
            (None, Some(_)) if self.canvas.method == Method::None => {
                (format!("{} (pictures are off: ctrl-g)", self.facts), Role::Faint)
            }
            (None, Some(_)) => (format!("{} …", self.facts), Role::Faint),
            (None, None) => return,
        };
        let lines = wrap(&text, usize::from(area.width.saturating_sub(2)).max(1));
        let height = usize::from(area.height);
        let first =
            area.y + area.height / 2 - u16::try_from(lines.len().min(height) / 2).unwrap_or(0);
        for (row, line) in (first..area.bottom()).zip(lines) {
            buffer.set_stringn(
                area.x + u16::from(area.width > 2),
                row,
                line,
                usize::from(area.width),
                look.theme.style(role),
            );
        }
    }
}

/// How a picture was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stamp {
    /// The way it was drawn.
    pub method: Method,
    /// Cells it took.
    pub cells: (u16, u16),
    /// Pixels that could be told apart.
    pub pixels: (u32, u32),
    /// Enlargement over everything-is-shown.
    pub zoom: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::picture::overlay::Line;
    use crate::tui::picture::worker::encode;
    use crate::tui::picture::worker::tests::{id, plain};
    use crate::tui::theme::Theme;

    const AREA: Rect = Rect { x: 1, y: 1, width: 20, height: 8 };

    fn view() -> PictureView {
        let mut view = PictureView::default();
        view.set_area(AREA);
        view.show(id(9), "a\u{1b}[2Jb.jpg", vec![id(10)]);
        view
    }

    fn answer(request: &Request, shade: u8) -> Answer {
        let picture = plain(40, 20, |_, _| [shade; 3]);
        Answer {
            generation: request.generation,
            id: request.id,
            shown: encode(&picture, request).map(Arc::new),
        }
    }

    fn text(view: &PictureView) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 22, 10));
        view.render(AREA, &mut buffer, &Look::plain(Theme::MONO));
        crate::tui::headless::dump(&buffer).text
    }

    #[test]
    fn the_same_thing_is_asked_once() {
        let mut view = view();
        let first = view.request().expect("something new");
        assert_eq!(first.next, [id(10)]);
        assert!(view.request().is_none());
        view.zoom(true);
        assert!(view.request().expect("another part").generation > first.generation);
        assert!(!view.accept(answer(&first, 5)), "too late");
    }

    #[test]
    fn a_new_picture_never_shows_the_old_one() {
        let mut view = view();
        let request = view.request().expect("new");
        assert!(view.accept(answer(&request, 250)));
        assert!(text(&view).contains('▀'));
        view.show(id(11), "next.jpg", Vec::new());
        let text = text(&view);
        assert!(!text.contains('▀') && text.contains("next.jpg"), "{text}");
    }

    #[test]
    fn names_are_inert_and_refusals_are_shown() {
        let mut view = view();
        assert!(text(&view).contains("a\\x1b[2Jb.jpg"));
        let request = view.request().expect("new");
        let refused = Answer { shown: Err("too large".to_owned()), ..answer(&request, 0) };
        assert!(view.accept(refused));
        assert!(text(&view).contains("too"));
        assert_eq!(view.refusal(), Some("too large"));
    }

    #[test]
    fn boxes_lie_over_cells_and_points_are_found() {
        let mut view = view();
        let request = view.request().expect("new");
        view.accept(answer(&request, 250));
        view.set_boxes(vec![BoxOverlay {
            rect: UnitRect::from_corners([0.1, 0.1, 0.6, 0.9]),
            line: Line::First,
            tag: "x".to_owned(),
            faint: false,
        }]);
        assert!(view.request().is_none(), "cells need no new frame for boxes");
        assert!(text(&view).contains("┏x"));
        let placed = view.placed(AREA).expect("shown");
        assert_eq!(placed, Rect::new(1, 2, 20, 5));
        let point = view.point_at(AREA, 11, 4).expect("inside");
        assert!((point.0 - 0.525).abs() < 1e-9 && (point.1 - 0.5).abs() < 1e-9, "{point:?}");
        assert_eq!(view.point_at(AREA, 0, 0), None);
        assert_eq!(view.stamp().map(|stamp| stamp.pixels), Some((20, 10)));
    }
}
