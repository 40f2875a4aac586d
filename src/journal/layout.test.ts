import { expect, test } from "vitest";
import { attemptPlace, jobPlace, placeOfAttemptFolder, placeOfJobFolder, taskPlace } from "./layout.ts";
import { placeOfSubmitterFolder, submitterPlace } from "./submitters.ts";

test.each([
  ["/home/jobs/ann/.stint", "/ann/sim"],
  ["/p/.stint", "/ann/sim/fit"],
  ["/p/.stint", "/ann/jobs"],
  ["/p/.stint", "/jobs/jobs/jobs/x"],
  ["/p/.stint", "/ann/sim/jobs/children/tasks/jobs"],
  ["/p/.stint", "/ann/children/children/children"],
])("the folders of a job in %s called %s lead back to it", (stintFolder, id) => {
  const job = jobPlace(stintFolder, id);
  const attempt = attemptPlace(taskPlace(job, 3), 12);
  const submitter = submitterPlace(job, 4);
  expect(placeOfJobFolder(job.folder)).toEqual(job);
  expect(placeOfAttemptFolder(attempt.folder)).toEqual(attempt);
  expect(placeOfSubmitterFolder(submitter.folder)).toEqual(submitter);
});

test("other paths are no job's", () => {
  for (const path of ["", "/p/.stint/jobs", "/p/.stint/jobs/ann", "/p/.stint/jobs/ann/sim/tasks/0", "jobs/ann/sim"])
    expect(placeOfJobFolder(path), path).toBeNull();
  expect(placeOfSubmitterFolder("/p/.stint/jobs/ann/sim/submitters/1")).toBeNull();
});
