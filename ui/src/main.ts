import "./design/tokens.css";
import "./design/base.css";

import { mount } from "svelte";

import App from "./App.svelte";
import { openSession } from "./api/session";
import { isDesktop } from "./shell/desktop";
import { showKept } from "./shell/look";
import { route } from "./shell/route.svelte";

const session = openSession();
// The window of the app has its buttons over the sidebar, on a Mac.
const isMac = session.shell === "mac" || (isDesktop() && navigator.platform.startsWith("Mac"));
document.documentElement.dataset["shell"] = isMac ? "mac" : session.shell;
showKept();
route.read();

const target = document.getElementById("app");
if (target) mount(App, { target, props: { session } });
