/** Shell-like patterns for names in one folder: `*`, `?`, `[abc]`, `[0-9]`, `[!a]`, and `\` before any of them. */

type Token =
  | { readonly kind: "any-run" }
  | { readonly kind: "any-one" }
  | { readonly kind: "literal"; readonly character: string }
  | { readonly kind: "set"; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] };

/** Null when the glob is usable; else one line that says what to do. */
export function checkGlob(glob: string): string | null {
  if (glob === "") return "the glob of files is empty";
  if (glob.includes("\0")) return `the glob ${JSON.stringify(glob)} holds a NUL character`;
  if (glob.includes("/"))
    return `the glob ${JSON.stringify(glob)} holds a slash: files are looked for in the one folder named by path`;
  if (glob.startsWith(".")) return `the glob ${JSON.stringify(glob)} begins with a dot: hidden files never count`;
  return null;
}

/**
 * Does `name` match? In time proportional to name × glob, whatever the glob. Hidden names and those of files that are
 * still being written (`.tmp` or `~` at the end) never do.
 */
export function matchesGlob(name: string, glob: string): boolean {
  return !isUnfinished(name) && match(Array.from(name), tokensOf(glob));
}

/** Names by which programs and editors mark a file that is not ready. */
export function isUnfinished(name: string): boolean {
  return name.startsWith(".") || name.endsWith(".tmp") || name.endsWith("~");
}

function tokensOf(glob: string): readonly Token[] {
  const characters = Array.from(glob);
  const tokens: Token[] = [];
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i] ?? "";
    if (character === "*") tokens.push({ kind: "any-run" });
    else if (character === "?") tokens.push({ kind: "any-one" });
    else if (character === "\\" && i + 1 < characters.length)
      tokens.push({ kind: "literal", character: characters[++i] ?? "" });
    else if (character === "[") {
      const set = setAt(characters, i);
      // An unclosed bracket is an ordinary character, as in the shell.
      tokens.push(set === null ? { kind: "literal", character } : set.token);
      if (set !== null) i = set.end;
    } else tokens.push({ kind: "literal", character });
  }
  return tokens;
}

function setAt(characters: readonly string[], start: number): { readonly token: Token; readonly end: number } | null {
  let i = start + 1;
  const negated = characters[i] === "!" || characters[i] === "^";
  if (negated) i++;
  const ranges: [string, string][] = [];
  for (const first = i; i < characters.length; i++) {
    const character = characters[i] ?? "";
    // A closing bracket in first place stands for itself.
    if (character === "]" && i > first) return { token: { kind: "set", negated, ranges }, end: i };
    const to = characters[i + 2];
    if (characters[i + 1] === "-" && to !== undefined && to !== "]") {
      ranges.push([character, to]);
      i += 2;
    } else ranges.push([character, character]);
  }
  return null;
}

/** Goes back to the last `*` only, which is enough and keeps the time bounded. */
function match(name: readonly string[], tokens: readonly Token[]): boolean {
  let n = 0;
  let t = 0;
  let starToken = -1;
  let starName = 0;
  while (n < name.length) {
    const token = tokens[t];
    if (token?.kind === "any-run") {
      starToken = t++;
      starName = n;
    } else if (token !== undefined && matchesOne(name[n] ?? "", token)) {
      n++;
      t++;
    } else if (starToken >= 0) {
      t = starToken + 1;
      n = ++starName;
    } else return false;
  }
  while (tokens[t]?.kind === "any-run") t++;
  return t === tokens.length;
}

function matchesOne(character: string, token: Token): boolean {
  if (token.kind === "any-one") return true;
  if (token.kind === "literal") return token.character === character;
  if (token.kind === "any-run") return false;
  return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated;
}
