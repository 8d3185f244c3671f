//! Made-up prompts of a wanted length: the same for the same seed, known to no cache for another.

use serde_json::{Value, json};

/// Common words, most of them one token with the space before, in whatever vocabulary.
#[rustfmt::skip] // A table.
const WORDS: &[&str] = &[
    "about", "above", "action", "after", "again", "air", "almost", "along", "always", "among", "animal", "answer",
    "area", "art", "back", "bank", "base", "beat", "become", "before", "begin", "behind", "below", "better", "between",
    "big", "bird", "black", "blood", "blue", "board", "boat", "body", "book", "bottom", "box", "boy", "bread", "break",
    "bring", "brother", "brown", "build", "business", "call", "car", "care", "case", "cell", "center", "century",
    "certain", "chance", "change", "chart", "check", "child", "church", "city", "class", "clean", "clear", "close",
    "coast", "cold", "color", "common", "company", "control", "cool", "copy", "corn", "cost", "country", "course",
    "cover", "cross", "cut", "dark", "daughter", "day", "deep", "doctor", "door", "down", "dream", "dress", "drive",
    "dry", "early", "earth", "east", "eat", "edge", "effect", "energy", "engine", "enough", "event", "evening",
    "example", "experience", "eye", "face", "family", "farm", "fast", "father", "field", "figure", "final", "fire",
    "fish", "floor", "flow", "follow", "food", "foot", "force", "forest", "free", "fresh", "friend", "front", "full",
    "game", "garden", "glass", "gold", "good", "government", "great", "green", "ground", "group", "hair", "half",
    "hand", "happy", "hard", "head", "heart", "heat", "heavy", "help", "high", "history", "home", "horse", "hot",
    "hour", "house", "human", "idea", "inside", "iron", "island", "job", "join", "key", "king", "land", "language",
    "large", "law", "lead", "left", "letter", "level", "life", "light", "line", "list", "little", "long", "low",
    "machine", "main", "market", "matter", "meat", "metal", "middle", "milk", "mind", "money", "month", "moon",
    "morning", "mother", "mountain", "mouth", "music", "name", "nature", "new", "night", "north", "note", "number",
    "ocean", "office", "oil", "old", "open", "order", "paper", "part", "party", "past", "pattern", "peace", "people",
    "picture", "place", "plan", "plant", "point", "power", "press", "problem", "product", "public", "question",
    "quick", "quiet", "race", "rain", "reason", "record", "red", "rest", "result", "rich", "right", "ring", "river",
    "road", "rock", "room", "round", "rule", "salt", "sand", "school", "science", "sea", "season", "second", "set",
    "shape", "ship", "shop", "short", "side", "sign", "silver", "simple", "sister", "size", "skin", "sky", "sleep",
    "small", "snow", "soft", "son", "song", "sound", "south", "space", "speed", "spring", "square", "stand", "star",
    "state", "station", "step", "stone", "store", "story", "street", "strong", "student", "sugar", "summer", "sun",
    "system", "table", "tail", "teacher", "team", "test", "thing", "thought", "time", "top", "town", "trade", "train",
    "tree", "trip", "true", "uncle", "unit", "value", "village", "voice", "wall", "war", "warm", "watch", "water",
    "wave", "way", "weather", "week", "west", "wheel", "white", "wide", "wild", "wind", "window", "winter", "woman",
    "wood", "word", "work", "world", "yellow", "young",
];
/// Fresh words that open every conversation, so that what a cache may know ends right behind the template's head.
const N_OPENING_WORDS: usize = 8;
/// What the words are for, before them.
const TASK: &str = "Write a very long and detailed story in many chapters. Every chapter must use some of these words:";
/// Small models go on for long when they are asked for this behind the words.
const STORY: &str = "Write a very long story in twenty chapters. Begin with chapter one.";

/// A stream of numbers from a seed (SplitMix64, Steele and others 2014).
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// One stream per seed and path, such as suite, run and case.
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let mut draw = Self(seed);
        for &step in path {
            draw = Self(draw.next() ^ step);
        }
        draw
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.next() % (high.saturating_sub(low) as u64 + 1)) as usize
    }

    /// That many words, separated by spaces.
    pub fn words(&mut self, n_words: usize) -> String {
        let words: Vec<&str> = (0..n_words).map(|_| WORDS[self.between(0, WORDS.len() - 1)]).collect();
        words.join(" ")
    }
}

/// A conversation of a system message that no cache knows and a task over the words, which come last and can be added to.
pub fn chat(opening: &str, words: &str) -> Value {
    json!([
        {"role": "system", "content": format!("{opening}.")},
        {"role": "user", "content": format!("{TASK} {words}")},
    ])
}

/// The same with the task at the end, for answers that must not end early.
pub fn story(opening: &str, words: &str) -> Value {
    json!([
        {"role": "system", "content": format!("{opening}.")},
        {"role": "user", "content": format!("Words: {words}\n\n{STORY}")},
    ])
}

/// The opening that belongs to a stream of numbers.
pub fn opening(draw: &mut Draw) -> String {
    draw.words(N_OPENING_WORDS)
}

/// How many tokens a conversation has beside its words, and per word: what the server's own counts say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    n_fixed: f64,
    n_per_word: f64,
}

impl Calibration {
    /// From two conversations of so many words and tokens.
    ///
    /// `None` when the longer one does not have more tokens.
    pub fn new(short: (usize, usize), long: (usize, usize)) -> Option<Self> {
        let n_per_word = (long.1 as f64 - short.1 as f64) / (long.0 as f64 - short.0 as f64);
        let n_fixed = short.1 as f64 - n_per_word * short.0 as f64;
        (n_per_word > 0.0 && n_per_word.is_finite()).then_some(Self { n_fixed, n_per_word })
    }

    /// For servers that count nothing: a word is a token.
    pub fn guess() -> Self {
        Self { n_fixed: 40.0, n_per_word: 1.0 }
    }

    /// Words of a conversation with so many tokens; at least one.
    pub fn n_words(&self, n_tokens: usize) -> usize {
        self.n_more_words(n_tokens as f64 - self.n_fixed)
    }

    /// Words that make a conversation so many tokens longer; at least one.
    pub fn n_extra_words(&self, n_tokens: usize) -> usize {
        self.n_more_words(n_tokens as f64)
    }

    fn n_more_words(&self, n_tokens: f64) -> usize {
        (n_tokens / self.n_per_word).round().max(1.0) as usize
    }
}

#[cfg(test)]
#[path = "prompts_tests.rs"]
mod tests;
