//! The submenu of models: what is loaded, what can be started, what can be got.

use tokbar_app::size;

use super::{Action, Dot, Item, Live, Loaded, Page, Phase, act, phase, short};
use crate::offered::Offer;
use crate::words::Words;

/// Rows of each list: a menu is no catalogue.
const N_ROWS_MAX: usize = 8;

pub fn items(live: &Live, words: &Words) -> Vec<Item> {
    let mut items: Vec<Item> = live.models.iter().map(|model| loaded(model, words)).collect();
    if items.is_empty() {
        items.push(Item::Text { key: "none", label: words.no_model_loaded.to_owned(), dot: Some(Dot::Grey) });
    }
    let is_idle = |name: &str| !live.models.iter().any(|model| model.name == name);
    let offered = &live.offered;
    let is_recent = |name: &str| offered.recents.iter().any(|recent| recent == name);
    let recents = offered.here.iter().filter(|offer| is_recent(&offer.name) && is_idle(&offer.name));
    let mut recents: Vec<&Offer> = recents.collect();
    recents.sort_by_key(|offer| offered.recents.iter().position(|recent| *recent == offer.name));
    let others = offered.here.iter().filter(|offer| !is_recent(&offer.name) && is_idle(&offer.name));
    let label = |offer: &Offer| format!("{} · {}", short(&offer.name), size::show(offer.n_bytes));
    let start = |offer: &Offer| act(Action::Load(offer.name.clone()), &label(offer), None);
    // It opens a window, which the dots promise.
    let get =
        |offer: &Offer| act(Action::Open(Page::Models(Some(offer.name.clone()))), &format!("{}…", label(offer)), None);
    list(&mut items, ("recent", words.recent), recents.into_iter().map(start));
    list(&mut items, ("here", words.on_this_machine), others.map(start));
    list(&mut items, ("fits", words.fits), offered.fitting.iter().map(get));
    items.push(Item::Line);
    items.push(act(Action::Open(Page::Models(None)), words.get_more, None));
    items
}

fn list(items: &mut Vec<Item>, (key, title): (&'static str, &str), rows: impl Iterator<Item = Item>) {
    let rows: Vec<Item> = rows.take(N_ROWS_MAX).collect();
    if !rows.is_empty() {
        items.push(Item::Line);
        items.push(Item::Text { key, label: title.to_owned(), dot: None });
        items.extend(rows);
    }
}

fn loaded(model: &Loaded, words: &Words) -> Item {
    let size = (model.n_bytes > 0).then(|| size::show(model.n_bytes));
    let parts = [Some(short(&model.name).to_owned()), size, Some(phase(model, words))];
    let label = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let is_here = !matches!(model.phase, Phase::Loading { .. } | Phase::Leaving);
    if !is_here {
        return Item::Text { key: "moving", label, dot: Some(model.phase.dot()) };
    }
    let name = &model.name;
    let rows = vec![
        act(Action::Unload(name.clone()), words.unload, None),
        Item::Check {
            action: Action::Pin(name.clone(), !model.is_pinned),
            label: words.keep_loaded.to_owned(),
            is_checked: model.is_pinned,
        },
    ];
    Item::Menu { key: format!("model {name}"), label, items: rows }
}
