//! What is on the screen: windows by their names, and how a person closes one. No window manager runs.

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    AtomEnum, ClientMessageEvent, ConnectionExt, EventMask, InputFocus, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MapState,
    Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

use crate::desk::Desk;
use crate::panel::wait;

/// The sign on the return key.
const RETURN: u32 = 0xff0d;

pub struct Screen {
    link: RustConnection,
    root: Window,
}

impl Screen {
    pub fn of(desk: &Desk) -> Self {
        let (link, screen_idx) = x11rb::connect(Some(&desk.display)).expect("a screen");
        let root = link.setup().roots[screen_idx].root;
        Self { link, root }
    }

    /// The app's window, if it is to be seen.
    pub fn window(&self) -> Option<Window> {
        self.named("Tokbar")
    }

    fn named(&self, name: &str) -> Option<Window> {
        let all = self.link.query_tree(self.root).ok()?.reply().ok()?.children;
        all.into_iter().find(|window| self.is_shown(*window, name) == Some(true))
    }

    fn is_shown(&self, window: Window, wanted: &str) -> Option<bool> {
        let name = self.link.get_property(false, window, AtomEnum::WM_NAME, AtomEnum::ANY, 0, 64).ok()?.reply().ok()?;
        let state = self.link.get_window_attributes(window).ok()?.reply().ok()?.map_state;
        Some(name.value == wanted.as_bytes() && state == MapState::VIEWABLE)
    }

    pub fn wait_for_window(&self) -> Window {
        wait("the window", || self.window()).expect("the window is shown")
    }

    /// Waits for a dialog of this title, and takes its first answer with the return key.
    pub fn press_return(&self, title: &str) {
        let dialog = wait(title, || self.named(title)).expect("the dialog is shown");
        let return_key = self.key(RETURN).expect("a keyboard has a return key");
        // No window manager gives it the keyboard. The dialog may still be about to take keys.
        wait("the answer", || {
            self.link.set_input_focus(InputFocus::PARENT, dialog, x11rb::CURRENT_TIME).ok()?.check().ok();
            for kind in [KEY_PRESS_EVENT, KEY_RELEASE_EVENT] {
                self.link
                    .xtest_fake_input(kind, return_key, x11rb::CURRENT_TIME, x11rb::NONE, 0, 0, 0)
                    .ok()?
                    .check()
                    .ok();
            }
            self.named(title).is_none().then_some(())
        })
        .expect("the dialog takes the answer");
    }

    /// The key that has this sign.
    fn key(&self, sign: u32) -> Option<u8> {
        let setup = self.link.setup();
        let n_keys = setup.max_keycode - setup.min_keycode + 1;
        let map = self.link.get_keyboard_mapping(setup.min_keycode, n_keys).ok()?.reply().ok()?;
        let signs = map.keysyms.chunks(map.keysyms_per_keycode.into());
        (setup.min_keycode..).zip(signs).find(|(_, signs)| signs.contains(&sign)).map(|(key, _)| key)
    }

    /// As the button in a window's corner does.
    pub fn close(&self, window: Window) {
        let atom =
            |name: &str| self.link.intern_atom(false, name.as_bytes()).expect("sent").reply().expect("an atom").atom;
        let data = [atom("WM_DELETE_WINDOW"), x11rb::CURRENT_TIME, 0, 0, 0];
        let message = ClientMessageEvent::new(32, window, atom("WM_PROTOCOLS"), data);
        self.link.send_event(false, window, EventMask::NO_EVENT, message).expect("sent");
        self.link.flush().expect("sent");
        wait("no window", || self.window().is_none().then_some(())).expect("the window goes");
    }
}
