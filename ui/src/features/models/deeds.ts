// What buttons of the list do; each says how it went.

import type { AppState } from "../../state/app";
import { complain, report } from "../../shell/announce.svelte";
import type { Row } from "./shelf";
import { modelTexts } from "./strings";

export async function act(app: AppState, row: Row): Promise<void> {
  const { control } = app;
  const { model, transfer } = row;
  try {
    switch (row.deed) {
      case "start":
        await control.load(model.id);
        report(modelTexts.now.started(model.name));
        break;
      case "stop":
        await control.unload(model.id);
        report(modelTexts.now.stopped(model.name));
        break;
      case "get":
      case "repair":
        await control.download(model.id);
        break;
      case "pause":
        if (transfer) await control.transfer(transfer.id, "pause");
        break;
      case "resume":
        await (transfer ? control.transfer(transfer.id, "resume") : control.download(model.id));
        break;
      case "wait":
      case "none":
        break;
    }
  } catch (error) {
    complain(error);
  }
}
