//! Mach-O files and apps for tests, written word by word as the format has them: no linker is needed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::bundle::{self, Parts};

/// A program or library to be.
pub struct Sample {
    pub cpu: u32,
    pub min_macos: (u32, u32),
    pub id: Option<&'static str>,
    pub dylibs: Vec<&'static str>,
    pub rpaths: Vec<&'static str>,
    pub is_signed: bool,
    pub entitlements: Option<&'static str>,
}

/// A program that is fine.
pub fn program() -> Sample {
    Sample {
        cpu: 0x0100_000c,
        min_macos: (14, 0),
        id: None,
        dylibs: vec!["/usr/lib/libSystem.B.dylib", "@rpath/libmlx.dylib"],
        rpaths: vec!["@executable_path/../Frameworks"],
        is_signed: true,
        entitlements: None,
    }
}

/// A library that is fine.
pub fn library() -> Sample {
    Sample { id: Some("@rpath/libmlx.dylib"), dylibs: vec!["/usr/lib/libc++.1.dylib"], rpaths: vec![], ..program() }
}

impl Sample {
    pub fn bytes(&self) -> Vec<u8> {
        let mut commands = vec![command(0x32, &[1, self.min_macos.0 << 16 | self.min_macos.1 << 8, 0, 0], "")];
        commands.extend(self.id.map(|id| command(0xd, &[24, 1, 0, 0], id)));
        commands.extend(self.dylibs.iter().map(|name| command(0xc, &[24, 1, 0, 0], name)));
        commands.extend(self.rpaths.iter().map(|path| command(0x8000_001c, &[12], path)));
        let signature = self.signature();
        let n_before = 32 + commands.iter().map(Vec::len).sum::<usize>() + 16;
        if self.is_signed {
            commands.push(command(0x1d, &[n_before as u32, signature.len() as u32], ""));
        }
        let size = commands.iter().map(Vec::len).sum::<usize>() as u32;
        let mut bytes = little(&[0xfeed_facf, self.cpu, 0, 2, commands.len() as u32, size, 0, 0]);
        bytes.extend(commands.concat());
        if self.is_signed {
            bytes.extend(signature);
        }
        bytes
    }

    /// An index of a code directory and, if there are any, entitlements.
    fn signature(&self) -> Vec<u8> {
        let directory = big(&[0xfade_0c02, 16, 0x2_0400, 0x1_0002]);
        let entitlements = self.entitlements.map_or_else(Vec::new, |text| {
            [big(&[0xfade_7171, 8 + text.len() as u32]), text.as_bytes().to_vec()].concat()
        });
        let n_blobs: u32 = if entitlements.is_empty() { 1 } else { 2 };
        let start = 12 + 8 * n_blobs;
        let size = start + (directory.len() + entitlements.len()) as u32;
        let mut index = vec![0xfade_0cc0, size, n_blobs, 0, start];
        if n_blobs == 2 {
            index.extend([5, start + 16]);
        }
        [big(&index), directory, entitlements].concat()
    }
}

fn command(kind: u32, words: &[u32], text: &str) -> Vec<u8> {
    let text_size = if text.is_empty() { 0 } else { (text.len() + 8) / 8 * 8 };
    let size = (8 + 4 * words.len() + text_size) as u32;
    let mut bytes = little(&[kind, size]);
    bytes.extend(little(words));
    bytes.extend(text.as_bytes());
    bytes.resize(size as usize, 0);
    bytes
}

fn little(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn big(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// An app that is fine, assembled in a folder by the bundler itself.
pub fn app(folder: &Path) -> PathBuf {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).expect("a sample is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a sample is executable");
        path
    };
    let parts = Parts {
        version: "1.2.3".to_owned(),
        app: write("desktop", &program().bytes()),
        cli: write("tokbar", &program().bytes()),
        libraries: vec![write("libmlx.dylib", &library().bytes())],
        metallib: write("mlx.metallib", b"MTLB and kernels"),
        icons: vec![write("icon.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\0\0\0\x02\0")],
        resources: vec![write("THIRD-PARTY.txt", b"notices")],
    };
    bundle::assemble(&parts, &folder.join("out")).expect("the sample app is assembled")
}
