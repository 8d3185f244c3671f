//! The window, driven over WebDriver as a person would.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::app::App;
use crate::calls::address;
use crate::desk::Desk;
use crate::panel::{LOOK, PATIENCE, Panel, wait};
use crate::screen::Screen;

/// A driver that starts the app, and talks to its page.
pub struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    pub fn new(desk: &Desk) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port");
        let mut command = Command::new("WebKitWebDriver");
        desk.seat(&mut command).arg(format!("--port={}", free.port())).env("TAURI_WEBVIEW_AUTOMATION", "true");
        let process = command.stdout(Stdio::null()).spawn().expect("the driver is installed");
        wait("the driver", || std::net::TcpStream::connect(free).ok()).expect("the driver listens");
        Self { process, port: free.port() }
    }

    /// Starts the app with its window.
    pub async fn start(&self) -> Client {
        let options = json!({"binary": env!("CARGO_BIN_EXE_tokbar-desktop"), "args": ["--window"]});
        let wanted = json!({"webkitgtk:browserOptions": options});
        let Value::Object(wanted) = wanted else { unreachable!("it is an object") };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(wanted)
            .connect(&format!("http://127.0.0.1:{}", self.port))
            .await;
        client.expect("the app starts with its window")
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.process.kill().expect("the driver can be killed");
        self.process.wait().expect("the driver ends");
    }
}

/// Runs `work` on a runtime of its own.
pub fn drive<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(work)
}

#[test]
fn the_page_is_the_servers_and_may_ask_the_shell_little() {
    let desk = Desk::new(&[]);
    let _panel = Panel::new(&desk);
    let driver = Driver::new(&desk);
    drive(async {
        let client = driver.start().await;
        let address = address(&desk);
        let page = client.current_url().await.expect("an address");
        assert_eq!(page.port().map(|port| format!("127.0.0.1:{port}")), Some(address.clone()));
        let ask = |call: &str| {
            let script = format!(
                "const done = arguments[arguments.length - 1]; window.__TAURI__.core.invoke({call}).then(
                     answer => done({{answer}}), error => done({{error: String(error)}}));"
            );
            let client = client.clone();
            async move { client.execute_async(&script, Vec::new()).await.expect("the page runs scripts") }
        };
        assert_eq!(ask("'about'").await["answer"]["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(ask("'login_item'").await["answer"], false);
        assert_eq!(ask("'set_login_item', {on: true}").await["answer"], true);
        let entry = desk.home().join(".config/autostart/tokbar.desktop");
        assert!(std::fs::read_to_string(entry).is_ok_and(|text| text.contains("--hidden")));
        // What is not granted is refused, such as other windows.
        for call in ["'plugin:webview|create_webview_window', {options: {label: 'x'}}", "'plugin:window|close'"] {
            assert!(ask(call).await["error"].is_string(), "{call}");
        }
        let update = ask("'check_for_updates'").await["answer"].to_string();
        assert!(update.contains("update it the way it was built"), "{update}");
        let known = ask("'update'").await["answer"].clone();
        assert_eq!((&known["is_looking"], &known["ready"]), (&json!(false), &Value::Null), "{known}");
        assert_eq!(known.to_string(), update, "what was found is still known");
        let menu_bar = ask("'open_menu_bar_settings'").await["error"].to_string();
        assert!(menu_bar.contains("no such settings"), "{menu_bar}");
    });
}

#[test]
fn nobody_looks_at_a_window_that_was_closed_so_nothing_streams_to_it() {
    let desk = Desk::new(&[]);
    let _panel = Panel::new(&desk);
    let driver = Driver::new(&desk);
    let screen = Screen::of(&desk);
    drive(async {
        let client = driver.start().await;
        // Remembers what ends the live stream, of those that begin from now on.
        let watch = "const own = window.fetch; window.fetch = (...given) => {
            if (String(given[0]).includes('/control/v1/live')) { window.streamEnd = given[1].signal; }
            return own(...given);
        };";
        client.execute(watch, Vec::new()).await.expect("the page runs scripts");
        screen.close(screen.wait_for_window());
        wait_until(&client, "return document.visibilityState === 'hidden'").await;
        // Whoever looks again is shown what goes on.
        assert!(App::start(&desk, &[]).wait().0.success());
        screen.wait_for_window();
        wait_until(&client, "return window.streamEnd !== undefined && !window.streamEnd.aborted").await;
        screen.close(screen.wait_for_window());
        wait_until(&client, "return window.streamEnd.aborted").await;
    });
}

/// Waits until a script of the page returns true.
async fn wait_until(client: &Client, script: &str) {
    let (start, mut looks) = (std::time::Instant::now(), tokio::time::interval(LOOK));
    while client.execute(script, Vec::new()).await.expect("the page runs scripts") != json!(true) {
        assert!(start.elapsed() < PATIENCE, "never: {script}");
        looks.tick().await;
    }
}
