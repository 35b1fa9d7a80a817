import { encodeId } from "@latchkey/db/ids";
import type { User } from "@latchkey/db/users";
import { formatTime } from "../format.ts";
import type { View } from "../result.ts";

/** A user in the command's JSON. */
export interface PresentedUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly isOperator: boolean;
  readonly isDisabled: boolean;
  readonly createdAt: string;
}

export function presentUser(user: User): PresentedUser {
  return {
    id: encodeId("user", user.id),
    email: user.email,
    name: user.name,
    isOperator: user.isOperator,
    isDisabled: user.isDisabled,
    createdAt: user.createdAt.toISOString(),
  };
}

export const userView: View<PresentedUser> = [
  { label: "ID", text: ({ id }) => id },
  { label: "Status", text: ({ isDisabled }) => (isDisabled ? "disabled" : "active") },
  { label: "Operator", text: ({ isOperator }) => (isOperator ? "yes" : "no") },
  { label: "Created", text: ({ createdAt }) => formatTime(createdAt) },
  { label: "Email", text: ({ email }) => email },
  { label: "Name", text: ({ name }) => name },
];
