/** What was found in a file, for a line that a person reads: short, and harmless on a terminal. */

const NAMED: Readonly<Record<string, string>> = {
  "\0": "\\0",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  '"': '\\"',
  "\\": "\\\\",
};

// Control characters, line separators, and the marks that turn the direction of what follows.
const UNSAFE = /["\\\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Of what was found in a file: enough to know it again. */
export const MOST_SEEN = 20;

/** Quotes the beginning (or the end) of `text` in at most `most` characters as they are shown, control characters escaped. */
export function quoteSeen(text: string, most = 40, from: "start" | "end" = "start"): string {
  const characters = Array.from(from === "start" ? text.slice(0, 2 * most + 2) : text.slice(-2 * most - 2));
  if (from === "end") characters.reverse();
  const shown: string[] = [];
  let used = 0;
  let length = 0;
  for (const character of characters) {
    const piece = escaped(character);
    length += Array.from(piece).length;
    if (length > most) break;
    shown.push(piece);
    used += character.length;
  }
  if (from === "end") shown.reverse();
  const quoted = shown.join("");
  if (used === text.length) return `"${quoted}"`;
  return from === "start" ? `"${quoted}…"` : `"…${quoted}"`;
}

/** Bytes in the largest binary unit that keeps the number at 1 or more, e.g. `3.2 MiB`. */
export function sizeText(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1).replace(/\.0$/, "")} ${units[unit]}`;
}

function escaped(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.charCodeAt(0);
    return NAMED[character] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
  });
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
