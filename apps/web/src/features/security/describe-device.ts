import type { ListedSession } from "../../server/trpc.ts";

/** The browser and operating system of a session, such as “Chrome 141 on macOS”. */
export function describeDevice({ browser, system }: ListedSession["device"]): string {
  if (browser && system) return `${browser} on ${system}`;
  return browser ?? system ?? "Unknown device";
}
