import scriptUrl from "/node_modules/@scalar/api-reference/dist/browser/standalone.js?url";

/** What the script of the reference page leaves behind. */
interface Scalar {
  readonly createApiReference: (selector: string, configuration: object) => unknown;
}

const scheme =
  document.documentElement.getAttribute("data-mantine-color-scheme") === "dark" ? "dark" : "light";

const configuration = {
  url: "/openapi.json",
  // A call goes to the origin that the page came from: the content security policy allows no other.
  servers: [{ url: "/open" }],
  // The colors are those of the app, in docs.css.
  theme: "none",
  forceDarkModeState: scheme,
  hideDarkModeToggle: true,
  withDefaultFonts: false,
  hideClientButton: true,
  telemetry: false,
  // Both would lead to somebody else's service.
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
};

const script = document.createElement("script");
script.src = scriptUrl;
script.addEventListener("load", () => {
  const { Scalar } = window as unknown as { readonly Scalar: Scalar }; // As its package documents it.
  Scalar.createApiReference("#reference", configuration);
});
document.head.append(script);

/**
 * Names the reference's buttons so that a screen reader and voice control find them: its copy buttons show an icon and
 * have no name, and its "Show More" has a name without these words. They appear as the reader scrolls.
 */
function nameButtons(): void {
  for (const button of document.querySelectorAll(".scalar-code-copy:not([aria-label])")) {
    button.setAttribute("aria-label", "Copy");
  }
  for (const button of document.querySelectorAll("button.show-more[aria-label]")) {
    const words = button.textContent.trim();
    const name = button.getAttribute("aria-label") ?? "";
    if (!name.includes(words)) button.setAttribute("aria-label", `${words}: ${name}`);
  }
}
new MutationObserver(nameButtons).observe(document.body, { childList: true, subtree: true });
