//! Models are got by name, and killing that at any time does no harm.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::loopback::{Answer, Loopback};
use crate::repository::{COMMIT, ID, Repository, WEIGHTS, weights};
use crate::shelf::{User, hub};

#[test]
fn a_model_is_pulled_with_progress_and_is_there_then() {
    let hub = hub();
    let user = User::new(&hub);
    let said = user.says(&["pull", ID, "--json"]);
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(lines[0]["event"], "progress", "{said}");
    let done = lines.last().expect("a last line");
    assert_eq!((&done["event"], &done["id"]), (&json!("done"), &json!(ID)));
    assert!(done["path"].as_str().is_some_and(|path| path.ends_with(COMMIT)), "{done}");
    assert!(user.says(&["ls"]).contains(ID));
    hub.asked();
    assert!(user.says(&["pull", ID]).contains("org/tiny is here"));
    assert_eq!(hub.asked().len(), 1, "only the listing is asked for again");
}

#[test]
fn what_cannot_be_pulled_is_said_with_what_to_do() {
    let hub = Loopback::start(|_, _| Answer::status(401).with("X-Error-Code", "GatedRepo"));
    let user = User::new(&hub);
    let output = user.run(&["pull", ID, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let last: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(
        last["event"] == "error" && last["message"].as_str().is_some_and(|text| text.contains("/org/tiny")),
        "{last}"
    );
    assert!(user.fails(&["pull", "nonsense"]).contains("tokbar search nonsense"));
    let offline = user.command(&["pull", ID]).env("HF_HUB_OFFLINE", "1").output().expect("tokbar starts");
    assert!(String::from_utf8_lossy(&offline.stderr).contains("HF_HUB_OFFLINE forbids"), "{offline:?}");
}

#[test]
fn the_token_that_the_hub_keeps_is_used() {
    let hub = hub();
    let user = User::new(&hub);
    let place = user.home.path().join(".cache/huggingface");
    std::fs::create_dir_all(&place).expect("a place");
    std::fs::write(place.join("token"), "hf_kept\n").expect("a place");
    user.says(&["pull", ID]);
    assert!(hub.asked().iter().all(|asked| asked.token.as_deref() == Some("Bearer hf_kept")));
}

/// Starts pulls and kills each after a random time, until one is done before that.
#[test]
fn killed_at_any_time_the_next_pull_goes_on() {
    let repository = Repository::new().with(WEIGHTS, &weights(500_000));
    let served = repository.clone();
    let hub = Loopback::start(move |asked, _| Answer {
        drip: asked.path.ends_with(WEIGHTS).then_some((20_000, Duration::from_millis(1))),
        ..served.answer(asked)
    });
    let user = User::new(&hub);
    let snapshot = user.cache().join("models--org--tiny/snapshots").join(COMMIT);
    let mut state = 7_u64;
    for n_killed in 0_u64.. {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Longer from time to time: on a busy machine a start alone takes a while.
        let patience = Duration::from_millis(20 + (state >> 33) % (120 + 10 * n_killed));
        let mut command: Command = user.command(&["pull", ID]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("tokbar starts");
        let start = Instant::now();
        let ended = loop {
            match child.try_wait().expect("it can be asked") {
                Some(status) => break Some(status),
                None if start.elapsed() > patience => break None,
                None => std::thread::park_timeout(Duration::from_millis(1)),
            }
        };
        if ended.is_none() {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
        if snapshot.join("config.json").exists() {
            for name in ["config.json", "tokenizer.json", WEIGHTS] {
                assert_eq!(std::fs::read(snapshot.join(name)).expect(name), repository.bytes(name), "{name}");
            }
        }
        if let Some(status) = ended {
            assert!(status.success());
            assert!(snapshot.join("config.json").exists());
            println!("done after {n_killed} kills");
            return;
        }
        assert!(n_killed < 300, "it never gets to its end");
    }
}

#[test]
fn searching_shows_sizes_and_what_fits() {
    let found = json!([
        {"id": "org/small", "downloads": 1234, "safetensors": {"parameters": {"U32": 100_000_000}}, "gated": false},
        {"id": "org/huge", "downloads": 5, "safetensors": {"parameters": {"BF16": 4_000_000_000_000_u64}}, "gated": "auto"},
    ]);
    let hub = Loopback::start(move |_, _| Answer::ok(found.to_string().into_bytes()));
    let user = User::new(&hub);
    let said = user.says(&["search", "tiny", "model"]);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains("org/small") && lines[0].contains("1234 downloads"), "{said}");
    assert!(lines[1].contains("too big") && lines[1].contains("gated"), "{said}");
    assert!(hub.asked()[0].path.contains("search=tiny%20model"));
    let rows: Value = serde_json::from_str(&user.says(&["search", "tiny", "--json"])).expect("JSON");
    assert_eq!(rows[1]["verdict"], "too_big");
}

#[test]
fn known_models_are_listed_and_a_persons_own_come_first() {
    let hub = hub();
    let user = User::new(&hub);
    let list: Value = serde_json::from_str(&user.says(&["models", "--all", "--json"])).expect("JSON");
    let find = |list: &Value, name: &str| {
        let models = list["models"].as_array().expect("a list").clone();
        models.into_iter().find(|model| model["name"] == name)
    };
    let qwen = find(&list, "qwen3-8b").expect("it is known");
    assert_eq!((&qwen["kv_bytes_per_token"], &qwen["is_here"]), (&json!(147_456), &json!(false)));
    let config = user.home.path().join("config");
    std::fs::create_dir_all(&config).expect("a place");
    let own = json!({"models": [{"name": "mine", "repo": ID, "family": "llama", "quantization": {"bits": 4}, "n_params": 1000}]});
    std::fs::write(config.join("models.json"), own.to_string()).expect("a place");
    user.says(&["pull", "mine"]);
    let list: Value = serde_json::from_str(&user.says(&["models", "--json"])).expect("JSON");
    assert_eq!(find(&list, "mine").expect("it is listed")["is_here"], true);
    assert!(user.says(&["models"]).contains("mine"));
    std::fs::write(config.join("models.json"), "{").expect("a place");
    assert!(user.fails(&["models"]).contains("models.json cannot be used"));
}
