/** DuckDB's result as the Arrow IPC stream that finelog sends: written with apache-arrow, which the client does not use. */
import { type DuckDBResultReader, DuckDBTimestampValue, DuckDBTypeId } from "@duckdb/node-api";
import {
  Bool,
  type Data,
  type DataType,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
  vectorFromArray,
} from "apache-arrow";

const BATCH_ROWS = 2_048;

/** All fields nullable; without rows the typed schema alone. */
export function arrowStream(reader: DuckDBResultReader): Uint8Array {
  const names = reader.columnNames();
  const types = reader.columnTypes().map(({ typeId }) => arrowType(typeId));
  const schema = new Schema(names.map((name, at) => Field.new({ name, type: types[at] as DataType, nullable: true })));
  const rows = reader.getRows();
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schema);
  for (let from = 0; from < rows.length; from += BATCH_ROWS) {
    const batch = rows.slice(from, from + BATCH_ROWS);
    const children = types.map((type, at) =>
      dataOf(
        batch.map((row) => plain(row[at])),
        type,
      ),
    );
    const data = makeData({
      type: new Struct(schema.fields),
      length: batch.length,
      nullCount: 0,
      children,
    });
    writer.write(new RecordBatch(schema, data));
  }
  writer.finish();
  return writer.toUint8Array(true);
}

function dataOf(values: readonly unknown[], type: DataType): Data {
  // The package's own builder takes times as milliseconds.
  if (type instanceof TimestampMicrosecond) {
    const isThere = values.map((value) => (value === null ? 0 : 1));
    const nullBitmap = new Uint8Array(Math.ceil(values.length / 8));
    for (const [at, there] of isThere.entries()) nullBitmap[at >> 3] = (nullBitmap[at >> 3] ?? 0) | (there << (at & 7));
    const data = BigInt64Array.from(values, (value) => (value === null ? 0n : (value as bigint)));
    const nullCount = isThere.filter((there) => there === 0).length;
    return makeData({ type, length: values.length, nullCount, nullBitmap, data });
  }
  const [data] = vectorFromArray(values as never, type).data;
  return data as Data;
}

/** Sums of BIGINT are HUGEINT in DuckDB: as a double, which Arrow can say. */
function arrowType(typeId: number): DataType {
  if (typeId === DuckDBTypeId.VARCHAR) return new Utf8();
  if (typeId === DuckDBTypeId.TIMESTAMP) return new TimestampMicrosecond();
  if (typeId === DuckDBTypeId.BOOLEAN) return new Bool();
  if (typeId === DuckDBTypeId.BIGINT) return new Int64();
  if (typeId === DuckDBTypeId.INTEGER) return new Int32();
  return new Float64();
}

function plain(value: unknown): unknown {
  if (value instanceof DuckDBTimestampValue) return value.micros;
  if (typeof value === "object" && value !== null && "toDouble" in value && typeof value.toDouble === "function")
    return value.toDouble();
  return value;
}
