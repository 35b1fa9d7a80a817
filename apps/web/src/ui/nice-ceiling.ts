/**
 * Rounds up to a round, even number for the top of a scale: 2, 4, 6, 10, 12, 16, 20, 40, 60, 100, 120 and so on.
 */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))));
  const steps = power === 1 ? [2, 4, 6, 10] : [1, 1.2, 1.6, 2, 4, 6, 10];
  return (steps.find((step) => step * power >= value) ?? 10) * power;
}
