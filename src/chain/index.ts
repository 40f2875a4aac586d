// The face of chain: moving a chain, and the world it moves in.
export { type AdvanceOptions, advance, policyOf, withdraw } from "./advance.ts";
export { adopt, recordSubmitted } from "./submit-attempt.ts";
export { type Clock, type Memory, newMemory, type World } from "./world.ts";
