import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { compressAssets } from "./compress-assets.ts";
import { dropUnusedColors } from "./drop-unused-colors.ts";
import { emitPagePaths } from "./emit-page-paths.ts";

/** Libraries of the API reference, 1 MB. */
const referenceLibraries = /@scalar|vue|shiki|highlight/;
/** Libraries of dialogs, which load when the first dialog opens. */
const dialogLibraries =
  /@mantine\/core\/.*\/(Drawer|Modal|ModalBase|PasswordInput)\/|react-remove-scroll|react-style-singleton|use-sidecar|use-callback-ref|tslib|get-nonce/;
const tableModules =
  /@tanstack\/(table-core|react-table)\/|\/src\/(ui\/(column-menu|data-table|describe-results|event-columns|filter-select|growing-table|list-table|omit-repeated|page-size-select|paged-table|row-card|row-checkbox|search-field|show-more|sort-header|sort-select|table-(footer|layout|row|row-props|toolbar)|use-data-table)|server\/use-(growing|paged)-list)\./;
/** Separate from the table, because logs and rejected requests can't be selected. */
const bulkModules = /\/src\/ui\/(bulk-(bar|change)|describe-uses)\./;
/** Modules of the logs and the recent activity, in one file, because each response has its own headers. */
const eventModules =
  /\/src\/(features\/security\/(describe-device|use-factors-changed)|server\/(describe-(details|event|key-event)|(security-)?action-titles)|ui\/(log-filters|id-filter|day-filter|use-typed-text))\./;
/** Options with help texts, which only some dialogs and the settings show. */
const choiceModules = /\/src\/ui\/choice\./;
/** What dialogs show that create or rotate a secret. */
const secretModules =
  /\/src\/(ui\/(new-secret|one-time-link|overlap-(fields|values)|secret-dialog)|server\/rotation-form)\./;
/** What the forms of keyspaces and issued keys share. */
const keyspaceFormModules =
  /features\/keyspaces\/(credits-fields|fields\.module|issued-key-(form|values)|issued-secret-dialog|keyspace-(form|values)|limit-fields|permissions-field|settings-form)/;
/**
 * Charts, and the lists below them. The styles of the overview are among theirs, because the overview is at its limit of
 * requests.
 */
const chartModules =
  /\/src\/(ui\/(\w+-chart|item-list|nice-ceiling|outcome-titles|rejections-section|segmented-control|usage-(buckets|ranges)|verification-figure)|server\/(chart-section|export-usage-button|usage-range-picker|use-usage-range)|features\/overview\/[\w-]+\.module)\./;
/** The dialogs of exports. */
const exportModules = /\/src\/server\/(download-export|export-(form|usage-dialog))\./;
/** The filters of the two logs with events of several people. */
const personFilterModules = /\/src\/ui\/(person-select|use-person-search)\./;
/** What the dialog that imports keys reads and shows files with. */
const fileLibraries = /csv-parse|@mantine\/core\/.*\/(FileButton|FileInput|Progress)[./]/;
/** Libraries that set up second factors. */
const factorLibraries = /\/uqr\/|@simplewebauthn/;
/** Libraries of the messages in a corner of the window, which load at the first key press or click. */
const toastLibraries =
  /@mantine\/notifications\/(styles|esm\/(?!index|notifications\.store))|@mantine\/core\/.*\/Notification[./]|react-transition-group/;
/** The library of forms, what puts the errors of a call into a form, and what shows that someone else changed the same. */
const formModules =
  /@mantine\/form|klona|fast-deep-equal|\/src\/(server\/(show-issues|use-conflict)|ui\/(changed-fields|conflict-notice|focus-first-error|use-latest-values))\./;
/** Separate from the other form libraries, because most pages with a form have no field of several lines. */
const textAreaLibraries = /@mantine\/core\/.*\/Textarea\//;

/** Icons that only the search or the page of an API key shows. They load with it. */
const rareIcons = /\/Icon(AlertTriangle|Ban|Clock|ClockPause|HelpCircle|Sun|User)\.mjs/;

/** Styles of tables and of the security page, which are shorter than the headers of a response of their own. */
const tableStyles =
  /\/src\/(ui\/(bulk-bar|data-table|event-columns|show-more|sort-select|table|table-footer)|features\/security\/(factor|security-page))\.module\.css/;

function isFirstLibrary(path: string): boolean {
  const others = [
    referenceLibraries,
    dialogLibraries,
    fileLibraries,
    factorLibraries,
    toastLibraries,
    formModules,
    textAreaLibraries,
    tableModules,
    rareIcons,
  ];
  return path.includes("node_modules") && !others.some((libraries) => libraries.test(path));
}

/** Modules of several pages, without what only some pages or dialogs use. */
function isShared(path: string): boolean {
  if (tableStyles.test(path)) return true;
  return (
    /\/src\/(app|ui|server)\/|api-keys\/(last-use|key-status-badges)/.test(path) &&
    !/node_modules|bulk-dialog|code-field|confirm-(actions|modal)|describe-rejection|describe-violation|drawer|field-rules|form-(actions|dialog)|ip-range-lines|issued-secrets|key-owner-link|last-use-hour|ownership-transfer|palette|passkeys|password-dialog|recent-hours|refresh-session|revoke-secrets-dialog|role-select|run-bulk-change|second-factor-required|rejections-table|secret-field|save-file|sparkline|toast-list|use-commands|verdict\.module|workspace-(disabled|obstacle-page)/.test(
      path,
    ) &&
    ![
      tableModules,
      bulkModules,
      eventModules,
      personFilterModules,
      choiceModules,
      secretModules,
      chartModules,
      exportModules,
      formModules,
    ].some((modules) => modules.test(path))
  );
}

const api = "http://127.0.0.1:4000";

export default defineConfig({
  plugins: [react(), emitPagePaths(), dropUnusedColors(), compressAssets()],
  // The parser for browsers, which needs no modules of Node.
  resolve: { alias: { "csv-parse/sync": "csv-parse/browser/esm/sync" } },
  build: {
    rolldownOptions: {
      input: ["index.html", "docs.html", "docs-errors.html"],
      output: {
        // With one file per shared module, a page loaded 68 files and 441 kB. With these groups,
        // it loads 13 to 19 files and less than 300 kB, because larger files compress better. The order
        // matters: a group includes the dependencies that no earlier group has.
        codeSplitting: {
          groups: [
            { name: "libraries", test: isFirstLibrary },
            { name: "shared", test: isShared },
            { name: "forms", test: formModules },
            { name: "text-areas", test: textAreaLibraries },
            { name: "tables", test: tableModules },
            { name: "bulk", test: bulkModules },
            { name: "events", test: eventModules },
            { name: "person-filters", test: personFilterModules },
            { name: "violations", test: /\/src\/ui\/describe-violation\./ },
            { name: "passkeys", test: /\/src\/server\/passkeys\./ },
            { name: "api-key-columns", test: /features\/api-keys\/api-key-columns/ },
            {
              name: "service-account",
              test: /service-accounts\/(service-account-page|service-account-keys|service-account-danger)/,
            },
            {
              name: "webhooks",
              test: /features\/webhooks\/(webhook-status|use-webhooks|webhooks-forbidden|webhooks\.module)/,
            },
            {
              name: "session",
              test: /features\/session\/(session-frame|link-failure|email-field|openid-sign-in|passkey-sign-in|second-factor-form|use-complete-sign-in)|\/src\/(ui\/(secret-field|field-rules|code-field)|server\/passkey-support)\./,
            },
            { name: "charts", test: chartModules },
            { name: "choice", test: choiceModules },
            {
              name: "keyspaces",
              test: /features\/keyspaces\/(consumer-link|credits-values|disabled-banner|issued-key-status|key-search|keyspace-(frame|header|impact|status|tabs)|keyspaces\.module|last-use|limit-values|permission-lines|text-filter|try-button|use-(examined-list|keyspaces)|verify-command|whole-number)/,
            },
            {
              name: "issued-keys-table",
              test: /ui\/sparkline\.|features\/keyspaces\/(issued-key-columns|issued-keys-section|recent-usage|lazy-bulk-bar)/,
            },
            {
              name: "key-page",
              test: /features\/api-keys\/(key-page|use-key-|\w+-section|restrictions\/describe-restrictions)|\/src\/server\/key-owner-link\./,
            },
            {
              name: "try-it",
              test: /features\/api-keys\/try-it\/(try-it|verdict)\.|\/src\/ui\/verdict\.module\./,
            },
            {
              name: "key-forms",
              test: /features\/api-keys\/restrictions\/restriction|\/src\/ui\/ip-range-lines\./,
            },
            { name: "secrets", test: secretModules },
            { name: "keyspace-forms", test: keyspaceFormModules },
          ],
        },
      },
    },
    target: "baseline-widely-available",
    // The content security policy blocks `data:` fonts and scripts, so every asset must be a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: {
      "/trpc": api,
      "/exports": api,
      "/open": api,
      "/openapi.json": api,
      "/docs": api,
      "/assets": api,
    },
  },
});
