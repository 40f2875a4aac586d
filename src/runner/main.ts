/** The one file that runs on behalf of an attempt: `shepherd FOLDER`, `body FOLDER`, `guardian FOLDER`, `--version`. */
import { endSelf } from "../host/index.ts";
import { bodyProcess } from "./body-process.ts";
import { guardianProcess } from "./guardian-process.ts";
import { shepherd } from "./shepherd.ts";

declare const __STINT_VERSION__: string;

const [command, attemptFolder] = process.argv.slice(2);
await main(command, attemptFolder);

async function main(what: string | undefined, folder: string | undefined): Promise<void> {
  if (what === "--version") {
    console.log(__STINT_VERSION__);
    return;
  }
  if (folder === undefined || (what !== "shepherd" && what !== "body" && what !== "guardian")) {
    console.error("usage: runner.mjs shepherd|body|guardian FOLDER-OF-AN-ATTEMPT");
    process.exitCode = 2;
    return;
  }
  try {
    if (what === "shepherd") await shepherd(folder);
    else if (what === "body") await bodyProcess(folder);
    else await guardianProcess(folder);
  } catch (error) {
    console.error(`stint ${what}: ${error instanceof Error ? error.message : String(error)}`);
    await endSelf(1);
  }
  await endSelf(0);
}
