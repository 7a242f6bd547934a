/**
 * Verbs that are done in batches: claims, steps, completions, receiving webhooks, finishing
 * webhooks.
 */
import type { Claim } from '../../domain/claim.ts'
import type { Run } from '../../domain/run.ts'
import type { Scheduler } from '../../scheduler.ts'
import type * as port from '../../store.ts'
import { Batcher } from './batcher.ts'
import { Lane, laneOrder } from './lane.ts'
import type { OnBatch } from '../driver.ts'
import type { Verb } from '../sql.ts'
import { claimRuns, subjectOf } from '../verbs/runs/claim-runs.ts'
import { completeRuns } from '../verbs/runs/complete-runs.ts'
import { receiveWebhooks } from '../verbs/inbox/receive-webhooks.ts'
import { finishWebhooks } from '../verbs/inbox/finish-webhooks.ts'
import { stepMapKey } from '../tables/step-table.ts'
import type { ActAnswer } from '../verbs/steps/act-on-steps.ts'
import { actOnSteps } from '../verbs/steps/act-on-steps.ts'
import type { VerbRunner } from './verb-runner.ts'

const batchPatienceMs = 2000
/** How long a batch may keep others of its lane from starting. */
const slowMs = 50

interface AskedClaim {
  readonly claim: Claim
  readonly offers: port.ExecutorOffers | undefined
}

interface AskedFinish {
  readonly decided: port.DecidedWebhook
  readonly offers: port.ExecutorOffers | undefined
}

export interface SqlBatchesOptions {
  readonly runner: VerbRunner
  readonly scheduler: Scheduler
  readonly onBatch: OnBatch | undefined
}

export class SqlBatches {
  /** For transactions that take turns with batches about runs. */
  readonly lane: Lane | undefined
  readonly #options: SqlBatchesOptions
  readonly claims: Batcher<AskedClaim, port.ClaimAnswer>
  readonly steps: Batcher<port.StepRequest, ActAnswer>
  readonly completed: Batcher<port.CompleteRequest, Run>
  readonly received: Batcher<port.NewWebhook, port.ReceivedWebhook>
  readonly finished: Batcher<AskedFinish, port.FinishedWebhook>

  constructor(options: SqlBatchesOptions) {
    this.#options = options
    const { runner, scheduler } = options
    const { driver, context } = runner
    // SQLite has its own groups.
    const lane = driver.dialect.hasOneWriter ? undefined : new Lane(scheduler, slowMs)
    this.lane = lane
    const batches = { scheduler, evenSizes: driver.dialect.needsRoundTrips, underWayMax: 2 }
    this.claims = new Batcher<AskedClaim, port.ClaimAnswer>({
      run: (asked, isAlone) => {
        const claims = asked.map(({ claim, offers }) => startable(claim, offers, isAlone))
        return this.#run(claims, isAlone && subjectOf, () => claimRuns(context, claims))
      },
      keyOf: ({ claim }) => subjectOf(claim),
      lane,
      lanePlace: laneOrder.begin,
      ...batches,
      evenSizes: false,
      batchMax: 64,
    })
    this.steps = new Batcher<port.StepRequest, ActAnswer>({
      run: (requests, isAlone) =>
        this.#run(requests, isAlone && runOf, () => actOnSteps(context, requests)),
      keyOf: stepMapKey,
      lane,
      lanePlace: laneOrder.work,
      ...batches,
      evenSizes: false,
      // A run sends the result of one step together with the start of the next.
      batchMax: 128,
    })
    this.completed = new Batcher<port.CompleteRequest, Run>({
      run: (requests, isAlone) =>
        this.#run(requests, isAlone && runOf, () => completeRuns(context, requests)),
      keyOf: runOf,
      lane,
      lanePlace: laneOrder.end,
      ...batches,
      evenSizes: false,
      batchMax: 64,
    })
    this.received = new Batcher<port.NewWebhook, port.ReceivedWebhook>({
      run: (webhooks, isAlone) =>
        this.#run(webhooks, isAlone && laneOf, () => receiveWebhooks(context, webhooks)),
      keyOf: laneOf,
      ...batches,
      batchMax: 64,
      gatherTurns: 8,
    })
    this.finished = new Batcher<AskedFinish, port.FinishedWebhook>({
      run: (asked, isAlone) => {
        const decided = asked.map((one) => startableRuns(one, isAlone))
        return this.#run(decided, isAlone && laneOf, () => finishWebhooks(context, decided))
      },
      keyOf: ({ decided }) => laneOf(decided),
      ...batches,
      batchMax: 64,
      // Their senders were already answered, so webhooks that arrive now go first.
      linger: { ms: 20, while: () => this.received.isBusy, timesMax: 50 },
    })
  }

  async drain(): Promise<void> {
    const all = [this.received, this.finished, this.claims, this.steps, this.completed]
    for (const batcher of all) await batcher.drain()
  }

  /**
   * `keyIfAlone`: for a single request that waits for somebody's lock. It takes turns by this key.
   */
  #run<R, T>(
    requests: readonly R[],
    keyIfAlone: ((request: R) => string) | false,
    verb: () => Verb<readonly T[]>,
  ): Promise<readonly T[]> {
    const { runner, onBatch } = this.#options
    onBatch?.('batch', requests.length)
    const [first] = requests
    // A batch that waits for a lock gives up soon and is split, so only one request keeps waiting.
    if (keyIfAlone === false || first === undefined) {
      return runner.driver.transact(verb, batchPatienceMs)
    }
    return runner.inTurn(keyIfAlone(first), () => runner.transact(verb))
  }
}

/** A request may run more than once, and what it was offered before was not used then. */
function startable(claim: Claim, offers: port.ExecutorOffers | undefined, isAlone: boolean): Claim {
  offers?.withdraw()
  return offers === undefined || isAlone ? claim : offers.offer(claim)
}

function startableRuns({ decided, offers }: AskedFinish, isAlone: boolean): port.DecidedWebhook {
  offers?.withdraw()
  if (offers === undefined || isAlone) return decided
  const acts = decided.acts.map((act) => {
    return act.act === 'claim' ? { ...act, claim: offers.offer(act.claim) } : act
  })
  return { ...decided, acts }
}

const runOf = ({ runId }: { readonly runId: string }): string => runId
const laneOf = ({ lane }: { readonly lane: string }): string => lane
