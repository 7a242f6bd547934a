/** The verbs for runs and their subjects. */
import type { Claim } from '../../domain/claim.ts'
import type { Run } from '../../domain/run.ts'
import type { Subject } from '../../domain/subject.ts'
import type { RepositoryLimit } from '../../domain/token-limits.ts'
import { NotFoundError } from '../../errors.ts'
import type * as port from '../../store.ts'
import { LostRace } from '../driver.ts'
import type { Verb } from '../sql.ts'
import { selectRun } from '../tables/run-table.ts'
import { selectSubject } from '../tables/subject-table.ts'
import type { VerbContext } from '../verbs/context.ts'
import { confirmHead, rerunRun } from '../verbs/runs/claim-again.ts'
import { claimRuns, subjectOf } from '../verbs/runs/claim-runs.ts'
import { completeRuns } from '../verbs/runs/complete-runs.ts'
import {
  cancelPendingRun,
  cancelRun,
  giveUpRun,
  sweepRun,
  takeOverExecutor,
} from '../verbs/runs/end-run.ts'
import { heldRun, noteGitHubToken } from '../verbs/runs/github-token.ts'
import { leaseMany } from '../verbs/runs/grant-leases.ts'
import { availableTypes, heartbeatRun, leaseWithSteps, releaseRun } from '../verbs/runs/hold-run.ts'
import {
  activeRuns,
  dueRuns,
  executorHolds,
  listRuns,
  lostHolds,
  runTypes,
  runAhead,
  subjectsOf,
} from '../verbs/runs/list-runs.ts'
import { noteCommandEnd } from '../verbs/runs/note-command-end.ts'
import { reportStatus } from '../verbs/runs/report-status.ts'
import { laneOrder } from './lane.ts'
import type { SqlBatches } from './sql-batches.ts'
import type { VerbRunner } from './verb-runner.ts'

/** How many runs of executors are taken over in one commit. */
const takenAtOnce = 100

export class SqlRuns implements port.RunStore {
  readonly #runner: VerbRunner
  readonly #context: VerbContext
  readonly #batches: Pick<SqlBatches, 'claims' | 'completed' | 'lane'>
  readonly #correctTimes: () => Promise<void>

  /** `correctTimes` is called before each read of due runs: the clock may have been set back. */
  constructor(
    runner: VerbRunner,
    batches: Pick<SqlBatches, 'claims' | 'completed' | 'lane'>,
    correctTimes: () => Promise<void>,
  ) {
    this.#runner = runner
    this.#context = runner.context
    this.#batches = batches
    this.#correctTimes = correctTimes
  }

  claim(
    claim: Claim,
    idempotencyKey: port.IdempotencyKey | null,
    offers?: port.ExecutorOffers,
  ): Promise<port.ClaimAnswer> {
    if (idempotencyKey === null) return this.#batches.claims.ask({ claim, offers })
    return this.#runner.inTurn(subjectOf(claim), () =>
      this.#runner.withKey(idempotencyKey, () => claimAlone(this.#context, claim), {
        holdOf: ({ process, run }) => (process ? run : null),
      }),
    )
  }

  confirmHead(confirmed: port.ConfirmedHead): Promise<port.ConfirmHeadAnswer> {
    return this.#runner.inTurn(confirmed.runId, () =>
      this.#runner.transact(() => confirmHead(this.#context, confirmed)),
    )
  }

  lease(
    request: port.LeaseRequest,
    idempotencyKey: port.IdempotencyKey | null,
  ): Promise<port.LeaseAnswer | null> {
    return this.#runner.transact(() => leaseWithSteps(this.#context, request, idempotencyKey))
  }

  leaseMany(request: port.LeaseManyRequest): Promise<readonly port.LeaseAnswer[]> {
    const lease = (): Promise<readonly port.LeaseAnswer[]> =>
      this.#runner.transact(() => leaseMany(this.#context, request))
    const { lane } = this.#batches
    return lane === undefined ? lease() : lane.run(laneOrder.begin, lease)
  }

  async takeOverExecutors(): Promise<readonly Run[]> {
    const found = await this.#runner.read(executorHolds)
    const taken: Run[] = []
    // Others have a turn after each piece.
    for (let from = 0; from < found.length; from += takenAtOnce) {
      const piece = found.slice(from, from + takenAtOnce)
      const runs = await Promise.all(
        piece.map((hold) => this.#runner.transact(() => takeOverExecutor(this.#context, hold))),
      )
      taken.push(...runs.filter((run) => run !== null))
    }
    return taken
  }

  heartbeat(
    request: port.HolderRequest,
    idempotencyKey: port.IdempotencyKey | null,
  ): Promise<port.HeartbeatAnswer> {
    const { runId: id, leaseHash } = request
    return this.#runner.withKey(idempotencyKey, () => heartbeatRun(this.#context, request), {
      holdOf: ({ fence }) => ({ id, fence, leaseHash }),
    })
  }

  availableTypes(
    types: readonly string[],
    allBut: readonly string[] | null,
    repositories: readonly RepositoryLimit[] | null,
  ): Promise<readonly string[]> {
    return this.#runner.read(() => availableTypes(types, allBut, repositories))
  }

  release(request: port.HolderRequest, idempotencyKey: port.IdempotencyKey | null): Promise<Run> {
    return this.#runner.withKeyInTurn(request.runId, idempotencyKey, () =>
      releaseRun(this.#context, request),
    )
  }

  giveUp(request: port.HolderRequest): Promise<Run> {
    const { runId } = request
    return this.#runner.inTurn(runId, () =>
      this.#runner.transact(() => giveUpRun(this.#context, request)),
    )
  }

  complete(
    request: port.CompleteRequest,
    idempotencyKey: port.IdempotencyKey | null,
  ): Promise<Run> {
    if (idempotencyKey === null) return this.#batches.completed.ask(request)
    return this.#runner.withKeyInTurn(request.runId, idempotencyKey, () =>
      completeAlone(this.#context, request),
    )
  }

  cancel(runId: string, actor: string, idempotencyKey: port.IdempotencyKey | null): Promise<Run> {
    return this.#runner.withKeyInTurn(runId, idempotencyKey, () =>
      cancelRun(this.#context, runId, actor),
    )
  }

  cancelPending(runId: string, actor: string): Promise<Run> {
    return this.#runner.inTurn(runId, () =>
      this.#runner.transact(() => cancelPendingRun(this.#context, runId, actor)),
    )
  }

  rerun(
    runId: string,
    actor: string,
    idempotencyKey: port.IdempotencyKey | null,
  ): Promise<port.ClaimAnswer> {
    return this.#runner.withKeyInTurn(runId, idempotencyKey, () =>
      rerunRun(this.#context, runId, actor),
    )
  }

  reportStatus(
    request: port.ReportRequest,
    idempotencyKey: port.IdempotencyKey | null,
  ): Promise<Run> {
    return this.#runner.withKeyInTurn(request.runId, idempotencyKey, () =>
      reportStatus(this.#context, request),
    )
  }

  noteCommandEnd(
    runId: string,
    actor: string,
    data: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    return this.#runner.transact(() => noteCommandEnd(this.#context, runId, actor, data))
  }

  held(hold: port.LeaseHold): Promise<Run> {
    return this.#runner.read(() => heldRun(this.#context, hold))
  }

  noteGitHubToken(note: port.GitHubTokenNote): Promise<void> {
    return this.#runner.withKeyInTurn(note.runId, null, () => noteGitHubToken(this.#context, note))
  }

  get(id: string): Promise<Run | null> {
    return this.#runner.read(() => selectRun(id))
  }

  subject(id: string): Promise<Subject | null> {
    return this.#runner.read(() => selectSubject(id))
  }

  types(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#runner.read(() => runTypes(ids))
  }

  subjectsOf(repo: string, pr: number, repoId?: number | null): Promise<readonly Subject[]> {
    return this.#runner.read(() => subjectsOf(repo, pr, repoId ?? null))
  }

  ahead(subjectId: string): Promise<Run | null> {
    return this.#runner.read(() => runAhead(subjectId))
  }

  list(filter: port.RunFilter, page: port.Page): Promise<port.Paged<Run>> {
    return this.#runner.read(() => listRuns(filter, page))
  }

  lostHolds(holds: readonly port.Hold[]): Promise<readonly string[]> {
    return this.#runner.read(() => lostHolds(holds))
  }

  countActive(): Promise<Readonly<Record<port.ActiveState, number>>> {
    return this.#runner.read(activeRuns)
  }

  async due(limit: number): Promise<readonly string[]> {
    await this.#correctTimes()
    return await this.#runner.read(() => dueRuns(this.#context.now(), limit))
  }

  async sweep(runId: string): Promise<Run | null> {
    try {
      return await this.#runner.withKeyInTurn(runId, null, () => sweepRun(this.#context, runId))
    } catch (error) {
      if (error instanceof NotFoundError) return null
      throw error
    }
  }
}

function* claimAlone(context: VerbContext, claim: Claim): Verb<port.ClaimAnswer> {
  const [answer] = yield* claimRuns(context, [claim])
  if (answer instanceof Error) throw answer
  if (answer === undefined || answer === 'deferred') throw new LostRace('not decided')
  return answer
}

function* completeAlone(context: VerbContext, request: port.CompleteRequest): Verb<Run> {
  const [answer] = yield* completeRuns(context, [request])
  if (answer instanceof Error) throw answer
  if (answer === undefined || answer === 'deferred') throw new LostRace('not completed')
  return answer
}
