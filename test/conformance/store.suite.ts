/**
 * The store's conformance suite: whatever database is behind it, a store behaves like this. Each
 * suite is a file of its own; a new database needs only files that say how to open it.
 */
import { describe } from 'vitest'
import { anyOrder } from './any-order.suite.ts'
import { auditOrder } from './audit-order.suite.ts'
import { catchingUp } from './catching-up.suite.ts'
import { claimTable } from './claim-table.suite.ts'
import { clockSetBack } from './clock-set-back.suite.ts'
import { continuity } from './continuity.suite.ts'
import { crossing } from './crossing.suite.ts'
import { fastClock } from './fast-clock.suite.ts'
import { headBase } from './head-base.suite.ts'
import { headOrder } from './head-order.suite.ts'
import { holding } from './holding.suite.ts'
import { inboxDecisions } from './inbox-decisions.suite.ts'
import { inbox } from './inbox.suite.ts'
import { lists } from './lists.suite.ts'
import { once } from './once.suite.ts'
import { manyOutputs } from './many-outputs.suite.ts'
import { markerKeys } from './marker-keys.suite.ts'
import { mergedReruns } from './merged-reruns.suite.ts'
import { fairness } from './outbox-fairness.suite.ts'
import { mergingOfOnePair } from './outbox-merging-pairs.suite.ts'
import { merging } from './outbox-merging.suite.ts'
import { messageOrder } from './outbox-order.suite.ts'
import { operating } from './outbox-operating.suite.ts'
import { publishing } from './outbox-publishing.suite.ts'
import { queueing } from './outbox-queues.suite.ts'
import { announcing } from './outbox.suite.ts'
import { purging } from './purge.suite.ts'
import { namesInOrder } from './names-in-order.suite.ts'
import { repositories } from './repositories.suite.ts'
import { restoring } from './restoring.suite.ts'
import { returningHead } from './returning-head.suite.ts'
import { runVerbs } from './run-verbs.suite.ts'
import { toldNames } from './told-names.suite.ts'
import { tokens } from './tokens.suite.ts'
import { sharedCheck } from './shared-check.suite.ts'
import { sharedCommit } from './shared-commit.suite.ts'
import { sharedOwnStatus } from './shared-own-status.suite.ts'
import { unansweredClaims } from './unanswered-claims.suite.ts'
import { unattended } from './unattended.suite.ts'
import { vitals } from './vitals.suite.ts'
import type { OpenStore } from './world.ts'

/** Apart, so that several workers can share them where a database is slow. */
const parts = {
  runs(open: OpenStore) {
    describe('the claim table', () => claimTable(open))
    describe('the order of heads', () => headOrder(open))
    describe('a claim whose clock was fast', () => fastClock(open))
    describe('a head and its base', () => headBase(open))
    describe('a head that returns', () => returningHead(open))
    describe('holding a run', () => holding(open))
    describe('a run nobody attends to', () => unattended(open))
    describe('a token', () => tokens(open))
    describe('a repeated request', () => once(open))
    describe('a claim whose answer was lost', () => unansweredClaims(open))
    describe('requests that cross', () => crossing(open))
    describe('the run verbs', () => runVerbs(open))
    describe('in any order', () => anyOrder(open))
  },
  inbox(open: OpenStore) {
    describe('a repository', () => repositories(open))
    describe('a wish to do it again', () => mergedReruns(open))
    describe('a repository’s name', () => namesInOrder(open))
    describe('what a caller says of a repository', () => toldNames(open))
    describe('the inbox', () => inbox(open))
    describe('a decision about a webhook', () => inboxDecisions(open))
    describe('catching up', () => catchingUp(open))
  },
  upkeep(open: OpenStore) {
    describe('an absence', () => continuity(open))
    describe('a clock that is set back', () => clockSetBack(open))
    describe('retention', () => purging(open))
    describe('lists', () => lists(open))
    describe('the order of the audit', () => auditOrder(open))
    describe('its vitals', () => vitals(open))
  },
  outbox(open: OpenStore) {
    describe('what a run announces', () => announcing(open))
    describe('a commit of two pull requests', () => sharedCommit(open))
    describe('the check runs of a commit', () => sharedCheck(open))
    describe('a context of two pull requests', () => sharedOwnStatus(open))
    describe('a run with many outputs', () => manyOutputs(open))
    describe('publishing', () => publishing(open))
    describe('a queue of the outbox', () => queueing(open))
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
