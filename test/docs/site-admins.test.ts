/** The page for site admins names every key of the site file, and its example is one. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseSiteFile } from "../../src/spec/index.ts";
import { siteTable } from "../../src/spec/site-settings.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/site-admins.md"), "utf8");

test("the example can be used as it stands", async () => {
  const [, yaml = ""] = /```yaml\n([^`]*)```/.exec(page) ?? [];
  const parsed = await parseSiteFile(yaml, "/etc/stint.yaml");
  expect(parsed).toMatchObject({ kind: "site", site: { pollFloorMs: { value: 60_000 } } });
  const given = parsed.kind === "site" ? [...parsed.site.defaults.keys()] : [];
  expect(given).toContain("slurm.partition");
});

test("every key is on the page", () => {
  const table = page.slice(page.indexOf("| key |"), page.indexOf("What makes a job this job"));
  for (const { key } of siteTable) {
    const [section = "", first = ""] = key.split(".");
    const word = section !== "defaults" ? key : first;
    expect(table, key).toContain(`\`${word}`);
  }
});
