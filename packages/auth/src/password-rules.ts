/** Why a password is too easy to guess: it is a common password, or the user's own name or email address. */
export type PasswordFault = "common" | "personal";

export interface PasswordOwner {
  readonly email: string;
  readonly name: string;
}

/** The 49,000 most common passwords, in lower case. */
type CommonPasswords = ReadonlySet<string>;

let loading: Promise<CommonPasswords> | undefined;

/** Loads the list. It takes a tenth of a second, so a server loads it before it serves requests. */
export async function loadCommonPasswords(): Promise<CommonPasswords> {
  loading ??= import("@zxcvbn-ts/language-common").then(
    ({ dictionary }) => new Set(dictionary["passwords-common"]),
  );
  return await loading;
}

/**
 * Finds a reason to reject a password that is long enough. Its kinds of characters don't matter: an attacker who
 * guesses online tries common passwords first, followed by digits, repeated, or with replaced letters.
 */
export async function findPasswordFault(
  password: string,
  owner: PasswordOwner,
): Promise<PasswordFault | undefined> {
  const common = await loadCommonPasswords();
  const text = password.normalize("NFKC").toLowerCase().replace(/\s/g, "");
  const terms = personalTerms(owner);
  const { core, isDecorated } = splitDecoration(text, common);
  const forms = isDecorated ? [text, core] : [text];
  for (const form of forms) {
    const unit = repeatedUnit(form) ?? form;
    if (terms.has(squash(form)) || terms.has(squash(unit))) return "personal";
    if (isPredictable(form, common)) return "common";
  }
  return undefined;
}

/**
 * Parts of the email address and the name as they are typed, alone and in pairs. Parts of one or two characters are
 * ignored.
 */
function personalTerms({ email, name }: PasswordOwner): ReadonlySet<string> {
  const [local = "", domain = ""] = email.split("@");
  const parts = [email, local, domain, domain.split(".")[0] ?? "", name, ...name.split(/\s+/), "latchkey"];
  const single = parts.map((part) => squash(part.normalize("NFKC"))).filter((part) => part.length > 2);
  return new Set(single.flatMap((first) => [first, ...single.map((second) => first + second)]));
}

function squash(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/** Splits digits and punctuation off both ends of a word, as in `password1234!`, if they are easy to guess. */
function splitDecoration(
  text: string,
  common: CommonPasswords,
): { readonly core: string; readonly isDecorated: boolean } {
  const [, before = "", core = "", after = ""] = /^([^\p{L}]*)(.*?)([^\p{L}]*)$/su.exec(text) ?? [];
  const isEasy = (decoration: string) =>
    [decoration.replace(/\D/g, ""), decoration.replace(/\d/g, "")].every(
      (part) => part.length <= 4 || isPredictable(part, common),
    );
  return { core, isDecorated: core !== "" && core !== text && isEasy(before) && isEasy(after) };
}

function isPredictable(text: string, common: CommonPasswords): boolean {
  const unit = repeatedUnit(text) ?? text;
  if (unit.length <= 3 && text.length > unit.length) return true;
  return [text, unit].some((form) => isSequence(form) || withLetters(form).some((word) => common.has(word)));
}

/** The shortest text that this one is a repetition of, the last time perhaps in part: `abc` for `abcabcab`. */
function repeatedUnit(text: string): string | undefined {
  // The length of the longest proper prefix of each prefix that is its suffix too (Knuth, Morris and Pratt).
  const borders = [0];
  for (let end = 1; end < text.length; end += 1) {
    let border = borders[end - 1] ?? 0;
    while (border > 0 && text[end] !== text[border]) border = borders[border - 1] ?? 0;
    borders.push(text[end] === text[border] ? border + 1 : 0);
  }
  const period = text.length - (borders.at(-1) ?? 0);
  return period <= text.length / 2 ? text.slice(0, period) : undefined;
}

const rows = [
  "abcdefghijklmnopqrstuvwxyz",
  "1234567890",
  "qwertyuiopasdfghjklzxcvbnm",
  "1234567890qwertyuiopasdfghjklzxcvbnm",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
].flatMap((row) => [row + row, [...row, ...row].reverse().join("")]);

/** Whether characters follow each other as in the alphabet or on a keyboard. */
function isSequence(text: string): boolean {
  return text.length > 3 && rows.some((row) => row.includes(text));
}

const replacements = { "0": "o", "3": "e", "4": "a", "@": "a", "5": "s", $: "s", "7": "t", "!": "i" };

/** The text, and the words that it may stand for: `password` for `p@55w0rd`. */
function withLetters(text: string): readonly string[] {
  const spelled = text.replace(/[03457@$!]/g, (sign) => replacements[sign as keyof typeof replacements]); // One of these.
  return [text, spelled.replaceAll("1", "i"), spelled.replaceAll("1", "l")];
}
