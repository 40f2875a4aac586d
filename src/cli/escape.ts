/** Names, checkpoints and schedulers may hold anything: on a terminal none of it may act. */

/** A control or direction character, with what makes one of our own colours of it. */
const ACTING = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069](?:\[(?:0|1|2|3[1-4])m)?/gu;
/** Most text holds none of them. */
const HARMLESS = /^[\x20-\x7e]*$/;

/**
 * Every control character but the newline as `\u001b` (in JSON it means the same). `colours`: those that `Terminal.colour`
 * makes stay.
 */
export function escapeControls(text: string, colours: boolean): string {
  if (HARMLESS.test(text)) return text;
  return text.replace(ACTING, (found) => {
    if (found === "\n") return found;
    if (colours && found.length > 1 && found.startsWith("\x1b")) return found;
    return `${escaped(found.charCodeAt(0))}${found.slice(1)}`;
  });
}

/** The same for what must stay on one line. */
export function escapeLine(text: string, colours = true): string {
  return HARMLESS.test(text) ? text : escapeControls(text, colours).replaceAll("\n", "\\n");
}

function escaped(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
}
