/**
 * Where chance in tests comes from: one seed, the same on every machine, so that what a test covers
 * depends neither on the machine nor on the day, and what fails once fails again. `TEST_SEED=7`
 * tries other cases.
 */
export const seed = Number(process.env['TEST_SEED'] ?? 1)
