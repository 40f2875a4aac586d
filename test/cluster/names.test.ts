/** Names and paths of any kind through all of a chain: sbatch, squeue, sacct, bash and the records. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectExactlyOnce } from "../local/exactly-once.ts";
import { type Cluster, cluster } from "./cluster.ts";
import { counterThat } from "./counter-that.ts";
import { chainsOn, LONG } from "./make-chain.ts";

const found = await cluster();
const unavailable = "unavailable" in found ? found.unavailable : null;

describe
  .skipIf(unavailable !== null)
  .concurrent(`names on a real Slurm${unavailable === null ? "" : ` (${unavailable})`}`, () => {
    const slurm = found as Cluster;
    const make = chainsOn(slurm);
    const script = counterThat({
      "1.2": 'printf %s "$GIVEN" >given.txt; printf %s "$1" >argument.txt',
      "*.1": 'echo "out $STINT_ATTEMPT"',
      "*.10": "exit 99",
    });

    it.for([
      ["blanks and quotes", `it's a "path" of $HOME \`id\` (1)`, "run-'1'.\"of\"_$HOME"],
      ["line breaks, pipes, percent signs and commas", "a\nb|c%j%%d,e\u001f", "a|b,c%j%%x"],
      ["letters outside ASCII", "Bäume 日本 ñ", "größe-日本"],
      ["a backslash in the job's name", "plain", "back\\n'x"],
    ])("of the project folder, the job, its argument and its output with %s", async ([, path = "", name = ""], t) => {
      const project = await make(
        t,
        script,
        { ...LONG, name, total: 25, env: { GIVEN: path }, command: { kind: "argv", argv: ["bash", "app.sh", path] } },
        {
          name: path,
          spec: (folder) => ({ output: { stdout: join(folder, `${path}.out`).replaceAll("%", "%%"), stderr: null } }),
        },
      );
      const text = (file: string) => readFileSync(join(project.folder, file), "utf8");
      await project.advance();
      await project.watchToEnd();
      expect(await project.ends()).toEqual(["checkpointed continue", "checkpointed continue", "completed finish"]);
      expect([text("given.txt"), text("argument.txt")]).toEqual([path, path]);
      expect(text(`${path}.out`)).toBe("out 1\nout 2\nout 3\n");
      expectExactlyOnce(project.steps(), 25);
      expect(await project.status()).toMatchObject({ job: `/${slurm.user.name}/${name}`, state: "over", attempts: 3 });
      // The account of each is asked for by id, and found whatever the job's name does to a table.
      expect(await project.stint(["status", name, "--attempts", "--json"])).toMatchObject({ exitCode: 0 });
      expect((await project.accountOf(1))?.rows).toMatchObject([{ ref: (await project.attempt(1)).submitted?.ref }]);
    });
  });
