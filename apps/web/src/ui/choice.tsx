import type { ReactElement, ReactNode } from "react";
import classes from "./choice.module.css";

interface ChoiceProps {
  /** One of several, or yes or no. */
  readonly kind: "radio" | "checkbox";
  readonly label: ReactNode;
  /** What it means, under the label. */
  readonly help?: ReactNode;
  readonly isChosen: boolean;
  readonly isDisabled?: boolean;
  /** Those of one name exclude each other. */
  readonly name?: string;
  readonly hasFirstFocus?: boolean;
  readonly onChoose: (isChosen: boolean) => void;
}

/** A box to tick, or one of several to choose. */
export function Choice(props: ChoiceProps): ReactElement {
  const { kind, label, help, isChosen, isDisabled = false, name, hasFirstFocus, onChoose } = props;
  return (
    <label className={classes.choice} data-disabled={isDisabled || undefined}>
      <input
        className={classes.input}
        type={kind}
        name={name}
        checked={isChosen}
        disabled={isDisabled}
        data-autofocus={hasFirstFocus || undefined}
        onChange={(event) => onChoose(event.currentTarget.checked)}
      />
      <span className={classes.words}>
        {label}
        {help && <span className={classes.help}>{help}</span>}
      </span>
    </label>
  );
}

interface ChoicesProps {
  readonly label: string;
  readonly error?: ReactNode;
  readonly children: ReactNode;
}

/** Choices that belong together, under a label. */
export function Choices({ label, error, children }: ChoicesProps): ReactElement {
  return (
    <fieldset className={classes.choices}>
      <legend className={classes.label}>{label}</legend>
      {children}
      {error && (
        <p className={classes.error} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}
