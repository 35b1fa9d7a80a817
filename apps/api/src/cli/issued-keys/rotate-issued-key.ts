import { z } from "zod";
import { rotateKey } from "../../domain/issued-key-rotation.ts";
import { defineTask } from "../task.ts";
import { issuedKeyId, overlap } from "../values.ts";
import { findIssuedKeyEdit } from "./find-keyspace.ts";
import { issuedSecretResult } from "./issued-key-view.ts";

export const rotateIssuedKeyTask = defineTask({
  input: z.strictObject({ id: issuedKeyId, overlap }),
  perform: async ({ db, quotas }, { id, overlap }) => {
    const { edit, path } = await findIssuedKeyEdit(db, id);
    const rotation = { overlapSeconds: overlap, versions: undefined, quotas };
    return issuedSecretResult(await db.transaction().execute((trx) => rotateKey(trx, edit, path, rotation)));
  },
});
