use super::released;
use crate::audit::info;
use crate::bundle;
use crate::check_macos::MIN_MACOS;

const CASK: &str = include_str!("../../../../packaging/Casks/tokbar.rb");

/// The cask's stanzas in their order: a word two blanks in, and what follows it up to the next.
fn stanzas(cask: &str) -> Vec<(&str, String)> {
    let mut stanzas: Vec<(&str, String)> = Vec::new();
    for line in cask.lines() {
        let body = line.strip_prefix("  ").filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
        match body.map(|rest| rest.split_once(' ').unwrap_or((rest, ""))) {
            Some(("end", _)) | None => {
                if let Some((_, rest)) = stanzas.last_mut() {
                    rest.push_str(line.trim());
                }
            }
            Some((word, rest)) => stanzas.push((word, rest.to_owned())),
        }
    }
    stanzas
}

fn stanza(name: &str) -> String {
    let stanzas = stanzas(CASK);
    let found: Vec<&String> = stanzas.iter().filter(|(word, _)| *word == name).map(|(_, rest)| rest).collect();
    assert!(!found.is_empty(), "no stanza {name}");
    found.into_iter().cloned().collect::<Vec<_>>().join("\n")
}

/// The order that Homebrew's style asks for.
#[test]
fn stanzas_stand_in_homebrews_order() {
    let words: Vec<&str> = stanzas(CASK).iter().map(|(word, _)| *word).collect();
    let expected = "version sha256 url name desc homepage livecheck auto_updates depends_on depends_on app binary manpage \
                    bash_completion fish_completion zsh_completion uninstall zap caveats";
    assert_eq!(words.join(" "), expected.split_whitespace().collect::<Vec<_>>().join(" "));
}

#[test]
fn it_fits_the_app_and_the_release() {
    assert_eq!(stanza("app"), format!("\"{}\"", bundle::APP));
    assert_eq!(stanza("binary"), format!("\"#{{appdir}}/{}/{}\"", bundle::APP, bundle::CLI_PROGRAM));
    assert_eq!(stanza("uninstall"), format!("quit: \"{}\"", info::IDENTIFIER));
    let systems = stanza("depends_on");
    let name = if MIN_MACOS == 14 { "sonoma" } else { "another name than of macOS 14" };
    assert_eq!(systems, format!("arch: :arm64\nmacos: \">= :{name}\""));
    let url = stanza("url");
    let workflow = include_str!("../../../../packaging/dmg.sh");
    let file = url.trim_matches('"').rsplit('/').next().expect("a file").replace("#{version}", "$version");
    assert!(workflow.contains(&file), "packaging/dmg.sh does not make {file}");
    assert_eq!(url.matches("#{version}").count(), 2, "{url}");
    for (resource, name) in [("manpage", "tokbar.1"), ("bash_completion", "tokbar.bash"), ("zsh_completion", "_tokbar")]
    {
        assert!(stanza(resource).contains(&format!("Contents/Resources/{name}\"")), "{resource}");
    }
    let description = stanza("desc");
    assert!(description.len() < 80 && !description.to_lowercase().contains("mac"), "{description}");
}

#[test]
fn removing_all_keeps_models() {
    let zap = stanza("zap");
    assert!(zap.contains(info::IDENTIFIER) && !zap.contains("huggingface") && !zap.contains("LaunchAgents"), "{zap}");
    let paths: Vec<&str> = zap.split('"').skip(1).step_by(2).collect();
    // What the programs name their folders by.
    let sources = include_str!("../../../app/src/config_dir.rs");
    assert!(sources.contains("ProjectDirs::from(\"\", \"\", \"tokbar\")"), "settings are elsewhere now");
    for folder in ["Application Support", "Caches"] {
        assert!(paths.contains(&format!("~/Library/{folder}/tokbar").as_str()), "{paths:?}");
    }
    for path in &paths {
        let is_ours = path.contains(info::IDENTIFIER) || path.ends_with("/tokbar");
        assert!(path.starts_with("~/Library/") && is_ours, "{path} is not Tokbar's alone");
    }
    assert!(paths.is_sorted(), "{paths:?}");
    assert!(stanza("caveats").contains("Models stay on the disk"));
}

/// Homebrew would refuse the committed cask: nobody may be told to use it before a release has made it whole.
#[test]
fn as_long_as_there_is_no_release_the_hash_is_none_and_the_guide_says_so() {
    let hash = stanza("sha256");
    let hash = hash.trim_matches('"');
    let is_released = hash.bytes().any(|byte| byte != b'0');
    assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    let guide = include_str!("../../../../docs/install.md");
    assert_eq!(is_released, !guide.contains("No release has been made yet"), "docs/install.md says otherwise");
}

#[test]
fn a_release_changes_the_version_and_the_hash_only() {
    let hash = "ab".repeat(32);
    let released = released(CASK, "9.8.7", &hash).expect("a cask");
    let changed: Vec<(&str, &str)> = CASK.lines().zip(released.lines()).filter(|(old, new)| old != new).collect();
    assert_eq!(
        changed.iter().map(|(_, new)| *new).collect::<Vec<_>>(),
        ["  version \"9.8.7\"", &format!("  sha256 \"{hash}\"")]
    );
    assert_eq!(CASK.lines().count(), released.lines().count());
    for (version, hash) in [("9.8", hash.as_str()), ("9.8.7", "ab"), ("9.8.7", &"AB".repeat(32))] {
        assert!(super::released(CASK, version, hash).is_err(), "{version} {hash}");
    }
    assert!(super::released("cask \"tokbar\" do\nend\n", "9.8.7", &hash).is_err());
}
