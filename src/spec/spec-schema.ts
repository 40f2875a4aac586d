/** The schema of a spec file, made from the option table. Loaded only where a file is read or the JSON Schema is made. */
import * as v from "valibot";
import type { Shape } from "./kind.ts";
import { optionTable } from "./option-table.ts";
import type { Setting } from "./setting.ts";

type Schema = v.GenericSchema<unknown, unknown>;

/** Shape and types only: what a value means is read afterwards by its kind, with its place in the file at hand. */
export function specSchema(table: readonly Setting<unknown>[] = optionTable): Schema {
  const tree: Tree = new Map();
  for (const setting of table) {
    const path = setting.key.split(".");
    const last = path.pop() ?? "";
    let section = tree;
    for (const step of path) {
      const found = section.get(step);
      const inner: Tree = found instanceof Map ? found : new Map();
      section.set(step, inner);
      section = inner;
    }
    section.set(last, setting);
  }
  return schemaOfTree(tree);
}

type Tree = Map<string, Setting<unknown> | Tree>;

function schemaOfTree(tree: Tree): Schema {
  return mapOf([...tree].map(([key, value]) => [key, value instanceof Map ? schemaOfTree(value) : leafSchema(value)]));
}

function leafSchema(setting: Setting<unknown>): Schema {
  return v.pipe(schemaOf(setting.kind.shape), v.description(setting.help));
}

function mapOf(entries: readonly (readonly [string, Schema])[]): Schema {
  return v.strictObject(Object.fromEntries(entries.map(([key, schema]) => [key, v.optional(schema)])));
}

function schemaOf(shape: Shape): Schema {
  switch (shape.is) {
    case "text":
      return v.string();
    case "choice":
      return v.picklist(shape.values);
    case "number":
      return numberSchema(shape);
    case "list":
      return v.array(schemaOf(shape.of));
    case "map":
      return v.record(v.string(), schemaOf(shape.of));
    case "one-key":
      return v.union(shape.keys.map((key) => v.strictObject({ [key]: v.string() })));
    case "any-of":
      return v.union(shape.shapes.map(schemaOf));
  }
}

function numberSchema(shape: Extract<Shape, { is: "number" }>): Schema {
  if (shape.whole) return v.pipe(v.number(), v.integer(), v.minValue(shape.minimum));
  if (!Number.isFinite(shape.minimum)) return v.number();
  return v.pipe(v.number(), shape.above === true ? v.gtValue(shape.minimum) : v.minValue(shape.minimum));
}
