import { AppError } from "@latchkey/errors";
import { requestLimits } from "@latchkey/limits";

const { maxFields } = requestLimits;

/** The error for an object with more than `maxFields` fields. */
export function tooManyFields(): AppError {
  const message = `An object in the body has more than ${maxFields.toLocaleString("en")} fields`;
  return new AppError("BAD_REQUEST", { message });
}
