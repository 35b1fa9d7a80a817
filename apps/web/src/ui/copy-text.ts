/** Copies text to the clipboard. Returns whether it succeeded. */
export async function copyText(text: string): Promise<boolean> {
  // Browsers restrict the clipboard API to secure origins, and a self-hosted instance can use plain
  // HTTP.
  if (!navigator.clipboard) return copyThroughSelection(text);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyThroughSelection(text);
  }
}

function copyThroughSelection(text: string): boolean {
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement : document.body;
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.style.position = "fixed";
  area.style.opacity = "0";
  // Next to the focused element, because a dialog's focus trap prevents selection outside of the
  // dialog.
  (focused.parentElement ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  focused.focus();
  return isCopied;
}
