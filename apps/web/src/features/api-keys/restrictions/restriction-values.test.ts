import { expect, test } from "vitest";
import {
  changedSettings,
  changeTemplate,
  findRestrictionField,
  noRestrictions,
  restrictionRules,
  templates,
  toSettings,
} from "./restriction-values.ts";

test("returns only the settings that changed", () => {
  expect(changedSettings(noRestrictions, noRestrictions)).toEqual({});
  expect(changedSettings(noRestrictions, { ...noRestrictions, isReadOnly: true })).toEqual({
    isReadOnly: true,
  });
  const reordered = { ...noRestrictions, workspaceIds: ["ws_b", "ws_a"] };
  expect(changedSettings({ ...reordered, workspaceIds: ["ws_a", "ws_b"] }, reordered)).toEqual({});
});

test("converts a lifetime to a duration and omits an unchanged expiry", () => {
  expect(changedSettings(noRestrictions, { ...noRestrictions, expiry: "3600" })).toEqual({
    expiresAt: { inSeconds: 3_600 },
  });
  const kept = { ...noRestrictions, expiry: "keep" } as const;
  expect(changedSettings(kept, kept)).toEqual({});
  expect(changedSettings(kept, noRestrictions)).toEqual({ expiresAt: null });
});

test("splits IP ranges at line breaks, spaces and commas", () => {
  const edited = { ...noRestrictions, ipRanges: " 10.0.0.0/8\n\n2001:db8::/32, 192.0.2.1 " };
  expect(changedSettings(noRestrictions, edited)).toEqual({
    ipRanges: ["10.0.0.0/8", "2001:db8::/32", "192.0.2.1"],
  });
});

test("converts a quota and a window to a rate limit", () => {
  const perHour = { ...noRestrictions, quota: "100", window: "3600" } as const;
  expect(changedSettings(noRestrictions, perHour)).toEqual({
    limit: { quota: 100, windowSeconds: 3_600 },
  });
  const perOther = { ...perHour, window: "other", windowSeconds: "90" } as const;
  expect(changedSettings(perHour, perOther)).toEqual({ limit: { quota: 100, windowSeconds: 90 } });
  expect(changedSettings(perHour, noRestrictions)).toEqual({ limit: null });
});

test("describes invalid values", () => {
  const limited = { ...noRestrictions, quota: "1" } as const;
  expect(restrictionRules.quota("0")).toMatch("whole number");
  for (const quota of ["", " ", " 500 "]) expect(restrictionRules.quota(quota)).toBeNull();
  const padded = { ...limited, quota: " 500 ", window: "other", windowSeconds: "90 " } as const;
  expect(restrictionRules.windowSeconds(padded.windowSeconds, padded)).toBeNull();
  expect(toSettings(padded).limit).toEqual({ quota: 500, windowSeconds: 90 });
  expect(toSettings({ ...padded, quota: " " }).limit).toBeNull();
  expect(restrictionRules.windowSeconds("86401", { ...limited, window: "other" })).toMatch("86,400");
  expect(restrictionRules.windowSeconds("", limited)).toBeNull();
  expect(restrictionRules.permissions([])).toMatch("at least one");
  expect(restrictionRules.expiryDate("", { ...limited, expiry: "date" })).toBe("Enter a date and a time.");
});

test("maps the path of an issue to a form field", () => {
  expect(findRestrictionField("settings.ipRanges.3")).toBe("ipRanges");
  expect(findRestrictionField("workspaceIds.0")).toBe("workspaceIds");
  expect(findRestrictionField("settings.limit.quota")).toBe("quota");
  expect(findRestrictionField("name")).toBeUndefined();
});

test("each template restricts a new key and gives it a lifetime", () => {
  const settingsOf = (name: keyof typeof templates) =>
    changedSettings(noRestrictions, templates[name].restrictions("ws_1"));
  expect(settingsOf("custom")).toEqual({ expiresAt: { inSeconds: 7_776_000 } });
  expect(settingsOf("read-only")).toEqual({ expiresAt: { inSeconds: 7_776_000 }, isReadOnly: true });
  expect(settingsOf("one-workspace")).toEqual({
    expiresAt: { inSeconds: 7_776_000 },
    workspaceIds: ["ws_1"],
  });
  expect(settingsOf("ci-job")).toEqual({
    expiresAt: { inSeconds: 2_592_000 },
    workspaceIds: ["ws_1"],
    limit: { quota: 100, windowSeconds: 60 },
  });
});

test("another template replaces the values of the previous one and keeps what the user entered", () => {
  const [custom, ciJob] = [templates.custom.restrictions(), templates["ci-job"].restrictions("ws_1")];
  const edited = { ...custom, ipRanges: "203.0.113.0/24", expiry: "3600" } as const;
  const changed = changeTemplate(edited, custom, ciJob);
  expect(changed).toEqual({ ...ciJob, ipRanges: "203.0.113.0/24", expiry: "3600" });
  expect(changeTemplate(changed, ciJob, custom)).toEqual(edited);
});
