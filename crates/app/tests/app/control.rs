//! The control API of the program itself: shelf, downloads, settings, keys, log, measurements, the end.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{chat, manage, managed, post, raw};
use crate::loopback::{Answer, Loopback};
use crate::repository::{COMMIT, ID, Repository, WEIGHTS, weights};
use crate::shelf::{User, hub};
use crate::testbed::Server;
use crate::tiny::tiny_model;

/// Only keeps a broken server from hanging the test.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server of a user with a home of their own, with no model to begin with.
fn serve(user: &User) -> Server {
    let mut command = user.command(&["serve"]);
    command.stderr(Stdio::inherit());
    Server::spawn(command, &[])
}

fn change(server: &Server, path: &str, body: Value) -> Value {
    let (status, answer) = manage(server, "POST", path, &body);
    assert_eq!(status, 200, "{path} {body}: {answer}");
    answer
}

fn refused(server: &Server, path: &str, body: Value) -> (u16, Value) {
    let (status, answer) = manage(server, "POST", path, &body);
    (status, answer["error"]["code"].clone())
}

fn wait_for(what: &str, look: impl Fn() -> Option<Value>) -> Value {
    let start = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(start.elapsed() < PATIENCE, "not in time: {what}");
        thread::park_timeout(Duration::from_millis(20));
    }
}

/// Copies a tiny model into the home as `name`.
fn put_model(home: &Path, name: &str) {
    let (from, to) = (tiny_model(), home.join("models").join(name));
    fs::create_dir_all(&to).expect("a place");
    for entry in fs::read_dir(from.path()).expect("a folder") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
    }
}

fn model<'a>(shelf: &'a Value, id: &str) -> &'a Value {
    let models = shelf["models"].as_array().expect("a list");
    models.iter().find(|model| model["id"] == id).unwrap_or_else(|| panic!("no {id} in {shelf}"))
}

#[test]
fn a_server_without_a_model_loads_what_its_manager_picks() {
    let hub = hub();
    let user = User::new(&hub);
    put_model(user.home.path(), "alpha");
    let server = serve(&user);
    let status = managed(&server, "/status");
    assert_eq!((&status["state"]["kind"], &status["needs_key"]), (&json!("stopped"), &json!(false)));
    assert_eq!(status["endpoints"]["openai"], server.base_url.as_str());

    let marks = fs::read_dir(user.home.path().join("config/running")).expect("a folder").flatten();
    let mark = marks.map(|entry| entry.path()).next().expect("a mark");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&mark).expect("a mark").permissions());
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    assert!(fs::read_to_string(&mark).expect("a mark").contains(&server.token));
    assert!(user.says(&["ps"]).contains("pressure"), "the mark's key opens it");

    let folder = user.home.path().join("models");
    change(&server, "/places/add", json!({"path": folder}));
    let shelf = managed(&server, "/models?context=1024");
    let alpha = model(&shelf, "alpha");
    assert_eq!(
        (&alpha["disk"]["state"], &alpha["fit"]["verdict"], &alpha["can_run"]),
        (&json!("ready"), &json!("fits"), &json!(true))
    );
    assert!(alpha["fit"]["words"].as_str().is_some_and(|words| words.contains("needs")), "{alpha}");
    assert!(
        shelf["machine"]["total_bytes"].as_u64().is_some_and(|n| n > 0)
            && shelf["models"].as_array().is_some_and(|all| all.len() > 20)
    );

    let settings = json!({"model": "alpha", "n_context": 512, "max_rows": 2, "is_pinned": true});
    assert_eq!(manage(&server, "PATCH", "/models/settings", &settings).0, 200);
    let (code, answer) = manage(&server, "PATCH", "/models/settings", &json!({"model": "alpha", "kv_bits": 5}));
    assert_eq!((code, &answer["error"]["param"]), (400, &json!("kv_bits")));
    let detail = managed(&server, "/models/one?model=alpha");
    assert_eq!((&detail["settings"]["n_context"], &detail["has_chat_template"]), (&json!(512), &json!(true)));
    assert!(
        detail["formats"]["tools"]["because"].is_string()
            && detail["fits"].as_array().is_some_and(|fits| !fits.is_empty())
    );

    change(&server, "/models/load", json!({"model": "alpha"}));
    let live = managed(&server, "/live/now");
    assert_eq!((&live["state"]["words"], &live["models"][0]["n_context"]), (&json!("alpha"), &json!(512)), "{live}");
    assert_eq!(live["models"][0]["is_pinned"], true);
    assert!(live["memory"]["tokbar_bytes"].as_u64().is_some_and(|n| n > 0), "{live}");
    assert_eq!(post(&server, "/chat/completions", &chat("Say the of.", 4)).0, 200);
    let live = managed(&server, "/live/now");
    assert!(live["last_answer"]["ttft_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{live}");
    assert_eq!(model(&managed(&server, "/models"), "alpha")["resident"]["state"], "ready");
    assert_eq!(refused(&server, "/models/delete", json!({"model": "alpha"})), (409, json!("busy")));

    change(&server, "/models/unload", json!({"model": null}));
    assert_eq!(managed(&server, "/status")["state"]["kind"], "stopped");
    let removal = managed(&server, "/models/removal?model=alpha");
    assert_eq!((&removal["asks"], &removal["owner"]), (&json!(false), &json!("person")), "{removal}");
    change(&server, "/models/delete", json!({"model": "alpha"}));
    assert!(!folder.join("alpha/model.safetensors").exists());
    assert_eq!(refused(&server, "/models/delete", json!({"model": "alpha"})).0, 404);
    change(&server, "/shutdown", json!({}));
    assert!(server.ends().success());
}

#[test]
fn a_download_is_paused_resumed_and_given_up() {
    let repository = Repository::new().with(WEIGHTS, &weights(2_000_000));
    let served = repository.clone();
    let hub = Loopback::start(move |asked, _| Answer {
        drip: asked.path.ends_with(WEIGHTS).then_some((20_000, Duration::from_millis(5))),
        ..served.answer(asked)
    });
    let user = User::new(&hub);
    let server = serve(&user);
    let begun = change(&server, "/transfers", json!({"model": ID}));
    let id = begun["id"].clone();
    assert_eq!(change(&server, "/transfers", json!({"model": ID}))["id"], id, "one of each at a time");
    let now = || managed(&server, "/transfers")["transfers"][0].clone();
    let state = |wanted: &'static str| {
        let look = move |transfer: Value| (transfer["state"] == wanted).then_some(transfer);
        wait_for(wanted, || look(now()))
    };
    wait_for("bytes come", || (now()["n_bytes_done"].as_u64() > Some(50_000)).then(now));
    assert_eq!(managed(&server, "/live/now")["transfers"][0]["id"], id);
    assert_eq!(change(&server, "/transfers/pause", json!({"id": id}))["state"], "paused");
    let before = now()["n_bytes_done"].as_u64();
    assert_eq!(refused(&server, "/transfers/pause", json!({"id": id})), (409, json!("busy")));
    change(&server, "/transfers/resume", json!({"id": id}));
    wait_for("it goes on", || (now()["n_bytes_done"].as_u64() > before).then(now));
    assert_eq!(change(&server, "/transfers/cancel", json!({"id": id}))["state"], "cancelled");
    assert!(!user.cache().join("models--org--tiny").exists(), "what came is gone");
    change(&server, "/transfers/clear", json!({"id": id}));

    change(&server, "/transfers", json!({"model": ID}));
    let done = state("done");
    assert!(done["path"].as_str().is_some_and(|path| path.contains("snapshots")), "{done}");
    assert_eq!(model(&managed(&server, "/models"), ID)["disk"]["owner"], "hugging_face");
    let (status, answer) = manage(&server, "POST", "/models/delete", &json!({"model": ID}));
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("needs_consent")), "{answer}");
    assert!(
        answer["error"]["message"].as_str().is_some_and(|words| words.contains("other programs share")),
        "{answer}"
    );
    change(&server, "/models/delete", json!({"model": ID, "consent": true}));
    assert_eq!(refused(&server, "/transfers", json!({"model": "nonsense"})).0, 404);
}

#[test]
fn a_broken_model_is_repaired_by_another_download() {
    let repository = Repository::new().with(WEIGHTS, &weights(500_000));
    let served = repository.clone();
    let hub = Loopback::start(move |asked, _| Answer {
        drip: asked.path.ends_with(WEIGHTS).then_some((20_000, Duration::from_millis(5))),
        ..served.answer(asked)
    });
    let user = User::new(&hub);
    user.says(&["pull", ID]);
    let file = user.cache().join("models--org--tiny/snapshots").join(COMMIT).join(WEIGHTS);
    std::fs::write(&file, [0xff; 100]).expect("the file of the cache");
    let server = serve(&user);
    let disk = || model(&managed(&server, "/models"), ID)["disk"].clone();
    assert_eq!(disk()["state"], "broken", "{}", disk());
    let config = file.with_file_name("config.json");
    let id = change(&server, "/transfers", json!({"model": ID}))["id"].clone();
    change(&server, "/transfers/cancel", json!({"id": id}));
    assert!(config.exists(), "a repair that is given up takes nothing away");
    change(&server, "/transfers", json!({"model": ID}));
    wait_for("it is whole", || (disk()["state"] == "ready").then(disk));
    assert_eq!(std::fs::read(&file).expect("the file"), repository.bytes(WEIGHTS));
}

#[test]
fn what_was_under_way_at_the_end_goes_on_at_the_next_start() {
    let repository = Repository::new().with(WEIGHTS, &weights(1_000_000));
    let hub = Loopback::start(move |asked, _| Answer {
        drip: asked.path.ends_with(WEIGHTS).then_some((20_000, Duration::from_millis(5))),
        ..repository.answer(asked)
    });
    let user = User::new(&hub);
    let server = serve(&user);
    change(&server, "/transfers", json!({"model": ID}));
    let n_done = |server: &Server| managed(server, "/transfers")["transfers"][0]["n_bytes_done"].as_u64();
    wait_for("bytes come", || (n_done(&server) > Some(50_000)).then_some(json!(null)));
    drop(server);
    let server = serve(&user);
    let state = || managed(&server, "/transfers")["transfers"][0]["state"].clone();
    wait_for("it is done", || (state() == "done").then_some(json!(null)));
}

#[test]
fn a_download_that_fails_says_why_and_what_to_do() {
    let hub = Loopback::start(|_, _| Answer::status(401).with("X-Error-Code", "GatedRepo"));
    let user = User::new(&hub);
    let server = serve(&user);
    change(&server, "/transfers", json!({"model": ID}));
    let now = || managed(&server, "/transfers")["transfers"][0].clone();
    let failed = wait_for("it fails", || (now()["state"] == "failed").then(now));
    assert!(
        failed["error"].as_str().is_some_and(|words| words.contains("gated") && words.contains("/org/tiny")),
        "{failed}"
    );
}

#[test]
fn settings_are_checked_and_keys_count_at_once() {
    let hub = hub();
    let user = User::new(&hub);
    let server = serve(&user);
    let patch = |body: Value| manage(&server, "PATCH", "/settings", &body);
    let (status, answer) = patch(json!({"server": {"port": 9000}, "app": {"language": "zh-Hans"}}));
    assert_eq!((status, &answer["settings"]["app"]["language"]), (200, &json!("zh-Hans")), "{answer}");
    assert_eq!(answer["needs_restart"], json!(["server.port"]));
    for (body, field) in [
        (json!({"app": {"language": "xx"}}), "app.language"),
        (json!({"server": {"port": "x"}}), "server.port"),
        (json!({"cloud": {"is_on": true}}), "cloud.is_on"),
    ] {
        let (status, answer) = patch(body);
        assert_eq!((status, &answer["error"]["param"]), (400, &json!(field)), "{answer}");
    }
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(user.home.path().join("config/settings.json")).expect("a file"))
            .expect("JSON");
    assert_eq!((&kept["server"]["port"], &kept["app"]["language"]), (&json!(9000), &json!("zh-Hans")));

    let list = |key: &str| {
        let call =
            format!("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nx-api-key: {key}\r\n\r\n");
        raw(&server, call.as_bytes()).split(' ').nth(1).expect("a status").to_owned()
    };
    assert_eq!(list("anything"), "200", "no key is asked for yet");
    let made = change(&server, "/keys", json!({"name": "laptop"}));
    let secret = made["secret"].as_str().expect("a secret").to_owned();
    assert_eq!(
        (list("anything").as_str(), list(&secret).as_str(), list(&server.token).as_str()),
        ("401", "200", "200")
    );
    let keys = managed(&server, "/keys");
    assert_eq!((&keys["keys"][0]["name"], &keys["keys"][0]["scope"]), (&json!("laptop"), &json!("inference")));
    assert!(!keys.to_string().contains(&secret), "a secret is told once");
    assert_eq!(managed(&server, "/status")["needs_key"], true);
    assert_eq!(manage(&server, "POST", "/keys", &json!({"name": "laptop"})).0, 400);
    change(&server, "/keys/remove", json!({"name": "laptop"}));
    assert_eq!((list(&secret).as_str(), list(&server.token).as_str()), ("401", "200"), "a closed door stays closed");
}

/// Each call changes something else: whoever reads, changes and writes must do it alone.
#[test]
fn changes_at_the_same_time_are_all_kept() {
    let hub = hub();
    let user = User::new(&hub);
    put_model(user.home.path(), "alpha");
    let server = serve(&user);
    let folder = user.home.path().join("models");
    change(&server, "/places/add", json!({"path": folder}));
    let calls = [
        ("PATCH", "/settings", json!({"models": {"kv_bits": 8}})),
        ("PATCH", "/settings", json!({"models": {"speculation": "off"}})),
        ("PATCH", "/settings", json!({"server": {"port": 9000}})),
        ("PATCH", "/settings", json!({"cache": {"max_bytes": 5_000_000_000_u64}})),
        ("PATCH", "/models/settings", json!({"model": "alpha", "n_context": 512})),
        ("PATCH", "/models/settings", json!({"model": "alpha", "max_rows": 2})),
        ("PATCH", "/models/settings", json!({"model": "alpha", "is_pinned": true})),
        ("POST", "/keys", json!({"name": "laptop"})),
        ("POST", "/keys", json!({"name": "phone"})),
        ("POST", "/keys", json!({"name": "desk"})),
        ("POST", "/places/add", json!({"path": user.home.path().join("config")})),
        ("POST", "/places/add", json!({"path": user.home.path()})),
    ];
    let answers: Vec<(u16, Value)> = thread::scope(|scope| {
        let call = |(method, path, body)| manage(&server, method, path, &body);
        let threads: Vec<_> = calls.map(|one| scope.spawn(move || call(one))).into_iter().collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    });
    assert!(answers.iter().all(|(status, _)| *status == 200), "{answers:?}");

    let settings = managed(&server, "/settings")["settings"].clone();
    assert_eq!((&settings["models"]["kv_bits"], &settings["models"]["speculation"]), (&json!(8), &json!("off")));
    assert_eq!(
        (&settings["server"]["port"], &settings["cache"]["max_bytes"]),
        (&json!(9000), &json!(5_000_000_000_u64))
    );
    let of_model = managed(&server, "/models/settings?model=alpha");
    assert_eq!((&of_model["n_context"], &of_model["max_rows"]), (&json!(512), &json!(2)), "{of_model}");
    assert_eq!(of_model["is_pinned"], true);
    assert_eq!(
        managed(&server, "/places")["places"]
            .as_array()
            .map(|all| all.iter().filter(|one| one["owner"] == "person").count()),
        Some(3)
    );
    let secrets: Vec<&str> = answers.iter().filter_map(|(_, answer)| answer["secret"].as_str()).collect();
    assert_eq!(secrets.len(), 3);
    for secret in secrets {
        let call =
            format!("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nx-api-key: {secret}\r\n\r\n");
        assert!(raw(&server, call.as_bytes()).starts_with("HTTP/1.1 200"), "every key that was told opens the door");
    }
}

#[test]
fn the_log_the_cache_and_the_doctor_are_told() {
    let hub = hub();
    let user = User::new(&hub);
    let server = serve(&user);
    let call = |path: &str| {
        let head = format!("GET /control/v1{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        raw(&server, format!("{head}Authorization: Bearer {}\r\n\r\n", server.token).as_bytes())
    };
    post(&server, "/chat/completions", &chat("zebra crossing", 2));
    let log = call("/logs?level=debug&tail=100&follow=false");
    assert!(log.contains("event: line\ndata: {") && log.contains("/v1/chat/completions"), "{log}");
    assert!(!log.contains("zebra") && !log.contains(&server.token), "{log}");
    assert!(!call("/logs?level=error&follow=false").contains("event: line"));
    assert!(managed(&server, "/cache")["dir"].is_string());
    assert_eq!(change(&server, "/cache/clear", json!({}))["n_bytes"], 0);
    let findings = managed(&server, "/doctor")["findings"].clone();
    assert!(findings.as_array().is_some_and(|all| all.iter().any(|one| one["title"] == "memory")), "{findings}");
}

#[test]
fn searching_shows_what_fits_and_what_is_here() {
    let found = json!([
        {"id": "org/small", "downloads": 12, "safetensors": {"parameters": {"U32": 100_000_000}}, "gated": false},
        {"id": "org/huge", "downloads": 5, "safetensors": {"parameters": {"BF16": 4_000_000_000_000_u64}}, "gated": "auto"},
    ]);
    let hub = Loopback::start(move |_, _| Answer::ok(found.to_string().into_bytes()));
    let user = User::new(&hub);
    let server = serve(&user);
    let found = managed(&server, "/search?q=tiny%20model&limit=5");
    assert_eq!((&found["hits"][1]["fit"]["verdict"], &found["hits"][1]["is_gated"]), (&json!("too_big"), &json!(true)));
    assert_eq!((&found["is_offline"], &found["hits"][0]["is_here"]), (&json!(false), &json!(false)));
    let mut command = user.command(&["serve"]);
    command.env("HF_HUB_OFFLINE", "1");
    let server = Server::spawn(command, &[]);
    assert_eq!(managed(&server, "/search?q=tiny"), json!({"hits": [], "is_offline": true}));
    assert_eq!(refused(&server, "/transfers", json!({"model": ID})), (409, json!("busy")));
}

#[test]
fn a_measurement_runs_and_is_remembered() {
    let hub = hub();
    let user = User::new(&hub);
    put_model(user.home.path(), "alpha");
    let server = serve(&user);
    assert_eq!(refused(&server, "/bench/run", json!({"suite": "none"})).0, 400);
    assert_eq!(refused(&server, "/bench/run", json!({"suite": "cold"})).0, 503, "no model is loaded");
    change(&server, "/places/add", json!({"path": user.home.path().join("models")}));
    change(&server, "/models/load", json!({"model": "alpha"}));
    let run = change(&server, "/bench/run", json!({"suite": "cold"}));
    assert_eq!((&run["state"], &run["model"]), (&json!("running"), &json!("alpha")));
    assert_eq!(refused(&server, "/bench/run", json!({"suite": "cold"})), (409, json!("busy")));
    let now = || managed(&server, "/bench")["runs"][0].clone();
    let done = wait_for("it ends", || (now()["state"] != "running").then(now));
    assert_eq!(done["state"], "done", "{done}");
    assert!(done["figures"].as_array().is_some_and(|all| all.iter().any(|one| one["unit"] == "tok/s")), "{done}");
    let export = format!("/bench/export?id={}&format=csv", run["id"].as_str().expect("an id"));
    let call = format!(
        "GET /control/v1{export} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
        server.token
    );
    assert!(raw(&server, call.as_bytes()).contains("suite,model,figure"));
    let second = change(&server, "/bench/run", json!({"suite": "concurrency"}));
    change(&server, "/bench/cancel", json!({"id": second["id"]}));
    wait_for("it is cancelled", || (now()["state"] == "cancelled").then(now));
    assert!(server.stop().success());
    assert_eq!(managed(&serve(&user), "/bench")["runs"][1]["id"], run["id"]);
}
