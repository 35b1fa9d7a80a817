import type { ReactElement } from "react";
import sectionClasses from "../../../ui/section.module.css";
import { Section } from "../../../ui/section.tsx";
import pageClasses from "../key-page.module.css";
import { TryIt } from "./try-it.tsx";

/** Evaluates the key of the page against a request. Its secret isn't needed. */
export function TryItSection({ keyId }: { readonly keyId: string }): ReactElement {
  return (
    <Section title="Try it">
      <div className={sectionClasses.box}>
        <p className={pageClasses.words}>
          Shows whether a request with this key would be allowed, and why. No use is counted.
        </p>
        <TryIt keyId={keyId} />
      </div>
    </Section>
  );
}
