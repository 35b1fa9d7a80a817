import Bowser from "bowser";

/** The security log shows the User-Agent of failed sign-ins, which an attacker controls, so its length is limited. */
const maxNameLength = 40;

/** The browser and operating system that a User-Agent names. Null for what is unknown. */
export function parseDevice(userAgent: string | null) {
  if (!userAgent) return { browser: null, system: null };
  const { browser, os } = Bowser.parse(userAgent);
  const [version] = (browser.version ?? "").split(".");
  return {
    browser: browser.name ? [browser.name.slice(0, maxNameLength), version].filter(Boolean).join(" ") : null,
    system: os.name?.slice(0, maxNameLength) ?? null,
  };
}

/**
 * The kind of device that a User-Agent names, such as “Chrome on macOS”. Without the version, because an update of a
 * browser doesn't make a new device.
 */
export function describeDevice(userAgent: string | null): string {
  if (!userAgent) return "an unknown device";
  const { browser, os } = Bowser.parse(userAgent);
  const names = [browser.name, os.name].flatMap((name) => (name ? [name.slice(0, maxNameLength)] : []));
  return names.join(" on ") || "an unknown device";
}
