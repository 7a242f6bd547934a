/** Deliveries and attempts with all fields filled in, so that a test names only what it needs. */
import { channelsByName } from '../../src/channels/github-channels.ts'
import type { DeliveryAttempt, Delivery } from '../../src/domain/outbox/delivery.ts'
import type { WantedOutput } from '../../src/domain/outbox/announce.ts'
import type { Circumstances } from '../../src/domain/outbox/outcome.ts'
import { revise, type RunOutput } from '../../src/domain/outbox/revise.ts'
import { defaultPublishing } from '../../src/domain/outbox/schedule.ts'
import type { Run } from '../../src/domain/run.ts'

export const now = Date.UTC(2026, 5, 1, 12)
export const rules = defaultPublishing
/** For a comment; other channels have their own. */
export const around: Circumstances = {
  ...{ now, rules, jitter: 0 },
  channel: channelsByName.of('github-comment'),
}
export const aroundOf = ({ channel }: Pick<Delivery, 'channel'>): Circumstances => ({
  ...around,
  channel: channelsByName.of(channel),
})

export const aRun = (over: Partial<Run> = {}): Run =>
  ({ id: 'run_1', subjectId: 'sub_1', round: 1, claimFence: 10, fence: 10, ...over }) as Run

export function aRunOutput(wanted: Partial<WantedOutput> = {}, run: Run = aRun()): RunOutput {
  return {
    wanted: {
      channel: channelsByName.of('github-comment'),
      kind: 'state',
      name: 'anchor',
      target: 'anchor subject sub_1',
      markerText: '',
      thread: 5,
      sha: null,
      content: { words: 'first' },
      final: false,
      announces: true,
      claim: 'take',
      closesOnly: false,
      ...wanted,
    },
    run,
    repositoryId: 'rep_1',
    markerKey: 'key',
    causeId: 10,
  }
}

/** As a first claim creates it. */
export function aDelivery(
  over: Partial<Delivery> = {},
  output: RunOutput = aRunOutput(),
): Delivery {
  const made = revise(null, output, () => 'del_1', now, rules)
  if (made === null) throw new Error('it makes nothing')
  return { ...made.delivery, rev: 1, ...over }
}

/** A delivery whose first version was sent some time ago. */
export const aSentOne = (over: Partial<Delivery> = {}): Delivery =>
  aDelivery({
    ...{ status: 'SENT', wait: null, dueAt: null, closedAt: now, announcedFence: 10 },
    ...{ sentFence: 10, sentSeq: 1, sentHash: 'first', sentAt: now, shownSince: now },
    ...{ providerId: '100', providerUrl: 'http://gh/100' },
    protocol: { looked: true, showsWork: true },
    ...over,
  })

export const anAttempt = (over: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
  id: 'att_1',
  deliveryId: 'del_1',
  action: 'create',
  versionFence: 10,
  versionSeq: 1,
  startedAt: now - 500,
  endedAt: null,
  outcome: null,
  late: false,
  errorCode: null,
  errorText: null,
  httpStatus: null,
  requestId: null,
  githubRequestId: null,
  providerId: null,
  ...over,
})
