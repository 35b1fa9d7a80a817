import { type ReactElement, type ReactNode, useId } from "react";
import checkboxClasses from "./checkbox.module.css";
import classes from "./choice.module.css";

interface ChoiceProps {
  /** A radio button excludes others. A checkbox is independent. */
  readonly kind: "radio" | "checkbox";
  readonly label: ReactNode;
  /** Help text under the label. */
  readonly help?: ReactNode;
  readonly isChosen: boolean;
  readonly isDisabled?: boolean;
  /** Radio buttons with the same name exclude each other. */
  readonly name?: string;
  readonly hasAutofocus?: boolean;
  /** Marks the input that gets the focus if this field of a form is invalid; the `data-path` of Mantine. */
  readonly path?: string | undefined;
  readonly onChoose: (isChosen: boolean) => void;
}

/** A checkbox or a radio button, with a label and help text. */
export function Choice(props: ChoiceProps): ReactElement {
  const { kind, label, help, isChosen, isDisabled = false, name, hasAutofocus, path, onChoose } = props;
  return (
    <label className={classes.choice} data-disabled={isDisabled || undefined}>
      <input
        className={`${checkboxClasses.box} ${classes.input}`}
        type={kind}
        name={name}
        checked={isChosen}
        disabled={isDisabled}
        data-autofocus={hasAutofocus || undefined}
        data-path={path}
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

/** A labeled group of choices. */
export function Choices({ label, error, children }: ChoicesProps): ReactElement {
  const errorId = useId();
  return (
    <fieldset className={classes.choices} aria-describedby={error ? errorId : undefined}>
      <legend className={classes.label}>{label}</legend>
      {error && (
        <p className={classes.error} id={errorId} role="alert">
          {error}
        </p>
      )}
      {children}
    </fieldset>
  );
}
