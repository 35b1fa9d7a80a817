import { countOf } from "../../ui/count.ts";

/** What disabling, enabling or deleting all keys of a consumer does. */
export function describeConsumerChange(
  action: "disable" | "enable" | "delete",
  { activeKeyCount }: { readonly activeKeyCount: number },
): string {
  if (action === "enable")
    return "Keys that are disabled become valid again, unless they have expired or are out of credits.";
  const keys = countOf(activeKeyCount, "key stops", "keys stop");
  const stop =
    activeKeyCount === 0
      ? "None of the keys is active, so none stops working."
      : `${keys} working from the next request, on every service that verifies ${activeKeyCount === 1 ? "it" : "them"}.`;
  return `${stop} ${action === "delete" ? "This can’t be undone." : "You can enable them again."}`;
}
