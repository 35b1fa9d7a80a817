/** Puts text on the clipboard; answers whether that worked. */
export async function copyText(text: string): Promise<boolean> {
  // Browsers offer the clipboard to secure origins only, and a self-hosted instance may be plain http.
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
  // Beside what has the focus, so that a dialog's focus trap lets it be selected.
  (focused.parentElement ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  focused.focus();
  return isCopied;
}
