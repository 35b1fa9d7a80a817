// Runs before the first paint, so that a page never appears in the wrong color scheme. It is a
// separate file because the content security policy blocks inline scripts.
(() => {
  let choice = null;
  try {
    choice = localStorage.getItem("latchkey.appearance");
  } catch {
    // Storage is blocked: follow the system.
  }
  const isDark =
    choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", isDark ? "dark" : "light");
  if (choice !== "dark" && choice !== "light") return;
  for (const meta of document.querySelectorAll('meta[name="theme-color"]')) {
    meta.content = isDark ? "#13171c" : "#f8f9fb";
  }
})();
