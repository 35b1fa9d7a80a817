/** Lets the browser save a file. */
export function saveFile(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // Chromium reads the URL after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
