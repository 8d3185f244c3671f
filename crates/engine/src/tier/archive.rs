//! The records of all models as one: what there is, and moving it to and from a single file of the same format.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::TierOptions;
use super::key::{ChainKey, Fingerprint, Kind};
use super::media::{self, sync_dir};
use super::record::{ALIGNMENT, Header};
use super::scan::{Flaws, scan};
use super::store::{self, Access, Opened, Record, Store, model_dirs, read_payload, segments};

/// Longest label in bytes.
const N_LABEL_MAX: u64 = 4096;

/// Most records of a file to import: about 500 bytes of memory each.
const N_RECORDS_MAX: usize = 1 << 20;

/// Why records were not moved.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file or folder cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file to write is there.
    #[error("{} is there already; remove it or choose another name", .0.display())]
    Exists(PathBuf),
    /// The file holds no record.
    #[error("{} is no export of Tokbar's KV cache, or is damaged throughout", .0.display())]
    NoArchive(PathBuf),
    /// A server uses the model's records.
    #[error("a running Tokbar uses the cache of {0}; stop it first")]
    InUse(String),
}

/// One model's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSummary {
    /// Tells the model apart.
    pub fingerprint: String,
    /// Its name.
    pub label: String,
    /// Blocks of KV.
    pub n_blocks: usize,
    /// Snapshots.
    pub n_snapshots: usize,
    /// Tokens of all blocks together.
    pub n_tokens: u64,
    /// Bytes on disk.
    pub n_bytes: u64,
    /// What is not readable, by headers.
    pub flaws: Flaws,
    /// When one was last of use.
    pub used: Option<SystemTime>,
    /// Whether a process writes to it now.
    pub is_in_use: bool,
}

/// What was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Records that are now there and were not before.
    pub n_moved: u64,
    /// Records that were there already.
    pub n_known: u64,
    /// Records for which the size cap or the disk has no room.
    pub n_without_room: u64,
    /// Bytes of the payloads moved.
    pub n_bytes: u64,
    /// What was skipped.
    pub flaws: Flaws,
}

/// What there is under `root`, by model. A folder that is not there holds nothing.
///
/// # Errors
/// When a folder cannot be read.
pub fn summaries(root: &Path) -> Result<Vec<ModelSummary>, ArchiveError> {
    let dirs = match model_dirs(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        dirs => dirs.map_err(at(root))?,
    };
    let all = dirs.iter().map(|dir| summary(dir).map_err(at(dir))).collect::<Result<Vec<_>, _>>()?;
    Ok(all.into_iter().filter(|summary| summary.n_bytes > 0).collect())
}

fn summary(dir: &Path) -> io::Result<ModelSummary> {
    let mut summary = ModelSummary {
        fingerprint: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        label: String::new(),
        n_blocks: 0,
        n_snapshots: 0,
        n_tokens: 0,
        n_bytes: 0,
        flaws: Flaws::default(),
        used: None,
        is_in_use: store::try_lock(dir)?.is_none(),
    };
    let mut seen = HashSet::new();
    for (_, path, metadata) in segments(dir)? {
        summary.n_bytes += metadata.len();
        summary.used = summary.used.max(Some(media::used(&metadata)));
        let Ok(file) = File::open(&path) else { continue };
        let mut label = None;
        let flaws = scan(&file, |offset, header| match header.kind {
            Kind::Label => label = Some((offset, header)),
            Kind::Block if seen.insert(header.key) => {
                summary.n_blocks += 1;
                summary.n_tokens += header.tokens.len() as u64;
            }
            Kind::Snapshot if seen.insert(header.key) => summary.n_snapshots += 1,
            Kind::Block | Kind::Snapshot => {}
        })?;
        summary.flaws.add(flaws);
        summary.label = label.and_then(|(offset, header)| read_label(&file, offset, &header)).unwrap_or(summary.label);
    }
    Ok(summary)
}

fn read_label(file: &File, offset: u64, header: &Header) -> Option<String> {
    let payload = (header.n_payload <= N_LABEL_MAX).then(|| read_payload(file, offset, header).ok())??;
    Some(String::from_utf8_lossy(&payload).chars().filter(|c| !c.is_control()).collect())
}

/// Removes all records that no process uses; says how many bytes that frees, and of which models some stay.
///
/// # Errors
/// When a folder cannot be read or changed.
pub fn clear(root: &Path) -> Result<(u64, Vec<String>), ArchiveError> {
    let (mut n_bytes, mut in_use) = (0, Vec::new());
    for summary in summaries(root)? {
        let dir = root.join(&summary.fingerprint);
        let Some(_lock) = store::try_lock(&dir).map_err(at(&dir))? else {
            in_use.push(summary.label);
            continue;
        };
        for (_, path, metadata) in segments(&dir).map_err(at(&dir))? {
            fs::remove_file(&path).map_err(at(&path))?;
            n_bytes += metadata.len();
        }
    }
    Ok((n_bytes, in_use))
}

/// Copies all sound records under `root` into a new file.
///
/// # Errors
/// When the file is there, or something cannot be read or written; no file is left then.
pub fn export(root: &Path, file: &Path) -> Result<Transfer, ArchiveError> {
    if file.exists() {
        return Err(ArchiveError::Exists(file.to_owned()));
    }
    let part = part_of(file);
    let exported = export_to(root, &part).and_then(|transfer| {
        fs::rename(&part, file).map_err(at(file))?;
        let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync_dir(dir).map_err(at(dir))?;
        Ok(transfer)
    });
    if exported.is_err()
        && let Err(error) = fs::remove_file(&part)
    {
        tracing::debug!(%error, "{} is not there to be removed", part.display());
    }
    exported
}

/// Beside the file, so that a rename completes it.
fn part_of(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

fn export_to(root: &Path, part: &Path) -> Result<Transfer, ArchiveError> {
    let out = OpenOptions::new().write(true).create_new(true).open(part).map_err(at(part))?;
    let (mut out, mut transfer, mut seen) = (BufWriter::new(out), Transfer::default(), HashSet::new());
    for dir in model_dirs(root).map_err(at(root))? {
        for (_, path, _) in segments(&dir).map_err(at(&dir))? {
            // One that a running server has evicted meanwhile is no loss.
            let Ok(file) = File::open(&path) else { continue };
            let mut found = Vec::new();
            transfer.flaws.add(scan(&file, |offset, header| found.push((offset, header))).map_err(at(&path))?);
            for (offset, header) in
                found.into_iter().filter(|(_, header)| seen.insert((header.fingerprint, header.key)))
            {
                copy(&file, (offset, header), &mut out, &mut transfer).map_err(at(part))?;
            }
        }
    }
    let out = out.into_inner().map_err(|error| at(part)(error.into_error()))?;
    out.sync_all().map_err(at(part))?;
    Ok(transfer)
}

fn copy(file: &File, (offset, header): (u64, Header), out: &mut impl Write, transfer: &mut Transfer) -> io::Result<()> {
    let Ok(payload) = read_payload(file, offset, &header) else {
        transfer.flaws.n_corrupt += 1;
        return Ok(());
    };
    let n_padding = header.n_record() - header.n_header() - header.n_payload;
    out.write_all(&header.to_bytes())?;
    out.write_all(&payload)?;
    out.write_all(&[0; ALIGNMENT as usize][..n_padding as usize])?;
    if header.kind != Kind::Label {
        transfer.n_moved += 1;
        transfer.n_bytes += header.n_payload;
    }
    Ok(())
}

/// Merges the records of an exported file into the folder of `options`, checking every byte. Nothing is evicted for them.
///
/// # Errors
/// When the file holds no record, a server uses the same model, or something cannot be read or written. What was merged
/// until then stays.
pub fn import(options: &TierOptions, file: &Path) -> Result<Transfer, ArchiveError> {
    let archive = File::open(file).map_err(at(file))?;
    let (mut transfer, mut found) = (Transfer::default(), BTreeMap::<Fingerprint, Vec<(u64, Header)>>::new());
    let mut n_found = 0;
    transfer.flaws = scan(&archive, |offset, header| {
        n_found += 1;
        match n_found <= N_RECORDS_MAX {
            true => found.entry(header.fingerprint).or_default().push((offset, header)),
            false => transfer.n_without_room += 1,
        }
    })
    .map_err(at(file))?;
    if found.is_empty() {
        return Err(ArchiveError::NoArchive(file.to_owned()));
    }
    for (fingerprint, records) in found {
        let labels = records.iter().filter(|(_, header)| header.kind == Kind::Label);
        let label = labels.filter_map(|(offset, header)| read_label(&archive, *offset, header)).next_back();
        let model = Import { archive: &archive, fingerprint, label: label.unwrap_or_default() };
        model.merge(options, records, &mut transfer)?;
    }
    Ok(transfer)
}

/// One model's part of an import.
struct Import<'a> {
    archive: &'a File,
    fingerprint: Fingerprint,
    label: String,
}

impl Import<'_> {
    fn merge(
        &self,
        options: &TierOptions,
        records: Vec<(u64, Header)>,
        transfer: &mut Transfer,
    ) -> Result<(), ArchiveError> {
        let opened = Store::open(&options.dir, self.fingerprint, &self.label, options.bounds());
        let Opened { mut store, index, .. } = opened.map_err(at(&options.dir))?;
        if store.access() == Access::Read {
            return Err(ArchiveError::InUse(self.label.clone()));
        }
        let dir = store.dir().to_owned();
        let n_idle: u64 = store.idle_segments().iter().map(|segment| segment.n_bytes).sum();
        let (mut n_held, mut seen) = (index.n_bytes() + n_idle, HashSet::<ChainKey>::new());
        for (offset, header) in records.into_iter().filter(|(_, header)| header.kind != Kind::Label) {
            if index.get(header.key).is_some() || !seen.insert(header.key) {
                transfer.n_known += 1;
            } else if store.n_excess(n_held, header.n_record()).map_err(at(&dir))? > 0 {
                transfer.n_without_room += 1;
            } else if let Ok(payload) = read_payload(self.archive, offset, &header) {
                n_held += header.n_record();
                transfer.n_moved += 1;
                transfer.n_bytes += header.n_payload;
                store.append(&Record { header, payload }).map_err(at(&dir))?;
            } else {
                transfer.flaws.n_corrupt += 1;
            }
        }
        store.sync().map_err(at(&dir))
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError + use<> {
    let path = path.to_owned();
    move |error| ArchiveError::Io { path, error }
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
