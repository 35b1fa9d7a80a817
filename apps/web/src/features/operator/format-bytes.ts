const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** A size in a decimal unit, such as "12.3 MB". */
export function formatBytes(bytes: number): string {
  const exponent = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)));
  const format = new Intl.NumberFormat(undefined, {
    style: "unit",
    unit: units[exponent] ?? "byte",
    maximumSignificantDigits: 3,
  });
  return format.format(bytes / 1_000 ** exponent);
}
