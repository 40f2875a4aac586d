/** Where a controller is, and what is said to it. */
import { readFileSync, statSync } from "node:fs";
import { IrisError } from "./errors.ts";

/** The base of all paths, without a slash at its end. Throws IrisError `usage`. */
export function controllerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.hostname === "")
    throw new IrisError("usage", `${text} is no URL of a controller, such as http://localhost:10001`);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new IrisError("usage", `${text}: a controller is asked by http or https`);
  if (url.username !== "" || url.password !== "")
    throw new IrisError("usage", "a URL with a password in it can be read by everybody on this machine", {
      hint: "put a token into a file and name it in STINT_IRIS_TOKEN_FILE",
    });
  if (url.search !== "" || url.hash.length > 1)
    throw new IrisError("usage", `${text}: the URL of the controller alone is wanted, without ?… and #…`);
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** From the file that STINT_IRIS_TOKEN_FILE names, else STINT_IRIS_TOKEN; null: neither. Throws IrisError `usage`. */
export function tokenFrom(environment: Readonly<Record<string, string | undefined>>): string | null {
  const file = environment.STINT_IRIS_TOKEN_FILE ?? "";
  const token = (file === "" ? (environment.STINT_IRIS_TOKEN ?? "") : readToken(file)).trim();
  if (token === "") return null;
  // It goes into a header as it is.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new IrisError(
      "usage",
      "the token holds a blank or a character that no token has: one token is wanted, on one line",
    );
  return token;
}

function readToken(file: string): string {
  try {
    if ((statSync(file).mode & 0o077) !== 0)
      throw new IrisError("usage", `others may read or write ${file}, which holds a token`, {
        hint: `chmod 600 ${file}`,
      });
    const text = readFileSync(file, "utf8");
    if (text.trim() === "") throw new IrisError("usage", `${file} should hold a token, and is empty`);
    return text;
  } catch (error) {
    if (error instanceof IrisError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new IrisError("usage", `the token cannot be read (STINT_IRIS_TOKEN_FILE): ${why}`);
  }
}
