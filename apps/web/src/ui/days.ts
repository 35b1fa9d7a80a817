/** Whether a text is a day that exists, in a year of four digits: a year that is being typed has fewer. */
export function isDay(text: unknown): text is string {
  // For a day that doesn't exist, such as February 30, the time is that of another day.
  return (
    typeof text === "string" &&
    /^[1-9]\d{3}-\d\d-\d\d$/.test(text) &&
    !Number.isNaN(Date.parse(text)) &&
    new Date(text).toISOString().startsWith(text)
  );
}

/** The beginning of a day in the reader's time zone, or of a later one. */
export function startOfDay(day: string, offsetDays = 0): Date {
  const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
  return new Date(year, month - 1, date + offsetDays);
}
