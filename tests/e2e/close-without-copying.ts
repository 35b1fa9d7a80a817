import type { Locator } from "playwright-core";

/** Closes a dialog whose content is shown only once. The first attempt shows a warning. */
export async function closeWithoutCopying(dialog: Locator): Promise<void> {
  const done = dialog.getByRole("button", { name: "Done" });
  await done.click();
  await dialog.getByRole("alert").getByText("won’t be shown again").waitFor();
  await done.click();
  await dialog.waitFor({ state: "detached" });
}
