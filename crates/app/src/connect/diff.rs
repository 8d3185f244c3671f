//! The lines in which two texts differ, as people read them.

/// Lines around a change that are shown.
const N_AROUND: usize = 2;
/// Beyond so many pairs of lines the middle counts as replaced whole.
const N_PAIRS_MAX: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Same,
    Out,
    In,
}

/// Lines that go (`-`) and come (`+`) with their neighbours; empty where nothing changes.
pub fn lines(old: &str, new: &str) -> String {
    let marked = compare(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>());
    let is_near = |idx: usize| {
        let around = idx.saturating_sub(N_AROUND)..(idx + N_AROUND + 1).min(marked.len());
        marked[around].iter().any(|(mark, _)| *mark != Mark::Same)
    };
    let mut text = String::new();
    let mut was_left_out = false;
    for (idx, (mark, line)) in marked.iter().enumerate() {
        if !is_near(idx) {
            was_left_out = true;
            continue;
        }
        if was_left_out {
            text.push_str("  ...\n");
            was_left_out = false;
        }
        let sign = match mark {
            Mark::Same => ' ',
            Mark::Out => '-',
            Mark::In => '+',
        };
        text.push_str(&format!("{sign} {line}\n"));
    }
    text
}

/// What is the same at both ends is set aside; the rest is compared by its longest common subsequence.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Mark, &'a str)> {
    let n_head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let n_tail = old[n_head..].iter().rev().zip(new[n_head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (middle_old, middle_new) = (&old[n_head..old.len() - n_tail], &new[n_head..new.len() - n_tail]);
    let same = |line: &&'a str| (Mark::Same, *line);
    let mut marked: Vec<(Mark, &str)> = old[..n_head].iter().map(same).collect();
    marked.extend(middle(middle_old, middle_new));
    marked.extend(old[old.len() - n_tail..].iter().map(same));
    marked
}

fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Mark, &'a str)> {
    let out = |line: &&'a str| (Mark::Out, *line);
    let come = |line: &&'a str| (Mark::In, *line);
    if old.len().saturating_mul(new.len()) > N_PAIRS_MAX {
        return old.iter().map(out).chain(new.iter().map(come)).collect();
    }
    // longest[i][j]: common lines of old[i..] and new[j..].
    let width = new.len() + 1;
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * width + j] = if old[i] == new[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut marked) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            marked.push((Mark::Same, old[i]));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            marked.push(out(&old[i]));
            i += 1;
        } else {
            marked.push(come(&new[j]));
            j += 1;
        }
    }
    marked.extend(old[i..].iter().map(out));
    marked.extend(new[j..].iter().map(come));
    marked
}

/// The text without `secret`, and without what stands in lines that name a key, a token or a secret.
pub fn without_secrets(text: &str, secret: Option<&str>) -> String {
    let line = |line: &str| {
        let line = secret.filter(|secret| !secret.is_empty()).map_or(line.to_owned(), |key| line.replace(key, "[key]"));
        format!("{}\n", masked(&line).unwrap_or(line))
    };
    text.lines().map(line).collect()
}

/// A line such as `"API_KEY": "abc",` with `[key]` in place of its value.
fn masked(line: &str) -> Option<String> {
    let at = line.find([':', '='])?;
    let (name, rest) = line.split_at(at + 1);
    let name_said = name.to_ascii_lowercase();
    let is_secret = ["key", "token", "secret", "password"].iter().any(|word| name_said.contains(word));
    let value = rest.trim().trim_end_matches(',');
    // Names of variables, numbers and what we write ourselves are no secrets.
    let text = value.trim_matches(['"', '\'']);
    let is_harmless = text.is_empty()
        || ["tokbar", "[key]"].contains(&text)
        || text.chars().all(|c| c.is_ascii_digit())
        || text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        || text.starts_with(['{', '[']);
    (is_secret && !is_harmless).then(|| format!("{name} [key]"))
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
