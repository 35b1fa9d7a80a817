/**
 * Says how long ago a use was if it can be at most two hours ago; undefined otherwise. Uses in a workspace are counted by
 * hour, so the time since the beginning of the hour can overstate it by almost an hour.
 * @param startsAt the beginning of the hour of the use.
 */
export function describeRecentHours(startsAt: string, now: Date): string | undefined {
  const hours = Math.floor((now.getTime() - Date.parse(startsAt)) / 3_600_000);
  if (hours < 1) return "this hour";
  return hours < 2 ? "in the last 2 hours" : undefined;
}
