import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { rotateKey } from "../../domain/api-key-secrets.ts";
import { defineTask } from "../task.ts";
import { keyId, overlap } from "../values.ts";
import { findEdit } from "./key-edit.ts";
import { secretResult } from "./secret-result.ts";

export const rotateKeyTask = defineTask({
  input: z.strictObject({
    id: keyId,
    overlap,
  }),
  perform: async ({ db, quotas }, { id, overlap }) => {
    const edit = await findEdit(db, id);
    const rotated = await db.transaction().execute((trx) => rotateKey(trx, edit, overlap, quotas));
    return secretResult(encodeId("key", rotated.apiKey.id), rotated.secret);
  },
});
