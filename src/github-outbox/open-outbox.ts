/** Assembles publishing to GitHub: its channels, our account there, and the publisher. */
import { createGitHubChannels } from '../channels/github-channels.ts'
import type { Clock } from '../clock.ts'
import type { BudgetLimits } from '../domain/outbox/budget.ts'
import { SetupError } from '../errors.ts'
import type { GitHub, GitHubCalls } from '../github.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'
import type { CheckIsOurs } from '../outbox/is-ours.ts'
import { createIsOurs } from '../outbox/is-ours.ts'
import type { Publisher } from '../outbox/publisher.ts'
import { createPublisher } from '../outbox/publisher.ts'
import { createAdmission } from './admission.ts'
import { createOwnAccount } from './own-account.ts'
import { createRepositoryIds } from './repository-ids.ts'

export interface OpenOutboxOptions {
  readonly store: Store
  readonly github: GitHub & GitHubCalls
  /** Hosts whose images are shown. If not given, no image is shown. */
  readonly imageHosts?: readonly string[]
  readonly limits: BudgetLimits
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly metrics: Metrics
  readonly log: Log
  /** Publishes only what belongs to this run. */
  readonly onlyRunId?: string
}

export function openOutbox(options: OpenOutboxOptions): Publisher {
  return createPublisher({ ...options, ...githubParts(options) })
}

export type IsOursOptions = Pick<OpenOutboxOptions, 'store' | 'github' | 'clock'>

/** For an operator who confirms a delivery with the id of something on GitHub. */
export function openIsOurs(options: IsOursOptions): CheckIsOurs {
  return createIsOurs({ store: options.store, ...githubParts(options) })
}

function githubParts(options: IsOursOptions & Pick<OpenOutboxOptions, 'imageHosts'>) {
  const { store, github, clock } = options
  const account = createOwnAccount(github, store.outbox, clock)
  const admission = createAdmission({ github, account, store, clock })
  const parts = {
    github,
    imageHosts: new Set(options.imageHosts),
    authors: () => account.authors(),
    markerKeys: async () => {
      const all = await store.outbox.markerKeys()
      const [current] = all
      if (current === undefined) throw noMarkerKey()
      return { current, all }
    },
  }
  const channels = createGitHubChannels(parts, admission)
  const repositoryIds = createRepositoryIds({ github, admission, store, clock })
  return { channels, repositoryIds, learnOwnAccount: () => account.learn() }
}

function noMarkerKey(): SetupError {
  return new SetupError('marker_keys', 'the store has no marker key', {
    hint: 'Import the exported keys: holdfast keys import FILE, or make one: holdfast keys rotate',
  })
}
