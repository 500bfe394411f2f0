/** The page: starts the engine and hangs the parts on it. */

import { BenchmarkPanel } from "./bench/panel.js";
import { leaveSnapshotWhenIdle } from "./boot/keeper.js";
import { keepForOffline } from "./boot/service_worker.js";
import { keepSpareWhenIdle } from "./boot/spare.js";
import { exposePyTensor } from "./embedding.js";
import { Engine } from "./engine.js";
import { Console } from "./repl/console.js";
import { Sharing } from "./repl/share.js";
import { startWorker } from "./start.js";
import { showBusy } from "./ui/busy.js";
import { showStatus } from "./ui/status.js";
import { setUpTabs } from "./ui/tabs.js";

const engine = new Engine(startWorker);
exposePyTensor(engine);
showStatus(engine);
const repl = new Console(engine);
showBusy(engine, () => repl.interruptOrCancel());
new BenchmarkPanel(engine);
new Sharing(repl);
setUpTabs({
  gallery: async () => new (await import("./gallery/gallery.js")).Gallery(engine, repl),
  learn: async () => new (await import("./learn/learn.js")).Learn(engine),
  reference: async () => new (await import("./reference/reference.js")).Reference(repl),
});
keepSpareWhenIdle(engine, leaveSnapshotWhenIdle(engine));
keepForOffline(engine);
