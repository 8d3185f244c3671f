//! Models from disk to memory and back: loaded when they are named, unloaded when nobody uses them or another needs the room.
//!
//! `load` brings one model; `policy` chooses who makes room; a thread of its own (`worker`) does it, one after another;
//! `mark` remembers unclean ends.

mod keeper;
mod load;
pub mod mark;
mod policy;
mod resident;
mod safe;
mod worker;

pub use keeper::{Keeper, KeeperOptions};
pub use load::{Loaded, Watch, demand, detection, load, load_watched};
pub use resident::Recipe;
pub use safe::{GOOD_FOR, SafeMode};
