import { z } from "zod";
import { credits, namedLimits, newIssuedKeyFields, refill as refillField } from "../issued-key-fields.ts";
import { duration } from "./values.ts";

// The values of the options that set limits, credits and metadata of an issued key, or the defaults of a keyspace's keys.

const limit = z
  .string()
  .regex(
    /^[^=,]+=\d{1,15}\/\d{1,9}[smhd](?:,named)?$/,
    "Expected <name>=<quota>/<window>, for example requests=100/60s, or exports=5/1h,named.",
  )
  .transform((text): z.input<typeof namedLimits>[number] => {
    const [rate = "", named] = text.split(",");
    const [name = "", amount = ""] = rate.split("=");
    const [quota = "", window = ""] = amount.split("/");
    const appliesAlways = named === undefined;
    return { name, quota: Number(quota), windowSeconds: duration.parse(window), appliesAlways };
  });

/** Limits such as `requests=100/60s`, or `exports=5/1h,named` for one that applies only to verifications that name it. */
export const limits = z.array(limit).pipe(namedLimits);

/** A balance such as `1000`. */
export const balance = z
  .string()
  .regex(/^\d{1,15}$/, "Expected a whole number, such as 1000.")
  .transform(Number)
  .pipe(credits.shape.remaining);

/** A refill such as `5000/daily` or `5000/monthly-1`. */
export const refill = z
  .string()
  .regex(
    /^\d{1,15}\/(?:daily|monthly-\d{1,2})$/,
    "Expected <amount>/daily or <amount>/monthly-<day>, for example 5000/monthly-1.",
  )
  .transform((text): z.input<typeof refillField> => {
    const [amount = "", schedule = ""] = text.split("/");
    const [, day] = schedule.split("-");
    return day === undefined
      ? { amount: Number(amount), interval: "daily" }
      : { amount: Number(amount), interval: "monthly", day: Number(day) };
  })
  .pipe(refillField);

/** Metadata such as `{"plan":"pro"}`. */
export const metadata = z
  .string()
  .transform((text, context): unknown => {
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
    } catch {
      // Reported below.
    }
    const message = 'Expected a JSON object, for example {"plan":"pro"}.';
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  })
  .pipe(newIssuedKeyFields.meta);
