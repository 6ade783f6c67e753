//! Decodes, crops, scales and encodes pictures away from the screen's thread.
//!
//! Two threads: one serves the newest request, one prepares its neighbours. Both share a cache of decoded
//! pictures and one of encoded frames, bounded in bytes. A picture is never decoded twice at once: whoever
//! comes second waits for the first.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use fast_image_resize as resize;

use super::blocks::BlockImage;
use super::overlay::{self, BoxOverlay};
use super::pixels::PixelImage;
use super::viewport::{UnitRect, Viewport, cells_for};
use super::{Canvas, Method, Picture, PictureId, PictureSource};
use crate::media::orientation::Orientation;
use crate::tui::mailbox;

/// Memory for decoded pictures, in bytes.
pub const DECODED_BUDGET: usize = 144 << 20;
/// Memory for encoded frames, in bytes.
pub const ENCODED_BUDGET: usize = 48 << 20;

/// What a screen wants to see.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Comes back with the answer, so that an old one is told apart.
    pub generation: u64,
    /// Which picture.
    pub id: PictureId,
    /// Which part of it.
    pub viewport: Viewport,
    /// Room, in cells.
    pub area: (u16, u16),
    /// On what.
    pub canvas: Canvas,
    /// Boxes drawn into the pixels; the cells of blocks get theirs when they are drawn.
    pub boxes: Vec<BoxOverlay>,
    /// Pictures likely to be wanted next, likeliest first.
    pub next: Vec<PictureId>,
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Of the request.
    pub generation: u64,
    /// Of the request.
    pub id: PictureId,
    /// The frame, or one line saying why there is none.
    pub shown: Result<Arc<Shown>, String>,
}

/// A frame ready to be drawn.
#[derive(Debug)]
pub struct Shown {
    /// Size of the whole upright picture, in pixels.
    pub size: (u32, u32),
    /// The part that is seen.
    pub crop: UnitRect,
    /// Cells it takes.
    pub cells: (u16, u16),
    /// Pixels the person can tell apart: what was sent, or what there was if that is less.
    pub detail: (u32, u32),
    /// How the stored picture was turned.
    pub orientation: Orientation,
    /// The cells or pixels.
    pub body: Body,
}

/// How a frame is drawn.
#[derive(Debug)]
pub enum Body {
    /// Characters.
    Cells(BlockImage),
    /// Pixels.
    Pixels(PixelImage),
}

impl Shown {
    fn bytes(&self) -> usize {
        match &self.body {
            Body::Cells(image) => image.bytes(),
            Body::Pixels(image) => image.bytes(),
        }
    }
}

/// Two threads that make pictures. Dropping it ends them after what they are doing.
#[derive(Debug)]
pub struct PictureWorker {
    requests: mailbox::Sender<Vec<Request>>,
    neighbours: mailbox::Sender<Request>,
}

impl PictureWorker {
    /// Starts the threads. `answer` is called on one of them for every request that is not overtaken.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        source: impl PictureSource,
        answer: impl Fn(Answer) + Send + 'static,
    ) -> io::Result<Self> {
        let cache = Arc::new(Cache::new(source, DECODED_BUDGET, ENCODED_BUDGET));
        let (requests, inbox) = mailbox::mailbox::<Vec<Request>>();
        let (neighbours, next_inbox) = mailbox::mailbox::<Request>();
        let serving = Arc::clone(&cache);
        std::thread::Builder::new().name("pictures".to_owned()).spawn(move || {
            while let Some(requests) = inbox.take() {
                for request in requests {
                    let Some(shown) = serving.frame(&request, || inbox.has_mail()) else { break };
                    answer(Answer { generation: request.generation, id: request.id, shown });
                }
            }
        })?;
        std::thread::Builder::new().name("next-pictures".to_owned()).spawn(move || {
            while let Some(request) = next_inbox.take() {
                prepare(&cache, &request, &next_inbox);
            }
        })?;
        Ok(Self { requests, neighbours })
    }

    /// Asks for a picture; a request that nobody has begun is forgotten.
    pub fn request(&self, request: Request) {
        self.request_all(vec![request]);
    }

    /// Asks for several pictures that stand side by side. All that are still wanted must be named: requests
    /// that nobody has begun are forgotten.
    pub fn request_all(&self, requests: Vec<Request>) {
        if let Some(first) = requests.first() {
            self.neighbours.put(first.clone());
            self.requests.put(requests);
        }
    }
}

/// Decodes and encodes the neighbours as they will first be wanted.
fn prepare(cache: &Cache, request: &Request, inbox: &mailbox::Receiver<Request>) {
    for id in &request.next {
        if inbox.has_mail() {
            return;
        }
        let wanted = Request {
            id: *id,
            viewport: Viewport::default(),
            boxes: Vec::new(),
            next: Vec::new(),
            ..request.clone()
        };
        // Boxes are part of a frame of pixels, and those of another picture are not known here.
        if request.canvas.method.has_pixels() {
            let _ = cache.picture(id);
        } else {
            let _ = cache.frame(&wanted, || inbox.has_mail());
        }
    }
}

/// What makes two frames the same.
#[derive(Debug, Clone, PartialEq)]
struct FrameKey {
    id: PictureId,
    viewport: Viewport,
    area: (u16, u16),
    canvas: Canvas,
    boxes: Vec<BoxOverlay>,
}

/// Least recently used goes first.
#[derive(Debug)]
struct Lru<K, V> {
    entries: Vec<(K, V, usize)>,
    bytes: usize,
    budget: usize,
}

impl<K: PartialEq, V: Clone> Lru<K, V> {
    fn new(budget: usize) -> Self {
        Self { entries: Vec::new(), bytes: 0, budget }
    }

    fn get(&mut self, key: &K) -> Option<V> {
        let place = self.entries.iter().position(|(known, ..)| known == key)?;
        let entry = self.entries.remove(place);
        let value = entry.1.clone();
        self.entries.push(entry);
        Some(value)
    }

    /// Keeps it, if it fits at all.
    fn put(&mut self, key: K, value: V, bytes: usize) {
        if bytes > self.budget {
            return;
        }
        while self.bytes + bytes > self.budget && !self.entries.is_empty() {
            let (.., gone) = self.entries.remove(0);
            self.bytes -= gone;
        }
        self.bytes += bytes;
        self.entries.push((key, value, bytes));
    }
}

type Loaded = Result<Arc<Picture>, String>;

struct Cache {
    source: Box<dyn PictureSource>,
    state: Mutex<CacheState>,
    loaded: Condvar,
}

struct CacheState {
    pictures: Lru<PictureId, Loaded>,
    frames: Lru<FrameKey, Arc<Shown>>,
    loading: Vec<PictureId>,
}

/// What a refusal costs in the cache.
const REFUSAL_BYTES: usize = 1024;

impl Cache {
    fn new(source: impl PictureSource, decoded: usize, encoded: usize) -> Self {
        Self {
            source: Box::new(source),
            state: Mutex::new(CacheState {
                pictures: Lru::new(decoded),
                frames: Lru::new(encoded),
                loading: Vec::new(),
            }),
            loaded: Condvar::new(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The decoded picture, from the cache or the source.
    fn picture(&self, id: &PictureId) -> Loaded {
        let mut state = self.lock();
        loop {
            if let Some(picture) = state.pictures.get(id) {
                return picture;
            }
            if !state.loading.contains(id) {
                break;
            }
            state = self.loaded.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.loading.push(*id);
        drop(state);
        // A decoder that panics costs this picture, nothing else.
        let loaded = std::panic::catch_unwind(AssertUnwindSafe(|| self.source.load(id)))
            .unwrap_or_else(|_| Err("the decoder failed".to_owned()))
            .map(Arc::new);
        let bytes = loaded.as_ref().map_or(REFUSAL_BYTES, |picture| picture.pixels.rgb().len());
        let mut state = self.lock();
        state.loading.retain(|other| other != id);
        state.pictures.put(*id, loaded.clone(), bytes);
        drop(state);
        self.loaded.notify_all();
        loaded
    }

    /// The frame for a request; `None` when `overtaken` says that nobody wants it any more.
    fn frame(
        &self,
        request: &Request,
        overtaken: impl Fn() -> bool,
    ) -> Option<Result<Arc<Shown>, String>> {
        let in_pixels = request.canvas.method.has_pixels();
        let key = FrameKey {
            id: request.id,
            viewport: request.viewport,
            area: request.area,
            canvas: request.canvas,
            boxes: if in_pixels { request.boxes.clone() } else { Vec::new() },
        };
        if let Some(shown) = self.lock().frames.get(&key) {
            return Some(Ok(shown));
        }
        let picture = match self.picture(&request.id) {
            Ok(picture) => picture,
            Err(reason) => return Some(Err(reason)),
        };
        if overtaken() {
            return None;
        }
        let shown = match encode(&picture, request) {
            Ok(shown) => Arc::new(shown),
            Err(reason) => return Some(Err(reason)),
        };
        self.lock().frames.put(key, Arc::clone(&shown), shown.bytes());
        Some(Ok(shown))
    }
}

/// Crops, scales and encodes.
///
/// # Errors
/// One line saying why the picture cannot be drawn so.
pub fn encode(picture: &Picture, request: &Request) -> Result<Shown, String> {
    let canvas = request.canvas;
    let size = (picture.pixels.width(), picture.pixels.height());
    let screen = (
        f64::from(request.area.0) * f64::from(canvas.cell.0.max(1)),
        f64::from(request.area.1) * f64::from(canvas.cell.1.max(1)),
    );
    let crop = request.viewport.crop(size, screen);
    let cells = cells_for(size, crop, request.area, canvas.cell);
    let target = match canvas.method {
        Method::Kitty | Method::Iterm | Method::Sixel => (
            u32::from(cells.0) * u32::from(canvas.cell.0.max(1)),
            u32::from(cells.1) * u32::from(canvas.cell.1.max(1)),
        ),
        Method::Blocks | Method::None => BlockImage::pixels_for(cells.0, cells.1),
    };
    let body = if canvas.method.has_pixels() {
        let rgb = prepare_pixels(picture, crop, target, &request.boxes)?;
        Body::Pixels(PixelImage::encode(rgb, target.0, target.1, cells, canvas)?)
    } else {
        let rgb = scale(picture, crop, target)?;
        Body::Cells(BlockImage::from_rgb(&rgb, cells.0, cells.1, canvas.depth))
    };
    let there = |length: u32, share: f64| -> u32 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a u32, at least zero"
        )]
        let pixels = (f64::from(length) * share).round().max(1.0) as u32;
        pixels
    };
    let detail =
        (target.0.min(there(size.0, crop.width())), target.1.min(there(size.1, crop.height())));
    Ok(Shown { size, crop, cells, detail, orientation: picture.orientation, body })
}

/// The part of a picture that `crop` names, scaled to `target` pixels, with boxes drawn into it.
///
/// # Errors
/// It cannot be scaled; one line.
pub fn prepare_pixels(
    picture: &Picture,
    crop: UnitRect,
    target: (u32, u32),
    boxes: &[BoxOverlay],
) -> Result<Vec<u8>, String> {
    let target = (target.0.max(1), target.1.max(1));
    let mut rgb = scale(picture, crop, target)?;
    overlay::draw_into(boxes, picture.orientation, crop, &mut rgb, target.0, target.1);
    Ok(rgb)
}

fn scale(picture: &Picture, crop: UnitRect, target: (u32, u32)) -> Result<Vec<u8>, String> {
    let pixels = &picture.pixels;
    let (width, height) = (f64::from(pixels.width()), f64::from(pixels.height()));
    let source = resize::images::ImageRef::new(
        pixels.width(),
        pixels.height(),
        pixels.rgb(),
        resize::PixelType::U8x3,
    )
    .map_err(|error| error.to_string())?;
    let mut scaled =
        resize::images::Image::new(target.0.max(1), target.1.max(1), resize::PixelType::U8x3);
    let left = (crop.x0 * width).clamp(0.0, width - 1.0);
    let top = (crop.y0 * height).clamp(0.0, height - 1.0);
    let across = (crop.width() * width).clamp(1.0, width - left);
    let down = (crop.height() * height).clamp(1.0, height - top);
    let enlarges = f64::from(target.0) > across;
    let filter =
        if enlarges { resize::FilterType::CatmullRom } else { resize::FilterType::Bilinear };
    let options = resize::ResizeOptions::new()
        .crop(left, top, across, down)
        .resize_alg(resize::ResizeAlg::Convolution(filter));
    resize::Resizer::new()
        .resize(&source, &mut scaled, &options)
        .map_err(|error| error.to_string())?;
    Ok(scaled.into_vec())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::media::pixels::RgbImage;

    /// A source of coloured pictures that counts what it is asked.
    pub(crate) struct Coloured {
        pub(crate) loads: AtomicUsize,
    }

    impl PictureSource for Coloured {
        fn load(&self, id: &PictureId) -> Result<Picture, String> {
            self.loads.fetch_add(1, Ordering::SeqCst);
            match id.content[0] {
                255 => Err("refused".to_owned()),
                254 => panic!("a decoder that panics"),
                shade => Ok(plain(40, 20, |_, _| [shade; 3])),
            }
        }
    }

    pub(crate) fn plain(
        width: u32,
        height: u32,
        pixel: impl FnMut(u32, u32) -> [u8; 3],
    ) -> Picture {
        Picture {
            pixels: RgbImage::from_fn(width, height, pixel),
            orientation: Orientation::Upright,
        }
    }

    pub(crate) fn id(shade: u8) -> PictureId {
        PictureId { content: [shade; 32], rendition: 0 }
    }

    fn request(shade: u8, generation: u64) -> Request {
        Request {
            generation,
            id: id(shade),
            viewport: Viewport::default(),
            area: (20, 10),
            canvas: Canvas::PLAIN,
            boxes: Vec::new(),
            next: Vec::new(),
        }
    }

    fn worker() -> (Arc<Coloured>, PictureWorker, crossbeam_channel::Receiver<Answer>) {
        let source = Arc::new(Coloured { loads: AtomicUsize::new(0) });
        let (sender, answers) = crossbeam_channel::bounded(16);
        let worker = PictureWorker::start(Arc::clone(&source), move |answer| {
            let _ = sender.send(answer);
        })
        .expect("threads");
        (source, worker, answers)
    }

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn a_picture_is_decoded_once_and_prefetched_neighbours_are_ready() {
        let (source, worker, answers) = worker();
        worker.request(Request { next: vec![id(2), id(3)], ..request(1, 7) });
        let answer = answers.recv_timeout(PATIENCE).expect("an answer");
        assert_eq!((answer.generation, answer.id), (7, id(1)));
        let shown = answer.shown.expect("a frame");
        assert_eq!((shown.size, shown.cells, shown.detail), ((40, 20), (20, 5), (20, 10)));
        for shade in [2, 3, 1] {
            worker.request(request(shade, 8));
            let answer = answers.recv_timeout(PATIENCE).expect("an answer");
            assert!(answer.shown.is_ok());
        }
        assert_eq!(source.loads.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn a_refusal_and_a_panic_are_one_line_each() {
        let (_source, worker, answers) = worker();
        for (shade, reason) in [(255, "refused"), (254, "the decoder failed"), (3, "")] {
            worker.request(request(shade, 1));
            let answer = answers.recv_timeout(PATIENCE).expect("an answer");
            assert_eq!(answer.shown.err().unwrap_or_default(), reason);
        }
    }

    #[test]
    fn the_cache_is_bounded_and_forgets_the_oldest() {
        let mut lru = Lru::new(10);
        for key in 0..5 {
            lru.put(key, key, 4);
        }
        assert_eq!(lru.get(&2), None);
        assert_eq!(lru.get(&3), Some(3));
        lru.put(9, 9, 4);
        assert_eq!((lru.get(&3), lru.get(&4), lru.bytes), (Some(3), None, 8));
        lru.put(10, 10, 11);
        assert_eq!(lru.get(&10), None, "larger than everything");
    }

    #[test]
    fn zooming_shows_more_detail_of_less() {
        let picture = plain(400, 300, |x, y| [u8::try_from((x * 7 + y) % 251).expect("small"); 3]);
        let mut wanted = request(0, 0);
        let whole = encode(&picture, &wanted).expect("a frame");
        wanted.viewport = Viewport::default().zoomed(8.0);
        let part = encode(&picture, &wanted).expect("a frame");
        assert_eq!(whole.crop, UnitRect::WHOLE);
        assert!(part.crop.width() < 0.2 && part.cells.0 <= 20 && part.cells.1 <= 10);
        for method in [Method::Kitty, Method::Iterm, Method::Sixel] {
            wanted.canvas.method = method;
            let shown = encode(&picture, &wanted).expect("a frame");
            assert!(matches!(shown.body, Body::Pixels(_)));
            assert!(shown.detail.0 <= 50, "no more than there is: {:?}", shown.detail);
        }
    }
}
