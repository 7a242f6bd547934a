/**
 * Looks at GitHub that a claim needed and that failed, or that a process died over: which of two
 * heads is the head. The claim stored that the look is owed; here it is made, some in each pass.
 */
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { RunsService } from '../runs/create-runs.ts'
import { errorText, type CatchUpNotes } from './catch-up-report.ts'
import { GitHubNotAsked } from './github-questions.ts'

const checksMax = 50

export interface PendingHeadChecksOptions {
  readonly store: { readonly catchUp: Pick<CatchUpStore, 'takeHeadCheck'> }
  readonly runs: Pick<RunsService, 'checkHead'>
}

export class PendingHeadChecks {
  readonly #options: PendingHeadChecksOptions

  constructor(options: PendingHeadChecksOptions) {
    this.#options = options
  }

  async pass(notes: CatchUpNotes): Promise<void> {
    const { store, runs } = this.#options
    let asked = 0
    while (asked < checksMax) {
      const taken = notes.isStopping() ? null : await store.catchUp.takeHeadCheck()
      if (taken === null) return
      const { run, fence, givenUp } = taken
      if (run === null) continue
      const what = `the head of ${run.repo ?? ''}#${run.pr ?? 0}`
      if (givenUp) notes.skip(what, 'GitHub could not be asked for a day; arrival order stands')
      else {
        asked += 1
        try {
          await runs.checkHead(run, fence)
        } catch (error) {
          if (!(error instanceof GitHubNotAsked)) throw error
          notes.skip(what, errorText(error.cause))
        }
      }
    }
    notes.skip('more heads', `${asked} were asked about; what is left is for the next pass`)
  }
}
