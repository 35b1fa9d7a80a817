import scriptUrl from "/node_modules/@scalar/api-reference/dist/browser/standalone.js?url";

/** The global object that the script of the reference page defines. */
interface Scalar {
  readonly createApiReference: (selector: string, configuration: object) => unknown;
}

const scheme =
  document.documentElement.getAttribute("data-mantine-color-scheme") === "dark" ? "dark" : "light";

/**
 * The clients without a code sample. Samples exist for curl, JavaScript (fetch), Python
 * (http.client) and Go. Those for Python's requests are left out, because they encode times in the
 * query twice.
 */
const hiddenClients = [
  ..."c clojure csharp dart fsharp http java julia kotlin node objc ocaml php powershell r ruby rust swift".split(
    " ",
  ),
  ..."shell/httpie shell/wget js/axios js/jquery js/ofetch js/xhr".split(" "),
  ..."python/requests python/aiohttp python/httpx_sync python/httpx_async".split(" "),
];

const configuration = {
  url: "/openapi.json",
  // Calls go to the page's own origin, because the content security policy blocks all others.
  servers: [{ url: `${location.origin}/open` }],
  hiddenClients,
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  // docs.css sets the colors of the app.
  theme: "none",
  forceDarkModeState: scheme,
  hideDarkModeToggle: true,
  withDefaultFonts: false,
  hideClientButton: true,
  telemetry: false,
  // Both would link to a third-party service.
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
};

const script = document.createElement("script");
script.src = scriptUrl;
script.addEventListener("load", () => {
  const { Scalar } = window as unknown as { readonly Scalar: Scalar }; // Documented by its package.
  Scalar.createApiReference("#reference", configuration);
});
document.head.append(script);

/**
 * Sets accessible names for buttons of the reference: its copy buttons show only an icon and have
 * no name, and the name of "Show More" doesn't contain its text. The buttons appear as the user
 * scrolls.
 */
function nameButtons(): void {
  for (const button of document.querySelectorAll(".scalar-code-copy:not([aria-label])")) {
    button.setAttribute("aria-label", "Copy");
  }
  for (const button of document.querySelectorAll("button.show-more[aria-label]")) {
    const text = button.textContent.trim();
    const name = button.getAttribute("aria-label") ?? "";
    if (!name.includes(text)) button.setAttribute("aria-label", `${text}: ${name}`);
  }
}
new MutationObserver(nameButtons).observe(document.body, { childList: true, subtree: true });
