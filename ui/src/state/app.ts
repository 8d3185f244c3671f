// What all panels share: the control API, the live picture and the session, handed down by context.

import { getContext, setContext } from "svelte";

import { Client } from "../api/client";
import { Control } from "../api/control";
import type { Session } from "../api/session";
import { Feed } from "./feed.svelte";

export interface AppState {
  session: Session;
  control: Control;
  feed: Feed;
}

const KEY = Symbol("app");

export function makeApp(session: Session): AppState {
  const control = new Control(new Client(session));
  return { session, control, feed: new Feed(control) };
}

export function provideApp(app: AppState): AppState {
  return setContext(KEY, app);
}

export function useApp(): AppState {
  return getContext<AppState>(KEY);
}
