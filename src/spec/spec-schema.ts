/** The schema of a spec file, made from the option table. Loaded only where a file is read or the JSON Schema is made. */
import * as v from "valibot";
import type { Shape } from "./kind.ts";
import { optionTable } from "./option-table.ts";
import type { Setting } from "./setting.ts";

type Schema = v.GenericSchema<unknown, unknown>;

/** Shape and types only: what a value means is read afterwards by its kind, with its place in the file at hand. */
export function specSchema(): Schema {
  const tree = new Map<string, Setting<unknown> | Map<string, Setting<unknown>>>();
  for (const setting of optionTable) {
    const [section, key] = setting.key.split(".");
    if (section === undefined) continue;
    if (key === undefined) tree.set(section, setting);
    else {
      const found = tree.get(section);
      const members = found instanceof Map ? found : new Map<string, Setting<unknown>>();
      tree.set(section, members.set(key, setting));
    }
  }
  return mapOf(
    [...tree].map(([key, value]) => [key, value instanceof Map ? mapOf([...value].map(leaf)) : leafSchema(value)]),
  );
}

function leaf([key, setting]: readonly [string, Setting<unknown>]): readonly [string, Schema] {
  return [key, leafSchema(setting)];
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
