import { z } from "zod";
import { itemOf } from "./result.ts";
import { defineTask } from "./task.ts";

export const migrateTask = defineTask({
  input: z.strictObject({ repair: z.boolean().optional() }),
  canCreate: true,
  canRepair: ({ repair = false }) => repair,
  reportsMigrations: true,
  // Opening the database applied the migrations.
  perform: ({ prepared: { applied, repaired } }, { repair }) =>
    itemOf({ applied, repaired }, [
      { label: "Applied", text: () => applied.join("\n") || "none" },
      ...(repair ? [{ label: "Repaired", text: () => repaired.join("\n") || "none" }] : []),
    ]),
});
