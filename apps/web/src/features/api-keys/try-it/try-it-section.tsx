import { type ReactElement, useId } from "react";
import classes from "../../../ui/section.module.css";
import { TryIt } from "./try-it.tsx";

export function TryItSection(): ReactElement {
  const id = useId();
  return (
    <section className={classes.section} aria-labelledby={id}>
      <h2 className={classes.heading} id={id}>
        Try it
      </h2>
      <div className={classes.box}>
        <TryIt />
      </div>
    </section>
  );
}
