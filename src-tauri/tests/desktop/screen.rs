//! What is on the screen: windows by their names, and how a person closes one. No window manager runs.

use x11rb::connection::Connection;
use x11rb::protocol::xproto::{AtomEnum, ClientMessageEvent, ConnectionExt, EventMask, MapState, Window};
use x11rb::rust_connection::RustConnection;

use crate::desk::Desk;
use crate::panel::wait;

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
        let all = self.link.query_tree(self.root).ok()?.reply().ok()?.children;
        all.into_iter().find(|window| self.is_shown(*window) == Some(true))
    }

    fn is_shown(&self, window: Window) -> Option<bool> {
        let name = self.link.get_property(false, window, AtomEnum::WM_NAME, AtomEnum::ANY, 0, 64).ok()?.reply().ok()?;
        let state = self.link.get_window_attributes(window).ok()?.reply().ok()?.map_state;
        Some(name.value == b"Tokbar" && state == MapState::VIEWABLE)
    }

    pub fn wait_for_window(&self) -> Window {
        wait("the window", || self.window()).expect("the window is shown")
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
