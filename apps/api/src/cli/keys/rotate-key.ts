import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { rotateKey } from "../../domain/api-keys.ts";
import { overlapSeconds } from "../../key-fields.ts";
import { defineTask } from "../task.ts";
import { duration, keyId } from "../values.ts";
import { findEdit } from "./key-edit.ts";
import { secretResult } from "./secret-result.ts";

export const rotateKeyTask = defineTask({
  input: z.strictObject({
    id: keyId,
    overlap: z
      .string()
      .refine(
        (text) => overlapSeconds.safeParse(duration.safeParse(text).data).success,
        "Expected a duration from 0s to 30d, for example 90m, 12h or 30d.",
      )
      .pipe(duration),
  }),
  perform: async ({ db, quotas }, { id, overlap }) => {
    const edit = await findEdit(db, id);
    const rotated = await db.transaction().execute((trx) => rotateKey(trx, edit, overlap, quotas));
    return secretResult(encodeId("key", rotated.id), rotated.secret);
  },
});
