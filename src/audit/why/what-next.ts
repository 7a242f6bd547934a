/**
 * What happens next: what is awaited, until when, and what follows if it does not come. And what a
 * person can do now, with the command for it. It names only what would be accepted now and would
 * change something: see `decideClaim`, `cancelRun` and `replayWebhook`.
 */
import type { InboxEntry } from '../../domain/inbox.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import { isOpen, waitOf } from '../../domain/outbox/delivery.ts'
import { unverifiedMarker } from '../../domain/outbox/protocol/after-look.ts'
import type { Run } from '../../domain/run.ts'
import { furtherLeases, isActive } from '../../domain/run.ts'
import { isActive as isServerActive, isServedRecently } from '../../domain/served.ts'
import { stepKey } from '../../ids.ts'
import { heldStepChoices } from '../held-step.ts'
import { lastHolder, rerunOfCaller } from '../last-holder.ts'
import type { Awaited } from './delivery-state.ts'
import { awaitedDeliveries, budgetOf, isHeld, isNeverServed, isOfExec } from './delivery-state.ts'
import { deliveryName } from './delivery-words.ts'
import type { Facts, SubjectFacts } from './facts.ts'
import { decisiveWebhook } from './facts.ts'
import { holderWords } from './headline.ts'
import { cleanText, runWords, timeWords, typeWords } from './names.ts'
import { decisionWords } from './held-step-words.ts'
import type { WebhookReason } from './webhook-words.ts'
import { eventOfEntry, eventWords, reasonOf } from './webhook-words.ts'

export function awaitedOf(facts: Facts): readonly Awaited[] {
  const { subjects, webhooks } = facts
  const ofRuns = subjects.flatMap((one) => awaitedOfSubject(one, facts))
  return [
    ...ofRuns,
    ...awaitedDeliveries(facts),
    ...webhooks.toReversed().flatMap(awaitedOfWebhook),
  ]
}

/** If the question is about one run, another run counts only if it is before that run. */
function awaitedOfSubject({ run, ahead }: SubjectFacts, facts: Facts): Awaited[] {
  const isOnly = facts.onlyRunId !== null
  const isOther = ahead !== null && ahead.id !== run?.id
  const isBehind = isOther && run?.state === 'pending'
  return [
    ...(run === null ? [] : ofRun(run, isBehind ? ahead : null, facts)),
    ...(isBehind || (isOther && !isOnly) ? ofRun(ahead, null, facts) : []),
  ]
}

function ofRun(run: Run, before: Run | null, facts: Facts): Awaited[] {
  switch (run.state) {
    case 'pending':
      return run.availableAt === null ? [inLine(run, before)] : [forAWorker(run, facts)]
    case 'running':
      return [heartbeat(run, facts), ...end(run), ...wantedRerun(run)]
    case 'waiting':
      return [personsAnswer(run, facts)]
    default:
      return []
  }
}

function personsAnswer(run: Run, { heldSteps }: Facts): Awaited {
  const held = heldSteps.get(run.id)
  return held === undefined
    ? { what: `a person's answer for ${runWords(run)}`, until: run.deadlineAt }
    : { what: decisionWords(run, held), until: run.dueAt }
}

function inLine(run: Run, before: Run | null): Awaited {
  const whom = before === null ? 'the run before it' : `${runWords(before)} (${before.id})`
  return { what: `the end of ${whom}; then ${runWords(run)} starts`, until: null }
}

function forAWorker(run: Run, facts: Facts): Awaited {
  const who = isOfCaller(run, facts) ? 'a worker or the next holdfast exec' : 'a worker'
  const what = `${who} for ${runWords(run)}; without one it fails (no_worker)`
  return { what, until: run.dueAt }
}

function heartbeat(run: Run, facts: Facts): Awaited {
  const from = `the next heartbeat of ${holderWords(run, facts)} for ${runWords(run)}`
  return { what: `${from}; without it, ${afterSilence(run)}`, until: run.leaseExpiresAt }
}

/** See domain/sweep.ts: who leased decides. */
function afterSilence(run: Run): string {
  if (run.holder === 'caller') {
    return (
      `the next claim takes the run over; after ${furtherLeases} more leases without a claim ` +
      'it fails (worker_lost)'
    )
  }
  return run.attempt >= run.attemptsMax
    ? `it fails (attempts_exhausted), because this is attempt ${run.attempt} of ${run.attemptsMax}`
    : `it waits for the next worker (attempt ${run.attempt} of ${run.attemptsMax})`
}

function end(run: Run): Awaited[] {
  if (run.deadlineAt === null) return []
  return [
    {
      what: `the end of ${runWords(run)}; after this time it fails (timeout)`,
      until: run.deadlineAt,
    },
  ]
}

function wantedRerun(run: Run): Awaited[] {
  if (!run.rerunWanted) return []
  const what = `the end of this round of ${runWords(run)}; then the requested rerun starts`
  return [{ what, until: null }]
}

function awaitedOfWebhook(entry: InboxEntry): Awaited[] {
  if (entry.state !== 'waiting') return []
  const about = eventWords(eventOfEntry(entry))
  if (entry.tries === 0) {
    return [{ what: `the decision on a webhook: ${about}`, until: entry.dueAt }]
  }
  const why = entry.lastError === null ? '' : ` (${cleanText(entry.lastError)})`
  const what = `the next try to decide on a webhook${why}: ${about}`
  return [{ what, until: entry.dueAt }]
}

export interface Action {
  /** Without a full stop. */
  readonly text: string
  readonly command: string | null
}

const doctor: Action = { text: 'Check the setup', command: 'holdfast doctor' }

export function actionsOf(facts: Facts): readonly Action[] {
  const all = [
    ...facts.subjects.flatMap((one) => actionsOfSubject(one, facts)),
    ...deliveryActions(facts),
    ...ofWebhooks(facts),
  ]
  if (isOverdue(facts)) all.push(doctor)
  return [...new Map(all.map((action) => [`${action.command} ${action.text}`, action])).values()]
}

const sameSecret: Action = {
  text:
    'Set the same secret in the webhook on GitHub and in GITHUB_WEBHOOK_SECRET. Then redeliver ' +
    'what was refused on GitHub; with an App, this command fetches it',
  command: 'holdfast catchup',
}

/** For a thread that nothing is known about. */
export const actionsForUnknown = ({ refusals }: Facts): readonly Action[] => [
  { text: 'Check that the name and the number are right', command: null },
  ...(refusals.length > 0 ? [sameSecret] : []),
  {
    text: 'Check that GitHub sends webhooks of this repository here',
    command: 'holdfast doctor',
  },
  { text: 'See what GitHub sent last', command: 'holdfast inbox list' },
]

function actionsOfSubject(one: SubjectFacts, facts: Facts): Action[] {
  const { run, ahead, subject } = one
  const { onlyRunId } = facts
  if (run === null) return []
  const actions: Action[] = [...stepActions(run, facts)]
  if (run.state === 'pending' && run.availableAt !== null) actions.push(startAWorker(run, facts))
  // A run that has not started needs no rerun.
  if (run.state !== 'pending' && mayRerun(one)) actions.push(rerun(run, facts))
  if (isActive(run)) actions.push(cancel(run))
  const isBehind = ahead !== null && ahead.id !== run.id
  if (isBehind && onlyRunId === null) actions.push(...stepActions(ahead, facts), cancel(ahead))
  if (run.errorCode === 'no_worker' && run.state === 'failed')
    actions.push(startAWorker(run, facts))
  const current = subject?.currentRunId ?? null
  if (onlyRunId !== null && current !== null && current !== run.id && hasOrder(run)) {
    actions.push({ text: 'See the current run', command: `holdfast why ${current}` })
  }
  return actions
}

function stepActions({ id }: Run, { heldSteps }: Facts): readonly Action[] {
  const held = heldSteps.get(id)
  return held === undefined ? [] : heldStepChoices(id, { name: held.name, key: stepKey(held) })
}

function startAWorker(run: Run, facts: Facts): Action {
  const worker = `a worker that takes ${typeWords(run)} runs`
  const text = isOfCaller(run, facts)
    ? `Start its job again (holdfast exec), or start ${worker}`
    : `Start ${worker}`
  return { text, command: null }
}

/** Work of an outside program: `holdfast exec`, or one that only claims. */
function isOfCaller(run: Run, { rows }: Facts): boolean {
  const own = rows.filter(({ runId }) => runId === run.id)
  return (run.holder ?? lastHolder(own.toReversed())) === 'caller'
}

const cancel = (run: Run): Action => ({
  text: `Cancel ${runWords(run)}`,
  command: `holdfast runs cancel ${run.id}`,
})

function rerun(run: Run, facts: Facts): Action {
  const { now } = facts
  const isLost = run.leaseExpiresAt !== null && run.leaseExpiresAt <= now
  const when = !isActive(run) || isLost ? '' : ' when this round has ended'
  const note = isOfCaller(run, facts) ? ` (${rerunOfCaller})` : ''
  return {
    text: `Rerun ${runWords(run)}${when}${note}`,
    command: `holdfast runs rerun ${run.id}`,
  }
}

/** Heads have an order, and only the current one can be rerun, as in domain/claim.ts. */
const hasOrder = (run: Run): boolean => run.onNewer === 'supersede' || run.pr !== null

function mayRerun({ run, subject, ahead }: SubjectFacts): boolean {
  if (run === null || subject === null || (isActive(run) && run.rerunWanted)) return false
  if (hasOrder(run) && subject.currentPair !== null && subject.currentPair !== run.pair)
    return false
  // A type that skips while another run is active would skip this one too.
  return run.onNewer !== 'skip' || isActive(run) || ahead === null
}

/** Only for the decisive webhook: if it failed, was refused, or is all that is known. */
function ofWebhooks(facts: Facts): Action[] {
  const last = decisiveWebhook(facts)
  if (facts.onlyRunId !== null || last === null) return []
  const isRefused = last.outcomes.some(({ reason }) => /^(sender|role)-/.test(reason))
  const isAll = facts.subjects.length === 0 && last.decision === 'ignored'
  return last.state === 'failed' || isRefused || isAll ? remediesOf(last) : []
}

function remediesOf(entry: InboxEntry): Action[] {
  if (entry.state === 'waiting' || entry.decision === 'duplicate') return []
  return reasonsOf(entry).flatMap((reason) => {
    const { remedy, replay, doctor: examine } = reasonOf(reason)
    const actions: Action[] = []
    if (remedy !== undefined) actions.push({ text: remedy, command: null })
    if (replay === true) {
      const command = `holdfast inbox replay ${entry.id}`
      actions.push({ text: 'Then decide the webhook again', command })
    }
    return examine === true ? [...actions, doctor] : actions
  })
}

/** The failures; otherwise why run types started nothing; otherwise the reason of the webhook. */
function reasonsOf(entry: InboxEntry): readonly WebhookReason[] {
  const failed = entry.outcomes.filter(({ result }) => result === 'failed')
  if (failed.length > 0) return failed
  const kept = entry.outcomes.filter(({ result }) => result === 'ignored' || result === 'skipped')
  if (kept.length > 0 || entry.reason === null) return kept
  return [{ reason: entry.reason, result: null, event: entry.event }]
}

/** Something has been due for over a minute, so perhaps no server is running. */
function isOverdue({ now, subjects, webhooks, deliveries }: Facts): boolean {
  const dueTimes = [
    ...subjects.map(({ run }) => run?.dueAt),
    ...webhooks.map(({ dueAt }) => dueAt),
    ...deliveries.map(({ dueAt }) => dueAt),
  ]
  return dueTimes.some((dueAt) => dueAt != null && now - dueAt > 60_000)
}

const remedies: Readonly<Record<string, string>> = {
  unauthorized: 'Set credentials that GitHub accepts',
  forbidden: 'Give the App or token permission to write there, or unlock the conversation',
  not_found:
    'Check that the repository and the commit exist, and that the App or token may see them',
  not_installed: 'Install the App in the repository',
  gone: 'Check that its pull request or commit still exists',
  invalid: 'Check its content: GitHub rejects it',
  deadline: 'Check that this machine can reach GitHub',
}

/** Only what would be accepted now. */
function deliveryActions(facts: Facts): Action[] {
  const { deliveries, now, servedAt } = facts
  const isUnserved = deliveries.some(isOpen) && !isServedRecently(servedAt, now)
  const ofEach = deliveries.flatMap((delivery) => {
    const { id, status, reason } = delivery
    const name = deliveryName(delivery)
    const retry = (text: string): Action => ({ text, command: `holdfast deliveries retry ${id}` })
    if (status === 'FAILED') {
      const remedy = remedies[reason ?? '']
      const first = remedy === undefined ? [] : [{ text: remedy, command: null }]
      return [...first, retry(`Send ${name} again`)]
    }
    if (status === 'SKIPPED') {
      return reason === 'never_announced' ? [] : [retry(`Send ${name} after all`)]
    }
    if (isHeld(delivery)) return heldActions(delivery, retry)
    if (waitOf(delivery, now) === 'backoff') return [retry(`Try to send ${name} now`)]
    return waitOf(delivery, now) === 'budget' ? budgetActions(delivery, facts) : []
  })
  if (isNeverServed(facts)) return [isOfExec(facts) ? giveCredentials : startFirstServer]
  if (isUnserved) return [startServer, ...ofEach]
  return [...serverForRuns(facts), ...ofEach]
}

/** A program without a server has no time here, and may be doing the work itself. */
function serverForRuns({ subjects, now, servedAt }: Facts): readonly Action[] {
  const hasActive = subjects.some(({ run }) => run !== null && isActive(run))
  if (!hasActive || servedAt === null || isServerActive(servedAt, now)) return []
  const text = `Start a server: none was active on this database since ${timeWords(servedAt, now)}`
  return [{ text, command: 'holdfast serve' }]
}

const startFirstServer: Action = {
  text: 'If GitHub should show later runs, start a server on this database',
  command: 'holdfast serve',
}

const giveCredentials: Action = {
  text:
    'If GitHub should show later runs, give holdfast exec GitHub credentials (GITHUB_TOKEN, or a ' +
    'GitHub App), or start a server on this database',
  command: 'holdfast serve',
}

const startServer: Action = {
  text: 'Start a server on this database: only a server publishes',
  command: 'holdfast serve',
}

function budgetActions(delivery: Delivery, facts: Facts): Action[] {
  const { identity, blockedUntil } = budgetOf(delivery, facts) ?? {}
  if (identity === undefined || blockedUntil == null || blockedUntil <= facts.now) {
    return [seeBudgets]
  }
  const lift = {
    text: 'If GitHub accepts writes again, remove the block',
    command: `holdfast budgets unblock ${identity}`,
  }
  return [seeBudgets, lift]
}

const seeBudgets: Action = {
  text: 'See all limits and what waits for them',
  command: 'holdfast budgets',
}

function heldActions(delivery: Delivery, retry: (text: string) => Action): Action[] {
  const { id, kind, errorCode } = delivery
  const name = deliveryName(delivery)
  const skip = {
    text: 'If it is not needed, skip it',
    command: `holdfast deliveries skip ${id} --reason TEXT`,
  }
  const isUnverified = errorCode === unverifiedMarker
  // A state without its id would be held again with the next version.
  if (isUnverified && kind === 'state') return [importKeys, retry(deleteFirst), skip]
  const withId = isUnverified ? '' : ' --provider-message-id ID'
  return [
    ...(isUnverified ? [importKeys] : []),
    {
      text: `Look at GitHub. If ${name} is there, confirm it`,
      command: `holdfast deliveries confirm ${id}${withId}`,
    },
    retry('If it is not there, send it'),
    skip,
  ]
}

/**
 * An id is accepted only if a key verifies it. Anybody with the account may have written others.
 */
const importKeys: Action = {
  text: 'If another database published it and its marker keys were exported, import them',
  command: 'holdfast keys import FILE',
}

const deleteFirst = 'If the keys are lost, delete it on GitHub, then send it again'
