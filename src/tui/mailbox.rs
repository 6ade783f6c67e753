//! A mailbox for one message: a newer one replaces one that was not fetched yet.
//!
//! For requests where only the last matters, such as the picture to show: the sender never waits and
//! the worker never works through a backlog.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

#[derive(Debug)]
struct Shared<T> {
    slot: Mutex<Slot<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Slot<T> {
    value: Option<T>,
    closed: bool,
}

/// The end that puts messages in. Dropping it ends the other end's waiting.
#[derive(Debug)]
pub struct Sender<T>(Arc<Shared<T>>);

/// The end that takes messages out.
#[derive(Debug)]
pub struct Receiver<T>(Arc<Shared<T>>);

/// A new mailbox.
pub fn mailbox<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        slot: Mutex::new(Slot { value: None, closed: false }),
        changed: Condvar::new(),
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Puts `value` in, over whatever was there. Never waits.
    pub fn put(&self, value: T) {
        self.0.slot.lock().unwrap_or_else(PoisonError::into_inner).value = Some(value);
        self.0.changed.notify_one();
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.slot.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.0.changed.notify_one();
    }
}

impl<T> Receiver<T> {
    /// Waits for a message; `None` once the sender is gone and nothing is left.
    pub fn take(&self) -> Option<T> {
        let mut slot = self.0.slot.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(value) = slot.value.take() {
                return Some(value);
            }
            if slot.closed {
                return None;
            }
            slot = self.0.changed.wait(slot).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes a message if there is one.
    pub fn try_take(&self) -> Option<T> {
        self.0.slot.lock().unwrap_or_else(PoisonError::into_inner).value.take()
    }

    /// Whether a message waits: work on an older one can stop.
    pub fn has_mail(&self) -> bool {
        self.0.slot.lock().unwrap_or_else(PoisonError::into_inner).value.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_wins_and_the_end_is_seen() {
        let (sender, receiver) = mailbox();
        sender.put(1);
        sender.put(2);
        assert!(receiver.has_mail());
        assert_eq!(receiver.take(), Some(2));
        assert_eq!(receiver.try_take(), None);
        sender.put(3);
        drop(sender);
        assert_eq!(receiver.take(), Some(3));
        assert_eq!(receiver.take(), None);
    }

    #[test]
    fn a_waiting_receiver_wakes() {
        let (sender, receiver) = mailbox();
        let worker = std::thread::spawn(move || receiver.take());
        sender.put("mail");
        assert_eq!(worker.join().expect("no panic"), Some("mail"));
    }
}
