import { Select, TextInput } from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { useMutation } from "@tanstack/react-query";
import { type ReactElement, useEffect, useRef } from "react";
import { describeFailure } from "../../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../../server/show-issues.ts";
import { type TriedRequest, trpcClient } from "../../../server/trpc.ts";
import { BusyButton } from "../../../ui/busy-button.tsx";
import { focusFirstError } from "../../../ui/focus-first-error.ts";
import { FormFailure } from "../../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../../ui/unsaved-input.ts";
import classes from "./try-it.module.css";
import { Verdict } from "./verdict.tsx";

const methods = ["GET", "POST", "PATCH", "PUT", "DELETE"] as const;
const initialValues = { key: "", method: "GET", path: "/open/global/config", address: "" };

export type TryItForm = Pick<UseFormReturnType<typeof initialValues>, "getInputProps" | "key">;

interface TryItProps {
  /** The ID of the key to evaluate. Without it, the user pastes a key. */
  readonly keyId?: string;
  /** Renders the field for the pasted key. The page of a key, which has none, doesn't load its code. */
  readonly keyField?: (form: TryItForm) => ReactElement;
}

/**
 * Shows what admission would decide about a request. A pasted key exists only in the field and in
 * the request.
 */
export function TryIt({ keyId, keyField }: TryItProps): ReactElement {
  const submitted = useRef<TriedRequest>(undefined);
  const evaluation = useMutation({
    // The key is not a variable of the mutation, because the mutation cache keeps variables.
    mutationFn: async () => {
      const request = submitted.current;
      submitted.current = undefined;
      if (!request) throw new Error("The check was not run.");
      if (keyId === undefined) return await trpcClient.keyHistory.tryOut.mutate(request);
      const { key: _key, ...rest } = request;
      return await trpcClient.keyHistory.evaluate.mutate({ id: keyId, ...rest });
    },
  });
  const form = useForm({
    name: "try-it",
    mode: "uncontrolled",
    initialValues,
    // A verdict is about the request that was sent, not about changed input.
    onValuesChange: () => evaluation.reset(),
    validate: {
      key: (key) => (keyId === undefined && key.trim() === "" ? "Paste a key." : null),
      path: (path) =>
        /^\/open(\/|$)/.test(path.trim())
          ? null
          : "Enter a path that starts with /open/, without the host name.",
    },
  });
  // After the verdict was shown, the input can be discarded without asking.
  useUnsavedInput(() => form.isDirty() && !evaluation.isSuccess);
  const answer = useRef<HTMLDivElement>(null);
  // On a phone, the form fills the window.
  useEffect(() => {
    if (evaluation.data) answer.current?.scrollIntoView({ block: "nearest" });
  }, [evaluation.data]);
  const failure = evaluation.error ? describeFailure(evaluation.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      autoComplete="off"
      aria-label={keyId === undefined ? "Try a key" : "Try this key"}
      onSubmit={form.onSubmit(({ key, method, path, address }) => {
        if (evaluation.isPending) return;
        submitted.current = {
          key: key.trim(),
          method: method as TriedRequest["method"], // One of the options.
          path: path.trim(),
          ...(address.trim() !== "" && { address: address.trim() }),
        };
        evaluation.mutate(undefined, { onError: (error) => showIssues(form, error) });
      }, focusFirstError(form.getInputNode))}
    >
      {keyField?.(form)}
      <div className={classes.row}>
        <Select
          {...form.getInputProps("method")}
          key={form.key("method")}
          className={classes.method}
          label="Method"
          data={methods}
        />
        <TextInput
          {...form.getInputProps("path")}
          key={form.key("path")}
          className={classes.path}
          classNames={{ input: classes.mono ?? "" }}
          label="Path"
          autoComplete="off"
          spellCheck={false}
        />
        <TextInput
          {...form.getInputProps("address")}
          key={form.key("address")}
          className={classes.address}
          classNames={{ input: classes.mono ?? "" }}
          label="IP address"
          placeholder="Your own"
          autoComplete="off"
          spellCheck={false}
        />
      </div>
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure message={failure.message} requestId={failure.requestId} />
      )}
      <BusyButton
        type="submit"
        className={classes.submit}
        data-in-dialog={keyId === undefined || undefined}
        loading={evaluation.isPending}
      >
        Try it
      </BusyButton>
      <div className={classes.answer} role="status" ref={answer}>
        {evaluation.data && <Verdict verdict={evaluation.data} hasLink={keyId === undefined} />}
      </div>
    </form>
  );
}
