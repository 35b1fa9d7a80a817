import { z } from "zod";
import type { RequestedSettings } from "../../domain/key-expiry.ts";
import { instant } from "../../fields.ts";
import { keySettings, lifetimeSeconds } from "../../key-fields.ts";
import { duration, ipRange, permission, workspaceId } from "../values.ts";

const maxItems = 100;

/** A rate limit such as `100/60s`. */
export const limitOption = z
  .string()
  .regex(/^\d{1,10}\/\d{1,9}[smhd]$/, "Expected <requests>/<window>, for example 100/60s.")
  .transform((text) => {
    const [quota = "", window = ""] = text.split("/");
    return { quota: Number(quota), windowSeconds: duration.parse(window) };
  })
  .pipe(keySettings.limit.unwrap().unwrap());

/** The options that restrict a key, except the rate limit. */
export const restrictionOptions = {
  expiresIn: duration.pipe(lifetimeSeconds).optional(),
  expiresAt: instant.optional(),
  workspace: setOf(workspaceId),
  permission: setOf(permission),
  readOnly: z.boolean().optional(),
  ip: setOf(ipRange),
};

type Options = z.output<z.ZodObject<typeof restrictionOptions>> & {
  readonly limit?: RequestedSettings["limit"] | undefined;
};

/** The settings that the options name. */
export function toSettings(options: Options): RequestedSettings {
  const { expiresIn, expiresAt, limit, workspace, permission, readOnly, ip } = options;
  const expiry = expiresIn === undefined ? expiresAt : { inSeconds: expiresIn };
  return {
    ...(expiry && { expiresAt: expiry }),
    ...(limit !== undefined && { limit }),
    ...(workspace && { workspaceIds: workspace }),
    ...(permission && { permissions: permission }),
    ...(readOnly !== undefined && { isReadOnly: readOnly }),
    ...(ip && { ipRanges: ip }),
  };
}

function setOf<Item extends z.ZodType>(item: Item) {
  return z
    .array(item)
    .max(maxItems, `Expected at most ${maxItems} values.`)
    .transform((items) => [...new Set(items)])
    .optional();
}
