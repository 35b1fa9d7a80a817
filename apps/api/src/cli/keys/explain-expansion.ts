import { listExpanded } from "@latchkey/auth/restrictions";
import { encodeId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import { AppError } from "@latchkey/errors";
import { formatTime } from "../format.ts";
import { formatLimit } from "./key-view.ts";

type Describe = (settings: KeySettings) => string;

/** Each setting by name and value, as in `key show`. */
const settings: { readonly [Name in keyof KeySettings]: readonly [label: string, describe: Describe] } = {
  isDisabled: ["status", ({ isDisabled }) => (isDisabled ? "disabled" : "active")],
  expiresAt: ["expiry", ({ expiresAt }) => (expiresAt ? formatTime(expiresAt.toISOString()) : "never")],
  workspaceIds: [
    "workspaces",
    ({ workspaceIds }) => workspaceIds?.map((id) => encodeId("workspace", id)).join(", ") ?? "all",
  ],
  permissions: ["permissions", ({ permissions }) => permissions?.join(", ") ?? "all"],
  isReadOnly: ["read-only", ({ isReadOnly }) => (isReadOnly ? "yes" : "no")],
  ipRanges: ["IP ranges", ({ ipRanges }) => ipRanges?.join(", ") ?? "any"],
  limit: ["rate limit", ({ limit }) => formatLimit(limit)],
};

/** The error for a change that would expand a key's access; undefined when nothing would be expanded. */
export function explainExpansion(before: KeySettings, requested: Partial<KeySettings>): AppError | undefined {
  const after = { ...before, ...requested };
  const changes = listExpanded(before, after).map((name) => {
    const [label, describe] = settings[name];
    return `${label} from ${describe(before)} to ${describe(after)}`;
  });
  if (changes.length === 0) return undefined;
  const message = `This would expand the key's access: ${changes.join("; ")}. Add --expand-access to allow it.`;
  return new AppError("UNPROCESSABLE_CONTENT", { message });
}
