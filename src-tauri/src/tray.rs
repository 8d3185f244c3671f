//! Puts the menu on the screen, and changes rows in place: a menu that is open stays open.

use tauri::menu::{CheckMenuItem, IsMenuItem, Menu, MenuItem, PredefinedMenuItem, Submenu};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Wry};

use crate::glue::sight;
use crate::icon::{self, Shape};
use crate::menu::{Dot, Item};

/// Names the icon to the system, which remembers its place by it.
const ID: &str = "tokbar";

/// The icon with its menu, as they are shown.
pub struct Tray {
    icon: TrayIcon,
    menu: Menu<Wry>,
    rows: Vec<Row>,
    shape: Shape,
    title: Option<String>,
}

/// What the tray is to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Rows of the menu.
    pub items: Vec<Item>,
    /// The icon's shape.
    pub shape: Shape,
    /// What stands beside the icon.
    pub title: Option<String>,
}

/// A row on the screen with what it shows.
struct Row {
    item: Item,
    widget: Widget,
}

enum Widget {
    Text(MenuItem<Wry>),
    Act(MenuItem<Wry>),
    Check(CheckMenuItem<Wry>),
    Menu(Submenu<Wry>, Vec<Row>),
    Line(PredefinedMenuItem<Wry>),
}

/// Where rows go.
trait Parent {
    fn add(&self, row: &dyn IsMenuItem<Wry>) -> tauri::Result<()>;
    fn take(&self, row: &dyn IsMenuItem<Wry>) -> tauri::Result<()>;
}

impl Parent for Menu<Wry> {
    fn add(&self, row: &dyn IsMenuItem<Wry>) -> tauri::Result<()> {
        self.append(row)
    }

    fn take(&self, row: &dyn IsMenuItem<Wry>) -> tauri::Result<()> {
        self.remove(row)
    }
}

impl Parent for Submenu<Wry> {
    fn add(&self, row: &dyn IsMenuItem<Wry>) -> tauri::Result<()> {
        self.append(row)
    }

    fn take(&self, row: &dyn IsMenuItem<Wry>) -> tauri::Result<()> {
        self.remove(row)
    }
}

impl Tray {
    /// Shows the icon.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new(app: &AppHandle, shown: &Shown) -> tauri::Result<Self> {
        let menu = Menu::new(app)?;
        let mut rows = Vec::new();
        sync(app, &menu, &mut rows, &shown.items)?;
        let icon = TrayIconBuilder::with_id(ID)
            .icon(icon::template(shown.shape))
            .icon_as_template(true)
            .menu(&menu)
            .show_menu_on_left_click(true)
            .build(app)?;
        Ok(Self { icon, menu, rows, shape: shown.shape, title: None })
    }

    /// Changes what is not as it should be.
    ///
    /// # Errors
    /// When the system refuses; the next call goes on from there.
    pub fn show(&mut self, app: &AppHandle, shown: &Shown) -> tauri::Result<()> {
        sync(app, &self.menu, &mut self.rows, &shown.items)?;
        if self.shape != shown.shape {
            self.icon.set_icon_with_as_template(Some(icon::template(shown.shape)), true)?;
            self.shape = shown.shape;
        }
        if self.title != shown.title {
            self.icon.set_title(shown.title.as_deref().or(Some("")))?;
            self.title.clone_from(&shown.title);
        }
        Ok(())
    }
}

/// Whether people can see the icon.
#[cfg(target_os = "linux")]
pub fn is_seen(_app: &AppHandle, tray: Option<&Tray>) -> bool {
    tray.is_some() && sight::has_tray()
}

/// Whether people can see the icon.
#[cfg(target_os = "macos")]
pub fn is_seen(app: &AppHandle, tray: Option<&Tray>) -> bool {
    let area = |position: tauri::PhysicalPosition<f64>, size: tauri::PhysicalSize<f64>| sight::Area {
        x: position.x,
        y: position.y,
        width: size.width,
        height: size.height,
    };
    let rect = tray.and_then(|tray| tray.icon.rect().ok().flatten());
    let icon = rect.map(|rect| area(rect.position.to_physical(1.0), rect.size.to_physical(1.0)));
    let monitors = app.available_monitors().unwrap_or_default();
    let screens: Vec<sight::Area> =
        monitors.iter().map(|monitor| area(monitor.position().cast(), monitor.size().cast())).collect();
    sight::is_in_bar(icon, &screens)
}

/// Rows that are of the same kind as before are changed; from the first that is not, all are made anew.
fn sync(app: &AppHandle, parent: &dyn Parent, rows: &mut Vec<Row>, items: &[Item]) -> tauri::Result<()> {
    let n_same = rows.iter().zip(items).take_while(|(row, item)| is_same_kind(&row.item, item)).count();
    for row in rows.drain(n_same..) {
        parent.take(row.widget.as_item())?;
    }
    for (row, item) in rows.iter_mut().zip(items) {
        if row.item != *item {
            change(app, row, item)?;
        }
    }
    for item in &items[rows.len()..] {
        let row = make(app, item)?;
        parent.add(row.widget.as_item())?;
        rows.push(row);
    }
    Ok(())
}

/// Whether a row can be changed from one into the other. What an action is cannot be changed, as it is the row's id.
fn is_same_kind(before: &Item, after: &Item) -> bool {
    match (before, after) {
        (Item::Text { key, .. }, Item::Text { key: other, .. }) => key == other,
        (Item::Act { action, keys, .. }, Item::Act { action: other, keys: other_keys, .. }) => {
            action == other && keys == other_keys
        }
        (Item::Check { action, .. }, Item::Check { action: other, .. }) => action.id() == other.id(),
        (Item::Menu { key, .. }, Item::Menu { key: other, .. }) => key == other,
        (Item::Line, Item::Line) => true,
        _ => false,
    }
}

fn change(app: &AppHandle, row: &mut Row, item: &Item) -> tauri::Result<()> {
    match (&mut row.widget, item) {
        (Widget::Text(widget), Item::Text { label, dot, .. }) => widget.set_text(marked(label, *dot))?,
        (Widget::Act(widget), Item::Act { label, .. }) => widget.set_text(plain(label))?,
        (Widget::Check(widget), Item::Check { label, is_checked, .. }) => {
            widget.set_text(plain(label))?;
            widget.set_checked(*is_checked)?;
        }
        (Widget::Menu(widget, rows), Item::Menu { label, items, .. }) => {
            widget.set_text(plain(label))?;
            sync(app, widget, rows, items)?;
        }
        _ => {}
    }
    row.item = item.clone();
    Ok(())
}

fn make(app: &AppHandle, item: &Item) -> tauri::Result<Row> {
    let widget = match item {
        Item::Text { label, dot, .. } => Widget::Text(MenuItem::new(app, marked(label, *dot), false, None::<&str>)?),
        Item::Act { action, label, keys } => {
            Widget::Act(MenuItem::with_id(app, action.id(), plain(label), true, *keys)?)
        }
        Item::Check { action, label, is_checked } => {
            Widget::Check(CheckMenuItem::with_id(app, action.id(), plain(label), true, *is_checked, None::<&str>)?)
        }
        Item::Menu { label, items, .. } => {
            let (menu, mut rows) = (Submenu::new(app, plain(label), true)?, Vec::new());
            sync(app, &menu, &mut rows, items)?;
            Widget::Menu(menu, rows)
        }
        Item::Line => Widget::Line(PredefinedMenuItem::separator(app)?),
    };
    Ok(Row { item: item.clone(), widget })
}

/// A picture would do, but Linux cannot change the text of a row that has one.
fn marked(label: &str, dot: Option<Dot>) -> String {
    let mark = match dot {
        Some(Dot::Green) => "🟢 ",
        Some(Dot::Amber) => "🟡 ",
        Some(Dot::Red) => "🔴 ",
        Some(Dot::Grey) => "⚪ ",
        None => "",
    };
    format!("{mark}{}", plain(label))
}

/// In labels of menus an `&` marks the letter after it.
fn plain(label: &str) -> String {
    label.replace('&', "&&")
}

impl Widget {
    fn as_item(&self) -> &dyn IsMenuItem<Wry> {
        match self {
            Self::Text(widget) => widget,
            Self::Act(widget) => widget,
            Self::Check(widget) => widget,
            Self::Menu(widget, _) => widget,
            Self::Line(widget) => widget,
        }
    }
}
