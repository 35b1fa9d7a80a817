import {
  type AgeModel,
  type PolicyModel,
  possibleAcceptances,
  possibleDecisions,
  RateLimitModel,
  type RequirementModel,
  type SecretModel,
  type SettingsModel,
} from "./key-restrictions.ts";
import { type ScenarioCounts, zeroCounts } from "./scenario-counts.ts";
import { UncertainValue } from "./uncertain-value.ts";

// A model of what admission guarantees. It records when each request begins and ends, in the order that callers
// observe, and from that computes which responses are possible. A request that is concurrent with a change may see
// the state before or after it. The model has no clock, network or database.

/** A role in the scenario's only workspace; undefined for a user who isn't a member. */
export type RoleModel = "admin" | "member" | "viewer" | undefined;

export interface UserModel {
  readonly email: string;
  readonly isEnabled: UncertainValue<boolean>;
  readonly role: UncertainValue<RoleModel>;
  readonly sessions: Set<SessionModel>;
  readonly keys: KeyModel[];
}

export interface SessionModel {
  readonly user: UserModel;
  readonly isOpen: UncertainValue<boolean>;
}

export interface KeyModel {
  readonly id: string;
  readonly owner: UserModel;
  readonly isPresent: UncertainValue<boolean>;
  readonly name: UncertainValue<string>;
  readonly settings: UncertainValue<SettingsModel>;
  /** Whether the workspace blocks it. */
  readonly isBlocked: UncertainValue<boolean>;
  readonly age: UncertainValue<AgeModel>;
  /** In order of creation. */
  readonly secrets: SecretModel[];
  readonly rateLimit: RateLimitModel;
  sent: number;
  admitted: number;
  rejected: number;
}

/** The outcome of an edit: `rejected` without a live session, `missing` if the key doesn't exist. */
export type EditOutcome = "done" | "rejected" | "missing";

/** The outcome of a use; `limited` if it exceeds the key's rate limit. */
export type UseOutcome = "admitted" | "rejected" | "limited" | "unknown";

/** A key in the list. */
export interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly usageCount: number;
}

/**
 * Each `begin…` returns the function to call with the response. That function throws an Error if no order of the
 * events explains the response.
 */
export class AdmissionModel {
  readonly figures: ScenarioCounts = { ...zeroCounts };
  /** The events so far, for error messages. */
  readonly history: string[] = [];
  /** In minutes since the scenario began. */
  readonly clock = new UncertainValue(0);
  /** The policy of the scenario's only workspace. */
  readonly policy = new UncertainValue<PolicyModel>("none");
  /** The number of times that the clock was set forward. */
  readonly #window = new UncertainValue(0);
  readonly #watches = new Set<() => void>();

  addUser(email: string): UserModel {
    const role = new UncertainValue<RoleModel>(undefined);
    return { email, isEnabled: new UncertainValue(true), role, sessions: new Set(), keys: [] };
  }

  /** Begins a request with a secret of a key. The outcome of a 503 or a broken connection is `unknown`. */
  beginUse(
    key: KeyModel,
    requirement?: RequirementModel,
    secret = lastOf(key.secrets),
  ): (outcome: UseOutcome) => void {
    key.sent += 1;
    const { isEnabled, role } = key.owner;
    const keyFacts = { settings: key.settings, secret, clock: this.clock };
    const isAllowedByOthers = this.#watch(() =>
      both(both(key.isPresent.possible, isEnabled.possible), allowedByRole(role.possible, requirement)),
    );
    const isAllowedByKey = this.#watch(() => possibleDecisions(keyFacts, requirement));
    const isAccepted = this.#watch(() =>
      requirement ? possibleAcceptances({ ...key, policy: this.policy }) : new Set([true]),
    );
    const isAllowed = this.#watch(() =>
      both(both(isAllowedByOthers.look(), isAllowedByKey.look()), isAccepted.look()),
    );
    const isLimited = this.#watch(
      () => new Set([...key.settings.possible].map(({ kind }) => kind === "limited")),
    );
    const windows = this.#watch(() => this.#window.possible);
    const entry = key.rateLimit.enter({ windows: windows.seen, isLimited: isLimited.seen });
    return (outcome) => {
      for (const watch of [isAllowedByOthers, isAllowedByKey, isAccepted, isAllowed, isLimited, windows])
        watch.stop();
      this.#note(`a use of ${key.id}${requirement ? ` to ${requirement}` : ""} is ${outcome}`);
      this.figures[outcome] += 1;
      if (requirement && outcome === "admitted") this.figures.admittedByRole += 1;
      const isUserValid = !both(key.isPresent.possible, isEnabled.possible).has(false);
      const isOtherwiseAllowed = !both(isAllowedByOthers.seen, isAllowedByKey.seen).has(false);
      if (outcome === "rejected" && isOtherwiseAllowed) this.figures.rejectedByWorkspace += 1;
      else if (outcome === "rejected" && !both(isAllowedByOthers.seen, isAccepted.seen).has(false))
        this.figures.rejectedByKey += 1;
      else if (requirement && outcome === "rejected" && isUserValid) this.figures.rejectedByRole += 1;
      if (isAllowed.seen.size > 1) this.figures.open += 1;
      if (outcome === "unknown") return;
      if (outcome === "admitted") key.admitted += 1;
      else key.rejected += 1;
      expectPossible(`a use of ${key.id} was ${outcome}`, isAllowed.seen, outcome !== "rejected");
      if (outcome === "admitted") key.rateLimit.admit(entry);
      else if (outcome === "limited") key.rateLimit.reject(entry);
      else entry.isAdmitted = false;
    };
  }

  /** Begins a step of the database's clock. Steps must not be concurrent. */
  beginClockStep(to: number, isForward: boolean): () => void {
    const change = this.#begin(this.clock, to);
    const next = isForward ? this.#begin(this.#window, Math.max(...this.#window.possible) + 1) : undefined;
    this.#note(`the clock is about to be set to ${to} min`);
    return () => {
      this.clock.acknowledge(change);
      if (next) this.#window.acknowledge(next);
      this.figures.clockSteps += 1;
      this.#note(`the clock is set to ${to} min`);
    };
  }

  /**
   * Begins a change to a key's restriction. Such changes must not be concurrent with each other or with rotations.
   */
  beginRestriction(session: SessionModel, key: KeyModel, to: SettingsModel): (outcome: EditOutcome) => void {
    return this.#beginEdit({ session, key, values: [[key.settings, to]], what: "restriction" });
  }

  /**
   * Begins a rotation. The current secret stays valid until `validUntil`. The returned function returns the new
   * secret if there is one.
   */
  beginRotation(
    session: SessionModel,
    key: KeyModel,
    validUntil: number,
  ): (outcome: EditOutcome) => SecretModel | undefined {
    const former = lastOf(key.secrets).validUntil;
    const end = this.#beginEdit({ session, key, values: [[former, validUntil]], what: "rotation" });
    return (outcome) => {
      end(outcome);
      if (outcome !== "done") return undefined;
      const secret = { validUntil: new UncertainValue(Number.POSITIVE_INFINITY) };
      key.secrets.push(secret);
      return secret;
    };
  }

  /** Begins the revocation of a key's old secrets. */
  beginRevocation(session: SessionModel, key: KeyModel): (outcome: EditOutcome) => void {
    const values = key.secrets
      .slice(0, -1)
      .map(({ validUntil }) => [validUntil, Number.NEGATIVE_INFINITY] as const);
    return this.#beginEdit({ session, key, values, what: "revocation" });
  }

  beginDisabling(user: UserModel): () => void {
    const isChange = user.isEnabled.possible.has(true);
    const change = this.#begin(user.isEnabled, false);
    const ends = [...user.sessions].map(({ isOpen }) => ({ isOpen, end: this.#begin(isOpen, false) }));
    this.#note(`disabling ${user.email} begins`);
    return () => {
      user.isEnabled.acknowledge(change);
      for (const { isOpen, end } of ends) isOpen.acknowledge(end);
      if (isChange) this.figures.disablings += 1;
      this.#note(`${user.email} is disabled`);
    };
  }

  beginEnabling(user: UserModel): () => void {
    const isChange = user.isEnabled.possible.has(false);
    // Enabling ends sessions of sign-ins that were concurrent with the disabling. Whether there are any is unknown.
    if (isChange) for (const { isOpen } of user.sessions) this.#begin(isOpen, false);
    const change = this.#begin(user.isEnabled, true);
    this.#note(`enabling ${user.email} begins`);
    return () => {
      user.isEnabled.acknowledge(change);
      if (isChange) this.figures.enablings += 1;
      this.#note(`${user.email} is enabled`);
    };
  }

  /**
   * Begins a change to a user's role in the workspace, including to or from none. A user's changes must not be
   * concurrent.
   */
  beginRoleChange(user: UserModel, from: RoleModel, to: RoleModel): () => void {
    const change = this.#begin(user.role, to);
    this.#note(`${user.email} is about to be ${to ?? "no member"}`);
    return () => {
      user.role.acknowledge(change);
      this.figures[from === undefined ? "additions" : to === undefined ? "removals" : "roleChanges"] += 1;
      this.#note(`${user.email} is ${to ?? "no member"}`);
    };
  }

  /** Begins a change to the workspace's policy. Such changes must not be concurrent with each other. */
  beginPolicy(to: PolicyModel): () => void {
    const change = this.#begin(this.policy, to);
    this.#note(`the policy is about to be ${to}`);
    return () => {
      this.policy.acknowledge(change);
      this.figures.policies += 1;
      this.#note(`the policy is ${to}`);
    };
  }

  /**
   * Begins a change of what the workspace decides about a key. Such changes must not be concurrent with each other. The
   * returned function gets whether the key could reach the workspace.
   */
  beginWorkspaceChange(
    key: KeyModel,
    what: "blocks" | "unblocks" | "idlePeriods",
    to: { readonly isBlocked: boolean; readonly age: AgeModel },
  ): (isDone: boolean) => void {
    const isBlocked = this.#begin(key.isBlocked, to.isBlocked);
    const age = this.#begin(key.age, to.age);
    this.#note(`${what} of ${key.id} begins`);
    return (isDone) => {
      if (isDone) key.isBlocked.acknowledge(isBlocked);
      else key.isBlocked.cancel(isBlocked);
      if (isDone) key.age.acknowledge(age);
      else key.age.cancel(age);
      if (isDone) this.figures[what] += 1;
      this.#note(`${what} of ${key.id} is ${isDone ? "done" : "rejected"}`);
    };
  }

  /** Begins a sign-in with the correct password. */
  beginSignIn(user: UserModel): (outcome: "done" | "rejected") => SessionModel {
    const session: SessionModel = { user, isOpen: new UncertainValue(false) };
    user.sessions.add(session);
    const change = this.#begin(session.isOpen, true);
    const canSignIn = this.#watch(() => user.isEnabled.possible);
    return (outcome) => {
      canSignIn.stop();
      if (outcome === "done") session.isOpen.acknowledge(change);
      else user.sessions.delete(session);
      this.#note(`a sign-in of ${user.email} is ${outcome}`);
      expectPossible(`a sign-in of ${user.email} was ${outcome}`, canSignIn.seen, outcome === "done");
      return session;
    };
  }

  beginCreation(
    session: SessionModel,
    name: string,
  ): (outcome: { readonly id: string } | "rejected") => KeyModel | undefined {
    const isLive = this.#watchSession(session);
    return (outcome) => {
      isLive.stop();
      const isDone = outcome !== "rejected";
      this.#note(`${isDone ? outcome.id : "no key"} of ${session.user.email} is created`);
      expectPossible(`a creation was ${isDone ? "done" : "rejected"}`, isLive.seen, isDone);
      if (!isDone) return undefined;
      this.figures.creations += 1;
      const key: KeyModel = {
        id: outcome.id,
        owner: session.user,
        isPresent: new UncertainValue(true),
        name: new UncertainValue(name),
        settings: new UncertainValue<SettingsModel>({ kind: "unrestricted" }),
        isBlocked: new UncertainValue(false),
        age: new UncertainValue<AgeModel>("new"),
        secrets: [{ validUntil: new UncertainValue(Number.POSITIVE_INFINITY) }],
        rateLimit: new RateLimitModel(),
        sent: 0,
        admitted: 0,
        rejected: 0,
      };
      session.user.keys.push(key);
      return key;
    };
  }

  beginDeletion(session: SessionModel, key: KeyModel): (outcome: EditOutcome) => void {
    return this.#beginEdit({ session, key, values: [[key.isPresent, false]], what: "deletion" });
  }

  beginRenaming(session: SessionModel, key: KeyModel, name: string): (outcome: EditOutcome) => void {
    return this.#beginEdit({ session, key, values: [[key.name, name]], what: "renaming" });
  }

  /** Begins reading the list of a user's keys. Keys that are created after that aren't checked. */
  beginListing(session: SessionModel): (outcome: readonly ListedKey[] | "rejected") => void {
    const isLive = this.#watchSession(session);
    const expected = session.user.keys.map((key) => ({
      key,
      isPresent: this.#watch(() => key.isPresent.possible),
      name: this.#watch(() => key.name.possible),
      atLeast: key.admitted,
    }));
    return (outcome) => {
      for (const watch of [isLive, ...expected.flatMap(({ isPresent, name }) => [isPresent, name])])
        watch.stop();
      const isDone = outcome !== "rejected";
      this.#note(`a list of ${session.user.email} is ${isDone ? "read" : "rejected"}`);
      expectPossible(`a list was ${isDone ? "read" : "rejected"}`, isLive.seen, isDone);
      if (!isDone) return;
      this.figures.listings += 1;
      for (const { key, isPresent, name, atLeast } of expected) {
        const item = outcome.find(({ id }) => id === key.id);
        expectPossible(`${key.id} was ${item ? "" : "not "}listed`, isPresent.seen, item !== undefined);
        if (!item) continue;
        expectPossible(`${key.id} was listed as "${item.name}"`, name.seen, item.name);
        expectCount(key, item.usageCount, atLeast);
      }
    };
  }

  /** Checks a key's count, read while no request is in flight. */
  expectFinalCount(key: KeyModel, counted: number): void {
    expectCount(key, counted, key.admitted);
  }

  #beginEdit<Value>(edit: {
    readonly session: SessionModel;
    readonly key: KeyModel;
    readonly values: readonly (readonly [value: UncertainValue<Value>, to: Value])[];
    readonly what: "deletion" | "renaming" | "restriction" | "rotation" | "revocation";
  }): (outcome: EditOutcome) => void {
    const { session, key, values, what } = edit;
    const isLive = this.#watchSession(session);
    const isPresent = this.#watch(() => key.isPresent.possible);
    const changes = values.map(([value, to]) => ({ value, change: this.#begin(value, to) }));
    this.#note(`a ${what} of ${key.id} begins`);
    return (outcome) => {
      isLive.stop();
      isPresent.stop();
      for (const { value, change } of changes) {
        if (outcome === "done") value.acknowledge(change);
        else value.cancel(change);
      }
      if (outcome === "done") this.figures[`${what}s`] += 1;
      this.#note(`a ${what} of ${key.id} is ${outcome}`);
      expectPossible(`a ${what} of ${key.id} was ${outcome}`, isLive.seen, outcome !== "rejected");
      if (outcome !== "rejected")
        expectPossible(`a ${what} of ${key.id} was ${outcome}`, isPresent.seen, outcome === "done");
    };
  }

  #watchSession({ isOpen, user }: SessionModel): Watch<boolean> {
    return this.#watch(() => both(isOpen.possible, user.isEnabled.possible));
  }

  /** Collects all possible values until it is stopped. */
  #watch<Value>(look: () => ReadonlySet<Value>): Watch<Value> {
    const seen = new Set(look());
    const update = (): void => {
      for (const value of look()) seen.add(value);
    };
    this.#watches.add(update);
    return { seen, look, stop: () => this.#watches.delete(update) };
  }

  /** Updates the watches, because only the beginning of a change adds possible values. */
  #begin<Value>(value: UncertainValue<Value>, to: Value): ReturnType<UncertainValue<Value>["begin"]> {
    const change = value.begin(to);
    for (const update of this.#watches) update();
    return change;
  }

  #note(event: string): void {
    this.history.push(event);
  }
}

interface Watch<Value> {
  readonly seen: ReadonlySet<Value>;
  /** The currently possible values. */
  readonly look: () => ReadonlySet<Value>;
  readonly stop: () => void;
}

function lastOf(secrets: readonly SecretModel[]): SecretModel {
  const last = secrets.at(-1);
  if (!last) throw new Error("A key has a secret.");
  return last;
}

function allowedByRole(
  roles: ReadonlySet<RoleModel>,
  requirement: RequirementModel | undefined,
): ReadonlySet<boolean> {
  if (!requirement) return new Set([true]);
  return new Set(
    [...roles].map((role) => role === "admin" || (requirement === "read" && role !== undefined)),
  );
}

function both(left: ReadonlySet<boolean>, right: ReadonlySet<boolean>): ReadonlySet<boolean> {
  return new Set([...left].flatMap((one) => [...right].map((other) => one && other)));
}

function expectPossible<Value>(what: string, possible: ReadonlySet<Value>, value: Value): void {
  if (!possible.has(value)) throw new Error(`The model doesn't allow this: ${what}.`);
}

/** Every admitted use was counted before its response, and a rejected one is never counted. */
function expectCount(key: KeyModel, counted: number, atLeast: number): void {
  const atMost = key.sent - key.rejected;
  if (counted < atLeast || counted > atMost)
    throw new Error(`${counted} uses of ${key.id} were counted, and not ${atLeast} to ${atMost}.`);
}
