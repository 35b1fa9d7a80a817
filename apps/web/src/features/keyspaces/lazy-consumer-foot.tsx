import { Skeleton } from "@mantine/core";
import type { ReactElement } from "react";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { useLoadedInView } from "../../ui/use-loaded-in-view.ts";
import type { ConsumerFootProps } from "./consumer-foot.tsx";

// With its code, the page of a consumer would load more than the 300 kB that `e2e/first-load` allows.
const source = {
  load: () => import("./consumer-foot.tsx").then((module) => module.ConsumerFoot),
};

/** Loads the usage of a consumer, and the actions for all of its keys, when they come into view. */
export function LazyConsumerFoot(props: ConsumerFootProps): ReactElement {
  const { ref, Component: Foot } = useLoadedInView(source);
  if (Foot) return <Foot {...props} />;
  return (
    <div ref={ref}>
      <Section title="Usage" isBusy>
        <div className={sectionClasses.box}>
          <Skeleton h={254} />
        </div>
      </Section>
    </div>
  );
}
