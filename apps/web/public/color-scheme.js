// Runs before the first paint, so that a page never appears in the wrong color scheme, and follows
// later changes of the system and of the choice in another tab. It is a separate file because the
// content security policy blocks inline scripts.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    let choice = null;
    try {
      choice = localStorage.getItem("latchkey.appearance");
    } catch {
      // Storage is blocked: follow the system.
    }
    const isDark = choice === "dark" || (choice !== "light" && system.matches);
    document.documentElement.setAttribute("data-mantine-color-scheme", isDark ? "dark" : "light");
    if (choice !== "dark" && choice !== "light") return;
    for (const meta of document.querySelectorAll('meta[name="theme-color"]')) {
      meta.content = isDark ? "#13171c" : "#f8f9fb";
    }
  };
  apply();
  system.addEventListener("change", apply);
  addEventListener("storage", apply);
})();
