use tracing_subscriber::layer::SubscriberExt;

use super::*;

#[test]
fn lines_are_kept_by_level_with_their_fields_and_told_as_they_come() {
    let book = Arc::new(Book::new());
    let (past, mut to_come) = book.tail(10, LogLevel::Debug);
    assert!(past.is_empty());
    let subscriber = tracing_subscriber::registry().with(ToBook(Arc::clone(&book)));
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!(n = 3, key = "tk-0123456789abcdef", "it goes on");
        tracing::debug!("closely");
        tracing::warn!(error = "x");
        tracing::info!("{}", "y".repeat(10_000));
    });
    let said = |line: &LogLine| line.message.clone();
    let (past, _) = book.tail(10, LogLevel::Warn);
    assert_eq!(past.iter().map(said).collect::<Vec<_>>(), ["error=\"x\""]);
    let first = to_come.try_recv().unwrap();
    assert!(first.message.starts_with("it goes on n=3 key="), "{first:?}");
    assert!(!first.message.contains("0123456789abcdef"), "{first:?}");
    let (past, _) = book.tail(1, LogLevel::Debug);
    assert!(past[0].message.len() < 5000 && past[0].message.ends_with('…'));
    for _ in 0..N_LINES_MAX {
        book.write(LogLevel::Info, "t", "z");
    }
    assert_eq!(book.tail(usize::MAX, LogLevel::Debug).0.len(), N_LINES_MAX);
}
