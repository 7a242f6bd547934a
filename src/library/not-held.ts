/** The error for a run key that names no work of this instance, or none of the type named. */
import { ConflictError } from '../errors.ts'

interface Call {
  /** How it is called with a type. */
  readonly withType: (type: string) => string
  readonly hint: string
}

const calls = {
  completeRun: {
    withType: (type) => `completeRun(runKey, ${type})`,
    hint: 'Complete a run in the instance that claimed it, before close().',
  },
  reportRunStatus: {
    withType: (type) => `reportRunStatus(runKey, status, ${type})`,
    hint: 'Report on a run in the instance that claimed it, before it is completed.',
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
    const message = `This instance does not hold a run with the key ${runKey}`
    return new ConflictError('lease_lost', message, { hint })
  }
  const message = `${runKey} was claimed here with the type ${others.join(' and ')}, not ${type}`
  const remedies = others.map((other) => withType(`{ type: '${other}' }`))
  return new ConflictError('lease_lost', message, {
    hint: `Name the type: ${remedies.join(' or ')}.`,
  })
}
