//! Whether the app starts when its user logs in. The system's answer is the truth: a person may have changed it there, and the
//! app never changes it back by itself.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod mac;

#[cfg(target_os = "linux")]
pub use linux::Autostart;

/// What the system says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It starts.
    On,
    /// It does not.
    Off,
    /// It was asked for, and a person has to allow it in the system's settings.
    NeedsApproval,
    /// The app is not installed as the system wants it.
    Unavailable,
}

/// What starts apps at login.
pub trait LoginItem: Send + Sync {
    /// What the system says now.
    fn state(&self) -> State;
    /// Asks the system to start it from now on.
    ///
    /// # Errors
    /// When the system refuses.
    fn enable(&self) -> anyhow::Result<()>;
    /// Asks the system not to.
    ///
    /// # Errors
    /// As [`enable`](Self::enable).
    fn disable(&self) -> anyhow::Result<()>;
}

/// This system's.
pub fn login_item() -> Box<dyn LoginItem> {
    #[cfg(target_os = "macos")]
    return Box::new(mac::MainApp);
    #[cfg(target_os = "linux")]
    return Box::new(Autostart::of_user());
}
