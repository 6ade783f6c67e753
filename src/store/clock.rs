//! The time, passed in so that a test can hold it still.

use jiff::Timestamp;

/// Environment variable that fixes the clock, for reproducible output: an RFC 3339 time.
pub const FIXED_CLOCK_VARIABLE: &str = "FLIPSIDE_NOW";

/// Reads the time.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// The system's clock.
    System,
    /// Always this time.
    Fixed(Timestamp),
}

impl Clock {
    /// The system's clock, or the time in [`FIXED_CLOCK_VARIABLE`] when it holds one.
    pub fn from_environment() -> Self {
        std::env::var(FIXED_CLOCK_VARIABLE)
            .ok()
            .and_then(|text| text.parse().ok())
            .map_or(Self::System, Self::Fixed)
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Fixed(time) => *time,
        }
    }

    /// Now, as every file writes it: UTC, whole seconds, `+00:00`.
    pub fn stamp(&self) -> String {
        stamp(self.now())
    }
}

/// A time as every file writes it: UTC, whole seconds, `+00:00`.
pub fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_utc_seconds_with_a_numeric_offset() {
        let time: Timestamp = "2026-02-03T04:05:06.789Z".parse().expect("a time");
        assert_eq!(Clock::Fixed(time).stamp(), "2026-02-03T04:05:06+00:00");
    }
}
