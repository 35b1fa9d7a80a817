import { z } from "zod";
import { createResetLink, resetLifetimeSeconds } from "../../domain/password-reset.ts";
import { commandOrigin } from "../command-origin.ts";
import { formatTime } from "../format.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { duration, userReference } from "../values.ts";

const maxLifetimeSeconds = 7 * 86_400;

export const createResetLinkTask = defineTask({
  input: z.strictObject({
    user: userReference,
    expiresIn: duration
      .refine(
        (seconds) => seconds >= 60 && seconds <= maxLifetimeSeconds,
        "Expected a duration from 60s to 7d, for example 1h.",
      )
      .optional(),
  }),
  perform: async ({ db, baseUrl }, { user, expiresIn = resetLifetimeSeconds }) => {
    const options = { baseUrl, lifetimeSeconds: expiresIn, origin: commandOrigin };
    const { url, expiresAt } = await createResetLink(db, user, options);
    return itemOf({ url, expiresAt: expiresAt.toISOString() }, [
      { label: "URL", text: (link) => link.url },
      { label: "Expires", text: (link) => formatTime(link.expiresAt) },
    ]);
  },
});
