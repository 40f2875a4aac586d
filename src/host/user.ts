import { userInfo } from "node:os";

/** The name of who runs this; null for a uid without an entry in the password database, as in many containers. */
export function userName(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}

/** The same, or the uid as text: what the system's own programs show of such a user. */
export function userNameOrId(): string {
  return userName() ?? String(process.getuid?.() ?? 0);
}
