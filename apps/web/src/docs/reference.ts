import scriptUrl from "/node_modules/@scalar/api-reference/dist/browser/standalone.js?url";

/** The global object that the script of the reference page defines. */
interface Scalar {
  readonly createApiReference: (selector: string, configuration: object) => unknown;
}

const readScheme = () =>
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
  // Calls go to the page's own origin, because the content security policy blocks all others.
  servers: [{ url: `${location.origin}/open` }],
  hiddenClients,
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  // docs.css sets the colors of the app.
  theme: "none",
  forceDarkModeState: readScheme(),
  hideDarkModeToggle: true,
  withDefaultFonts: false,
  hideClientButton: true,
  telemetry: false,
  // The header links to the document, and this one is changed for display.
  documentDownloadType: "none",
  // Both would link to a third-party service.
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
};

/** The part of an OpenAPI document that is changed for display. */
interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
}

interface Parameter {
  readonly in?: string;
  readonly required?: boolean;
  examples?: object;
}

/**
 * Loads the OpenAPI document. Turns optional query parameters off in code samples and in the form for a test request:
 * by default, both fill in every filter of a list, and most lists would be empty.
 */
async function loadDocument(): Promise<OpenApiDocument> {
  const response = await fetch("/openapi.json");
  if (!response.ok) throw new Error(`The OpenAPI document can't be loaded: HTTP ${response.status}.`);
  const openApi = (await response.json()) as OpenApiDocument; // The server checks its own document.
  for (const operation of Object.values(openApi.paths).flatMap((path) => Object.values(path))) {
    for (const parameter of operation.parameters ?? []) {
      if (parameter.in === "query" && !parameter.required)
        parameter.examples = { default: { "x-disabled": true } };
    }
  }
  return openApi;
}

async function loadScript(): Promise<Scalar> {
  const script = document.createElement("script");
  script.src = scriptUrl;
  const loaded = new Promise((resolve, reject) => {
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
  });
  document.head.append(script);
  await loaded;
  return (window as unknown as { readonly Scalar: Scalar }).Scalar; // Documented by its package.
}

const [scalar, content] = await Promise.all([loadScript(), loadDocument()]);
scalar.createApiReference("#reference", { ...configuration, content });

/** Scalar keeps the scheme that it started with. This follows a change while the page is open. */
function followScheme(): void {
  const isDark = readScheme() === "dark";
  document.body.classList.toggle("dark-mode", isDark);
  document.body.classList.toggle("light-mode", !isDark);
}
const schemeObserver = new MutationObserver(followScheme);
schemeObserver.observe(document.documentElement, { attributeFilter: ["data-mantine-color-scheme"] });
schemeObserver.observe(document.body, { attributeFilter: ["class"] });
followScheme(); // The scheme may have changed while the reference was loading.

/** Gives an accessible name to elements that have none, an ambiguous one, or one that doesn't contain their text. */
function nameElements(): void {
  for (const button of document.querySelectorAll(".scalar-code-copy:not([aria-label])")) {
    button.setAttribute("aria-label", "Copy");
  }
  for (const button of document.querySelectorAll("button.show-more[aria-label]")) {
    const text = button.textContent.trim();
    const name = button.getAttribute("aria-label") ?? "";
    if (!name.includes(text)) button.setAttribute("aria-label", `${text}: ${name}`);
  }
  for (const body of document.querySelectorAll(".cm-content:not([aria-label])")) {
    const isEditable = body.getAttribute("contenteditable") === "true";
    body.setAttribute("aria-label", isEditable ? "Request body" : "Response body");
  }
  const [, ...others] = document.querySelectorAll('section[aria-label^="Notifications"]');
  for (const [index, section] of others.entries()) {
    section.setAttribute("aria-label", `More notifications ${index + 1}`);
  }
}

/** Corrects roles and states that the package sets although ARIA doesn't allow them. */
function correctRoles(): void {
  for (const button of document.querySelectorAll('button[role="none"]')) button.removeAttribute("role");
  // Fields that complete variables, without the state that a combobox must have.
  for (const field of document.querySelectorAll('[role="combobox"][contenteditable]:not([aria-expanded])')) {
    field.setAttribute("role", "textbox");
  }
  for (const button of document.querySelectorAll("button[aria-controls]")) {
    const id = button.getAttribute("aria-controls") ?? "";
    if (!document.getElementById(id)) button.removeAttribute("aria-controls");
  }
}

/** Writes out the symbol of the Control key, for which most fonts have no glyph. */
function writeShortcut(): void {
  for (const symbol of document.querySelectorAll('.sr-only + [aria-hidden="true"]')) {
    if (symbol.textContent === "⌃") symbol.textContent = "Ctrl";
  }
}

/** Elements appear as the user scrolls and opens dialogs. */
function correctAccessibility(): void {
  nameElements();
  correctRoles();
  writeShortcut();
}
new MutationObserver(correctAccessibility).observe(document.body, { childList: true, subtree: true });
