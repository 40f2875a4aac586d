/** Where the command was typed. */
import type { Where } from "../chain/index.ts";

export function here(): Where {
  return { cwd: process.cwd(), environment: process.env };
}
