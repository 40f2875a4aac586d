import { expect, it } from "vitest";
import { type Chance, pendingReason } from "./pending-reasons.ts";

/** Every code that squeue of Slurm 22.05 to 24.11 can print, and what is claimed about a job that waits for it. */
const CODES: Readonly<Record<Exclude<Chance, "unknown">, string>> = {
  "will-start": `None Prolog Priority Dependency Resources BeginTime Licenses Reservation SchedDefer Cleaning JobArrayTaskLimit
    BurstBufferResources BurstBufferStageIn PowerNotAvail PowerReserved FedJobLock AssociationJobLimit QOSJobLimit
    WaitingForScheduling QOSGrpJobsLimit QOSGrpSubmitJobsLimit QOSMaxJobsPerUserLimit QOSMaxSubmitJobPerUserLimit
    AssocGrpJobsLimit AssocGrpSubmitJobsLimit AssocMaxJobsLimit AssocMaxSubmitJobLimit MaxJobsPerAccount
    MaxSubmitJobsPerAccount`,
  "may-never-start": `PartitionNodeLimit PartitionDown PartitionInactive ReqNodeNotAvail FrontEndDown NodeDown SystemFailure
    JobLaunchFailure NonZeroExitCode RaisedSignal TimeLimit InactiveLimit OutOfMemory QOSUsageThreshold
    AssociationResourceLimit QOSResourceLimit BurstBufferOperation AccountingPolicy Constraints
    QOSGrpCpuLimit QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit QOSGrpMemLimit QOSGrpNodeLimit QOSGrpWallLimit
    QOSMaxCpuPerUserLimit QOSMaxNodePerUserLimit AssocGrpCpuLimit AssocGrpCPUMinutesLimit AssocGrpCPURunMinutesLimit
    AssocGrpMemLimit AssocGrpNodeLimit AssocGrpWallLimit AssocGrpUnknown AssocGrpUnknownMinutes AssocGrpUnknownRunMinutes
    AssocGrpMemMinutes AssocGrpMemRunMinutes AssocGrpNodeMinutes AssocGrpNodeRunMinutes AssocGrpEnergy
    AssocGrpEnergyMinutes AssocGrpEnergyRunMinutes AssocGrpGRES AssocGrpGRESMinutes AssocGrpGRESRunMinutes AssocGrpLicense
    AssocGrpLicenseMinutes AssocGrpLicenseRunMinutes AssocGrpBB AssocGrpBBMinutes AssocGrpBBRunMinutes AssocGrpBilling
    AssocGrpBillingMinutes AssocGrpBillingRunMinutes QOSGrpUnknown QOSGrpUnknownMinutes QOSGrpUnknownRunMinutes
    QOSMaxUnknownPerUser QOSGrpMemoryMinutes QOSGrpMemoryRunMinutes QOSMaxMemoryPerUser QOSGrpNodeMinutes
    QOSGrpNodeRunMinutes QOSGrpEnergy QOSGrpEnergyMinutes QOSGrpEnergyRunMinutes QOSMaxEnergyPerUser QOSGrpGRES
    QOSGrpGRESMinutes QOSGrpGRESRunMinutes QOSMaxGRESPerUser QOSGrpLicense QOSGrpLicenseMinutes QOSGrpLicenseRunMinutes
    QOSMaxLicensePerUser QOSGrpBB QOSGrpBBMinutes QOSGrpBBRunMinutes QOSMaxBBPerUser QOSGrpBilling QOSGrpBillingMinutes
    QOSGrpBillingRunMinutes QOSMaxBillingPerUser MaxBBPerAccount MaxCpuPerAccount MaxEnergyPerAccount MaxGRESPerAccount
    MaxNodePerAccount MaxLicensePerAccount MaxMemoryPerAccount MaxUnknownPerAccount MaxBillingPerAccount
    MaxCpuRunMinsPerUser MaxGRESRunMinsPerUser MaxCpuRunMinsPerAccount MaxNodeRunMinsPerAccount`,
  "will-never-start": `PartitionTimeLimit PartitionConfig JobHeldAdmin JobHeldUser JobHoldMaxRequeue BadConstraints
    InvalidAccount InvalidQOS QOSNotAllowed AccountNotAllowed DependencyNeverSatisfied QOSTimeLimit AssociationTimeLimit
    MaxMemPerLimit ReservationDeleted ReservationInvalid DeadLine
    QOSMaxCpuPerJobLimit QOSMaxCpuMinutesPerJobLimit QOSMaxNodePerJobLimit QOSMaxWallDurationPerJobLimit
    QOSMinCpuNotSatisfied AssocMaxCpuPerJobLimit AssocMaxCpuMinutesPerJobLimit AssocMaxNodePerJobLimit
    AssocMaxWallDurationPerJobLimit AssocMaxUnknownPerJob AssocMaxUnknownPerNode AssocMaxUnknownMinutesPerJob
    AssocMaxCpuPerNode AssocMaxMemPerJob AssocMaxMemPerNode AssocMaxMemMinutesPerJob AssocMaxNodeMinutesPerJob
    AssocMaxEnergyPerJob AssocMaxEnergyPerNode AssocMaxEnergyMinutesPerJob AssocMaxGRESPerJob AssocMaxGRESPerNode
    AssocMaxGRESMinutesPerJob AssocMaxLicensePerJob AssocMaxLicenseMinutesPerJob AssocMaxBBPerJob AssocMaxBBPerNode
    AssocMaxBBMinutesPerJob AssocMaxBillingPerJob AssocMaxBillingPerNode AssocMaxBillingMinutesPerJob
    QOSMaxUnknownPerJob QOSMaxUnknownPerNode QOSMaxUnknownMinutesPerJob QOSMinUnknown QOSMaxCpuPerNode QOSMaxMemoryPerJob
    QOSMaxMemoryPerNode QOSMaxMemoryMinutesPerJob QOSMinMemory QOSMaxNodeMinutesPerJob QOSMinNode QOSMaxEnergyPerJob
    QOSMaxEnergyPerNode QOSMaxEnergyMinutesPerJob QOSMinEnergy QOSMaxGRESPerJob QOSMaxGRESPerNode QOSMaxGRESMinutesPerJob
    QOSMinGRES QOSMaxLicensePerJob QOSMaxLicenseMinutesPerJob QOSMinLicense QOSMaxBBPerJob QOSMaxBBPerNode QOSMinBB
    QOSMaxBillingPerJob QOSMaxBillingPerNode QOSMaxBillingMinutesPerJob QOSMinBilling`,
};

const JOB = { id: "42", partition: "short", timeLimit: "10:00", account: "lab", qos: "normal" };

it.each(Object.entries(CODES))("knows every code of a job that %s", (chance, codes) => {
  for (const code of codes.split(/\s+/)) {
    const found = pendingReason(code, JOB);
    expect(found, code).toMatchObject({ code, chance });
    expect(found.meaning, code).toMatch(/^\S.*\S$/);
    expect(`${found.meaning} ${found.todo}`, code).not.toMatch(/[{}]/);
    // What will not come by itself needs somebody: it says who or what.
    if (chance !== "will-start") expect(found.todo, code).toMatch(/\w/);
  }
});

it.each(["SomethingNew", "AssocGrpQuantumLimit", "QOSMaxCpuPerGalaxy", "Maximum", "42"])(
  "claims nothing about %s, which it does not know",
  (code) => {
    expect(pendingReason(code, JOB)).toEqual({ code, chance: "unknown", meaning: code, todo: null });
  },
);

it("shows all of an unknown reason", () => {
  expect(pendingReason("NewThing, on n[1-2]").meaning).toBe("NewThing, on n[1-2]");
});

it("names limit and partition, with what to do", () => {
  expect(pendingReason("PartitionTimeLimit", JOB)).toMatchObject({
    meaning: "its limit of 10:00 is above what partition short allows",
    todo: "a shorter --limit, or another --partition (scontrol show partition short)",
  });
  expect(pendingReason("QOSMaxWallDurationPerJobLimit", JOB).meaning).toBe(
    "its limit of 10:00 is above what QOS normal allows",
  );
  expect(pendingReason("JobHeldUser", JOB).todo).toBe("scontrol release 42");
});

it("reads what Slurm adds behind ReqNodeNotAvail", () => {
  const of = (text: string) => pendingReason(text, JOB);
  expect(of("ReqNodeNotAvail, Reserved for maintenance")).toMatchObject({
    code: "ReqNodeNotAvail",
    chance: "will-start",
  });
  expect(of("ReqNodeNotAvail, May be reserved for other job").chance).toBe("will-start");
  expect(of("ReqNodeNotAvail, UnavailableNodes:n[1-2]")).toMatchObject({ chance: "may-never-start" });
  expect(of("ReqNodeNotAvail, UnavailableNodes:n[1-2]").meaning).toContain("(n[1-2])");
  expect(of("ReqNodeNotAvail(Unavailable:n1)").chance).toBe("unknown");
});

it.each([
  ["Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", "may-never-start"],
  ["Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions", "may-never-start"],
  ["launch failed requeued held", "will-never-start"],
  ["launch_failed_requeued_held", "will-never-start"],
  ["job requeued in held state", "will-never-start"],
] as const)("understands the sentence %s", (text, chance) => {
  expect(pendingReason(text, JOB).chance).toBe(chance);
});

it("says JOBID where the id is not known", () => {
  expect(pendingReason("JobHeldUser").todo).toBe("scontrol release JOBID");
  expect(pendingReason(null)).toMatchObject({ code: "", chance: "will-start" });
});
