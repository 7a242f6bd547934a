/**
 * The store's conformance suite: whatever database is behind it, a store behaves like this. Each
 * suite is a file of its own; a new database needs only files that say how to open it.
 */
import { describe } from 'vitest'
import { anyOrder } from './runs/any-order.suite.ts'
import { auditCauses } from './audit/audit-causes.suite.ts'
import { auditOrder } from './audit/audit-order.suite.ts'
import { cancelPending } from './runs/cancel-pending.suite.ts'
import { catchingUp } from './inbox/catching-up.suite.ts'
import { claimTable } from './runs/claim-table.suite.ts'
import { clockSetBack } from './upkeep/clock-set-back.suite.ts'
import { continuity } from './upkeep/continuity.suite.ts'
import { crossing } from './runs/crossing.suite.ts'
import { executors } from './steps/executors.suite.ts'
import { fastClock } from './runs/fast-clock.suite.ts'
import { headBase } from './runs/head-base.suite.ts'
import { headOrder } from './runs/head-order.suite.ts'
import { heldSteps } from './steps/held-steps.suite.ts'
import { holding } from './runs/holding.suite.ts'
import { inboxDecisions } from './inbox/inbox-decisions.suite.ts'
import { inbox } from './inbox/inbox.suite.ts'
import { lastResults } from './steps/last-results.suite.ts'
import { lateResults } from './steps/late-results.suite.ts'
import { lists } from './runs/lists.suite.ts'
import { idempotency } from './runs/idempotency.suite.ts'
import { manyOutputs } from './outbox/many-outputs.suite.ts'
import { markerKeys } from './outbox/marker-keys.suite.ts'
import { mergedReruns } from './outbox/merged-reruns.suite.ts'
import { fairness } from './outbox/outbox-fairness.suite.ts'
import { mergingOfOnePair } from './outbox/outbox-merging-pairs.suite.ts'
import { merging } from './outbox/outbox-merging.suite.ts'
import { messageOrder } from './outbox/outbox-order.suite.ts'
import { operating } from './outbox/outbox-operating.suite.ts'
import { publishingForOneRun } from './outbox/outbox-own-run.suite.ts'
import { publishing } from './outbox/outbox-publishing.suite.ts'
import { queueing } from './outbox/outbox-queues.suite.ts'
import { announcing } from './outbox/outbox.suite.ts'
import { purging } from './upkeep/purge.suite.ts'
import { namesInOrder } from './repositories/names-in-order.suite.ts'
import { purgedWinner } from './repositories/purged-winner.suite.ts'
import { repositories } from './repositories/repositories.suite.ts'
import { restoring } from './outbox/restoring.suite.ts'
import { returningHead } from './runs/returning-head.suite.ts'
import { runVerbs } from './runs/run-verbs.suite.ts'
import { unverifiedNames } from './repositories/unverified-names.suite.ts'
import { tokens } from './tokens/tokens.suite.ts'
import { sharedCheck } from './outbox/shared-check.suite.ts'
import { sharedCommit } from './outbox/shared-commit.suite.ts'
import { sharedOwnStatus } from './outbox/shared-own-status.suite.ts'
import { takenAtOnce } from './runs/taken-at-once.suite.ts'
import { stepHolders } from './steps/step-holders.suite.ts'
import { stepLeases } from './steps/step-leases.suite.ts'
import { steps } from './steps/steps.suite.ts'
import { stepUpkeep } from './steps/step-upkeep.suite.ts'
import { stepsInAnyOrder } from './steps/steps-any-order.suite.ts'
import { unansweredClaims } from './runs/unanswered-claims.suite.ts'
import { unattended } from './runs/unattended.suite.ts'
import { vitals } from './upkeep/vitals.suite.ts'
import type { OpenStore } from './world.ts'

/** Separate parts, so that several workers can share them if a database is slow. */
const parts = {
  runs(open: OpenStore) {
    describe('the claim table', () => claimTable(open))
    describe('the order of heads', () => headOrder(open))
    describe('a claim whose clock was fast', () => fastClock(open))
    describe('a head and its base', () => headBase(open))
    describe('a head that returns', () => returningHead(open))
    describe('holding a run', () => holding(open))
    describe('cancelling a run that nobody works on', () => cancelPending(open))
    describe('a run that an executor takes at once', () => takenAtOnce(open))
    describe('a run without a holder', () => unattended(open))
    describe('a token', () => tokens(open))
    describe('a repeated request', () => idempotency(open))
    describe('a claim whose answer was lost', () => unansweredClaims(open))
    describe('requests at the same time', () => crossing(open))
    describe('the run verbs', () => runVerbs(open))
    describe('in any order', () => anyOrder(open))
  },
  steps(open: OpenStore) {
    describe('a step', () => steps(open))
    describe('the steps of a run', () => stepHolders(open))
    describe('results that come with the completion', () => lastResults(open))
    describe('a late result', () => lateResults(open))
    describe('a held step', () => heldSteps(open))
    describe('leasing', () => stepLeases(open))
    describe('taking over executors', () => executors(open))
    describe('upkeep of steps', () => stepUpkeep(open))
    describe('steps in any order', () => stepsInAnyOrder(open))
  },
  inbox(open: OpenStore) {
    describe('a repository', () => repositories(open))
    describe('a requested rerun', () => mergedReruns(open))
    describe('a purged run of two names', () => purgedWinner(open))
    describe('a repository’s name', () => namesInOrder(open))
    describe('what a caller says about a repository', () => unverifiedNames(open))
    describe('the inbox', () => inbox(open))
    describe('a decision about a webhook', () => inboxDecisions(open))
    describe('catching up', () => catchingUp(open))
  },
  upkeep(open: OpenStore) {
    describe('the absence of a server', () => continuity(open))
    describe('a clock that is set back', () => clockSetBack(open))
    describe('retention', () => purging(open))
    describe('lists', () => lists(open))
    describe('the order of the audit', () => auditOrder(open))
    describe('the cause of an audit row', () => auditCauses(open))
    describe('the vital signs of a store', () => vitals(open))
  },
  outbox(open: OpenStore) {
    describe('what a run announces', () => announcing(open))
    describe('a commit of two pull requests', () => sharedCommit(open))
    describe('the check runs of a commit', () => sharedCheck(open))
    describe('a context of two pull requests', () => sharedOwnStatus(open))
    describe('a run with many outputs', () => manyOutputs(open))
    describe('publishing', () => publishing(open))
    describe('a queue of the outbox', () => queueing(open))
    describe('publishing for one run', () => publishingForOneRun(open))
    describe('runs of one identity', () => fairness(open))
    describe('the messages of one run', () => messageOrder(open))
    describe('operating the outbox', () => operating(open))
    describe('merging deliveries', () => merging(open))
    describe('merging deliveries of one pair', () => mergingOfOnePair(open))
    describe('marker keys', () => markerKeys(open))
    describe('a restore', () => restoring(open))
  },
}

export type StorePart = keyof typeof parts

export const storeParts = Object.keys(parts) as readonly StorePart[]

export function exerciseStore(name: string, open: OpenStore, part: StorePart): void {
  describe(`a store on ${name}`, () => parts[part](open))
}
