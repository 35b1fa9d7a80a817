import type { ReactElement } from "react";

/**
 * The product's logo: a key in a lock plate. Hidden from screen readers, so the link or text next
 * to it needs a name.
 */
export function Logo({ size = 24 }: { readonly size?: number }): ReactElement {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#9a6b15" />
      <g fill="none" stroke="#fff" strokeWidth="3" strokeLinecap="round" strokeLinejoin="round">
        <circle cx="16" cy="11.5" r="4.5" />
        <path d="M16 16v9.5M16 25.5h4.5M16 21h3" />
      </g>
    </svg>
  );
}
