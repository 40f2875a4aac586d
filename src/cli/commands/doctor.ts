/** `stint doctor`: can it work here? */
import { doctor, type Finding } from "../../chain/index.ts";
import { flagOn } from "../../spec/index.ts";
import { type CliCommand, JSON_FLAG, readArgs } from "../command.ts";
import { toJson } from "../json.ts";
import type { Colour } from "../terminal.ts";
import { here } from "../where.ts";

const COLOURS: Readonly<Record<Finding["level"], Colour>> = { ok: "green", warn: "yellow", fail: "red" };

export const command: CliCommand = {
  name: "doctor",
  usage: "doctor",
  summary: "Looks whether stint can work on this machine and in this folder, and says what to do where it cannot.",
  details: ["Exit status: 0, or 1 when something must be mended."],
  options: [JSON_FLAG],
  examples: [["stint doctor", "look at everything"]],
  async run(args, terminal) {
    const parsed = readArgs(command, args);
    const findings = await doctor(here());
    const failed = findings.some(({ level }) => level === "fail");
    if (flagOn(parsed.given, "json")) terminal.out(toJson({ findings }));
    else
      for (const { what, level, found, advice } of findings) {
        terminal.out(`${terminal.colour(level.padEnd(4), COLOURS[level])}  ${what.padEnd(13)}  ${found}`);
        if (advice !== null) terminal.out(`      ${" ".repeat(13)}  → ${advice}`);
      }
    return failed ? 1 : 0;
  },
};
