import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createDirectory, runCommand } from "./product.ts";

/** Creates a data directory with the newest schema and without users, which tests copy. */
export interface PreparedData {
  readonly dataDirectory: string;
  readonly remove: () => Promise<void>;
}

/** @throws an Error with what the command printed if it fails. */
export async function prepareData(): Promise<PreparedData> {
  const directory = await createDirectory();
  const dataDirectory = join(directory, "data");
  const { status, stderr } = await runCommand(["migrate"], { DATA_DIR: dataDirectory });
  if (status !== 0) throw new Error(`No data directory could be prepared: ${stderr}`);
  return { dataDirectory, remove: () => rm(directory, { recursive: true, force: true }) };
}
