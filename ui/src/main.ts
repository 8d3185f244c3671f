import "./design/tokens.css";
import "./design/base.css";

import { mount } from "svelte";

import App from "./App.svelte";
import { openSession } from "./api/session";
import { route } from "./shell/route.svelte";

const session = openSession();
document.documentElement.dataset["shell"] = session.shell;
route.read();

const target = document.getElementById("app");
if (target) mount(App, { target, props: { session } });
