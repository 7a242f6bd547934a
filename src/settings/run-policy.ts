/**
 * The rules a run of a type lives by. A type nobody configured is executed by remote workers and
 * has the defaults, so that a caller can invent one without touching the server.
 */
import type { RunPolicy } from '../domain/run.ts'
import type { Settings } from './settings.ts'
import { executionLimits } from './type-defaults.ts'

export function runPolicy(
  settings: Pick<Settings, 'runs'>,
  type: string,
  kind: 'pull_request' | 'job',
): RunPolicy {
  // A type may be called anything a caller likes, also what every object inherits.
  const configured = Object.hasOwn(settings.runs, type) ? settings.runs[type] : undefined
  return {
    ...executionLimits({
      ...(configured && {
        timeoutMs: configured.timeoutMs,
        pendingTimeoutMs: configured.pendingTimeoutMs,
        attempts: configured.attempts,
      }),
    }),
    onNewer: configured?.onNewer ?? (kind === 'pull_request' ? 'supersede' : 'queue'),
  }
}
