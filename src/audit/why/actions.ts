/**
 * What a person can do now, with the command for it. Only what would be accepted as things stand,
 * and would change something: see `decideClaim`, `cancelRun` and `replayWebhook`.
 */
import type { InboxEntry } from '../../domain/inbox.ts'
import type { Run } from '../../domain/run.ts'
import { isActive } from '../../domain/run.ts'
import type { Told } from './intake-words.ts'
import { reasonOf } from './intake-words.ts'
import type { Known, Stand } from './known.ts'
import { lastWord } from './known.ts'
import { runWords, typeWords } from './plain-words.ts'
import { deliveryActions } from './showing.ts'

export interface Action {
  /** Without a full stop. */
  readonly text: string
  readonly command: string | null
}

const doctor: Action = { text: 'Have the set-up examined', command: 'holdfast doctor' }

export function actionsOf(known: Known): readonly Action[] {
  const all = [
    ...known.stands.flatMap((stand) => ofStand(stand, known)),
    ...deliveryActions(known),
    ...ofWebhooks(known),
  ]
  if (isOverdue(known)) all.push(doctor)
  return [...new Map(all.map((action) => [`${action.command} ${action.text}`, action])).values()]
}

const sameSecret: Action = {
  text:
    'Set the same secret in the webhook on GitHub and in GITHUB_WEBHOOK_SECRET. Then take in ' +
    'what was refused (an App), or redeliver it on GitHub',
  command: 'holdfast catchup',
}

/** For a thread that nobody heard of. */
export const actionsForUnknown = ({ refusals }: Known): readonly Action[] => [
  ...(refusals.length > 0 ? [sameSecret] : []),
  { text: 'Check that the name and the number are right', command: null },
  {
    text: 'Check that GitHub sends webhooks of this repository here',
    command: 'holdfast doctor',
  },
  { text: 'See what GitHub sent last', command: 'holdfast inbox list' },
]

function ofStand(stand: Stand, { only, now }: Known): Action[] {
  const { run, ahead, subject } = stand
  if (run === null) return []
  const actions: Action[] = []
  if (run.state === 'pending' && run.availableAt !== null) actions.push(startAWorker(run))
  // Whoever has not begun need not be told to begin again.
  if (run.state !== 'pending' && mayRerun(stand)) actions.push(rerun(run, now))
  if (isActive(run)) actions.push(cancel(run))
  const isBehind = ahead !== null && ahead.id !== run.id
  if (isBehind && only === null) actions.push(cancel(ahead))
  if (run.errorCode === 'no_worker' && run.state === 'failed') actions.push(startAWorker(run))
  const current = subject?.currentRunId ?? null
  if (only !== null && current !== null && current !== run.id && hasOrder(run)) {
    actions.push({ text: 'Ask about the current run instead', command: `holdfast why ${current}` })
  }
  return actions
}

const startAWorker = (run: Run): Action => ({
  text: `Start a worker that takes runs of the type ${typeWords(run)}`,
  command: null,
})

const cancel = (run: Run): Action => ({
  text: `Call ${runWords(run)} off`,
  command: `holdfast runs cancel ${run.id}`,
})

function rerun(run: Run, now: number): Action {
  const isLost = run.leaseExpiresAt !== null && run.leaseExpiresAt <= now
  const when = !isActive(run) || isLost ? '' : ', when this round has ended'
  return {
    text: `Have ${runWords(run)} done again${when}`,
    command: `holdfast runs rerun ${run.id}`,
  }
}

/** Heads have an order, and only the current one is done again: as in domain/claim.ts. */
const hasOrder = (run: Run): boolean => run.onNewer === 'supersede' || run.pr !== null

function mayRerun({ run, subject, ahead }: Stand): boolean {
  if (run === null || subject === null || (isActive(run) && run.rerunWanted)) return false
  if (hasOrder(run) && subject.currentPair !== null && subject.currentPair !== run.pair)
    return false
  // A type that skips while another is at work would skip this one too.
  return run.onNewer !== 'skip' || isActive(run) || ahead === null
}

/** Only of the last word, where it failed, was refused, or is all there is. */
function ofWebhooks(known: Known): Action[] {
  const last = lastWord(known)
  if (known.only !== null || last === null) return []
  const isRefused = last.outcomes.some(({ reason }) => /^(sender|role)-/.test(reason))
  const isAll = known.stands.length === 0 && last.decision === 'ignored'
  return last.state === 'failed' || isRefused || isAll ? remediesOf(last) : []
}

function remediesOf(entry: InboxEntry): Action[] {
  if (entry.state === 'waiting' || entry.decision === 'duplicate') return []
  return toldOf(entry).flatMap((told) => {
    const { remedy, replay, doctor: examine } = reasonOf(told)
    const actions: Action[] = []
    if (remedy !== undefined) actions.push({ text: remedy, command: null })
    if (replay === true) {
      const command = `holdfast inbox replay ${entry.id}`
      actions.push({ text: 'Then have the webhook decided again', command })
    }
    return examine === true ? [...actions, doctor] : actions
  })
}

/** What broke; else what kept a run type from starting; where none listened, the whole's reason. */
function toldOf(entry: InboxEntry): readonly Told[] {
  const failed = entry.outcomes.filter(({ result }) => result === 'failed')
  if (failed.length > 0) return failed
  const kept = entry.outcomes.filter(({ result }) => result === 'ignored' || result === 'skipped')
  if (kept.length > 0 || entry.reason === null) return kept
  return [{ reason: entry.reason, result: null }]
}

/** Something should have been looked at over a minute ago: no server may be running. */
function isOverdue({ now, stands, webhooks, deliveries }: Known): boolean {
  const dueTimes = [
    ...stands.map(({ run }) => run?.dueAt),
    ...webhooks.map(({ dueAt }) => dueAt),
    ...deliveries.map(({ dueAt }) => dueAt),
  ]
  return dueTimes.some((dueAt) => dueAt != null && now - dueAt > 60_000)
}
