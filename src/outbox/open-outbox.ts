/** Publishing, put together: the channels, who we are on GitHub, and the publisher over them. */
import { createGitHubChannels } from '../channels/github-channels.ts'
import type { Clock } from '../clock.ts'
import type { BudgetLimits } from '../domain/outbox/budget.ts'
import { SetupError } from '../errors.ts'
import type { GitHub, GitHubCalls } from '../github.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'
import { createAdmission } from './admission.ts'
import type { CheckIsOurs } from './is-ours.ts'
import { createIsOurs } from './is-ours.ts'
import { createOwnAuthors } from './own-authors.ts'
import { createPlaces } from './places.ts'
import type { Publisher } from './publisher.ts'
import { createPublisher } from './publisher.ts'

export interface OpenOutboxOptions {
  readonly store: Store
  readonly github: GitHub & GitHubCalls
  /** Whose images are shown; nobody's when not given. */
  readonly imageHosts?: readonly string[]
  readonly limits: BudgetLimits
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly metrics: Metrics
  readonly log: Log
}

export function openOutbox(options: OpenOutboxOptions): Publisher {
  return createPublisher({ ...options, ...publishingParts(options) })
}

export type IsOursOptions = Pick<OpenOutboxOptions, 'store' | 'github' | 'clock'>

/** For whoever is told by a person what stands on GitHub. */
export function openIsOurs(options: IsOursOptions): CheckIsOurs {
  return createIsOurs({ store: options.store, ...publishingParts(options) })
}

function publishingParts(options: IsOursOptions & Pick<OpenOutboxOptions, 'imageHosts'>) {
  const { store, github, clock } = options
  const authors = createOwnAuthors(github, store.outbox, clock)
  const admission = createAdmission({ github, authors, store, clock })
  const parts = {
    github,
    imageHosts: new Set(options.imageHosts),
    authors: () => authors.all(),
    markerKeys: async () => {
      const all = await store.outbox.markerKeys()
      const [current] = all
      if (current === undefined) throw noMarkerKey()
      return { current, all }
    },
  }
  const channels = createGitHubChannels(parts, admission)
  const places = createPlaces({ github, admission, store, clock })
  return { channels, authors, places }
}

function noMarkerKey(): SetupError {
  return new SetupError('marker_keys', 'the store has no marker key', {
    hint: 'Import the exported keys: holdfast keys import FILE, or make one: holdfast keys rotate',
  })
}
