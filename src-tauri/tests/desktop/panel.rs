//! A desktop's panel: it watches for icons, reads their menus over D-Bus and clicks on rows.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use zbus::blocking::{Connection, MessageIterator, Proxy, connection, proxy};
use zbus::message::Header;
use zbus::proxy::CacheProperties;
use zbus::zvariant::{OwnedObjectPath, OwnedValue, Value};

use crate::desk::Desk;

/// Only keeps a broken app from hanging the test.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
pub const LOOK: Duration = Duration::from_millis(50);

struct Watcher(Sender<(String, String)>);

#[zbus::interface(name = "org.kde.StatusNotifierWatcher")]
impl Watcher {
    fn register_status_notifier_item(&self, service: String, #[zbus(header)] header: Header<'_>) {
        let sender = header.sender().map(ToString::to_string).unwrap_or_default();
        self.0.send((sender, service)).expect("the test goes on");
    }

    fn register_status_notifier_host(&self, _service: String) {}

    #[zbus(property)]
    fn registered_status_notifier_items(&self) -> Vec<String> {
        Vec::new()
    }

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }
}

struct FileManager(Sender<Vec<String>>);

#[zbus::interface(name = "org.freedesktop.FileManager1")]
impl FileManager {
    fn show_items(&self, addresses: Vec<String>, _startup_id: String) {
        self.0.send(addresses).expect("the test goes on");
    }
}

type Notice = (String, u32, String, String, String, Vec<String>, HashMap<String, OwnedValue>, i32);

/// Shows notifications until the bus is gone: their titles and texts.
fn show_notices(bus: &Connection, shown: &Sender<(String, String)>) {
    for message in MessageIterator::from(bus).map_while(Result::ok) {
        if message.header().member().is_none_or(|member| member != "Notify") {
            continue;
        }
        let (_, _, _, title, text, ..): Notice = message.body().deserialize().expect("a notification");
        bus.reply(&message.header(), &1_u32).expect("the bus takes an answer");
        if shown.send((title, text)).is_err() {
            return;
        }
    }
}

pub struct Panel {
    bus: Connection,
    icons: Receiver<(String, String)>,
    notices: Receiver<(String, String)>,
}

impl Panel {
    pub fn new(desk: &Desk) -> Self {
        let (sender, icons) = channel();
        let bus = connection::Builder::address(desk.bus_address.as_str())
            .and_then(|bus| bus.serve_at("/StatusNotifierWatcher", Watcher(sender)))
            .and_then(|bus| bus.name("org.kde.StatusNotifierWatcher"))
            .and_then(connection::Builder::build)
            .expect("the bus takes a panel");
        let (sender, notices) = channel();
        let server = connection::Builder::address(desk.bus_address.as_str())
            .and_then(|bus| bus.name("org.freedesktop.Notifications"))
            .and_then(connection::Builder::build)
            .expect("the bus takes whoever shows notifications");
        std::thread::spawn(move || show_notices(&server, &sender));
        Self { bus, icons, notices }
    }

    /// A file manager on the same bus: which files it is to show.
    pub fn files(&self) -> Receiver<Vec<String>> {
        let (sender, files) = channel();
        self.bus.object_server().at("/org/freedesktop/FileManager1", FileManager(sender)).expect("the bus takes it");
        self.bus.request_name("org.freedesktop.FileManager1").expect("there is no other");
        files
    }

    /// Title and text of the next notification.
    pub fn notice(&self) -> (String, String) {
        self.notices.recv_timeout(PATIENCE).expect("a notification comes")
    }

    /// Whether none came since the last that was read.
    pub fn is_quiet(&self) -> bool {
        self.notices.try_recv().is_err()
    }

    /// The next icon that registers.
    pub fn icon(&self) -> Icon {
        let (service, path) = self.icons.recv_timeout(PATIENCE).expect("an icon registers");
        let item = proxy::Builder::<Proxy<'_>>::new(&self.bus)
            .destination(service.clone())
            .and_then(|item| item.path(path))
            .and_then(|item| item.interface("org.kde.StatusNotifierItem"))
            // Icons tell of changes by signals of their own.
            .and_then(|item| item.cache_properties(CacheProperties::No).build())
            .expect("an icon");
        let menu: OwnedObjectPath = item.get_property("Menu").expect("a menu");
        let menu = Proxy::new(&self.bus, service, menu, "com.canonical.dbusmenu").expect("a menu");
        let icon = Icon { item, menu };
        // The icon may be told of before its menu is there.
        wait("the menu", || icon.layout().ok()).expect("a menu");
        icon
    }
}

pub struct Icon {
    item: Proxy<'static>,
    menu: Proxy<'static>,
}

/// A row of the menu.
#[derive(Clone, Debug)]
pub struct Row {
    id: i32,
    pub label: String,
    pub is_enabled: bool,
    pub is_checked: bool,
    pub rows: Vec<Row>,
}

type Node = (i32, HashMap<String, OwnedValue>, Vec<OwnedValue>);

impl Row {
    fn of((id, properties, rows): Node) -> Self {
        let text = |name: &str| properties.get(name).and_then(|value| String::try_from(value.try_clone().ok()?).ok());
        let flag = |name: &str| properties.get(name).and_then(|value| bool::try_from(value).ok());
        let number = |name: &str| properties.get(name).and_then(|value| i32::try_from(value).ok());
        let row = |value: OwnedValue| Self::of(Node::try_from(value).expect("a row"));
        Self {
            id,
            // A single underscore marks the letter after it.
            label: text("label").unwrap_or_default().replace("__", "\0").replace('_', "").replace('\0', "_"),
            is_enabled: flag("enabled").unwrap_or(true),
            is_checked: number("toggle-state") == Some(1),
            rows: rows.into_iter().map(row).collect(),
        }
    }
}

impl Icon {
    /// All rows of the menu.
    pub fn rows(&self) -> Vec<Row> {
        Row::of(self.layout().expect("a menu")).rows
    }

    fn layout(&self) -> zbus::Result<Node> {
        let (_revision, root): (u32, Node) = self.menu.call("GetLayout", &(0_i32, -1_i32, Vec::<String>::new()))?;
        Ok(root)
    }

    /// What the first row says after its dot.
    pub fn status(&self) -> String {
        let rows = self.rows();
        rows.first().and_then(|row| row.label.split_once(' ')).map(|(_, text)| text.to_owned()).unwrap_or_default()
    }

    /// The first row whose label has this in it, in any submenu.
    pub fn find(&self, part: &str) -> Option<Row> {
        find(&self.rows(), part)
    }

    /// Waits until the first row says what `is_it` wants, and returns that.
    pub fn wait_for_status(&self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        wait(what, || Some(self.status()).filter(|status| is_it(status))).unwrap_or_else(|| {
            panic!(
                "the menu never said that {what}: {:#?}",
                self.rows().iter().map(|row| &row.label).collect::<Vec<_>>()
            )
        })
    }

    /// Waits for a row, and returns it.
    pub fn wait_for_row(&self, part: &str) -> Row {
        wait(part, || self.find(part)).unwrap_or_else(|| panic!("no row {part:?}: {:#?}", self.rows()))
    }

    pub fn click(&self, row: &Row) {
        assert!(row.is_enabled, "{} can be clicked", row.label);
        let event = (row.id, "clicked", Value::from(""), 0_u32);
        self.menu.call_method("Event", &event).expect("the row takes a click");
    }

    /// Waits for a row, and clicks on it.
    pub fn choose(&self, part: &str) {
        self.click(&self.wait_for_row(part));
    }

    /// The name of the picture that is shown.
    pub fn picture(&self) -> String {
        self.item.get_property("IconName").expect("a picture")
    }
}

fn find(rows: &[Row], part: &str) -> Option<Row> {
    rows.iter().find_map(|row| if row.label.contains(part) { Some(row.clone()) } else { find(&row.rows, part) })
}

/// Looks until there is something to see.
pub fn wait<T>(_what: &str, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        match look() {
            Some(seen) => return Some(seen),
            None if start.elapsed() > PATIENCE => return None,
            None => park_timeout(LOOK),
        }
    }
}
