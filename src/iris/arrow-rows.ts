/** An Arrow IPC stream as rows. The only file that loads the Arrow package: import it lazily. */
import { type Column, type DataType, TimeUnit, Type, tableFromIPC } from "@uwdata/flechette";
import { IrisError } from "./errors.ts";

/** Times are whole microseconds since 1970; integers, decimals without fraction and times are bigint where 64 bits hold them. */
export type StatsCell = string | number | bigint | boolean | null;

export interface StatsRows {
  readonly columns: readonly string[];
  readonly rowCount: number;
  /** By position. */
  rows(): Iterable<readonly StatsCell[]>;
}

/** Throws IrisError `bad-answer` for what is cut off, or not as long as it says. */
export function decodeArrow(bytes: Uint8Array, rowCount: bigint): StatsRows {
  const table = decoded(bytes);
  if (BigInt(table.numRows) !== rowCount)
    throw new IrisError(
      "bad-answer",
      `the statistics announce ${rowCount} rows and send ${table.numRows}: the answer is not whole`,
    );
  const columns = table.children.map((column) => readerOf(column));
  return {
    columns: table.names.map(String),
    rowCount: table.numRows,
    *rows() {
      for (let at = 0; at < table.numRows; at += 1) yield columns.map((read) => read(at));
    },
  };
}

function decoded(bytes: Uint8Array) {
  try {
    // Taken out of a message it may lie at an odd address, where 64-bit numbers cannot be read in place.
    return tableFromIPC(new Uint8Array(bytes), { useBigInt: true, useBigIntTimestamp: true, useDecimalInt: true });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new IrisError("bad-answer", `the statistics do not answer with a whole Arrow stream: ${why}`, {
      cause: error,
    });
  }
}

/** Of one column: the cell at a row. */
function readerOf(column: Column<unknown>): (at: number) => StatsCell {
  const { type } = column;
  const convert = converterOf(type);
  const values = column.toArray() as ArrayLike<unknown>;
  const isDirect = column.nullCount === 0;
  return (at) => {
    const value = isDirect ? values[at] : column.at(at);
    return value === null || value === undefined ? null : convert(value);
  };
}

function converterOf(type: DataType): (value: unknown) => StatsCell {
  if (type.typeId === Type.Timestamp) {
    const toUs = MICROSECONDS[type.unit] ?? ((value: bigint) => value);
    return (value) => toUs(BigInt(value as bigint));
  }
  if (type.typeId === Type.Decimal && type.scale > 0) {
    const { scale } = type;
    return (value) => decimalText(BigInt(value as bigint), scale);
  }
  return (value) => (typeof value === "object" ? JSON.stringify(value) : (value as StatsCell));
}

const MICROSECONDS: Readonly<Record<number, (value: bigint) => bigint>> = {
  [TimeUnit.SECOND]: (value) => value * 1_000_000n,
  [TimeUnit.MILLISECOND]: (value) => value * 1_000n,
  [TimeUnit.MICROSECOND]: (value) => value,
  [TimeUnit.NANOSECOND]: (value) => (value - (((value % 1000n) + 1000n) % 1000n)) / 1000n,
};

/** 1234 with a scale of 2 → `12.34`. */
function decimalText(value: bigint, scale: number): string {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, "0");
  return `${value < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
