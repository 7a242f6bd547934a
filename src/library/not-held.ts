/** What is said of a run key that means no work of this instance, under the type that was named. */
import { ConflictError } from '../errors.ts'

interface Call {
  /** How it is called with a type. */
  readonly withType: (type: string) => string
  readonly hint: string
}

const calls = {
  completeRun: {
    withType: (type) => `completeRun(runKey, ${type})`,
    hint:
      'Complete a run where it was claimed, once, before close(), and name its type if that is ' +
      "not review: { type: 'docs' }.",
  },
  reportRunStatus: {
    withType: (type) => `reportRunStatus(runKey, status, ${type})`,
    hint:
      'Report on a run where it was claimed, before it is completed, and name its type if that ' +
      "is not review: { type: 'docs' }.",
  },
} as const satisfies Readonly<Record<string, Call>>

/** `types`: those under which this instance let work on the key through. */
export function notHeld(
  call: keyof typeof calls,
  { runKey, type }: { readonly runKey: string; readonly type: string },
  types: readonly string[],
): ConflictError {
  const { withType, hint } = calls[call]
  const others = types.filter((other) => other !== type)
  if (others.length === 0) {
    const message = `${runKey} is not held by this instance`
    return new ConflictError('lease_lost', message, { hint })
  }
  const message = `${runKey} was let through here as ${others.join(' and ')}, not as ${type}`
  const remedies = others.map((other) => withType(`{ type: '${other}' }`))
  return new ConflictError('lease_lost', message, {
    hint: `Name the type: ${remedies.join(' or ')}.`,
  })
}
