import { describe, expect, it } from "vitest";
import { folderInMount, parseCgroupMounts, parseCgroupText, slurmJobPath } from "./cgroup-path.ts";

describe("parseCgroupText", () => {
  it("reads v1, v2 and paths with colons", () => {
    const paths = parseCgroupText(
      "9:name=systemd:/\n4:memory:/slurm/uid_0/job_7\n2:cpu,cpuacct:/a:b\n0::/user.slice\n",
    );
    expect([...paths]).toEqual([
      ["name=systemd", "/"],
      ["memory", "/slurm/uid_0/job_7"],
      ["cpu", "/a:b"],
      ["cpuacct", "/a:b"],
      ["", "/user.slice"],
    ]);
  });
});

describe("parseCgroupMounts", () => {
  it("tells versions, controllers and a mounted part of a hierarchy", () => {
    const text = [
      "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct",
      "31 25 0:27 /docker/ab\\040c /sys/fs/cgroup ro,nosuid - cgroup2 cgroup2 rw,nsdelegate",
      "32 25 0:28 / /proc rw - proc proc rw",
    ].join("\n");
    const mounts = parseCgroupMounts(text);
    expect(mounts).toEqual([
      { version: 1, controllers: ["cpu", "cpuacct"], root: "/", folder: "/sys/fs/cgroup/cpu,cpuacct" },
      { version: 2, controllers: [], root: "/docker/ab c", folder: "/sys/fs/cgroup" },
    ]);
    const inside = mounts[1];
    expect(inside && folderInMount(inside, "/docker/ab c/job_1")).toBe("/sys/fs/cgroup/job_1");
    expect(inside && folderInMount(inside, "/job_1")).toBe("/sys/fs/cgroup/job_1");
  });
});

describe("slurmJobPath", () => {
  it.each([
    ["/slurm/uid_1000/job_7/step_batch/task_0", "/slurm/uid_1000/job_7"],
    ["/slurm_n1/uid_0/job_12", "/slurm_n1/uid_0/job_12"],
    ["/system.slice/slurmstepd.scope/job_5/step_0/user/task_0", "/system.slice/slurmstepd.scope/job_5"],
    ["/system.slice/n1_slurmstepd.scope/job_5/step_0", "/system.slice/n1_slurmstepd.scope/job_5"],
    ["/system.slice/slurmstepd.scope/s0AB3/step_batch/user", "/system.slice/slurmstepd.scope/s0AB3"],
    ["/user.slice/job_9/step_1", null],
    ["/system.slice/slurmd.service", null],
    ["/", null],
  ])("%s", (path, job) => {
    expect(slurmJobPath(path)).toBe(job);
  });
});
