import type { parseDevice } from "../../domain/devices.ts";

/** The browser and operating system in a table, such as `Chrome 141, macOS`. */
export function nameDevice(device: ReturnType<typeof parseDevice> | null): string {
  return [device?.browser, device?.system].filter(Boolean).join(", ");
}
