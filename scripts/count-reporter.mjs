// A vitest reporter that writes what scripts/test.mjs adds up: numbers, and each skipped test with its reason. (vitest's own
// JSON reporter knows neither the reasons nor errors outside of tests.)
import { writeFileSync } from "node:fs";

// vitest takes the default export of a reporter file.
export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: [] };
    for (const module of modules) countModule(module, counts);
    writeFileSync(process.env.STINT_TEST_COUNTS, JSON.stringify(counts));
  }
}

function countModule(module, counts) {
  let failedHere = 0;
  for (const test of module.children.allTests()) {
    const { state, note } = test.result();
    if (state === "passed") counts.passed += 1;
    else if (state === "failed") failedHere += 1;
    else counts.skipped.push({ name: `${module.relativeModuleId}: ${test.fullName}`, reason: note ?? null });
  }
  // A file that cannot be loaded and a hook that throws fail without any failed test of their own.
  if (failedHere === 0 && module.state() === "failed") failedHere = 1;
  counts.failed += failedHere;
}
