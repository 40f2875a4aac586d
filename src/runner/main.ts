/** The one file that runs on behalf of a chain: `shepherd FOLDER`, `body FOLDER`, `guardian FOLDER`, `submitter FOLDER`, `--version`. */
import { endSelf } from "../host/index.ts";
import { bodyProcess } from "./body-process.ts";
import { guardianProcess } from "./guardian-process.ts";
import { shepherd } from "./shepherd.ts";
import { submitterProcess } from "./submitter-process.ts";

declare const __STINT_VERSION__: string;

const COMMANDS: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  shepherd,
  body: bodyProcess,
  guardian: guardianProcess,
  submitter: submitterProcess,
};

const [command, ownFolder] = process.argv.slice(2);
await main(command, ownFolder);

async function main(what: string | undefined, folder: string | undefined): Promise<void> {
  if (what === "--version") {
    console.log(__STINT_VERSION__);
    return;
  }
  const act = COMMANDS[what ?? ""];
  if (folder === undefined || act === undefined) {
    console.error(`usage: runner.mjs ${Object.keys(COMMANDS).join("|")} FOLDER`);
    process.exitCode = 2;
    return;
  }
  try {
    await act(folder);
  } catch (error) {
    console.error(`stint ${what}: ${error instanceof Error ? error.message : String(error)}`);
    await endSelf(1);
  }
  await endSelf(0);
}
