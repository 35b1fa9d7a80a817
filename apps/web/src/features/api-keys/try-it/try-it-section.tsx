import { Button } from "@mantine/core";
import { type ReactElement, useEffect, useRef, useState } from "react";
import sectionClasses from "../../../ui/section.module.css";
import { Section } from "../../../ui/section.tsx";
import { useLoaded } from "../../../ui/use-loaded.ts";
import pageClasses from "../key-page.module.css";

// Loads the form only when it is needed: with its code and that of the table of rejected requests, the page would load more
// than the 300 kB that `e2e/first-load` allows.
const tryIt = { load: () => import("./try-it.tsx").then((module) => module.TryIt) };

/** Evaluates the key of the page against a request. Its secret isn't needed. */
export function TryItSection({ keyId }: { readonly keyId: string }): ReactElement {
  const [isOpen, setIsOpen] = useState(false);
  const TryIt = useLoaded(tryIt, isOpen, () => setIsOpen(false));
  const isShown = isOpen && TryIt !== undefined;
  const box = useRef<HTMLDivElement>(null);
  // The button that had the focus is replaced by the form.
  useEffect(() => {
    if (isShown) box.current?.querySelector("input")?.focus();
  }, [isShown]);
  return (
    <Section title="Try it">
      <div className={sectionClasses.box} ref={box}>
        <p className={pageClasses.words}>
          Shows whether a request with this key would be allowed, and why. No use is counted.
        </p>
        {isShown ? (
          <TryIt keyId={keyId} />
        ) : (
          <Button variant="default" loading={isOpen} onClick={() => setIsOpen(true)}>
            Try a request
          </Button>
        )}
      </div>
    </Section>
  );
}
