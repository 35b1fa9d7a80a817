import Bowser from "bowser";

/** The browser and operating system that a User-Agent names. Null for what is unknown. */
export function parseDevice(userAgent: string | null) {
  if (!userAgent) return { browser: null, system: null };
  const { browser, os } = Bowser.parse(userAgent);
  const [version] = (browser.version ?? "").split(".");
  return {
    browser: browser.name ? [browser.name, version].filter(Boolean).join(" ") : null,
    system: os.name ?? null,
  };
}

/**
 * The kind of device that a User-Agent names, such as “Chrome on macOS”. Without the version, because an update of a
 * browser doesn't make a new device.
 */
export function describeDevice(userAgent: string | null): string {
  if (!userAgent) return "an unknown device";
  const { browser, os } = Bowser.parse(userAgent);
  return [browser.name, os.name].filter(Boolean).join(" on ") || "an unknown device";
}
