import { z } from "zod";
import type { ReadEmail } from "./domain/linked-identity.ts";
import type { OpenidClaims } from "./domain/openid-provider.ts";
import type { ReadPerson } from "./domain/sign-in-with-openid.ts";
import { email, personName } from "./fields.ts";

const maxCodeLength = 4_096;
const maxIssuerLength = 2_048;

/** What the OpenID provider's redirect contains. */
export const openidResponse = {
  code: z.string().min(1).max(maxCodeLength),
  state: z.string().min(1).max(128),
  iss: z.string().max(maxIssuerLength).optional(),
};

/** The email address of the provider, if it would be valid in a form; otherwise null. */
export const readEmail: ReadEmail = (claims) => email.safeParse(claims.email).data ?? null;

/** Checks the email address and the name of the provider as those of a form. */
export const readPerson: ReadPerson = (claims: OpenidClaims) => {
  const address = email.safeParse(claims.email);
  const verifiedEmail = claims.isEmailVerified && address.success ? address.data : undefined;
  const names = [claims.name, verifiedEmail?.split("@")[0]].map((name) => personName.safeParse(name));
  const accountName = names.find(({ success }) => success)?.data ?? "New user";
  return { ...claims, verifiedEmail, accountName };
};
