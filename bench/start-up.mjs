// What the command line costs before it does anything: `stint --version` and `stint --help` against `node -e 0`.
import { figure } from "./figures.mjs";
import { timed } from "./stand.mjs";

const LIMIT_MS = 25;

export function startUp(stand, { rounds }) {
  const node = process.execPath;
  const differences = { version: [], versionCpu: [], help: [], helpCpu: [], empty: [], emptyCpu: [] };
  // One of each that counts for nothing: files come into the cache.
  for (let round = -1; round < rounds * 6; round++) {
    const empty = timed(node, ["-e", "0"]);
    const version = timed(node, [stand.cli, "--version"]);
    const help = timed(node, [stand.cli, "--help"]);
    if (round < 0) continue;
    differences.version.push(version.ms - empty.ms);
    differences.versionCpu.push(version.cpuMs - empty.cpuMs);
    differences.help.push(help.ms - empty.ms);
    differences.helpCpu.push(help.cpuMs - empty.cpuMs);
    differences.empty.push(empty.ms);
    differences.emptyCpu.push(empty.cpuMs);
  }
  return {
    figures: [
      figure("stint --version − node -e 0", "ms", differences.version, LIMIT_MS),
      figure("  in CPU time", "ms", differences.versionCpu, LIMIT_MS),
      figure("stint --help − node -e 0", "ms", differences.help),
      figure("  in CPU time", "ms", differences.helpCpu),
      figure("node -e 0", "ms", differences.empty),
      figure("  in CPU time", "ms", differences.emptyCpu),
    ],
  };
}
