/**
 * Asks GitHub again which of two heads is the newest. A claim stored the question; then the first
 * try failed, or its process died. Each pass asks some of the stored questions.
 */
import type { CatchUpStore } from '../../store/catch-up-store.ts'
import type { RunsService } from '../../runs/create-runs.ts'
import { errorText, type CatchUpNotes } from './catch-up-report.ts'
import { GitHubNotAsked } from '../asking/github-questions.ts'

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
      if (givenUp) notes.skip(what, 'GitHub did not answer for a day; the order of arrival is kept')
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
    notes.skip('more heads', `${asked} were asked about; the next pass goes on`)
  }
}
