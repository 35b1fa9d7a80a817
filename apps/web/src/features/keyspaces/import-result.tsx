import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { saveFile } from "../../ui/save-file.ts";
import classes from "./import.module.css";
import type { ImportProgress, RejectedRow } from "./send-key-file.ts";

/** The most rejected rows that are shown. A file has all of them. */
const maxShown = 50;

interface ImportResultProps {
  readonly result: ImportProgress;
  /** Whether the user stopped the import before its end. */
  readonly isStopped: boolean;
}

/** What an import did, and each rejected row with the reason. */
export function ImportResult({ result, isStopped }: ImportResultProps): ReactElement {
  const { imported, existing, rejected } = result;
  return (
    <>
      <p className={dialogClasses.words}>
        <strong>{countOf(imported, "key", "keys")} imported.</strong>
        {existing > 0 && ` ${countOf(existing, "key was", "keys were")} in the keyspace already.`}
        {isStopped && " You stopped the import; import the same file again to continue."}
      </p>
      {rejected.length > 0 && (
        <>
          <p className={dialogClasses.words}>
            {countOf(rejected.length, "row was", "rows were")} rejected. Correct them, and import the same
            file again.
          </p>
          <ul className={classes.rejected} aria-label="Rejected rows">
            {rejected.slice(0, maxShown).map((row) => (
              <li key={row.line}>
                <span className={classes.line}>Line {row.line}</span>
                <span>{describeRow(row)}</span>
              </li>
            ))}
          </ul>
          {rejected.length > maxShown && (
            <Button
              variant="default"
              size="xs"
              onClick={() =>
                saveFile(new Blob([toText(rejected)], { type: "text/plain" }), "rejected-rows.txt")
              }
            >
              Download all rejected rows
            </Button>
          )}
        </>
      )}
    </>
  );
}

function describeRow({ path, message }: RejectedRow): string {
  return path === "" ? message : `${path}: ${message}`;
}

function toText(rows: readonly RejectedRow[]): string {
  return rows.map((row) => `Line ${row.line}: ${describeRow(row)}\n`).join("");
}
