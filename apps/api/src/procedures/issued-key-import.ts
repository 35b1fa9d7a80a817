import { z } from "zod";
import { maxImportRows } from "../domain/issued-key-import.ts";
import { keyspaceId } from "../fields.ts";
import { importRows } from "../import-rows.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

/** A row as the web app read it from a file. */
const row = z.strictObject({ line: z.int().min(1), content: z.record(z.string(), z.unknown()) });

export const issuedKeyImportRouter = createRouter({
  /** Imports some rows of a file with keys. The web app sends a file in as many calls as it needs. */
  importRows: workspaceProcedure("keys:manage")
    .input(workspaceInput({ keyspaceId, rows: z.array(row).min(1).max(maxImportRows) }))
    .mutation(({ ctx, input: { keyspaceId, rows } }) =>
      ctx.transact((trx) => importRows(trx, ctx.edit, { keyspaceId, rows }, ctx.services.quotas)),
    ),
});
