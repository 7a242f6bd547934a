/** Refusals that the state of a run or step explains. */
const refusals = [
  ...['superseded', 'cancelled', 'ended', 'lease_lost', 'not_active', 'not_current'],
  ...['step_not_held', 'step_not_found'],
]

/** The answer, or null for such a refusal. */
export async function orRefused<T>(verb: Promise<T>): Promise<T | null> {
  try {
    return await verb
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (refusals.includes(code)) return null
    throw error
  }
}
