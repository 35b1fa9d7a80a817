import { z } from "zod";
import { itemOf } from "./result.ts";
import { defineTask } from "./task.ts";

export const migrateTask = defineTask({
  input: z.strictObject({ repair: z.boolean().optional() }),
  mayCreate: true,
  mayRepair: ({ repair = false }) => repair,
  // Opening the database applied the migrations.
  perform: ({ prepared: { applied } }) =>
    itemOf({ applied }, [{ label: "Applied", text: () => applied.join("\n") || "none" }]),
});
