import fc from "fast-check";
import { expect, it } from "vitest";
import { quoteSql, quoteStats } from "./quote-sql.ts";

it("leaves plain names plain", () => {
  expect(quoteSql("/ann/sim-1_v2.0%")).toBe("'/ann/sim-1_v2.0%'");
  expect(quoteSql("it's")).toBe("'it''s'");
  expect(quoteSql("")).toBe("''");
  expect(quoteStats("it's")).toBe("'it''s'");
});

it("cuts what one of the versions would not let through", () => {
  expect(quoteSql("/u/create-index")).toBe("('/u/c'||'reate-index')");
  expect(quoteSql("/u/:reservation:")).toBe("('/u/:'||'reservation:')");
  expect(quoteSql("a;b")).toBe("('a'||char(59)||'b')");
});

it("refuses a NUL", () => {
  expect(() => quoteSql("a\0b")).toThrow("NUL");
  expect(() => quoteStats("a\0b")).toThrow("NUL");
});

const BANNED = /\b(insert|update|delete|drop|alter|create|attach|detach|pragma|vacuum|reindex|savepoint)\b/i;

it("holds no banned word, no semicolon and no parameter, whatever the text", () => {
  const words = fc.constantFrom(
    "UPDATE",
    "create",
    ":",
    "'",
    ";",
    "dropdrop",
    "re",
    "index",
    " ",
    "_",
    "ü",
    "9",
    ":a",
    "''",
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(words, { maxLength: 12 }).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(
      text.filter((each) => !each.includes("\0")),
      (each) => {
        const quoted = quoteSql(each);
        expect(quoted).not.toMatch(BANNED);
        expect(quoted).not.toContain(";");
        // SQLAlchemy's own rule for a parameter.
        expect(quoted).not.toMatch(/(?<![:\w\\]):(\w+)(?!:)/);
      },
    ),
    { numRuns: 2000 },
  );
});
