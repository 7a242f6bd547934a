/** Bounds that several settings share. */

/** The longest a timer can wait. */
export const timerMsMax = 2_147_483_647
export const dayMs = 86_400_000
/** A server does not start with a shorter admin token or webhook secret. */
export const secretLengthMin = 16
