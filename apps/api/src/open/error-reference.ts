import { type ErrorCode, errorCatalog, issueCatalog } from "@latchkey/errors";
import { describeFailure } from "./openapi-errors.ts";

/** Creates the HTML page that documents every error. The `id` of each section is the error code. */
export function renderErrorReference(): string {
  const codes = Object.keys(errorCatalog) as ErrorCode[]; // The keys of the catalog are the codes.
  return `<h1>Errors</h1>
<p>Every error under <code>/open</code> has the same JSON body. In code, use <code>error.code</code> and
<code>error.issues[].code</code>; their meanings never change. Show <code>message</code> to people, and quote
<code>requestId</code> when you ask for help. More codes may be added, so handle an unknown code by its HTTP status.</p>
<pre tabindex="0"><code>${escapeHtml(example)}</code></pre>
<h2 id="codes">Error codes</h2>
${codes.map(renderCode).join("\n")}
<h2 id="issues">Issue codes</h2>
<p><code>issues</code> names each part of the request that was rejected: <code>path</code> is the field (such as
<code>name</code> or <code>items.0.id</code>), the query parameter or the header.</p>
<dl>
${Object.entries(issueCatalog).map(renderIssueCode).join("\n")}
</dl>`;
}

const example = JSON.stringify(
  {
    error: {
      code: "BAD_REQUEST",
      message: errorCatalog.BAD_REQUEST.message,
      requestId: "0f8fad5b-d9cb-469f-a165-70867728950e",
      documentationUrl: "https://keys.example.com/docs/errors#BAD_REQUEST",
      issues: [{ path: "limit", code: "too_large", message: "must be at most 100" }],
    },
  },
  null,
  2,
);

function renderCode(code: ErrorCode): string {
  const { status, message } = errorCatalog[code];
  return `<h3 id="${code}"><code>${code}</code> <small>HTTP ${status}</small></h3>
<p>${toHtml(describeFailure(code))}</p>
<p>Message: “${escapeHtml(message)}”</p>`;
}

function renderIssueCode([code, meaning]: readonly [string, string]): string {
  return `<dt id="${code}"><code>${code}</code></dt>
<dd>${toHtml(meaning)}</dd>`;
}

/** Converts the only Markdown that descriptions use, code between backticks, to HTML. */
function toHtml(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
