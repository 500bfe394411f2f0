/** The page: starts the engine and adds the parts to it. */

import { leaveSnapshotWhenIdle } from "./boot/keeper.js";
import { keepForOffline } from "./boot/service_worker.js";
import { keepSpareWhenIdle } from "./boot/spare.js";
import { EditorToggle } from "./editor/toggle.js";
import { exposePyTensor } from "./embedding.js";
import { Engine } from "./engine.js";
import { Console } from "./repl/console.js";
import { Sharing } from "./repl/share.js";
import { VariablesPanel } from "./repl/variables.js";
import { Sessions } from "./sessions/sessions.js";
import { startWorker } from "./start.js";
import { showBusy } from "./ui/busy.js";
import { askBeforeLeaving } from "./ui/leaving.js";
import { ShortcutSheet } from "./ui/shortcuts.js";
import { showStatus } from "./ui/status.js";
import { setUpTabs } from "./ui/tabs.js";

const engine = new Engine(startWorker);
exposePyTensor(engine);
showStatus(engine);
const repl = new Console(engine);
showBusy(engine, () => repl.interruptOrCancel());
const sessions = new Sessions(engine, repl);
const editor = new EditorToggle({ engine, repl, sessions });
askBeforeLeaving(engine);
new Sharing(repl, sessions);
new VariablesPanel(engine);
const sheet = new ShortcutSheet();
repl.onAskForKeys = () => sheet.open();
setUpTabs({ engine, repl, editor });
keepSpareWhenIdle(engine, leaveSnapshotWhenIdle(engine));
keepForOffline(engine);
