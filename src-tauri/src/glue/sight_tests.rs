use super::*;

#[test]
fn an_icon_is_seen_whole_or_not_at_all() {
    let area = |x: f64, y: f64, width: f64, height: f64| Area { x, y, width, height };
    let screens = [area(0.0, 0.0, 1440.0, 900.0), area(1440.0, -100.0, 800.0, 600.0)];
    for (icon, expected) in [
        (Some(area(1000.0, 0.0, 24.0, 24.0)), true),
        (Some(area(1500.0, -100.0, 24.0, 24.0)), true),
        (Some(area(0.0, 0.0, 0.0, 24.0)), false),
        (Some(area(-2000.0, 0.0, 24.0, 24.0)), false),
        (Some(area(1430.0, 0.0, 24.0, 24.0)), false),
        (Some(area(100.0, 8.0, 24.0, 24.0)), true),
        // Not placed: in the lower left corner.
        (Some(area(0.0, 876.0, 38.0, 24.0)), false),
        (Some(area(100.0, -500.0, 24.0, 24.0)), false),
        (None, false),
    ] {
        assert_eq!(is_in_bar(icon, &screens), expected, "{icon:?}");
    }
    assert!(!is_in_bar(Some(area(0.0, 0.0, 1.0, 1.0)), &[]));
}
