import type { Locator } from "playwright-core";

/**
 * Waits until a dialog, menu or form that opens has moved the focus to its first control. Dialogs and menus move it in two timers,
 * and input can arrive before, between and after them, so this also waits for a timer of its own, which runs after both.
 */
export async function untilFocused(container: Locator): Promise<void> {
  const focused = container.locator(":focus");
  await focused.waitFor();
  await focused.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
}
