import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { describeDuration } from "../../ui/elapsed.ts";
import { saveFile } from "../../ui/save-file.ts";
import classes from "./import.module.css";
import type { ImportProgress, RejectedRow } from "./send-key-file.ts";

/** The most rejected rows that are shown. A file has all of them. */
const maxShown = 50;

interface ImportSummaryProps {
  readonly result: ImportProgress;
  /** How long the import took. */
  readonly seconds: number;
  /** Whether the user stopped the import before its end. */
  readonly isStopped: boolean;
}

/** What an import did. */
export function ImportSummary({ result, seconds, isStopped }: ImportSummaryProps): ReactElement {
  const { imported, existing } = result;
  return (
    <p className={dialogClasses.words}>
      <strong>
        {countOf(imported, "key", "keys")} imported in {describeDuration(seconds)}.
      </strong>
      {existing > 0 && ` ${countOf(existing, "key was", "keys were")} already in the keyspace.`}
      {isStopped && " You stopped the import. Import the same file again to continue."}
    </p>
  );
}

/** Each rejected row with the reason. */
export function RejectedRows({ rows }: { readonly rows: readonly RejectedRow[] }): ReactElement | null {
  if (rows.length === 0) return null;
  return (
    <>
      <p className={dialogClasses.words}>
        {countOf(rows.length, "row was", "rows were")} rejected. Correct them, then choose the file again and
        import it.
      </p>
      {rows.length > maxShown && (
        <Button
          className={classes.download}
          variant="default"
          onClick={() => saveFile(new Blob([toText(rows)], { type: "text/plain" }), "rejected-rows.txt")}
        >
          Download all rejected rows
        </Button>
      )}
      <ul className={classes.rejected} aria-label="Rejected rows">
        {rows.slice(0, maxShown).map((row) => (
          <li key={row.line}>
            <span className={classes.line}>Line {row.line}</span>
            <span>{describeRow(row)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function describeRow({ path, message }: RejectedRow): string {
  return path === "" ? message : `${path}: ${message}`;
}

function toText(rows: readonly RejectedRow[]): string {
  return rows.map((row) => `Line ${row.line}: ${describeRow(row)}\n`).join("");
}
