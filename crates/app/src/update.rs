//! Whether the desktop app may look for an update, take one, and keep it: rules without a window, a network or a clock.
//!
//! The app fetches and installs by Tauri's updater, which checks the signature; here is what it asks first, what the signature
//! has to say, and how the version before comes back.

mod offer;
mod place;
mod rollback;
mod schedule;

pub use offer::{Offer, OfferError, check_offer};
pub use place::{Place, app_of, place_of};
pub use rollback::{Kept, RollbackError, Start, Trial, keep_previous, put_back, read_trial, started, write_trial};
pub use schedule::{Checks, Hold, Outcome, Work, may_install};
