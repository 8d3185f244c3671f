//! The importer on real checkpoints of the test kit, and downloads from a server on this machine.

#![allow(clippy::unwrap_used)]

mod hub {
    mod download;
    mod download_faults;
    mod download_parallel;
    mod download_parts;
    mod download_refusals;
    mod loopback;
    mod python_hub;
    mod real_models;
    mod repository;
    mod searching;
    mod testbed;
}
