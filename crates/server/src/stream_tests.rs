use tokbar_chat::{Event, FinishReason};
use tokbar_engine::Usage;

use super::*;

/// Prints one word per call.
struct Words;

impl Printer for Words {
    fn open(&mut self, frames: &mut Vec<u8>) {
        frames.extend(b"open");
    }

    fn print(&mut self, _: usize, update: Update, frames: &mut Vec<u8>) {
        match update {
            Update::Piece { event: Event::Text(text), .. } => frames.extend(text.as_bytes()),
            _ => frames.extend(b"finish"),
        }
    }

    fn keep_alive(&mut self, frames: &mut Vec<u8>) {
        frames.extend(b"silence");
    }

    fn end(&mut self, frames: &mut Vec<u8>) {
        frames.extend(b"end");
    }

    fn fail(&mut self, error: &ApiError, frames: &mut Vec<u8>) {
        frames.extend(error.to_string().as_bytes());
    }
}

fn text(text: &str) -> Update {
    Update::Piece { event: Event::Text(text.to_owned()), scores: Vec::new() }
}

fn finish() -> Update {
    Update::Finish { reason: FinishReason::Stop, usage: Usage::default(), stop_string: None }
}

/// Each update comes after so many seconds.
fn after(steps: Vec<(u64, Update)>) -> Updates {
    let wait = |(seconds, update)| async move {
        let silence = tokio::time::timeout(Duration::from_secs(seconds), std::future::pending::<()>()).await;
        assert!(silence.is_err());
        (0, update)
    };
    stream::iter(steps).then(wait).boxed()
}

async fn words(updates: Updates) -> Vec<String> {
    let frames = frames(updates, Words, Duration::from_secs(10));
    frames.map(|frame| String::from_utf8(frame.to_vec()).unwrap()).collect().await
}

/// Virtual time: the paused clock moves when nothing else can.
#[tokio::test(start_paused = true)]
async fn silences_are_filled_and_empty_frames_left_out() {
    let steps = vec![(25, text("a")), (0, text("")), (9, text("b")), (11, finish())];
    let expected = ["open", "silence", "silence", "a", "b", "silence", "finish", "end"];
    assert_eq!(words(after(steps)).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_the_last_word() {
    let steps = vec![(0, text("a")), (0, Update::Failed(ApiError::Stopping)), (0, text("b"))];
    assert_eq!(words(after(steps)).await, ["open", "a", &ApiError::Stopping.to_string()]);
}

#[tokio::test(start_paused = true)]
async fn time_runs_out() {
    let steps = vec![(1, text("a")), (3, text("b"))];
    let error = ApiError::Timeout { timeout_s: 2.5 };
    let limited = limited(after(steps), Some(Duration::from_millis(2500)));
    assert_eq!(words(limited).await, ["open", "a", &error.to_string()]);
}
