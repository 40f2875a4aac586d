// Checks docs/failure-stories.md: every row that must be there is there, and each names tests that exist in the tree.
// Usable alone: `node scripts/failure-stories.mjs`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { projectFiles, ROOT } from "./project.mjs";

const PAGE = "docs/failure-stories.md";
/** Numbers that were left out are about accounts and reports, or are no stories. */
const REQUIRED = [
  ...numbered("T", 1, 4),
  ...numbered("T", 6, 14),
  "T24",
  // At the end of the window; two runs on one checkpoint; wrong verdicts; chains that never end or start; environment, ids, load.
  ...numbered("F", 1, 15),
  ...numbered("F", 17, 30),
  ...numbered("F", 32, 46),
  ...numbered("F", 48, 51),
  ...numbered("F", 53, 56),
  ...numbered("F", 58, 60),
  ...numbered("F", 62, 79),
];

function numbered(letter, from, to) {
  return Array.from({ length: to - from + 1 }, (_, i) => `${letter}${from + i}`);
}

/** One line for each row that is missing, has no test, or names a test that is nowhere. */
export function checkFailureStories() {
  const rows = rowsOf(readFileSync(join(ROOT, PAGE), "utf8"));
  const titles = testTitles();
  const missing = REQUIRED.filter((id) => !rows.some((row) => row.id === id)).map(
    (id) => `${PAGE}: row ${id} is missing`,
  );
  const twice = rows.filter((row, at) => rows.findIndex((other) => other.id === row.id) < at);
  return {
    rows: rows.length,
    problems: [
      ...missing,
      ...twice.map((row) => `${PAGE}: row ${row.id} is there twice`),
      ...rows.flatMap(({ id, tests, cell, does }) => {
        if (/\(pending\)/.test(cell)) return [`${PAGE}: row ${id} is still pending`];
        // It cannot happen here, and the column before the last says why.
        if (cell.trim() === "not here")
          return does.length >= 40 ? [] : [`${PAGE}: row ${id} does not say why it cannot happen`];
        if (tests.length === 0) return [`${PAGE}: row ${id} names no test (write each title as \`code\`)`];
        return tests
          .filter((title) => !titles.has(title))
          .map((title) => `${PAGE}: row ${id}: no test is called "${title}"`);
      }),
    ],
  };
}

/** Rows `| T1 | what happens | what stint does | \`title\`, \`title\` |`: the last cell holds the titles. */
function rowsOf(text) {
  return text.split("\n").flatMap((line) => {
    const match = /^\|\s*([TF]\d+)\s*\|(.*)\|\s*$/.exec(line);
    if (match === null) return [];
    const [does = "", cell = ""] = match[2].split(/(?<!\\)\|/).slice(-2);
    const tests = [...cell.matchAll(/`([^`]+)`/g)].map((found) => found[1].replaceAll("\\|", "|"));
    return [{ id: match[1], cell, tests, does: does.trim() }];
  });
}

/** The first argument of every `test(…)` and `it(…)`, also behind `.each(…)`, `.skipIf(…)` and the like. */
function testTitles() {
  const titles = new Set();
  for (const name of projectFiles()) {
    if (!/^(src|test)\/.*\.test\.ts$/.test(name)) continue;
    const text = readFileSync(join(ROOT, name), "utf8");
    const call = /(?<![\w$.])(?:test|it)(?:\.\w+|\((?:[^()]|\([^()]*\))*\))*\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/g;
    for (const match of text.matchAll(call)) titles.add(match[2].replace(/\\(["'`\\])/g, "$1"));
  }
  return titles;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { rows, problems } = checkFailureStories();
  console.log(problems.length === 0 ? `failure stories: ${rows} rows, each with its tests` : problems.join("\n"));
  process.exitCode = problems.length === 0 ? 0 : 1;
}
