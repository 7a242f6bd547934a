/**
 * The rules a run of a type lives by. A type nobody configured is executed by remote workers and
 * has the defaults, so that a caller can invent one without touching the server.
 */
import type { Announcement, RunPolicy } from '../domain/run.ts'
import type { RunTypeSettings, Settings } from './settings.ts'
import { executionLimits } from './type-defaults.ts'

export function runPolicy(
  settings: Pick<Settings, 'runs' | 'locale' | 'githubAppId'>,
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
    announcement: announcementOf(settings, configured ?? defaultsOf(type), kind),
  }
}

type Shown = Pick<RunTypeSettings, 'anchor' | 'statusContext' | 'check'>

const defaultsOf = (type: string): Shown => ({
  anchor: { per: 'subject' },
  statusContext: `holdfast/${type}`,
  check: true,
})

/** Only an App may write check runs. */
function announcementOf(
  { locale, githubAppId }: Pick<Settings, 'locale' | 'githubAppId'>,
  { anchor, statusContext, check }: Shown,
  kind: 'pull_request' | 'job',
): Announcement {
  return {
    anchorPer: anchor === false || kind === 'job' ? null : anchor.per,
    statusContext,
    checkName: check && githubAppId !== null ? statusContext : null,
    locale,
  }
}
