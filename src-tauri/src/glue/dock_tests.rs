use super::*;

#[test]
fn any_reason_is_enough_for_the_dock() {
    for (has_window, is_wanted, is_icon_missed, expected) in [
        (false, false, false, Policy::Accessory),
        (true, false, false, Policy::Regular),
        (false, true, false, Policy::Regular),
        (false, false, true, Policy::Regular),
        (true, true, true, Policy::Regular),
    ] {
        assert_eq!(Facts { has_window, is_wanted, is_icon_missed }.policy(), expected);
    }
}

#[test]
fn the_system_is_told_of_changes_only() {
    let dock = Dock::default();
    assert_eq!(dock.changed(|facts| facts.has_window = true), Some(Policy::Regular));
    assert_eq!(dock.changed(|facts| facts.is_wanted = true), None);
    // The window goes, and the wish keeps it there.
    assert_eq!(dock.changed(|facts| facts.has_window = false), None);
    assert_eq!(dock.changed(|facts| facts.is_wanted = false), Some(Policy::Accessory));
    assert_eq!(dock.changed(|facts| facts.is_icon_missed = true), Some(Policy::Regular));
}
