import type { ColumnType } from "kysely";

/** A column of JSON, which is written as text. Absent for the default. */
export type JsonColumn<Value> = ColumnType<Value, string | null | undefined, string | null>;

/** A time that the database sets when the row is inserted and that never changes. */
export type CreatedAt = ColumnType<Date, never, never>;
