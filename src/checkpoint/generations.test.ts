import fc from "fast-check";
import { expect, it } from "vitest";
import { formatGenerations, parseGenerations, sampledBlocks } from "./generations.ts";

it("samples stay within a file's share, in order, inside the file, and include its head and tail", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 40 }), fc.integer({ min: 4096, max: 2 ** 22 }), (size, share) => {
      const blocks = sampledBlocks(size, share);
      const read = blocks.reduce((sum, block) => sum + block.length, 0);
      expect(read).toBe(size <= share ? size : Math.min(read, share));
      if (size === 0) return;
      expect(blocks[0]?.position).toBe(0);
      const last = blocks.at(-1);
      expect((last?.position ?? 0) + (last?.length ?? 0)).toBe(size);
      expect(blocks.every((block, i) => i === 0 || block.position > (blocks[i - 1]?.position ?? 0))).toBe(true);
    }),
  );
});

it("the memory of generations comes back from its text, and anything else is none", () => {
  const memory = { count: 3, fingerprint: "ab" };
  expect(parseGenerations(formatGenerations(memory))).toEqual(memory);
  for (const text of [
    null,
    "",
    "{",
    "3",
    "null",
    '{"version":1,"count":"3","fingerprint":"a"}',
    '{"version":2,"count":3,"fingerprint":"a"}',
  ])
    expect(parseGenerations(text)).toBeNull();
});
