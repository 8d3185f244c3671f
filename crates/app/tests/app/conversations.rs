//! Conversations over the control API of the built program.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::http::{manage, managed};
use crate::shelf::{User, hub};
use crate::testbed::Server;

fn serve(user: &User) -> Server {
    let mut command = user.command(&["serve"]);
    command.stderr(Stdio::inherit());
    Server::spawn(command, &[])
}

fn conversation(id: &str, text: &str) -> Value {
    let figures = json!({"ttft_ms": 12.5, "tokens_per_second": null, "n_output": 1, "n_prompt": 3, "n_cached": 0});
    let message = |id: &str, role: &str, text: &str, figures: Value| {
        json!({
            "id": id, "role": role, "text": text, "reasoning": "", "tools": [], "images": ["data:image/png;base64,AA=="],
            "model": null, "figures": figures, "finish": "stop", "error": null, "notice": null,
        })
    };
    json!({
        "id": id, "title": text, "model": null, "instructions": "", "temperature": null, "created_ms": 1,
        "updated_ms": 1_700_000_000_000_u64,
        "messages": [message("1", "user", text, Value::Null), message("2", "assistant", "A zebra.", figures)],
    })
}

#[test]
fn conversations_outlive_the_server_that_kept_them() {
    let hub = hub();
    let user = User::new(&hub);
    let server = serve(&user);
    assert_eq!(managed(&server, "/conversations"), json!({"conversations": [], "n_kept": 0, "note": null}));
    let put = |id: &str, body: &Value| manage(&server, "PUT", &format!("/conversations/{id}"), body);
    let (one, two) = (conversation("one", "What runs?"), conversation("two-2_B", "Was läuft?"));
    assert_eq!(put("one", &one), (200, json!({"status": "ok"})));
    assert_eq!(put("two-2_B", &two).0, 200);

    let refused = |id: &str, body: Value| {
        let (status, answer) = put(id, &body);
        assert_eq!(status, 400, "{answer}");
        answer["error"]["param"].clone()
    };
    let with = |field: &str, value: Value| {
        let mut body = one.clone();
        body[field] = value;
        body
    };
    assert_eq!(refused("other", one.clone()), "id");
    assert_eq!(refused("a%2Fb", with("id", json!("a/b"))), "id");
    assert_eq!(refused("one", with("title", json!("x".repeat(1001)))), "title");
    assert_eq!(refused("one", with("colour", json!("red"))), "colour");
    assert_eq!(refused("one", with("updated_ms", json!(u64::MAX))), "updated_ms");
    assert_eq!(refused("one", with("updated_ms", json!(-1))), "body");
    for path in ["/conversations?limit=0", "/conversations?limit=x", "/conversations?colour=red", "/conversations/%ff"]
    {
        assert_eq!(manage(&server, "GET", path, &Value::Null).0, 400, "{path}");
    }
    for (method, path) in [("GET", "/conversations/none"), ("DELETE", "/conversations/none")] {
        let (status, answer) = manage(&server, method, path, &json!({}));
        assert_eq!((status, &answer["error"]["code"]), (404, &json!("not_found")), "{answer}");
    }

    // Dropping it kills it.
    drop(server);
    let server = serve(&user);
    assert_eq!(managed(&server, "/conversations/one"), one);
    let found = managed(&server, "/conversations?q=L%C3%84UFT%20zebra&limit=5");
    assert_eq!(found["conversations"][0]["id"], "two-2_B", "{found}");
    assert_eq!((&found["n_kept"], found["conversations"].as_array().map(Vec::len)), (&json!(2), Some(1)));
    assert_eq!(manage(&server, "DELETE", "/conversations/one", &json!({})).0, 200);
    assert_eq!(manage(&server, "GET", "/conversations/one", &Value::Null).0, 404);
}
