//! `SMAppService.mainApp`.

use anyhow::anyhow;
use smappservice_rs::{AppService, ServiceStatus, ServiceType};

use super::{LoginItem, State};

pub struct MainApp;

impl LoginItem for MainApp {
    fn state(&self) -> State {
        match AppService::new(ServiceType::MainApp).status() {
            ServiceStatus::Enabled => State::On,
            ServiceStatus::NotRegistered => State::Off,
            ServiceStatus::RequiresApproval => State::NeedsApproval,
            ServiceStatus::NotFound => State::Unavailable,
        }
    }

    fn enable(&self) -> anyhow::Result<()> {
        AppService::new(ServiceType::MainApp).register().map_err(|error| anyhow!("{error}"))
    }

    fn disable(&self) -> anyhow::Result<()> {
        AppService::new(ServiceType::MainApp).unregister().map_err(|error| anyhow!("{error}"))
    }
}
