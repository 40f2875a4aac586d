// The face of checkpoint: reading progress, generations, the owner record, quarantine, room for the next checkpoint.
export { type CheckpointPlace, resolveCheckpoint } from "./checkpoint-place.ts";
export { type StorageFinding, spaceFor } from "./checkpoint-space.ts";
export { formatGenerations, type GenerationMemory, parseGenerations } from "./generations.ts";
export { jsonRuleWords } from "./json-hint.ts";
export { anyAtItsPlace, type MovedAside, moveAside, movedAlready } from "./move-aside.ts";
export {
  type ClaimOptions,
  type CurrentOwner,
  claimOwner,
  type JudgeOwner,
  type OwnerJudgement,
  type Ownership,
  readOwner,
  releaseOwner,
  stillOwner,
  whyOwned,
} from "./owner.ts";
export { type OwnerIdentity, type OwnerPlace, type OwnerRecord, ownerPlace } from "./owner-record.ts";
export { checkProgressRule } from "./progress-rule.ts";
export { makeQuarantine, planQuarantine, type QuarantinePlan } from "./quarantine.ts";
export { type CheckpointSpec, readCheckpoint } from "./read-checkpoint.ts";
export { tidyOwners } from "./tidy-owners.ts";
