/** A time in ISO 8601, in UTC, to the second. */
export function formatTime(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}
