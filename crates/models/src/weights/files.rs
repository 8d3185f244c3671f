//! The files of a checkpoint.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tokbar_hub::checkpoint::{CheckpointError, headers};
use tokbar_hub::safetensors::{Dtype as StoredDtype, Header, TensorInfo};

use super::{Compute, LoadProgress, Paging, Place, Progress, Weights, places, published_name};
use crate::config::QuantizationConfig;
use crate::mx;
use crate::{LoadError, LoadResult, tower};

/// The folder beside the files in which a head that predicts several tokens may come by itself.
const SIDE: &str = "mtp";

/// The files of a checkpoint and what their headers declare.
pub struct WeightFiles {
    /// In the order of their names.
    pub paths: Vec<PathBuf>,
    infos: BTreeMap<String, TensorInfo>,
    /// Room for experts; `None` = all are in memory.
    paging: Option<Rc<Paging>>,
}

impl WeightFiles {
    /// Finds and checks the safetensors files of a checkpoint.
    ///
    /// # Errors
    /// When there are none, a shard of the index is missing, or a file breaks the format.
    pub fn open(dir: &Path) -> LoadResult<Self> {
        let (mut paths, mut infos) = (Vec::new(), BTreeMap::new());
        let side = dir.join(SIDE);
        let beside = if side.is_dir() { headers(&side)? } else { BTreeMap::new() };
        for (path, header) in headers(dir)?.into_iter().chain(beside) {
            for (name, info) in header.tensors {
                let Some(text_name) = needed(&name) else { continue };
                if infos.insert(text_name, info).is_some() {
                    return Err(LoadError::TensorTwice { name, path });
                }
            }
            paths.push(path);
        }
        Ok(Self { paths, infos, paging: None })
    }

    /// The same, with experts in memory only as far as `paging` has room.
    pub fn with_paging(self, paging: Option<Rc<Paging>>) -> Self {
        Self { paging, ..self }
    }

    /// Room for experts, where not all are in memory.
    pub fn paging(&self) -> Option<&Rc<Paging>> {
        self.paging.as_ref()
    }

    /// Where every tensor lies.
    fn places(&self) -> LoadResult<BTreeMap<String, Place>> {
        let mut places = BTreeMap::new();
        for (path, header) in self.paths.iter().map(|path| (path, Header::read(path))) {
            let source = places::Source::open(path)?;
            for (name, info) in header.map_err(CheckpointError::from)?.tensors {
                places.extend(needed(&name).and_then(|name| Some((name, source.place(&info)?))));
            }
        }
        Ok(places)
    }

    /// Bytes of all tensors as stored.
    pub fn n_bytes(&self) -> u64 {
        self.infos.values().map(|info| info.n_bytes).sum()
    }

    /// Element type of most floats.
    pub fn float_dtype(&self) -> StoredDtype {
        let n_bytes = |dtype: StoredDtype| -> u64 {
            self.infos.values().filter(|info| info.dtype == dtype).map(|info| info.n_bytes).sum()
        };
        let floats = [StoredDtype::BF16, StoredDtype::F16, StoredDtype::F32];
        floats.into_iter().max_by_key(|&dtype| n_bytes(dtype)).unwrap_or(StoredDtype::F32)
    }

    /// Declared tensors.
    pub fn infos(&self) -> &BTreeMap<String, TensorInfo> {
        &self.infos
    }

    /// The tensors, not read from disk until they are computed; without a `progress`, which reading is reported to, never.
    pub fn load<'p>(
        &self,
        compute: Compute,
        quantization: Option<QuantizationConfig>,
        progress: Option<Progress<'p>>,
    ) -> LoadResult<Weights<'p>> {
        let mut tensors = BTreeMap::new();
        for path in &self.paths {
            let arrays = mx::load_safetensors(path)?.into_iter();
            tensors.extend(arrays.filter_map(|(name, array)| Some((needed(&name)?, array))));
        }
        let places = if self.paging.is_some() { self.places()? } else { BTreeMap::new() };
        let weights = Weights::of(tensors, compute, quantization).with_paging(self.paging.clone(), places);
        let start = LoadProgress { n_bytes: 0, n_bytes_total: self.n_bytes() };
        Ok(Weights { progress: RefCell::new((start, progress)), ..weights })
    }
}

/// A tensor's name as families take it; `None` = none of them needs it.
fn needed(name: &str) -> Option<String> {
    tower::text_name(&published_name(name)?)
}
