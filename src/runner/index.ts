// The face of the runner: the body and its guardian, over ports.
export { type BodyEnd, runBody } from "./body.ts";
export { type GuardianPorts, guardAfterDeath } from "./guardian.ts";
export type { Application, ApplicationExit, BodyPorts, Outside, StartAnswer, Usage } from "./ports.ts";
