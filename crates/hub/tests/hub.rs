//! The importer on real checkpoints of the test kit.

#![allow(clippy::unwrap_used)]

mod hub {
    mod real_models;
}
